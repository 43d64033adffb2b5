//! A job post as the marketplace's feed carries it: its typed form, and the questions that filters and bids ask.
//!
//! Owns the reading of one post and its own rules (which kind of job it is, how many weekly hours it names). Does
//! not own the post's raw JSON, which is stored and listed as served, nor the lead made from it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::object::{Object, optional_object, optional_objects};
use super::{PaymentKind, Timestamp, number};

/// The marketplace's identifier of a job: not empty, at most 256 characters, no control characters.
///
/// ```
/// use bidloop_domain::model::JobId;
///
/// let id = JobId::new("1770220326750362358")?;
/// assert_eq!(id.as_ref(), "1770220326750362358");
/// assert!(JobId::new("").is_err());
/// # Ok::<(), bidloop_domain::model::JobIdError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobId(String);

impl JobId {
    /// The most characters an identifier may have.
    pub const MAX_CHARS: usize = 256;

    /// Checks `id` and takes it.
    pub fn new(id: impl Into<String>) -> Result<Self, JobIdError> {
        let id = id.into();
        if id.is_empty() {
            return Err(JobIdError::Empty);
        }
        if id.len() > Self::MAX_CHARS && id.chars().count() > Self::MAX_CHARS {
            return Err(JobIdError::TooLong);
        }
        if id.chars().any(char::is_control) {
            return Err(JobIdError::ControlCharacter);
        }
        Ok(Self(id))
    }
}

impl TryFrom<String> for JobId {
    type Error = JobIdError;

    fn try_from(id: String) -> Result<Self, JobIdError> {
        Self::new(id)
    }
}

impl From<JobId> for String {
    fn from(id: JobId) -> Self {
        id.0
    }
}

impl AsRef<str> for JobId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text is no [`JobId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JobIdError {
    #[error("a job's id must not be empty")]
    Empty,
    #[error("a job's id has at most {} characters", JobId::MAX_CHARS)]
    TooLong,
    #[error("a job's id must not hold control characters")]
    ControlCharacter,
}

/// One job post of the marketplace's feed (`JobPost` of the marketplace protocol).
///
/// Everything but the first six fields may be null or missing, and unknown fields are passed over. A field
/// of the wrong type makes the whole post faulty: it departs from the protocol and is passed over (decision
/// D2, `docs/rules.md#d2`). Texts such as `paymentType` are kept as they came, since the marketplace may write
/// values that we have not seen.
///
/// ```
/// use bidloop_domain::model::{JobPost, PaymentKind};
///
/// let post = JobPost::parse(
///     r#"{"id": "17", "ciphertext": "~17", "title": "Rust service", "description": "Axum and tokio.",
///         "url": "/jobs/~17", "postedAt": 1790000000000,
///         "skills": [{"name": "Rust"}], "metadata": {"paymentType": "Fixed-price", "fixedPrice": 900}}"#,
/// )?;
/// assert_eq!(post.payment_kind(), Some(PaymentKind::Fixed));
/// assert_eq!(post.questions, None);
///
/// let fault = JobPost::parse(
///     r#"{"id": "17", "ciphertext": "", "title": "", "description": "", "url": "", "postedAt": 1,
///         "skills": [{"name": 5}]}"#,
/// );
/// assert_eq!(fault.unwrap_err().path, "skills[0].name");
/// # Ok::<(), bidloop_domain::model::JobPostError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobPost {
    pub id: JobId,
    /// The marketplace's opaque job cipher.
    pub ciphertext: String,
    pub title: String,
    pub description: String,
    /// The job's page on the marketplace, absolute or relative to its base address.
    pub url: String,
    #[serde(deserialize_with = "posted_at")]
    pub posted_at: Timestamp,
    #[serde(default)]
    pub category: Option<String>,
    #[serde(default)]
    pub occupation: Option<String>,
    #[serde(default, deserialize_with = "optional_objects")]
    pub skills: Option<Vec<Skill>>,
    /// Screening questions; a bid quotes them verbatim.
    #[serde(default)]
    pub questions: Option<Vec<String>>,
    #[serde(default)]
    pub project_type: Option<String>,
    #[serde(default)]
    pub project_duration: Option<String>,
    #[serde(default)]
    pub is_featured: Option<bool>,
    /// Who the marketplace allows to apply (`Worldwide`, `USOnly`, `UKOnly`), not where the client is.
    #[serde(default)]
    pub region: Option<String>,
    #[serde(default, deserialize_with = "optional_object")]
    pub metadata: Option<JobMetadata>,
    #[serde(default, deserialize_with = "optional_object")]
    pub client_info: Option<ClientInfo>,
    #[serde(default, deserialize_with = "optional_objects")]
    pub attachments: Option<Vec<JobAttachment>>,
    #[serde(default, deserialize_with = "optional_object")]
    pub vendor_qualifications: Option<VendorQualifications>,
    /// The client's reviews, as the marketplace writes them.
    #[serde(default)]
    pub client_reviews: Option<Vec<Value>>,
    /// The client's other open postings.
    #[serde(default, deserialize_with = "optional_objects")]
    pub open_jobs: Option<Vec<OpenJob>>,
}

fn posted_at<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    number::whole(deserializer).map(Timestamp::from_millis)
}

/// A skill tagged on a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    pub name: String,
}

/// What the marketplace says about a job's terms (`LeadMetadata` of the specification).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobMetadata {
    pub experience_level: Option<String>,
    /// `Hourly`, `Fixed-price` or `Fixed`; see [`JobPost::payment_kind`].
    pub payment_type: Option<String>,
    #[serde(deserialize_with = "optional_object")]
    pub hourly_rate: Option<HourlyRange>,
    /// USD.
    pub fixed_price: Option<f64>,
    /// A project length, or an hours-per-week text.
    pub duration: Option<String>,
    /// An hours-per-week text; see [`JobPost::weekly_hours`].
    pub hours: Option<String>,
}

/// The client's budget range of an hourly job, in USD per hour.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HourlyRange {
    pub min: Option<f64>,
    pub max: Option<f64>,
}

impl HourlyRange {
    /// Whether at least one end is known.
    pub fn is_known(self) -> bool {
        self.min.is_some() || self.max.is_some()
    }
}

/// What the marketplace says about a job's client (`LeadClientInfo` of the specification).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientInfo {
    pub is_payment_verified: Option<bool>,
    pub is_phone_verified: Option<bool>,
    /// Average feedback score, 0 to 5.
    pub rating: Option<f64>,
    #[serde(deserialize_with = "number::optional_whole")]
    pub number_of_reviews: Option<i64>,
    pub country: Option<String>,
    pub region: Option<String>,
    /// Lifetime spending in USD.
    pub total_spent: Option<f64>,
    #[serde(deserialize_with = "number::optional_whole")]
    pub number_of_hires: Option<i64>,
    #[serde(deserialize_with = "number::optional_whole")]
    pub jobs_posted: Option<i64>,
    /// Percentage of posted jobs that ended in a hire.
    pub hire_rate: Option<f64>,
    /// A date or an ISO 8601 timestamp, as the marketplace writes it.
    pub member_since: Option<String>,
    #[serde(deserialize_with = "number::optional_whole")]
    pub active_engagements: Option<i64>,
    /// How many other jobs the client has open; see [`JobPost::client_open_jobs`].
    #[serde(deserialize_with = "number::optional_whole")]
    pub open_jobs: Option<i64>,
    pub company_industry: Option<String>,
    pub company_size: Option<String>,
    pub enterprise_client: Option<bool>,
    /// USD per hour.
    pub avg_hourly_rate_paid: Option<f64>,
    pub company_id: Option<String>,
}

/// A file on the job post.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobAttachment {
    pub file_name: Option<String>,
    /// Bytes.
    #[serde(deserialize_with = "number::optional_whole")]
    pub length: Option<i64>,
    /// Relative to the marketplace's base address.
    pub uri: Option<String>,
}

/// What the job demands of the bidder.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VendorQualifications {
    /// A location restriction, as the marketplace writes it.
    pub location: Option<Value>,
    /// `Agency`, `Independent` or `ANY`.
    pub talent_type: Option<String>,
    /// `FLUENT`, `CONVERSATIONAL`, `NATIVE_OR_BILINGUAL` or `BASIC`.
    pub english_level: Option<String>,
    /// USD that a freelancer must have earned; null demands nothing.
    pub minimum_earnings: Option<f64>,
    /// Freelancers whose score is below it cannot bid.
    pub job_success_score: Option<f64>,
    pub include_rising_talent: Option<bool>,
}

/// Another open posting of the job's client.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OpenJob {
    pub id: Option<String>,
    pub ciphertext: Option<String>,
    pub title: Option<String>,
    /// `HOURLY` or `FIXED`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Whether the posting is open to a private talent cloud only.
    pub is_ptc_private: Option<bool>,
}

impl JobPost {
    /// Reads one post from its JSON text.
    pub fn parse(json: &str) -> Result<Self, JobPostError> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let read = serde_path_to_error::deserialize(&mut deserializer);
        let Object(post) = read.map_err(|error| JobPostError {
            path: match error.path().to_string() {
                path if path == "." => String::new(),
                path => path,
            },
            message: error.inner().to_string(),
        })?;
        deserializer.end().map_err(|error| JobPostError {
            path: String::new(),
            message: error.to_string(),
        })?;
        Ok(post)
    }

    /// The kind of job for filters: what `paymentType` says; unknown without one, or with one never seen.
    pub fn payment_kind(&self) -> Option<PaymentKind> {
        PaymentKind::from_text(self.metadata.as_ref()?.payment_type.as_deref()?)
    }

    /// The kind of job for bids (decision B5, `docs/rules.md#b5`): what `paymentType` says; without one,
    /// hourly if the job names a range, fixed if it names a price; else hourly.
    pub fn bid_kind(&self) -> PaymentKind {
        if let Some(kind) = self.payment_kind() {
            return kind;
        }
        if self.hourly_range().is_none() && self.fixed_price().is_some() {
            PaymentKind::Fixed
        } else {
            PaymentKind::Hourly
        }
    }

    /// The client's hourly range in USD, if at least one end of it is known.
    pub fn hourly_range(&self) -> Option<HourlyRange> {
        self.metadata
            .as_ref()?
            .hourly_rate
            .filter(|range| range.is_known())
    }

    /// The fixed price in USD.
    pub fn fixed_price(&self) -> Option<f64> {
        self.metadata.as_ref()?.fixed_price
    }

    /// The weekly hours text: `metadata.hours`, else `metadata.duration` where that speaks of hours.
    ///
    /// Delivered payloads hold an hours-per-week text under `duration` at times (specification, `LeadMetadata`). A
    /// text speaks of hours if it has the word `hour`, `hours`, `hr` or `hrs`.
    pub fn weekly_hours(&self) -> Option<&str> {
        let metadata = self.metadata.as_ref()?;
        let speaks_of_hours = |text: &&str| {
            text.split(|c: char| !c.is_ascii_alphabetic()).any(|word| {
                ["hour", "hours", "hr", "hrs"]
                    .iter()
                    .any(|unit| word.eq_ignore_ascii_case(unit))
            })
        };
        metadata
            .hours
            .as_deref()
            .or_else(|| metadata.duration.as_deref().filter(speaks_of_hours))
    }

    /// How many other jobs the client has open: `clientInfo.openJobs`, else the length of `openJobs`.
    pub fn client_open_jobs(&self) -> Option<i64> {
        self.client_info
            .as_ref()
            .and_then(|client| client.open_jobs)
            .or_else(|| i64::try_from(self.open_jobs.as_ref()?.len()).ok())
    }
}

/// Why a text is no [`JobPost`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPostError {
    /// Where in the post, such as `skills[2].name`; empty for the post as a whole.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for JobPostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "{}", self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl std::error::Error for JobPostError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(extra: &str) -> Result<JobPost, JobPostError> {
        let comma = if extra.is_empty() { "" } else { "," };
        JobPost::parse(&format!(
            r#"{{"id": "1", "ciphertext": "~1", "title": "T", "description": "D", "url": "/jobs/~1",
                "postedAt": 1790000000000{comma}{extra}}}"#
        ))
    }

    #[test]
    fn optional_fields_may_be_missing_or_null_and_unknown_fields_are_passed_over() {
        let missing = post("").unwrap();
        let null = post(
            r#""skills": null, "metadata": null, "clientInfo": null, "openJobs": null, "new": {"a": 1}"#,
        );
        assert_eq!(missing, null.unwrap());
    }

    #[test]
    fn a_list_of_values_is_no_object_wherever_one_is_expected() {
        let whole = JobPost::parse(r#"["1", "~1", "T", "D", "/jobs/~1", 1790000000000]"#);
        assert_eq!(whole.unwrap_err().path, "");
        for (extra, path) in [
            (r#""skills": [["Rust"]]"#, "skills[0]"),
            (r#""metadata": []"#, "metadata"),
            (r#""metadata": ["Expert", "Hourly"]"#, "metadata"),
            (r#""metadata": {"hourlyRate": [30, 60]}"#, "metadata.hourlyRate"),
            (r#""clientInfo": []"#, "clientInfo"),
            (r#""attachments": [["a.pdf", 5, "/x"]]"#, "attachments[0]"),
            (r#""vendorQualifications": []"#, "vendorQualifications"),
            (r#""openJobs": [{"id": "2"}, ["1"]]"#, "openJobs[1]"),
        ] {
            let fault = post(extra).unwrap_err();
            assert_eq!(fault.path, path);
            assert!(fault.message.contains("sequence"), "{fault}");
        }
    }

    #[test]
    fn a_field_of_the_wrong_type_is_refused_with_its_path() {
        for (extra, path) in [
            (r#""skills": [{"name": "Rust"}, {"name": 5}]"#, "skills[1].name"),
            (r#""skills": [{}]"#, "skills[0]"),
            (r#""skills": "Rust""#, "skills"),
            (
                r#""metadata": {"hourlyRate": {"min": "20"}}"#,
                "metadata.hourlyRate.min",
            ),
            (
                r#""clientInfo": {"numberOfHires": 1.5}"#,
                "clientInfo.numberOfHires",
            ),
            (r#""questions": [null]"#, "questions[0]"),
        ] {
            let error = post(extra).unwrap_err();
            assert_eq!(error.path, path, "{error}");
        }
    }

    #[test]
    fn malformed_json_and_trailing_text_are_refused() {
        for json in ["", "{", "[]", "null", "\"x\""] {
            assert!(JobPost::parse(json).is_err(), "{json}");
        }
        let twice = serde_json::to_string(&post("").unwrap()).unwrap() + "{}";
        assert!(JobPost::parse(&twice).unwrap_err().message.contains("trailing"));
    }

    #[test]
    fn numbers_are_read_leniently() {
        let post = post(
            r#""postedAt2": 1, "metadata": {"fixedPrice": 900, "hourlyRate": {"min": 20, "max": 30.5}},
               "clientInfo": {"numberOfHires": 3.0, "totalSpent": 100000}"#,
        )
        .unwrap();
        assert_eq!(post.fixed_price(), Some(900.0));
        assert_eq!(
            post.hourly_range(),
            Some(HourlyRange {
                min: Some(20.0),
                max: Some(30.5)
            })
        );
        assert_eq!(post.client_info.unwrap().number_of_hires, Some(3));
    }

    #[test]
    fn ids_are_neither_empty_nor_long_nor_hold_control_characters() {
        assert!(JobId::new("é".repeat(256)).is_ok());
        assert_eq!(JobId::new(""), Err(JobIdError::Empty));
        assert_eq!(JobId::new("x".repeat(257)), Err(JobIdError::TooLong));
        assert_eq!(JobId::new("a\u{0}b"), Err(JobIdError::ControlCharacter));
        let error = JobPost::parse(r#"{"id": ""}"#).unwrap_err();
        assert_eq!(error.path, "id");
    }

    #[test]
    fn for_filters_the_kind_is_what_payment_type_says() {
        let kind = |metadata: &str| {
            post(&format!(r#""metadata": {metadata}"#))
                .unwrap()
                .payment_kind()
        };
        assert_eq!(kind(r#"{"paymentType": "Hourly"}"#), Some(PaymentKind::Hourly));
        assert_eq!(
            kind(r#"{"paymentType": "Fixed-price"}"#),
            Some(PaymentKind::Fixed)
        );
        assert_eq!(kind(r#"{"paymentType": "FIXED"}"#), Some(PaymentKind::Fixed));
        assert_eq!(kind(r#"{"paymentType": "Retainer"}"#), None);
        assert_eq!(kind(r#"{"hourlyRate": {"min": 5}}"#), None);
    }

    #[test]
    fn for_bids_a_job_without_payment_type_is_hourly_by_its_range_then_fixed_by_its_price_else_hourly() {
        let kind = |metadata: &str| post(&format!(r#""metadata": {metadata}"#)).unwrap().bid_kind();
        assert_eq!(
            kind(r#"{"paymentType": "Fixed", "hourlyRate": {"min": 5}}"#),
            PaymentKind::Fixed
        );
        assert_eq!(
            kind(r#"{"hourlyRate": {"max": 5}, "fixedPrice": 9}"#),
            PaymentKind::Hourly
        );
        assert_eq!(
            kind(r#"{"hourlyRate": {"max": null}, "fixedPrice": 9}"#),
            PaymentKind::Fixed
        );
        assert_eq!(kind("null"), PaymentKind::Hourly);
    }

    #[test]
    fn weekly_hours_are_read_from_hours_else_from_an_hours_text_in_duration() {
        let hours = |metadata: &str| {
            let post = post(&format!(r#""metadata": {metadata}"#)).unwrap();
            post.weekly_hours().map(str::to_owned)
        };
        assert_eq!(
            hours(r#"{"hours": "A", "duration": "Less than 30 hrs/week"}"#).as_deref(),
            Some("A")
        );
        assert_eq!(
            hours(r#"{"duration": "Less than 30 hrs/week"}"#).as_deref(),
            Some("Less than 30 hrs/week")
        );
        assert_eq!(hours(r#"{"duration": "1 to 3 months"}"#), None);
    }

    #[test]
    fn open_jobs_are_the_clients_count_else_the_listed_ones() {
        assert_eq!(
            post(r#""clientInfo": {"openJobs": 4}, "openJobs": []"#)
                .unwrap()
                .client_open_jobs(),
            Some(4)
        );
        assert_eq!(
            post(r#""openJobs": [{"id": "2"}]"#).unwrap().client_open_jobs(),
            Some(1)
        );
        assert_eq!(post("").unwrap().client_open_jobs(), None);
    }
}
