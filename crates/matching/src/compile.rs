//! From a saved filter's fields to the conditions that jobs are held against.

use super::condition::{Attribute, Bound, Condition, Figure, Flag};
use super::keywords::{Expression, KeywordFault};
use super::list_key;
use crate::saved_filter::{
    Bounds, ClientConditions, IncludeExclude, SavedFilter, SkillLists, VendorConditions, WhenUnknown,
};

/// A filter ready for matching; see [`SavedFilter::check`], which makes it.
#[derive(Debug, Clone, PartialEq)]
pub struct CompiledFilter {
    /// In the order in which the filter's fields are documented.
    pub(super) conditions: Vec<Condition>,
    pub(super) unknown_holds: bool,
}

impl CompiledFilter {
    /// Compiles a filter whose lists and bounds have been checked; only its keyword expression can be faulty then.
    pub(crate) fn compile(filter: &SavedFilter) -> Result<Self, KeywordFault> {
        let mut conditions = Conditions(Vec::new());
        if let Some(keywords) = &filter.keywords {
            conditions
                .0
                .push(Condition::Keywords(Expression::parse(keywords)?));
        }
        if let Some(skills) = &filter.skills {
            conditions.skills(skills);
        }
        conditions.one_of("categories", Attribute::Category, filter.categories.as_ref());
        conditions.one_of("occupations", Attribute::Occupation, filter.occupations.as_ref());
        conditions.one_of(
            "projectTypes",
            Attribute::ProjectType,
            filter.project_types.as_ref(),
        );
        conditions.one_of(
            "projectDurations",
            Attribute::ProjectDuration,
            filter.project_durations.as_ref(),
        );
        conditions.one_of(
            "experienceLevels",
            Attribute::ExperienceLevel,
            filter.experience_levels.as_ref(),
        );
        conditions.one_of("regions", Attribute::Region, filter.regions.as_ref());
        conditions.one_of(
            "weeklyHours",
            Attribute::WeeklyHours,
            filter.weekly_hours.as_ref(),
        );
        if let Some(kinds) = &filter.payment_types {
            conditions.0.push(Condition::PaymentTypes(kinds.clone()));
        }
        if let Some((min, max)) = interval(filter.hourly_rate) {
            conditions.0.push(Condition::HourlyRate { min, max });
        }
        if let Some((min, max)) = interval(filter.fixed_price) {
            conditions.0.push(Condition::FixedPrice { min, max });
        }
        if let Some(client) = &filter.client {
            conditions.client(client);
        }
        if let Some(vendor) = &filter.vendor {
            conditions.vendor(vendor);
        }
        conditions.at_most("maxQuestions", Figure::Questions, filter.max_questions);
        conditions.is("featured", Flag::Featured, filter.featured);
        conditions.at_most("maxOpenJobs", Figure::OpenJobs, filter.max_open_jobs);
        Ok(Self {
            conditions: conditions.0,
            unknown_holds: filter.when_unknown.unwrap_or_default() == WhenUnknown::Match,
        })
    }

    /// The conditions, all of which must hold.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// Whether a condition on a value that the job does not carry counts as held.
    pub const fn unknown_holds(&self) -> bool {
        self.unknown_holds
    }
}

/// An interval with its open ends at infinity; none if both ends are open, which asks nothing.
fn interval(bounds: Option<Bounds>) -> Option<(f64, f64)> {
    let Bounds { min, max } = bounds?;
    (min.is_some() || max.is_some()).then(|| (min.unwrap_or(f64::NEG_INFINITY), max.unwrap_or(f64::INFINITY)))
}

fn keys(values: &[String]) -> Vec<String> {
    let mut keys: Vec<String> = values.iter().map(|value| list_key(value).into_owned()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

struct Conditions(Vec<Condition>);

impl Conditions {
    fn skills(&mut self, skills: &SkillLists) {
        if let Some(any) = &skills.any {
            self.0.push(Condition::AnySkill(keys(any)));
        }
        // All or none of no skills asks nothing, so it is not unknown on a job without skills either.
        if let Some(all) = skills.all.as_ref().filter(|all| !all.is_empty()) {
            self.0.push(Condition::AllSkills(keys(all)));
        }
        if let Some(none) = skills.none.as_ref().filter(|none| !none.is_empty()) {
            self.0.push(Condition::NoSkill(keys(none)));
        }
    }

    fn client(&mut self, client: &ClientConditions) {
        self.is(
            "client.paymentVerified",
            Flag::PaymentVerified,
            client.payment_verified,
        );
        self.is("client.phoneVerified", Flag::PhoneVerified, client.phone_verified);
        self.is("client.enterprise", Flag::Enterprise, client.enterprise);
        self.lists(
            ["client.countries.include", "client.countries.exclude"],
            Attribute::Country,
            client.countries.as_ref(),
        );
        self.lists(
            ["client.industries.include", "client.industries.exclude"],
            Attribute::Industry,
            client.industries.as_ref(),
        );
        self.one_of(
            "client.companySizes",
            Attribute::CompanySize,
            client.company_sizes.as_ref(),
        );
        self.at_least("client.minRating", Figure::Rating, client.min_rating);
        self.at_least("client.minReviews", Figure::Reviews, client.min_reviews);
        self.at_least("client.minTotalSpent", Figure::TotalSpent, client.min_total_spent);
        self.at_most("client.maxTotalSpent", Figure::TotalSpent, client.max_total_spent);
        self.at_least("client.minHires", Figure::Hires, client.min_hires);
        self.at_most("client.maxHires", Figure::Hires, client.max_hires);
        self.at_least("client.minHireRate", Figure::HireRate, client.min_hire_rate);
        self.at_least("client.minJobsPosted", Figure::JobsPosted, client.min_jobs_posted);
        let paid = Figure::AvgHourlyRatePaid;
        self.at_least(
            "client.minAvgHourlyRatePaid",
            paid,
            client.min_avg_hourly_rate_paid,
        );
        self.at_most(
            "client.maxAvgHourlyRatePaid",
            paid,
            client.max_avg_hourly_rate_paid,
        );
    }

    fn vendor(&mut self, vendor: &VendorConditions) {
        self.one_of(
            "vendor.talentTypes",
            Attribute::TalentType,
            vendor.talent_types.as_ref(),
        );
        self.one_of(
            "vendor.englishLevels",
            Attribute::EnglishLevel,
            vendor.english_levels.as_ref(),
        );
        self.at_most(
            "vendor.maxJobSuccessScore",
            Figure::JobSuccessScore,
            vendor.max_job_success_score,
        );
        self.at_most(
            "vendor.maxMinimumEarnings",
            Figure::MinimumEarnings,
            vendor.max_minimum_earnings,
        );
    }

    fn one_of(&mut self, path: &'static str, attribute: Attribute, values: Option<&Vec<String>>) {
        if let Some(values) = values {
            self.0.push(Condition::OneOf {
                path,
                attribute,
                values: keys(values),
            });
        }
    }

    fn lists(&mut self, paths: [&'static str; 2], attribute: Attribute, lists: Option<&IncludeExclude>) {
        let Some(lists) = lists else { return };
        self.one_of(paths[0], attribute, lists.include.as_ref());
        if let Some(exclude) = lists.exclude.as_ref().filter(|exclude| !exclude.is_empty()) {
            self.0.push(Condition::NoneOf {
                path: paths[1],
                attribute,
                values: keys(exclude),
            });
        }
    }

    fn at_least(&mut self, path: &'static str, figure: Figure, bound: Option<f64>) {
        let bound = bound.map(Bound::AtLeast);
        self.0
            .extend(bound.map(|bound| Condition::Within { path, figure, bound }));
    }

    fn at_most(&mut self, path: &'static str, figure: Figure, bound: Option<f64>) {
        let bound = bound.map(Bound::AtMost);
        self.0
            .extend(bound.map(|bound| Condition::Within { path, figure, bound }));
    }

    fn is(&mut self, path: &'static str, flag: Flag, wanted: Option<bool>) {
        self.0
            .extend(wanted.map(|wanted| Condition::Is { path, flag, wanted }));
    }
}
