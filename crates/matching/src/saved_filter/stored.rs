//! Reads stored filters in one pass: they were checked before they were stored, and a start reads a million of them.

use serde::Deserialize;
use serde_json::Value;

use super::{
    Bounds, ClientConditions, IncludeExclude, SavedFilter, SkillLists, VendorConditions, WhenUnknown, check,
};
use crate::CompiledFilter;
use crate::PaymentKind;
use crate::json::FieldError;

/// [`SavedFilter`]'s fields, read without collecting faults.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Body {
    keywords: Option<String>,
    skills: Option<Skills>,
    categories: Option<Vec<String>>,
    occupations: Option<Vec<String>>,
    project_types: Option<Vec<String>>,
    project_durations: Option<Vec<String>>,
    experience_levels: Option<Vec<String>>,
    regions: Option<Vec<String>>,
    weekly_hours: Option<Vec<String>>,
    payment_types: Option<Vec<PaymentKind>>,
    hourly_rate: Option<Interval>,
    fixed_price: Option<Interval>,
    client: Option<Client>,
    vendor: Option<Vendor>,
    max_questions: Option<f64>,
    featured: Option<bool>,
    max_open_jobs: Option<f64>,
    when_unknown: Option<Unknown>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Skills {
    any: Option<Vec<String>>,
    all: Option<Vec<String>>,
    none: Option<Vec<String>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Interval {
    min: Option<f64>,
    max: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Lists {
    include: Option<Vec<String>>,
    exclude: Option<Vec<String>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Client {
    payment_verified: Option<bool>,
    phone_verified: Option<bool>,
    enterprise: Option<bool>,
    countries: Option<Lists>,
    industries: Option<Lists>,
    company_sizes: Option<Vec<String>>,
    min_rating: Option<f64>,
    min_reviews: Option<f64>,
    min_total_spent: Option<f64>,
    max_total_spent: Option<f64>,
    min_hires: Option<f64>,
    max_hires: Option<f64>,
    min_hire_rate: Option<f64>,
    min_jobs_posted: Option<f64>,
    min_avg_hourly_rate_paid: Option<f64>,
    max_avg_hourly_rate_paid: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Vendor {
    talent_types: Option<Vec<String>>,
    english_levels: Option<Vec<String>>,
    max_job_success_score: Option<f64>,
    max_minimum_earnings: Option<f64>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Unknown {
    Match,
    Reject,
}

impl SavedFilter {
    /// Compiles a filter from its stored JSON text, without `id` and `name`.
    ///
    /// Several times as fast as [`from_value`](Self::from_value) and [`check`](Self::check) on what these accept; for
    /// anything else it reports their faults. Not for what has never been checked: an array in the place of an object
    /// may be taken for its fields in order.
    ///
    /// ```
    /// use bidloop_matching::SavedFilter;
    ///
    /// let compiled = SavedFilter::compile_stored(r#"{"keywords": "rust OR go", "hourlyRate": {"min": 50}}"#);
    /// assert_eq!(compiled.expect("no fault").conditions().len(), 2);
    ///
    /// let faults = SavedFilter::compile_stored(r#"{"keywords": 5}"#).unwrap_err();
    /// assert_eq!(faults[0].to_string(), "keywords: must be a string, not a number");
    /// ```
    pub fn compile_stored(json: &str) -> Result<CompiledFilter, Vec<FieldError>> {
        if let Ok(body) = serde_json::from_str::<Body>(json) {
            let filter = Self::from(body);
            if check::list_and_bound_faults(&filter).is_empty()
                && let Ok(compiled) = CompiledFilter::compile(&filter)
            {
                return Ok(compiled);
            }
        }
        let value: Value = serde_json::from_str(json)
            .map_err(|error| vec![FieldError::new::<&str>(&[], error.to_string())])?;
        Self::from_value(&value)?.check()
    }
}

impl From<Body> for SavedFilter {
    fn from(body: Body) -> Self {
        let bounds = |interval: Option<Interval>| interval.map(|Interval { min, max }| Bounds { min, max });
        let lists = |lists: Option<Lists>| {
            lists.map(|Lists { include, exclude }| IncludeExclude { include, exclude })
        };
        Self {
            keywords: body.keywords,
            skills: body
                .skills
                .map(|Skills { any, all, none }| SkillLists { any, all, none }),
            categories: body.categories,
            occupations: body.occupations,
            project_types: body.project_types,
            project_durations: body.project_durations,
            experience_levels: body.experience_levels,
            regions: body.regions,
            weekly_hours: body.weekly_hours,
            payment_types: body.payment_types,
            hourly_rate: bounds(body.hourly_rate),
            fixed_price: bounds(body.fixed_price),
            client: body.client.map(|client| ClientConditions {
                payment_verified: client.payment_verified,
                phone_verified: client.phone_verified,
                enterprise: client.enterprise,
                countries: lists(client.countries),
                industries: lists(client.industries),
                company_sizes: client.company_sizes,
                min_rating: client.min_rating,
                min_reviews: client.min_reviews,
                min_total_spent: client.min_total_spent,
                max_total_spent: client.max_total_spent,
                min_hires: client.min_hires,
                max_hires: client.max_hires,
                min_hire_rate: client.min_hire_rate,
                min_jobs_posted: client.min_jobs_posted,
                min_avg_hourly_rate_paid: client.min_avg_hourly_rate_paid,
                max_avg_hourly_rate_paid: client.max_avg_hourly_rate_paid,
            }),
            vendor: body.vendor.map(|vendor| VendorConditions {
                talent_types: vendor.talent_types,
                english_levels: vendor.english_levels,
                max_job_success_score: vendor.max_job_success_score,
                max_minimum_earnings: vendor.max_minimum_earnings,
            }),
            max_questions: body.max_questions,
            featured: body.featured,
            max_open_jobs: body.max_open_jobs,
            when_unknown: body.when_unknown.map(|unknown| match unknown {
                Unknown::Match => WhenUnknown::Match,
                Unknown::Reject => WhenUnknown::Reject,
            }),
        }
    }
}
