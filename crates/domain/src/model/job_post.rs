//! A job post as the marketplace's feed carries it.
//!
//! Owns the typed form of a post and what follows from its fields: how it pays, its weekly hours, the client's open
//! jobs. Does not own the post's raw JSON, which is stored and listed as served, nor the lead made from it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::object::{Object, optional_object, optional_objects};
use super::{JobAddress, JobId, PaymentKind, Timestamp, number, sanitize_for_log};

/// One job post of the marketplace's feed (`JobPost` of the marketplace protocol).
///
/// All fields but the first six may be null or missing, which means that the marketplace does not say. Unknown
/// fields are ignored. A field of the wrong type makes the whole post faulty, and a faulty post is skipped (decision
/// D2, `docs/rules.md#d2`). Texts such as `paymentType` are kept as served, since the marketplace may write new
/// values.
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
    /// The marketplace's id of the job.
    pub id: JobId,
    /// The marketplace's opaque second id, as it stands in the job's address.
    pub ciphertext: String,
    /// The job's title, plain text.
    pub title: String,
    /// The job's description, plain text.
    pub description: String,
    /// The job's page on the marketplace as served; see [`JobAddress`].
    pub url: String,
    /// When the client posted the job, in UNIX milliseconds.
    #[serde(deserialize_with = "posted_at")]
    pub posted_at: Timestamp,
    /// The job's category, such as `Web Development`.
    pub category: Option<String>,
    /// The occupation within the category.
    pub occupation: Option<String>,
    /// The skills tagged on the job.
    #[serde(default, deserialize_with = "optional_objects")]
    pub skills: Option<Vec<Skill>>,
    /// Screening questions; a bid quotes them verbatim.
    pub questions: Option<Vec<String>>,
    /// Such as `One-time project`.
    pub project_type: Option<String>,
    /// Such as `1 to 3 months`.
    pub project_duration: Option<String>,
    /// Whether the client paid to have the job featured.
    pub is_featured: Option<bool>,
    /// Who the marketplace allows to apply (`Worldwide`, `USOnly`, `UKOnly`), not where the client is.
    pub region: Option<String>,
    /// The job's terms.
    #[serde(default, deserialize_with = "optional_object")]
    pub metadata: Option<JobMetadata>,
    /// What the marketplace says about the client.
    #[serde(default, deserialize_with = "optional_object")]
    pub client_info: Option<ClientInfo>,
    /// The files on the job post.
    #[serde(default, deserialize_with = "optional_objects")]
    pub attachments: Option<Vec<JobAttachment>>,
    /// What the client asks of bidders.
    #[serde(default, deserialize_with = "optional_object")]
    pub vendor_qualifications: Option<VendorQualifications>,
    /// The client's reviews, as the marketplace writes them.
    pub client_reviews: Option<Vec<Value>>,
    /// The client's other open posts.
    #[serde(default, deserialize_with = "optional_objects")]
    pub open_jobs: Option<Vec<OpenJob>>,
}

fn posted_at<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    number::whole_number(deserializer).map(Timestamp::from_millis)
}

/// A skill tagged on a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    /// The skill's name, such as `Rust`.
    pub name: String,
}

/// A job's terms (`LeadMetadata` of the specification). A missing field is unknown.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobMetadata {
    /// Such as `Entry Level`, `Intermediate` or `Expert`.
    pub experience_level: Option<String>,
    /// `Hourly`, `Fixed-price` or `Fixed`; see [`JobPost::payment_kind`].
    pub payment_type: Option<String>,
    /// The client's hourly budget.
    #[serde(deserialize_with = "optional_object")]
    pub hourly_rate: Option<HourlyRange>,
    /// The price of a fixed-price job, in USD.
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
    /// The lower end; `None` if the client names none.
    pub min: Option<f64>,
    /// The upper end; `None` if the client names none.
    pub max: Option<f64>,
}

impl HourlyRange {
    /// Whether at least one end is known.
    pub fn is_known(self) -> bool {
        self.min.is_some() || self.max.is_some()
    }
}

/// What the marketplace says about a job's client (`LeadClientInfo` of the specification). A missing field is
/// unknown.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientInfo {
    /// Whether the client's payment method is verified.
    pub is_payment_verified: Option<bool>,
    /// Whether the client's phone number is verified.
    pub is_phone_verified: Option<bool>,
    /// The average feedback score, 0 to 5.
    pub rating: Option<f64>,
    /// How many reviews the client has received.
    #[serde(deserialize_with = "number::optional_whole")]
    pub number_of_reviews: Option<i64>,
    /// The client's country, as the marketplace writes it.
    pub country: Option<String>,
    /// The client's region, as the marketplace writes it.
    pub region: Option<String>,
    /// Lifetime spending in USD.
    pub total_spent: Option<f64>,
    /// How many freelancers the client has hired.
    #[serde(deserialize_with = "number::optional_whole")]
    pub number_of_hires: Option<i64>,
    /// How many jobs the client has posted.
    #[serde(deserialize_with = "number::optional_whole")]
    pub jobs_posted: Option<i64>,
    /// The percentage of posted jobs that ended in a hire, 0 to 100.
    pub hire_rate: Option<f64>,
    /// Since when the client is a member: a date or an ISO 8601 timestamp, as the marketplace writes it.
    pub member_since: Option<String>,
    /// How many engagements of the client are active.
    #[serde(deserialize_with = "number::optional_whole")]
    pub active_engagements: Option<i64>,
    /// How many other jobs the client has open; see [`JobPost::client_open_jobs`].
    #[serde(deserialize_with = "number::optional_whole")]
    pub open_jobs: Option<i64>,
    /// The industry of the client's company.
    pub company_industry: Option<String>,
    /// The size of the client's company, as the marketplace writes it.
    pub company_size: Option<String>,
    /// Whether the client is an enterprise customer of the marketplace.
    pub enterprise_client: Option<bool>,
    /// What the client has paid on average, in USD per hour.
    pub avg_hourly_rate_paid: Option<f64>,
    /// The marketplace's id of the client's company.
    pub company_id: Option<String>,
}

/// A file on the job post.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobAttachment {
    /// The file's name.
    pub file_name: Option<String>,
    /// The file's size in bytes.
    #[serde(deserialize_with = "number::optional_whole")]
    pub length: Option<i64>,
    /// The file's address, relative to the marketplace's base address.
    pub uri: Option<String>,
}

/// What the client asks of bidders. A missing field asks for nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VendorQualifications {
    /// A location restriction, as the marketplace writes it.
    pub location: Option<Value>,
    /// `Agency`, `Independent` or `ANY`.
    pub talent_type: Option<String>,
    /// `FLUENT`, `CONVERSATIONAL`, `NATIVE_OR_BILINGUAL` or `BASIC`.
    pub english_level: Option<String>,
    /// What a freelancer must have earned, in USD.
    pub minimum_earnings: Option<f64>,
    /// The lowest job success score with which a freelancer can bid, 0 to 100.
    pub job_success_score: Option<f64>,
    /// Whether rising talent may bid.
    pub include_rising_talent: Option<bool>,
}

/// Another open post of the job's client.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OpenJob {
    /// The marketplace's id of that job.
    pub id: Option<String>,
    /// The marketplace's opaque second id of that job.
    pub ciphertext: Option<String>,
    /// That job's title.
    pub title: Option<String>,
    /// `HOURLY` or `FIXED`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Whether that job is open to a private talent cloud only.
    pub is_ptc_private: Option<bool>,
}

impl JobPost {
    /// Reads one post from its JSON text.
    ///
    /// # Errors
    /// The first fault, with the path to it: malformed JSON, a missing field, or a value of the wrong type.
    pub fn parse(json: &str) -> Result<Self, JobPostError> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let read = serde_path_to_error::deserialize(&mut deserializer);
        let Object(post) = read.map_err(|error| {
            let path = error.path().to_string();
            let path = if path == "." { "" } else { &path };
            JobPostError::new(path, &error.inner().to_string())
        })?;
        deserializer
            .end()
            .map_err(|error| JobPostError::new("", &error.to_string()))?;
        Ok(post)
    }

    /// Reads an entry of the feed: a post whose `url` is a [`JobAddress`] (decision D2).
    ///
    /// # Errors
    /// As [`parse`](Self::parse) reports them, and a `url` that leads somewhere else.
    pub fn parse_feed_entry(json: &str) -> Result<Self, JobPostError> {
        let post = Self::parse(json)?;
        match JobAddress::parse(&post.url) {
            Ok(_) => Ok(post),
            Err(fault) => Err(JobPostError {
                path: "url".to_owned(),
                message: fault.to_string(),
            }),
        }
    }

    /// How the job pays, by its `paymentType` alone; `None` without one or with an unknown one.
    pub fn payment_kind(&self) -> Option<PaymentKind> {
        PaymentKind::from_text(self.metadata.as_ref()?.payment_type.as_deref()?)
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

    /// The hours-per-week text: `metadata.hours`, or `metadata.duration` if that is such a text.
    ///
    /// Some payloads hold an hours-per-week text under `duration` (specification, `LeadMetadata`): a text with the
    /// word `hour`, `hours`, `hr` or `hrs`.
    pub fn weekly_hours(&self) -> Option<&str> {
        let metadata = self.metadata.as_ref()?;
        let names_hours = |text: &&str| {
            text.split(|c: char| !c.is_ascii_alphabetic()).any(|word| {
                ["hour", "hours", "hr", "hrs"]
                    .iter()
                    .any(|unit| word.eq_ignore_ascii_case(unit))
            })
        };
        metadata
            .hours
            .as_deref()
            .or_else(|| metadata.duration.as_deref().filter(names_hours))
    }

    /// How many other jobs the client has open: `clientInfo.openJobs`, or else the length of `openJobs`.
    pub fn client_open_jobs(&self) -> Option<i64> {
        self.client_info
            .as_ref()
            .and_then(|client| client.open_jobs)
            .or_else(|| i64::try_from(self.open_jobs.as_ref()?.len()).ok())
    }
}

/// The most characters of an error's path, and of its message.
const MAX_ERROR_CHARS: usize = 300;

/// Why a text is not a [`JobPost`]. Path and message are one line each, of at most 300 characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}{}{message}", separator(.path))]
pub struct JobPostError {
    /// Where in the post, such as `skills[2].name`; empty for the post as a whole.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

impl JobPostError {
    /// The marketplace's own words may be in both, so they are cut.
    fn new(path: &str, message: &str) -> Self {
        Self {
            path: sanitize_for_log(path, MAX_ERROR_CHARS),
            message: sanitize_for_log(message, MAX_ERROR_CHARS),
        }
    }
}

fn separator(path: &str) -> &'static str {
    if path.is_empty() { "" } else { ": " }
}

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
    fn an_error_repeats_little_of_the_post() {
        let long = "a\n".repeat(100_000);
        let value = serde_json::to_string(&long).unwrap();
        for extra in [
            format!(r#""isFeatured": {value}"#),
            format!(r#""metadata": {{{value}: 1, "fixedPrice": []}}"#),
        ] {
            let error = post(&extra).unwrap_err();
            assert!(
                error.to_string().len() < 1_000,
                "{} bytes",
                error.to_string().len()
            );
            assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn optional_fields_may_be_missing_or_null_and_unknown_fields_are_ignored() {
        let missing = post("").unwrap();
        let null = post(
            r#""skills": null, "metadata": null, "clientInfo": null, "openJobs": null, "new": {"a": 1}"#,
        );
        assert_eq!(missing, null.unwrap());
    }

    #[test]
    fn a_list_of_values_is_not_accepted_as_an_object() {
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
    fn a_feed_entrys_url_is_a_path_or_a_web_address() {
        let entry = |url: &str| {
            let json = post("")
                .map(|post| JobPost {
                    url: url.to_owned(),
                    ..post
                })
                .unwrap();
            JobPost::parse_feed_entry(&serde_json::to_string(&json).unwrap())
        };
        assert!(entry("/jobs/~1").is_ok() && entry("https://www.market.test/jobs/~1").is_ok());
        let fault = entry("javascript:alert(1)").unwrap_err();
        assert_eq!(fault.path, "url");
        assert!(!fault.to_string().contains("alert"), "{fault}");
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
    fn a_post_needs_a_valid_id() {
        assert_eq!(JobPost::parse(r#"{"id": ""}"#).unwrap_err().path, "id");
    }

    #[test]
    fn the_payment_kind_is_what_payment_type_says() {
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
