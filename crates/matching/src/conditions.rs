//! The table of conditions. It defines each value of a job and each field of a saved filter once.
//!
//! Reading and checking ([`SavedFilter::from_value`](crate::SavedFilter::from_value)), evaluation, explanation, the
//! signature's requirements and the JSON Schema follow from this table. A new condition on a text, a number or a flag is
//! one line in [`TextField`], [`NumberField`] or [`FlagField`], one line in [`FILTER_FIELDS`], and a member of
//! [`JobFacts`]. Add new texts and flags at the end: stored signatures depend on their order.

use crate::{JobFacts, PaymentKind};

/// Defines an enum of job values with the member of [`JobFacts`] that each is.
macro_rules! job_values {
    ($(#[$doc:meta])* $name:ident: $type:ty { $($variant:ident = $fact:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[doc = concat!("[`JobFacts::", stringify!($fact), "`].")] $variant,)*
        }

        impl $name {
            /// The number of fields.
            pub const COUNT: usize = [$(Self::$variant),*].len();

            /// All fields, in the order of their numbers.
            pub(crate) const ALL: [Self; Self::COUNT] = [$(Self::$variant),*];

            /// The job's value.
            #[allow(clippy::elidable_lifetime_names, reason = "only texts need the lifetime")]
            pub(crate) fn of<'a>(self, job: &JobFacts<'a>) -> Option<$type> {
                match self {
                    $(Self::$variant => job.$fact,)*
                }
            }
        }
    };
}

job_values! {
    /// A text of a job that is compared with lists.
    TextField: &'a str {
        Category = category,
        Occupation = occupation,
        ProjectType = project_type,
        ProjectDuration = project_duration,
        ExperienceLevel = experience_level,
        Region = region,
        WeeklyHours = weekly_hours,
        Country = client_country,
        Industry = client_industry,
        CompanySize = client_company_size,
        TalentType = talent_type,
        EnglishLevel = english_level,
    }
}

job_values! {
    /// A number of a job that is compared with bounds.
    NumberField: f64 {
        Rating = client_rating,
        Reviews = client_reviews,
        TotalSpent = client_total_spent,
        Hires = client_hires,
        HireRate = client_hire_rate,
        JobsPosted = client_jobs_posted,
        AvgHourlyRatePaid = client_avg_hourly_rate_paid,
        JobSuccessScore = job_success_score,
        MinimumEarnings = minimum_earnings,
        Questions = questions,
        OpenJobs = open_jobs,
        MemberDays = client_member_days,
    }
}

job_values! {
    /// A flag of a job.
    FlagField: bool {
        PaymentVerified = is_payment_verified,
        PhoneVerified = is_phone_verified,
        Enterprise = is_enterprise,
        Featured = is_featured,
    }
}

/// A field of a saved filter, or an object that holds such fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FilterField {
    /// The path from the filter's root, such as `client.minRating`.
    pub(crate) path: &'static str,
    /// The last part of the path: the name within its object.
    pub(crate) name: &'static str,
    pub(crate) kind: FieldKind,
    /// The description in the schema.
    pub(crate) description: &'static str,
}

/// The kind of a field: the form of its value, and the condition that it is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FieldKind {
    /// An object with these fields.
    Section(&'static [FilterField]),
    /// An expression of the keyword language.
    Keywords,
    /// A list of skills. The job names at least one of them.
    AnySkill,
    /// A list of skills. The job names all of them.
    AllSkills,
    /// An object with a number `count` and a list `of` skills. The job names at least that number of them.
    SkillsAtLeast,
    /// A list of skills. The job names none of them.
    NoSkill,
    /// A list that contains the job's text.
    OneOf(TextField),
    /// A list that does not contain the job's text.
    NoneOf(TextField),
    /// A list of payment kinds that contains the job's kind.
    PaymentTypes,
    /// An object with `min` and `max`: a range of what jobs of this payment kind pay.
    Pay(PaymentKind),
    /// A number. The job's number is not below it.
    AtLeast(NumberField, Limits),
    /// A number. The job's number is not above it.
    AtMost(NumberField, Limits),
    /// A flag. The job's flag has the same value.
    Is(FlagField),
}

/// The limits of a filter's number. No number may be negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    pub(crate) is_whole: bool,
    pub(crate) max: Option<f64>,
}

/// Any number from 0.
pub(crate) const AMOUNT: Limits = Limits {
    is_whole: false,
    max: None,
};
/// A whole number from 0.
pub(crate) const COUNT: Limits = Limits {
    is_whole: true,
    max: None,
};
/// A number from 0 to 5.
const RATING: Limits = Limits {
    is_whole: false,
    max: Some(5.0),
};

const fn field(path: &'static str, kind: FieldKind, description: &'static str) -> FilterField {
    let mut from = path.len();
    while from > 0 && path.as_bytes()[from - 1] != b'.' {
        from -= 1;
    }
    FilterField {
        path,
        name: path.split_at(from).1,
        kind,
        description,
    }
}

use FieldKind::{
    AllSkills, AnySkill, AtLeast, AtMost, Is, Keywords, NoSkill, NoneOf, OneOf, Pay, PaymentTypes, Section,
    SkillsAtLeast,
};
use NumberField as Number;

/// The fields of a saved filter, in the order in which they are documented and explained.
#[rustfmt::skip]
pub(crate) static FILTER_FIELDS: &[FilterField] = &[
    field("keywords", Keywords, "An expression over title, description and skills."),
    field("skills", Section(SKILLS), "Skills that the job must and must not name."),
    field("categories", OneOf(TextField::Category), "The job's category is one of these."),
    field("occupations", OneOf(TextField::Occupation), "The job's occupation is one of these."),
    field("projectTypes", OneOf(TextField::ProjectType), "The job's project type is one of these."),
    field("projectDurations", OneOf(TextField::ProjectDuration), "The job's project duration is one of these."),
    field("experienceLevels", OneOf(TextField::ExperienceLevel), "The job's experience level is one of these."),
    field("regions", OneOf(TextField::Region), "Who may apply is one of these."),
    field("weeklyHours", OneOf(TextField::WeeklyHours), "The job's weekly hours are one of these texts."),
    field("paymentTypes", PaymentTypes, "The job pays in one of these ways."),
    field("hourlyRate", Pay(PaymentKind::Hourly), "An hourly job's range overlaps this one, in USD per hour."),
    field("fixedPrice", Pay(PaymentKind::Fixed), "A fixed-price job's price lies in this range, in USD."),
    field("client", Section(CLIENT), "Conditions on the client."),
    field("vendor", Section(VENDOR), "Conditions on what the job demands of the bidder."),
    field("maxQuestions", AtMost(Number::Questions, COUNT), "The job has at most so many screening questions."),
    field("featured", Is(FlagField::Featured), "The job is featured, or is not."),
    field("maxOpenJobs", AtMost(Number::OpenJobs, COUNT), "The client has at most so many other jobs open."),
];

#[rustfmt::skip]
static SKILLS: &[FilterField] = &[
    field("skills.any", AnySkill, "The job names at least one of these skills."),
    field("skills.all", AllSkills, "The job names each of these skills."),
    field("skills.atLeast", SkillsAtLeast, "The job names at least `count` of these skills."),
    field("skills.none", NoSkill, "The job names none of these skills."),
];

#[rustfmt::skip]
static CLIENT: &[FilterField] = &[
    field("client.paymentVerified", Is(FlagField::PaymentVerified), "The client's payment is verified, or is not."),
    field("client.phoneVerified", Is(FlagField::PhoneVerified), "The client's phone is verified, or is not."),
    field("client.enterprise", Is(FlagField::Enterprise), "The client is an enterprise client, or is not."),
    field("client.countries", Section(COUNTRIES), "Countries of the client that are wanted and unwanted."),
    field("client.industries", Section(INDUSTRIES), "Industries of the client that are wanted and unwanted."),
    field("client.companySizes", OneOf(TextField::CompanySize), "The size of the client's company is one of these."),
    field("client.minRating", AtLeast(Number::Rating, RATING), "The client's average rating, at least."),
    field("client.minReviews", AtLeast(Number::Reviews, COUNT), "The client's number of reviews, at least."),
    field("client.minTotalSpent", AtLeast(Number::TotalSpent, AMOUNT), "The client's spending so far, in USD, at least."),
    field("client.maxTotalSpent", AtMost(Number::TotalSpent, AMOUNT), "The client's spending so far, in USD, at most."),
    field("client.minHires", AtLeast(Number::Hires, COUNT), "The client's number of hires, at least."),
    field("client.maxHires", AtMost(Number::Hires, COUNT), "The client's number of hires, at most."),
    field("client.minHireRate", AtLeast(Number::HireRate, AMOUNT), "The percentage of the client's jobs that ended in a hire, at least."),
    field("client.minJobsPosted", AtLeast(Number::JobsPosted, COUNT), "The number of jobs that the client posted, at least."),
    field("client.minMemberDays", AtLeast(Number::MemberDays, COUNT), "Days from the client's joining to the job's posting, at least."),
    field("client.minAvgHourlyRatePaid", AtLeast(Number::AvgHourlyRatePaid, AMOUNT), "What the client pays on average, in USD per hour, at least."),
    field("client.maxAvgHourlyRatePaid", AtMost(Number::AvgHourlyRatePaid, AMOUNT), "What the client pays on average, in USD per hour, at most."),
];

#[rustfmt::skip]
static COUNTRIES: &[FilterField] = &[
    field("client.countries.include", OneOf(TextField::Country), "The client's country is one of these."),
    field("client.countries.exclude", NoneOf(TextField::Country), "The client's country is none of these."),
];

#[rustfmt::skip]
static INDUSTRIES: &[FilterField] = &[
    field("client.industries.include", OneOf(TextField::Industry), "The client's industry is one of these."),
    field("client.industries.exclude", NoneOf(TextField::Industry), "The client's industry is none of these."),
];

#[rustfmt::skip]
static VENDOR: &[FilterField] = &[
    field("vendor.talentTypes", OneOf(TextField::TalentType), "The talent type that the job demands is one of these."),
    field("vendor.englishLevels", OneOf(TextField::EnglishLevel), "The level of English that the job demands is one of these."),
    field("vendor.maxJobSuccessScore", AtMost(Number::JobSuccessScore, AMOUNT), "The job success score that the job demands, at most."),
    field("vendor.maxMinimumEarnings", AtMost(Number::MinimumEarnings, AMOUNT), "The earnings in USD that the job demands, at most."),
];
