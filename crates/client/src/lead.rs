//! Leads as the service lists and delivers them. Fields that the service adds later are kept in [`Lead::extra`] or
//! ignored, and absent fields are `None`, empty or false.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::open_enum::open_enum;

/// A job matched to a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Lead {
    /// The stable id.
    pub id: String,
    /// Where the lead stands; an event's lead has the status of the moment of sending.
    #[serde(default)]
    pub status: Option<LeadStatus>,
    /// Why a bid was skipped or failed.
    #[serde(default)]
    pub reason: Option<LeadReason>,
    /// When the service created the lead, in UNIX milliseconds.
    #[serde(default)]
    pub created_at: Option<i64>,
    /// When the job was posted, in UNIX milliseconds.
    #[serde(default)]
    pub datetime: Option<i64>,
    /// The job's title.
    pub title: String,
    /// The job's full description.
    #[serde(default)]
    pub description: Option<String>,
    /// The job's address at the marketplace.
    pub job_url: String,
    /// The job's category.
    #[serde(default)]
    pub category: Option<String>,
    /// The marketplace's occupation of the job.
    #[serde(default)]
    pub occupation: Option<String>,
    /// The skills tagged on the job.
    #[serde(default, deserialize_with = "null_as_default")]
    pub skills: Vec<Skill>,
    /// The screening questions. A bid quotes each byte for byte.
    #[serde(default, deserialize_with = "null_as_default")]
    pub questions: Vec<String>,
    /// The type of project.
    #[serde(default)]
    pub project_type: Option<String>,
    /// For example `1 to 3 months`.
    #[serde(default)]
    pub project_duration: Option<String>,
    /// Whether the marketplace features the job.
    #[serde(default)]
    pub is_featured: Option<bool>,
    /// Who may apply; not where the client is.
    #[serde(default)]
    pub region: Option<Region>,
    /// Experience, payment and hours.
    #[serde(default, deserialize_with = "null_as_default")]
    pub metadata: LeadMetadata,
    /// Who posted the job.
    #[serde(default, deserialize_with = "null_as_default")]
    pub client_info: ClientInfo,
    /// Files on the job post.
    #[serde(default, deserialize_with = "null_as_default")]
    pub attachments: Vec<JobAttachment>,
    /// What the job demands of bidders.
    #[serde(default)]
    pub vendor_qualifications: Option<VendorQualifications>,
    /// Reviews of the client, as the marketplace has them.
    #[serde(default, deserialize_with = "null_as_default")]
    pub client_reviews: Vec<Value>,
    /// The client's other open jobs.
    #[serde(default, deserialize_with = "null_as_default")]
    pub open_jobs: Vec<OpenJob>,
    /// The campaign whose filters the job matches.
    pub campaign_id: String,
    /// The campaign's name.
    #[serde(default)]
    pub campaign_name: Option<String>,
    /// The campaign's organization.
    pub organization_id: String,
    /// The marketplace's id of the proposal, once there is one.
    #[serde(default)]
    pub proposal_id: Option<String>,
    /// The address of the bid operation; absent from the lead of an event, which has it beside the lead.
    #[serde(default)]
    pub bid_url: Option<String>,
    /// The address of the reject operation; absent from the lead of an event, which has it beside the lead.
    #[serde(default)]
    pub reject_url: Option<String>,
    /// Every other field.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

open_enum! {
    /// Where a lead stands.
    LeadStatus {
        /// Waits for a decision.
        New = "new",
        /// A bid is queued.
        Queued = "queued",
        /// The proposal was submitted.
        Submitted = "submitted",
        /// The bidding configuration said not to bid.
        Skipped = "skipped",
        /// The marketplace refused the proposal, or its deadline passed.
        Failed = "failed",
        /// The lead was rejected.
        Rejected = "rejected",
    }
}

open_enum! {
    /// Who the marketplace allows to apply.
    Region {
        /// Everyone.
        Worldwide = "Worldwide",
        /// Bidders in the United States.
        UsOnly = "USOnly",
        /// Bidders in the United Kingdom.
        UkOnly = "UKOnly",
    }
}

/// Why a bid was skipped or failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LeadReason {
    /// For example `job_closed`.
    pub code: String,
    /// The reason in words.
    #[serde(default)]
    pub message: String,
}

/// A skill tagged on a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Skill {
    /// Its name.
    pub name: String,
}

/// Experience, payment and hours of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct LeadMetadata {
    /// `Entry level`, `Intermediate` or `Expert`.
    pub experience_level: Option<String>,
    /// `Hourly`, `Fixed-price` or `Fixed`.
    pub payment_type: Option<String>,
    /// The client's budget per hour.
    pub hourly_rate: Option<HourlyRange>,
    /// USD.
    pub fixed_price: Option<f64>,
    /// A text such as the project's length.
    pub duration: Option<String>,
    /// A text such as the hours per week.
    pub hours: Option<String>,
}

/// A budget in USD per hour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct HourlyRange {
    /// The lower end.
    pub min: Option<f64>,
    /// The upper end.
    pub max: Option<f64>,
}

/// Who posted a job; a value is `None` if the marketplace supplied none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "the names are the specification's and say what they hold"
)]
pub struct ClientInfo {
    pub is_payment_verified: Option<bool>,
    pub is_phone_verified: Option<bool>,
    /// 0 to 5.
    pub rating: Option<f64>,
    pub number_of_reviews: Option<i64>,
    pub country: Option<String>,
    pub region: Option<String>,
    /// USD.
    pub total_spent: Option<f64>,
    pub number_of_hires: Option<i64>,
    pub jobs_posted: Option<i64>,
    /// Percent of the posted jobs that ended in a hire.
    pub hire_rate: Option<f64>,
    /// A date, or a moment in ISO 8601.
    pub member_since: Option<String>,
    pub active_engagements: Option<i64>,
    /// How many other open jobs the client has.
    pub open_jobs: Option<i64>,
    pub company_industry: Option<String>,
    pub company_size: Option<String>,
    pub enterprise_client: Option<bool>,
    /// USD.
    pub avg_hourly_rate_paid: Option<f64>,
    pub company_id: Option<String>,
}

/// A file on a job post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct JobAttachment {
    /// Its name.
    pub file_name: String,
    /// Its size in bytes.
    #[serde(default)]
    pub length: Option<u64>,
    /// A path relative to the marketplace's address.
    pub uri: String,
}

/// What a job demands of bidders.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct VendorQualifications {
    /// A restriction of the bidder's place, as the marketplace has it.
    pub location: Option<Value>,
    /// Agencies, independent bidders, or both.
    pub talent_type: Option<TalentType>,
    /// The level of English asked for.
    pub english_level: Option<EnglishLevel>,
    /// USD that the bidder must have earned.
    pub minimum_earnings: Option<f64>,
    /// The lowest score with which one can bid.
    pub job_success_score: Option<f64>,
    /// Whether bidders with little history are welcome.
    pub include_rising_talent: Option<bool>,
}

open_enum! {
    /// Whom a job is for.
    TalentType {
        /// Agencies.
        Agency = "Agency",
        /// Single persons.
        Independent = "Independent",
        /// Both.
        Any = "ANY",
    }
}

open_enum! {
    /// A level of English.
    EnglishLevel {
        /// Basic.
        Basic = "BASIC",
        /// Conversational.
        Conversational = "CONVERSATIONAL",
        /// Fluent.
        Fluent = "FLUENT",
        /// Native or bilingual.
        NativeOrBilingual = "NATIVE_OR_BILINGUAL",
    }
}

/// Another open job of the client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct OpenJob {
    /// The job's id.
    pub id: Option<String>,
    /// The marketplace's opaque cipher of the job.
    pub ciphertext: Option<String>,
    /// The job's title.
    pub title: Option<String>,
    /// Hourly or fixed-price.
    #[serde(rename = "type")]
    pub kind: Option<OpenJobKind>,
    /// Whether it is open to a private talent cloud only.
    pub is_ptc_private: Option<bool>,
}

open_enum! {
    /// How a job is paid.
    OpenJobKind {
        /// By the hour.
        Hourly = "HOURLY",
        /// At a fixed price.
        Fixed = "FIXED",
    }
}

/// One page of a campaign's leads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LeadPage {
    /// The leads, newest first.
    pub data: Vec<Lead>,
    /// Matching leads on all pages.
    pub total: u64,
    /// The offset used.
    pub offset: u64,
    /// The limit used.
    pub limit: u64,
    /// Whether there are leads after this page.
    pub has_more: bool,
}

fn null_as_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn least() -> Value {
        json!({"id": "ld_1", "title": "T", "jobUrl": "http://m/1", "campaignId": "c", "organizationId": "o"})
    }

    #[test]
    fn a_lead_needs_only_what_the_specification_requires() {
        let lead: Lead = serde_json::from_value(least()).unwrap();
        assert_eq!(
            (lead.id.as_str(), lead.questions.len(), lead.status),
            ("ld_1", 0, None)
        );
    }

    #[test]
    fn null_is_an_absent_value() {
        let mut value = least();
        for name in [
            "skills",
            "questions",
            "metadata",
            "clientInfo",
            "attachments",
            "openJobs",
            "region",
            "datetime",
        ] {
            value[name] = Value::Null;
        }
        let lead: Lead = serde_json::from_value(value).unwrap();
        assert_eq!((lead.skills.len(), lead.metadata), (0, LeadMetadata::default()));
    }

    #[test]
    fn what_the_client_does_not_know_is_kept() {
        let mut value = least();
        value["status"] = json!("parked");
        value["region"] = json!("EUOnly");
        value["budgetNote"] = json!({"approved": true});
        value["clientInfo"] = json!({"country": "Norway", "mood": "good"});
        let lead: Lead = serde_json::from_value(value).unwrap();
        assert_eq!(lead.status, Some(LeadStatus::Other("parked".to_owned())));
        assert_eq!(lead.region.as_ref().map(Region::as_str), Some("EUOnly"));
        assert_eq!(lead.extra["budgetNote"]["approved"], true);
        assert_eq!(lead.client_info.country.as_deref(), Some("Norway"));
        let again = serde_json::to_value(&lead).unwrap();
        assert_eq!(again["status"], "parked");
    }
}
