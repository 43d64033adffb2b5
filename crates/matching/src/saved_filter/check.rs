//! The rules that a filter's lists and bounds must meet, each value by itself and in pairs.

use super::{Bounds, MAX_LIST_VALUES, MAX_VALUE_CHARS, SavedFilter};
use crate::json::{FieldError, whole_value};

/// Every fault but those of the keyword expression.
pub(super) fn list_and_bound_faults(filter: &SavedFilter) -> Vec<FieldError> {
    let mut checker = Checker::default();
    lists(filter, &mut checker);
    bounds(filter, &mut checker);
    checker.faults
}

fn lists(filter: &SavedFilter, checker: &mut Checker) {
    if let Some(skills) = &filter.skills {
        checker.wanted(&["skills", "any"], skills.any.as_deref());
        checker.values(&["skills", "all"], skills.all.as_deref());
        checker.values(&["skills", "none"], skills.none.as_deref());
    }
    for (name, list) in [
        ("categories", &filter.categories),
        ("occupations", &filter.occupations),
        ("projectTypes", &filter.project_types),
        ("projectDurations", &filter.project_durations),
        ("experienceLevels", &filter.experience_levels),
        ("regions", &filter.regions),
        ("weeklyHours", &filter.weekly_hours),
    ] {
        checker.wanted(&[name], list.as_deref());
    }
    if filter.payment_types.as_ref().is_some_and(Vec::is_empty) {
        checker.matches_nothing(&["paymentTypes"]);
    }
    if let Some(client) = &filter.client {
        for (name, lists) in [
            ("countries", &client.countries),
            ("industries", &client.industries),
        ] {
            if let Some(lists) = lists {
                checker.wanted(&["client", name, "include"], lists.include.as_deref());
                checker.values(&["client", name, "exclude"], lists.exclude.as_deref());
            }
        }
        checker.wanted(&["client", "companySizes"], client.company_sizes.as_deref());
    }
    if let Some(vendor) = &filter.vendor {
        checker.wanted(&["vendor", "talentTypes"], vendor.talent_types.as_deref());
        checker.wanted(&["vendor", "englishLevels"], vendor.english_levels.as_deref());
    }
}

fn bounds(filter: &SavedFilter, checker: &mut Checker) {
    for (name, bounds) in [
        ("hourlyRate", filter.hourly_rate),
        ("fixedPrice", filter.fixed_price),
    ] {
        let Bounds { min, max } = bounds.unwrap_or_default();
        checker.amount(&[name, "min"], min);
        checker.amount(&[name, "max"], max);
        checker.ordered(&[name], ("min", min), ("max", max));
    }
    checker.count(&["maxQuestions"], filter.max_questions);
    checker.count(&["maxOpenJobs"], filter.max_open_jobs);
    if let Some(client) = &filter.client {
        checker.amount(&["client", "minRating"], client.min_rating);
        if client.min_rating.is_some_and(|rating| rating > 5.0) {
            checker.fault(&["client", "minRating"], "must be at most 5: ratings are 0 to 5");
        }
        for (name, amount) in [
            ("minTotalSpent", client.min_total_spent),
            ("maxTotalSpent", client.max_total_spent),
            ("minHireRate", client.min_hire_rate),
            ("minAvgHourlyRatePaid", client.min_avg_hourly_rate_paid),
            ("maxAvgHourlyRatePaid", client.max_avg_hourly_rate_paid),
        ] {
            checker.amount(&["client", name], amount);
        }
        for (name, count) in [
            ("minReviews", client.min_reviews),
            ("minHires", client.min_hires),
            ("maxHires", client.max_hires),
            ("minJobsPosted", client.min_jobs_posted),
        ] {
            checker.count(&["client", name], count);
        }
        for (min, max) in [
            (
                ("minTotalSpent", client.min_total_spent),
                ("maxTotalSpent", client.max_total_spent),
            ),
            (("minHires", client.min_hires), ("maxHires", client.max_hires)),
            (
                ("minAvgHourlyRatePaid", client.min_avg_hourly_rate_paid),
                ("maxAvgHourlyRatePaid", client.max_avg_hourly_rate_paid),
            ),
        ] {
            checker.ordered(&["client"], min, max);
        }
    }
    if let Some(vendor) = &filter.vendor {
        checker.amount(&["vendor", "maxJobSuccessScore"], vendor.max_job_success_score);
        checker.amount(&["vendor", "maxMinimumEarnings"], vendor.max_minimum_earnings);
    }
}

#[derive(Default)]
struct Checker {
    faults: Vec<FieldError>,
}

impl Checker {
    fn fault(&mut self, path: &[&str], message: impl Into<String>) {
        self.faults.push(FieldError::new(path, message));
    }

    /// A list of which the job must have one: without a value it could never hold.
    fn wanted(&mut self, path: &[&str], list: Option<&[String]>) {
        if list.is_some_and(<[String]>::is_empty) {
            self.matches_nothing(path);
        }
        self.values(path, list);
    }

    fn matches_nothing(&mut self, path: &[&str]) {
        self.fault(
            path,
            "an empty list would match no job; leave the field out, or set it to null",
        );
    }

    fn values(&mut self, path: &[&str], list: Option<&[String]>) {
        let list = list.unwrap_or_default();
        if list.len() > MAX_LIST_VALUES {
            self.fault(
                path,
                format!("has {} values, more than {MAX_LIST_VALUES}", list.len()),
            );
            return;
        }
        for (index, value) in list.iter().enumerate() {
            let message = if value.trim().is_empty() {
                "must not be blank".to_owned()
            } else if value.chars().nth(MAX_VALUE_CHARS).is_some() {
                format!("has more than {MAX_VALUE_CHARS} characters")
            } else {
                continue;
            };
            let index = index.to_string();
            let mut path = path.to_vec();
            path.push(&index);
            self.faults.push(FieldError::new(&path, message));
        }
    }

    fn amount(&mut self, path: &[&str], amount: Option<f64>) {
        match amount {
            Some(amount) if !amount.is_finite() => self.fault(path, "must be a finite number"),
            Some(amount) if amount < 0.0 => self.fault(path, "must not be negative"),
            _ => {}
        }
    }

    fn count(&mut self, path: &[&str], count: Option<f64>) {
        self.amount(path, count);
        if count.is_some_and(|count| count.is_finite() && count >= 0.0 && whole_value(count).is_none()) {
            self.fault(path, "must be a whole number");
        }
    }

    fn ordered(&mut self, path: &[&str], min: (&str, Option<f64>), max: (&str, Option<f64>)) {
        if let (Some(low), Some(high)) = (min.1, max.1)
            && low > high
        {
            let mut path = path.to_vec();
            path.push(min.0);
            self.fault(&path, format!("must not be above `{}`: {low} > {high}", max.0));
        }
    }
}
