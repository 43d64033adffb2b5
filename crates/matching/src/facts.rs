//! The input of matching: what filters can ask about a job.

use serde::{Deserialize, Serialize};

/// A job as filters see it: title, description, skills and typed values.
///
/// `None` means that the job does not carry the value. A condition on it is then *unknown*. Texts need no preparation:
/// matching ignores case and outer white space. Money is in USD.
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
    /// The names of the skills. Keywords are searched in them, too.
    pub skills: Option<Vec<&'a str>>,
    /// The category's name.
    pub category: Option<&'a str>,
    /// The occupation's name.
    pub occupation: Option<&'a str>,
    /// The project type, such as `Ongoing project`.
    pub project_type: Option<&'a str>,
    /// The project's duration, such as `1 to 3 months`.
    pub project_duration: Option<&'a str>,
    /// The experience level, such as `Expert`.
    pub experience_level: Option<&'a str>,
    /// Who may apply, such as `Worldwide`.
    pub region: Option<&'a str>,
    /// The weekly hours, such as `Less than 30 hrs/week`.
    pub weekly_hours: Option<&'a str>,
    /// Whether the job is paid by the hour or as a whole.
    pub payment_kind: Option<PaymentKind>,
    /// The lowest and the highest rate in USD per hour. An unknown end is infinite.
    pub hourly_range: Option<(f64, f64)>,
    /// The price of a fixed-price job in USD.
    pub fixed_price: Option<f64>,
    /// The number of screening questions.
    pub questions: Option<f64>,
    /// Whether the marketplace features the job.
    pub is_featured: Option<bool>,
    /// The number of the client's other open jobs.
    pub open_jobs: Option<f64>,
    /// Whether the client's payment method is verified.
    pub is_payment_verified: Option<bool>,
    /// Whether the client's phone number is verified.
    pub is_phone_verified: Option<bool>,
    /// Whether the client is an enterprise client.
    pub is_enterprise: Option<bool>,
    /// The client's country.
    pub client_country: Option<&'a str>,
    /// The client's industry.
    pub client_industry: Option<&'a str>,
    /// The size of the client's company, such as `10-99`.
    pub client_company_size: Option<&'a str>,
    /// The client's average rating, 0 to 5.
    pub client_rating: Option<f64>,
    /// The number of the client's reviews.
    pub client_reviews: Option<f64>,
    /// What the client has spent so far, in USD.
    pub client_total_spent: Option<f64>,
    /// The number of the client's hires.
    pub client_hires: Option<f64>,
    /// The percentage of the client's jobs that ended in a hire.
    pub client_hire_rate: Option<f64>,
    /// The number of jobs that the client has posted.
    pub client_jobs_posted: Option<f64>,
    /// Whole days from the client's registration to the posting of the job.
    pub client_member_days: Option<f64>,
    /// The average rate that the client pays, in USD per hour.
    pub client_avg_hourly_rate_paid: Option<f64>,
    /// The type of talent that may apply, such as `Independent`.
    pub talent_type: Option<&'a str>,
    /// The level of English that the job demands.
    pub english_level: Option<&'a str>,
    /// The minimum job success score of bidders.
    pub job_success_score: Option<f64>,
    /// The minimum earnings of bidders in USD, 0 if the job demands none.
    pub minimum_earnings: Option<f64>,
}

/// How a job pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PaymentKind {
    /// The job is paid by the hour.
    Hourly,
    /// The job has one price.
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

    /// Reads `Hourly`, `Fixed-price` or `Fixed`, in any case.
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
