//! The Lead object and its parts (specification, Resources). Extra properties are allowed in all of them, and what
//! is required is what the specification requires; the service sends more.

#![expect(
    dead_code,
    reason = "types that describe JSON which is written elsewhere, byte by byte"
)]

use serde::Serialize;
use utoipa::ToSchema;

/// A job matched to a campaign.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Lead {
    /// Stable; `lead_id` in paths.
    id: String,
    #[schema(required = false)]
    status: LeadStatus,
    /// Why it was skipped or failed; absent otherwise.
    #[schema(required = false)]
    reason: LeadReason,
    /// When the job became a match of the campaign, UNIX ms.
    #[schema(required = false)]
    created_at: i64,
    /// When the job was posted, UNIX ms.
    #[schema(required = false)]
    datetime: i64,
    title: String,
    #[schema(required = false)]
    description: String,
    #[schema(format = "uri")]
    job_url: String,
    category: Option<String>,
    occupation: Option<String>,
    #[schema(required = false)]
    skills: Vec<Skill>,
    /// Screening questions; a bid quotes them byte for byte.
    #[schema(required = false)]
    questions: Vec<String>,
    project_type: Option<String>,
    project_duration: Option<String>,
    is_featured: Option<bool>,
    region: Option<String>,
    #[schema(required = false)]
    metadata: LeadMetadata,
    #[schema(required = false)]
    client_info: LeadClientInfo,
    attachments: Option<Vec<JobAttachment>>,
    /// What the marketplace asks of a bidder.
    #[schema(value_type = Option<Object>)]
    vendor_qualifications: Option<()>,
    #[schema(value_type = Option<Vec<Object>>)]
    client_reviews: Option<()>,
    open_jobs: Option<Vec<OpenJob>>,
    campaign_id: String,
    campaign_name: Option<String>,
    organization_id: String,
    /// Set once a proposal exists.
    proposal_id: Option<String>,
    /// Absent in a webhook's lead: there it stands beside it.
    #[schema(required = false, format = "uri")]
    bid_url: String,
    /// Absent in a webhook's lead: there it stands beside it.
    #[schema(required = false, format = "uri")]
    reject_url: String,
}

/// Where a lead stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum LeadStatus {
    New,
    Queued,
    Submitted,
    Skipped,
    Failed,
    Rejected,
}

/// Why a bid was skipped or failed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LeadReason {
    code: String,
    message: String,
}

/// A skill tagged on the job.
#[derive(Serialize, ToSchema)]
struct Skill {
    name: String,
}

/// A file on the job post.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct JobAttachment {
    file_name: String,
    length: Option<i64>,
    /// A path relative to the marketplace's base address.
    uri: String,
}

/// Another open posting of the client's.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct OpenJob {
    id: Option<String>,
    ciphertext: Option<String>,
    title: Option<String>,
    /// `HOURLY` or `FIXED`.
    r#type: Option<String>,
    is_ptc_private: Option<bool>,
}

/// Null where the marketplace supplied nothing.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LeadMetadata {
    experience_level: Option<String>,
    payment_type: Option<String>,
    hourly_rate: Option<HourlyRange>,
    /// USD.
    fixed_price: Option<f64>,
    duration: Option<String>,
    hours: Option<String>,
}

/// The client's budget, USD per hour.
#[derive(Serialize, ToSchema)]
struct HourlyRange {
    min: Option<f64>,
    max: Option<f64>,
}

/// Null where the marketplace supplied nothing.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LeadClientInfo {
    is_payment_verified: Option<bool>,
    is_phone_verified: Option<bool>,
    /// 0 to 5.
    rating: Option<f64>,
    number_of_reviews: Option<i64>,
    country: Option<String>,
    region: Option<String>,
    /// USD.
    total_spent: Option<f64>,
    number_of_hires: Option<i64>,
    jobs_posted: Option<i64>,
    /// Percent.
    hire_rate: Option<f64>,
    member_since: Option<String>,
    active_engagements: Option<i64>,
    open_jobs: Option<i64>,
    company_industry: Option<String>,
    company_size: Option<String>,
    enterprise_client: Option<bool>,
    avg_hourly_rate_paid: Option<f64>,
    company_id: Option<String>,
}
