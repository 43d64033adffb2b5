//! What a filter can ask of a job: the input of matching.

use serde::{Deserialize, Serialize};

/// A job as filters see it: three texts and typed values.
///
/// `None` means that the job does not carry the value; a condition on it is then *unknown*. Texts are given as they came:
/// matching folds case and trims. Money is in USD.
///
/// ```
/// use bidloop_matching::{JobFacts, PreparedJob};
///
/// let facts = JobFacts {
///     title: "Rust service",
///     description: "Axum and Tokio",
///     skills: Some(vec!["Rust", "Tokio"]),
///     client_rating: Some(4.8),
///     ..JobFacts::default()
/// };
/// assert!(PreparedJob::new(&facts).skills().is_some());
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobFacts<'a> {
    /// The job's title.
    pub title: &'a str,
    /// The job's description.
    pub description: &'a str,
    /// The names of the skills; they are searched by keywords, too.
    pub skills: Option<Vec<&'a str>>,
    /// The category's name.
    pub category: Option<&'a str>,
    /// The occupation's name.
    pub occupation: Option<&'a str>,
    /// Such as `Ongoing project`.
    pub project_type: Option<&'a str>,
    /// Such as `1 to 3 months`.
    pub project_duration: Option<&'a str>,
    /// Such as `Expert`.
    pub experience_level: Option<&'a str>,
    /// Who may apply, such as `Worldwide`.
    pub region: Option<&'a str>,
    /// Such as `Less than 30 hrs/week`.
    pub weekly_hours: Option<&'a str>,
    /// Whether the job is paid by the hour or as a whole.
    pub payment_kind: Option<PaymentKind>,
    /// Lowest and highest rate in USD per hour; an end that is not known is infinite.
    pub hourly_range: Option<(f64, f64)>,
    /// USD.
    pub fixed_price: Option<f64>,
    /// How many screening questions the job asks.
    pub questions: Option<f64>,
    /// Whether the marketplace features the job.
    pub is_featured: Option<bool>,
    /// How many other jobs the client has open.
    pub open_jobs: Option<f64>,
    /// Whether the client's way of payment is verified.
    pub is_payment_verified: Option<bool>,
    /// Whether the client's phone number is verified.
    pub is_phone_verified: Option<bool>,
    /// Whether the client is an enterprise client.
    pub is_enterprise: Option<bool>,
    /// The client's country.
    pub client_country: Option<&'a str>,
    /// The client's industry.
    pub client_industry: Option<&'a str>,
    /// Such as `10-99`.
    pub client_company_size: Option<&'a str>,
    /// The client's average rating, 0 to 5.
    pub client_rating: Option<f64>,
    /// How many reviews the client has.
    pub client_reviews: Option<f64>,
    /// What the client has spent so far, in USD.
    pub client_total_spent: Option<f64>,
    /// How many hires the client has made.
    pub client_hires: Option<f64>,
    /// Percentage of the client's jobs that ended in a hire.
    pub client_hire_rate: Option<f64>,
    /// How many jobs the client has posted.
    pub client_jobs_posted: Option<f64>,
    /// Whole days from the client's joining the marketplace to the posting of the job.
    pub client_member_days: Option<f64>,
    /// What the client pays on average, in USD per hour.
    pub client_avg_hourly_rate_paid: Option<f64>,
    /// Such as `Independent`: who may apply.
    pub talent_type: Option<&'a str>,
    /// The level of English that the job demands.
    pub english_level: Option<&'a str>,
    /// The lowest job success score with which one may apply.
    pub job_success_score: Option<f64>,
    /// What a bidder must have earned, in USD; 0 if the job demands nothing.
    pub minimum_earnings: Option<f64>,
}

/// How a job pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PaymentKind {
    /// By the hour.
    Hourly,
    /// One price for the whole job.
    Fixed,
}

impl PaymentKind {
    /// The word in JSON and in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hourly => "hourly",
            Self::Fixed => "fixed",
        }
    }

    /// The kind that a `paymentType` text names, in any case: `Hourly`, `Fixed-price` or `Fixed`.
    pub fn from_text(text: &str) -> Option<Self> {
        if text.eq_ignore_ascii_case("hourly") {
            Some(Self::Hourly)
        } else if text.eq_ignore_ascii_case("fixed") || text.eq_ignore_ascii_case("fixed-price") {
            Some(Self::Fixed)
        } else {
            None
        }
    }
}
