//! The Lead object of the specification, made of a lead's own fields and its job's stored JSON.
//!
//! The job's values are copied as bytes; only the fields that the contract renames or replaces are rewritten.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{CampaignId, JobAddress, LeadId, LeadStatus, LeadWithJob, OrganizationId, Reason, Timestamp};

/// The addresses from which a lead's links are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    api_base: String,
    marketplace_base: Option<String>,
}

impl Links {
    /// `api_base` is `server.base_url`, `marketplace_base` is `marketplace.base_url`; trailing slashes are
    /// dropped.
    pub fn new(api_base: &str, marketplace_base: Option<&str>) -> Self {
        let trim = |url: &str| url.trim_end_matches('/').to_owned();
        Self {
            api_base: trim(api_base),
            marketplace_base: marketplace_base.map(trim),
        }
    }

    /// The address of the lead's bid operation.
    pub fn bid_url(&self, campaign: &CampaignId, lead: &LeadId) -> String {
        format!("{}/v1/campaigns/{campaign}/leads/{lead}/bid", self.api_base)
    }

    /// The address of the lead's reject operation.
    pub fn reject_url(&self, campaign: &CampaignId, lead: &LeadId) -> String {
        format!("{}/v1/campaigns/{campaign}/leads/{lead}/reject", self.api_base)
    }

    /// A post's `url` as a whole address; a path is relative to the marketplace's address. In place of a stored `url` that
    /// is no [`JobAddress`] stands the marketplace's own address.
    pub fn job_url(&self, url: &str) -> String {
        let marketplace = self.marketplace_base.as_deref();
        match JobAddress::parse(url) {
            Ok(address) => address.under(marketplace),
            Err(_) => format!("{}/", marketplace.unwrap_or_default()),
        }
    }
}

/// The two forms of a Lead object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeadForm {
    /// An item of List leads: with `bidUrl` and `rejectUrl`.
    Listed,
    /// The `lead` of a `job.new`, which has the links outside of the lead.
    Pushed,
}

/// Stored JSON that is not a job post; it was one when it was stored.
#[derive(Debug, thiserror::Error)]
#[error("the stored job is not a JobPost: {0}")]
pub struct CorruptJob(#[from] serde_json::Error);

/// Writes the Lead object (specification, Lead; contract section 5 on nulls; decision A5b on `status`).
///
/// Null `skills` and `questions` become `[]`, null `metadata` and `clientInfo` `{}`; other fields that the
/// marketplace leaves out are null.
///
/// # Errors
/// [`CorruptJob`] if the job's JSON is not a job post.
pub fn lead_document(
    LeadWithJob { lead, job_json }: &LeadWithJob,
    campaign_name: Option<&str>,
    links: &Links,
    form: LeadForm,
) -> Result<Box<RawValue>, CorruptJob> {
    let post: Post<'_> = serde_json::from_str(job_json)?;
    let listed = form == LeadForm::Listed;
    let document = Document {
        id: &lead.id,
        status: lead.status,
        reason: lead.reason.as_ref(),
        created_at: lead.created_at,
        job_url: links.job_url(&post.url),
        post,
        campaign_id: &lead.campaign_id,
        campaign_name,
        organization_id: &lead.organization_id,
        proposal_id: lead.proposal_id.as_deref(),
        bid_url: listed.then(|| links.bid_url(&lead.campaign_id, &lead.id)),
        reject_url: listed.then(|| links.reject_url(&lead.campaign_id, &lead.id)),
    };
    Ok(serde_json::value::to_raw_value(&document)?)
}

/// Checks that a Lead object can be written with the stored job.
///
/// # Errors
/// [`CorruptJob`] if the JSON is not a job post.
pub fn readable_job(job_json: &str) -> Result<(), CorruptJob> {
    let _: Post<'_> = serde_json::from_str(job_json)?;
    Ok(())
}

type Raw<'a> = Option<&'a RawValue>;

/// The fields of a stored post that a Lead object holds. Reading and writing use the same struct.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Post<'a> {
    #[serde(borrow, rename(serialize = "datetime"))]
    posted_at: &'a RawValue,
    #[serde(borrow)]
    title: &'a RawValue,
    #[serde(borrow)]
    description: &'a RawValue,
    #[serde(skip_serializing)]
    url: String,
    #[serde(borrow)]
    ciphertext: Raw<'a>,
    #[serde(borrow)]
    category: Raw<'a>,
    #[serde(borrow)]
    occupation: Raw<'a>,
    #[serde(borrow, serialize_with = "or_empty_list")]
    skills: Raw<'a>,
    #[serde(borrow, serialize_with = "or_empty_list")]
    questions: Raw<'a>,
    #[serde(borrow)]
    project_type: Raw<'a>,
    #[serde(borrow)]
    project_duration: Raw<'a>,
    #[serde(borrow)]
    is_featured: Raw<'a>,
    #[serde(borrow)]
    region: Raw<'a>,
    #[serde(borrow, serialize_with = "or_empty_object")]
    metadata: Raw<'a>,
    #[serde(borrow, serialize_with = "or_empty_object")]
    client_info: Raw<'a>,
    #[serde(borrow)]
    attachments: Raw<'a>,
    #[serde(borrow)]
    vendor_qualifications: Raw<'a>,
    #[serde(borrow)]
    client_reviews: Raw<'a>,
    #[serde(borrow)]
    open_jobs: Raw<'a>,
}

fn or_empty_list<S: Serializer>(value: &Raw<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => value.serialize(serializer),
        None => [(); 0].serialize(serializer),
    }
}

fn or_empty_object<S: Serializer>(value: &Raw<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => value.serialize(serializer),
        None => serde_json::Map::new().serialize(serializer),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    id: &'a LeadId,
    status: LeadStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a Reason>,
    created_at: Timestamp,
    job_url: String,
    #[serde(flatten)]
    post: Post<'a>,
    campaign_id: &'a CampaignId,
    campaign_name: Option<&'a str>,
    organization_id: &'a OrganizationId,
    proposal_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bid_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reject_url: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::{BiddingConfig, JobId, Lead};

    fn lead() -> Lead {
        Lead {
            id: LeadId::parse("ld_1").unwrap(),
            organization_id: OrganizationId::parse("org").unwrap(),
            campaign_id: CampaignId::parse("camp").unwrap(),
            job_id: JobId::parse("7").unwrap(),
            created_at: Timestamp::from_millis(5),
            status: LeadStatus::New,
            reason: None,
            rejection_reason: None,
            proposal_id: None,
            bidding_config: BiddingConfig::default(),
        }
    }

    const BARE: &str = r#"{"id":"7","ciphertext":"~7","title":"T","description":"D \u00e9",
        "url":"/jobs/~7","postedAt":1790000000000,"skills":null,"somethingNew":1}"#;

    fn document(job: &str, form: LeadForm) -> Value {
        let links = Links::new("http://127.0.0.1:8080/", Some("https://market.test/"));
        let lead = LeadWithJob {
            lead: lead(),
            job_json: job.to_owned(),
        };
        let document = lead_document(&lead, Some("C"), &links, form).unwrap();
        serde_json::from_str(document.get()).unwrap()
    }

    #[test]
    fn null_and_missing_lists_and_objects_become_empty_and_the_rest_stays_null() {
        let document = document(BARE, LeadForm::Listed);
        assert_eq!(document["skills"], json!([]));
        assert_eq!(document["questions"], json!([]));
        assert_eq!(document["metadata"], json!({}));
        assert_eq!(document["clientInfo"], json!({}));
        for null in [
            "category",
            "projectType",
            "region",
            "attachments",
            "openJobs",
            "proposalId",
            "isFeatured",
        ] {
            assert!(document.as_object().unwrap().contains_key(null), "{null}");
            assert_eq!(document[null], Value::Null, "{null}");
        }
    }

    #[test]
    fn a_listed_lead_carries_its_links_and_a_pushed_one_does_not() {
        let listed = document(BARE, LeadForm::Listed);
        assert_eq!(
            listed["bidUrl"],
            "http://127.0.0.1:8080/v1/campaigns/camp/leads/ld_1/bid"
        );
        assert_eq!(
            listed["rejectUrl"],
            "http://127.0.0.1:8080/v1/campaigns/camp/leads/ld_1/reject"
        );
        let pushed = document(BARE, LeadForm::Pushed);
        assert!(pushed.get("bidUrl").is_none() && pushed.get("rejectUrl").is_none());
    }

    #[test]
    fn a_relative_job_url_lies_under_the_marketplace() {
        assert_eq!(
            document(BARE, LeadForm::Listed)["jobUrl"],
            "https://market.test/jobs/~7"
        );
        let absolute = BARE.replace("/jobs/~7", "https://elsewhere.test/~7");
        assert_eq!(
            document(&absolute, LeadForm::Listed)["jobUrl"],
            "https://elsewhere.test/~7"
        );
    }

    /// Earlier versions stored whatever the feed said.
    #[test]
    fn a_stored_address_that_no_one_should_open_is_replaced() {
        for url in [
            "javascript:alert(1)",
            "data:text/html,x",
            "//evil.test/x",
            "/a\\u0000b",
            "",
        ] {
            let stored = BARE.replace("/jobs/~7", url);
            let shown = &document(&stored, LeadForm::Listed)["jobUrl"];
            assert_eq!(shown, "https://market.test/", "{url}");
        }
    }

    #[test]
    fn a_lead_carries_its_status_and_its_jobs_times() {
        let document = document(BARE, LeadForm::Pushed);
        assert_eq!(document["status"], "new");
        assert_eq!(document["createdAt"], 5);
        assert_eq!(document["datetime"], 1_790_000_000_000_i64);
        assert_eq!(document["description"], "D é");
    }
}
