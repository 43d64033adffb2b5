//! Parameters, requests, answers and errors as the interface description shows them.
//!
//! These types describe; reading and writing is done elsewhere (`bid_body`, `errors`, the domain's models).

#![expect(
    dead_code,
    reason = "types that describe JSON which is read and written elsewhere"
)]

use serde::Serialize;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{IntoParams, IntoResponses, PartialSchema, ToSchema};

use super::lead_schemas::{Lead, LeadReason};

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct CampaignPath {
    /// A campaign of the key's organization.
    campaign_id: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct LeadPath {
    /// A campaign of the key's organization.
    campaign_id: String,
    /// A lead of the campaign.
    lead_id: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// Leads to skip. A value below the minimum is raised to it, one that is no integer replaced by the default.
    #[param(required = false, minimum = 0, default = 0)]
    offset: i64,
    /// Leads to return. Values out of bounds are moved to the nearer bound, what is no integer becomes the default.
    #[param(required = false, minimum = 1, maximum = 100, default = 100)]
    limit: i64,
}

/// One page of a campaign's leads.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LeadPage {
    data: Vec<Lead>,
    /// Matching leads across all pages.
    #[schema(minimum = 0)]
    total: i64,
    /// The offset used.
    #[schema(minimum = 0)]
    offset: i64,
    /// The limit used.
    #[schema(minimum = 1, maximum = 100)]
    limit: i64,
    /// True while `offset` and the length of `data` are below `total`.
    has_more: bool,
}

/// A bid.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SubmitBidRequest {
    /// The proposal's body, submitted as it is. Not blank.
    #[schema(min_length = 1, pattern = r"\S")]
    cover_letter: String,
    /// One entry a screening question; empty when the lead has none.
    question_answer_pairs: Vec<QuestionAnswerPair>,
    /// Validate and simulate only.
    #[schema(required = false, default = false)]
    dry_run: bool,
    #[schema(required = false)]
    bidding_config: BiddingConfigOverride,
}

/// One screening question with its answer.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct QuestionAnswerPair {
    /// A byte-identical copy of one of the lead's questions.
    question: String,
    /// Submitted as written.
    answer: String,
}

/// Overrides for this bid. A field that is left out falls back to the lead's configuration, then the campaign's.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BiddingConfigOverride {
    #[schema(required = false)]
    bid_with_warning: BidOrSkip,
    #[schema(required = false)]
    bidding_hourly_rate_strategy: BiddingHourlyRateStrategy,
    /// Percent of the reference rate; required, somewhere, by the `match_` strategies.
    #[schema(minimum = 0, maximum = 100)]
    bidding_hourly_rate_percentage: Option<f64>,
    /// USD per hour; required, somewhere, by `fixed_rate`.
    #[schema(exclusive_minimum = 0)]
    bidding_fixed_hourly_rate: Option<f64>,
    /// USD per hour; the floor of `smart_bidding`.
    #[schema(exclusive_minimum = 0)]
    bidding_min_hourly_rate: Option<f64>,
    boosting_enabled: Option<bool>,
    /// Target boosted position in the ranking.
    #[schema(minimum = 1, maximum = 4)]
    boost_down_to_nth_place: Option<i64>,
    /// Outbid the previous top bid by this many connects.
    #[schema(minimum = 0)]
    connects_above_previous: Option<i64>,
    /// Connects; not above `maximumBoost`.
    #[schema(minimum = 0)]
    min_boost: Option<i64>,
    /// Connects.
    #[schema(minimum = 0)]
    maximum_boost: Option<i64>,
    #[schema(required = false)]
    insufficient_boost_connects_action: SkipOrBidWithoutBoost,
    #[schema(required = false)]
    already_hired_action: BidOrSkip,
}

/// What to do all the same.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum BidOrSkip {
    Bid,
    Skip,
}

/// How the hourly rate is chosen.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum BiddingHourlyRateStrategy {
    MatchJobBudget,
    MatchProfileRate,
    FixedRate,
    SmartBidding,
}

/// What to do when the account lacks connects to boost.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum SkipOrBidWithoutBoost {
    Skip,
    BidWithoutBoost,
}

/// A rejection.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RejectLeadRequest {
    /// Shown in the web app.
    #[schema(required = false, max_length = 500)]
    reason: String,
}

/// A bid or rejection that was taken.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LeadActionAck {
    success: bool,
    lead_id: String,
    campaign_id: String,
    organization_id: String,
    /// Present and true only for a dry run.
    #[schema(required = false)]
    dry_run: bool,
}

/// Files for a lead's proposal.
#[derive(Serialize, ToSchema)]
pub(crate) struct UploadRequest {
    /// Repeated once per file, each at most 25 MB: pdf, png, jpg or jpeg, gif, webp, doc, docx, zip, txt. The part's
    /// type, the name's extension and the content must agree.
    #[schema(value_type = Vec<UploadedFile>, min_items = 1, max_items = 5)]
    files: Vec<String>,
}

/// One file.
#[derive(Serialize, ToSchema)]
#[schema(value_type = String, format = Binary)]
struct UploadedFile(String);

/// A file uploaded for a lead's proposal.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LeadAttachment {
    id: String,
    original_name: String,
    /// Without path, control or reserved characters.
    #[schema(required = false)]
    safe_name: String,
    content_type: String,
    size_bytes: i64,
    #[schema(required = false)]
    storage_path: String,
    /// Hexadecimal.
    #[schema(required = false)]
    sha256: String,
    /// UNIX ms.
    #[schema(required = false)]
    created_at: i64,
}

/// The error of every failure that has no shape of its own.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StandardError {
    status_code: i32,
    message: String,
    /// The status text.
    #[schema(required = false)]
    error: String,
    /// What is wrong with the body's shape.
    #[schema(required = false)]
    errors: Vec<ShapeFault>,
}

/// One fault in a body's shape.
#[derive(Serialize, ToSchema)]
struct ShapeFault {
    /// Names and indexes down to the value; empty for the whole body.
    path: Vec<String>,
    message: String,
}

/// A bid breaks the bidding rules.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ValidationError {
    #[schema(required = false)]
    status_code: i32,
    #[schema(required = false)]
    error: String,
    message: String,
    errors: Vec<ValidationFault>,
}

/// One broken rule.
#[derive(Serialize, ToSchema)]
struct ValidationFault {
    /// Names and indexes down to the value.
    #[schema(required = false)]
    path: Vec<String>,
    #[schema(required = false)]
    code: ValidationCode,
    #[schema(required = false)]
    message: String,
    /// The accepted values, where the set is closed.
    #[schema(required = false)]
    options: Vec<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ValidationCode {
    QuestionMismatch,
    RatePercentageRequired,
    FixedRateRequired,
}

/// The plan's proposals for the period are used up.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QuotaError {
    #[schema(required = false)]
    status_code: i32,
    #[schema(required = false)]
    error: String,
    message: String,
    code: QuotaCode,
    #[schema(required = false)]
    current_usage: i64,
    #[schema(required = false)]
    limit: i64,
    /// UNIX seconds.
    #[schema(required = false)]
    current_period_end: i64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum QuotaCode {
    ProposalLimitReached,
}

/// What a bid's 400 carries. A `ValidationError` of this service is a `StandardError` too: hence any, not one.
pub(crate) struct BidError;

impl PartialSchema for BidError {
    fn schema() -> RefOr<Schema> {
        let any = AnyOfBuilder::new()
            .item(Ref::from_schema_name("ValidationError"))
            .item(Ref::from_schema_name("StandardError"))
            .build();
        Schema::AnyOf(any).into()
    }
}

impl ToSchema for BidError {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push(("ValidationError".to_owned(), ValidationError::schema()));
        ValidationError::schemas(schemas);
        schemas.push(("StandardError".to_owned(), StandardError::schema()));
        StandardError::schemas(schemas);
    }
}

/// The key is missing or invalid, or there is no active paid subscription.
#[derive(IntoResponses)]
#[response(status = 401, headers(("WWW-Authenticate" = String, description = "`Bearer`")))]
pub(crate) struct Unauthorized(StandardError);

/// The campaign or the lead does not exist in the key's organization.
#[derive(IntoResponses)]
#[response(status = 404)]
pub(crate) struct NotFound(StandardError);

/// The body is above 3 MB.
#[derive(IntoResponses)]
#[response(status = 413)]
pub(crate) struct TooLarge(StandardError);

/// The body's media type is not the operation's.
#[derive(IntoResponses)]
#[response(status = 415)]
pub(crate) struct UnsupportedMediaType(StandardError);

/// The service or its database is away.
#[derive(IntoResponses)]
#[response(status = 503, headers(("Retry-After" = i32, description = "Seconds.")))]
pub(crate) struct Unavailable(StandardError);

/// Something unforeseen; the message tells no internals.
#[derive(IntoResponses)]
#[response(status = 500)]
pub(crate) struct Unforeseen(StandardError);

/// The envelope of a `job.new`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobNewEnvelope {
    /// The delivery's id.
    id: String,
    event: JobNewEvent,
    version: String,
    /// UNIX seconds.
    created_at: i64,
    data: JobNewData,
}

#[derive(Serialize, ToSchema)]
enum JobNewEvent {
    #[serde(rename = "job.new")]
    JobNew,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct JobNewData {
    organization_id: String,
    campaign_id: String,
    lead_id: String,
    #[schema(format = "uri")]
    bid_url: String,
    #[schema(format = "uri")]
    reject_url: String,
    lead: Lead,
}

/// The envelope of a `bid_complete`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BidCompleteEnvelope {
    /// The delivery's id.
    id: String,
    event: BidCompleteEvent,
    version: String,
    /// UNIX seconds.
    created_at: i64,
    data: BidCompleteData,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum BidCompleteEvent {
    BidComplete,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct BidCompleteData {
    organization_id: String,
    campaign_id: String,
    lead_id: String,
    dry_run: bool,
    outcome: BidOutcome,
    /// Null for a submitted bid.
    reason: Option<LeadReason>,
    /// Null unless submitted for real.
    proposal_id: Option<String>,
    /// UNIX ms.
    submitted_at: Option<i64>,
    /// Null when a real bid ended before an amount was known.
    terms: Option<Terms>,
    boost_connects: Option<i64>,
    connects_spent: i64,
    connects_cost_usd: f64,
    #[schema(format = "uri")]
    job_url: String,
    title: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum BidOutcome {
    Submitted,
    Skipped,
    Failed,
}

/// What the proposal asks for.
#[derive(Serialize, ToSchema)]
struct Terms {
    r#type: TermsType,
    /// USD; per hour for an hourly job. Null where a dry run cannot know it.
    amount: Option<f64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum TermsType {
    Hourly,
    Fixed,
}
