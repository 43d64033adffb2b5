//! The Lead object of the specification, made of a lead's own fields and its job's stored JSON.
//!
//! The job's values are copied as bytes; only the fields that the contract renames or replaces are rewritten.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use twox_hash::XxHash3_128;

use super::{
    CampaignId, JobAddress, Lead, LeadId, LeadStatus, LeadWithJob, ListedLead, OrganizationId, Reason,
    Timestamp, number,
};

/// The addresses from which a lead's links are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    marketplace_base: Option<String>,
    /// The same as the content of a JSON string; empty if there is none.
    marketplace_in_json: String,
    /// The service's own address as the content of a JSON string.
    api_in_json: String,
}

impl Links {
    /// `api_base` is `server.base_url`, `marketplace_base` is `marketplace.base_url`; trailing slashes are
    /// dropped.
    pub fn new(api_base: &str, marketplace_base: Option<&str>) -> Self {
        let trim = |url: &str| url.trim_end_matches('/').to_owned();
        let marketplace_base = marketplace_base.map(trim);
        Self {
            marketplace_in_json: inside_string(marketplace_base.as_deref().unwrap_or_default()),
            marketplace_base,
            api_in_json: inside_string(&trim(api_base)),
        }
    }

    /// A post's `url` as a whole address; a path is relative to the marketplace's address. In place of a stored `url` that
    /// is no [`JobAddress`] stands the marketplace's own address.
    pub fn job_url(&self, url: &str) -> String {
        stored_address(url).under(self.marketplace_base.as_deref())
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

/// A stored `url`. Earlier versions stored whatever the feed said.
fn stored_address(url: &str) -> JobAddress {
    JobAddress::parse(url).unwrap_or_else(|_| JobAddress::marketplace())
}

/// What a job's post gives to the Lead objects of all its leads, read once. Clones share it.
///
/// Null `skills` and `questions` become `[]`, null `metadata` and `clientInfo` `{}`; other fields that the marketplace
/// leaves out are null (contract section 5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostFields(Arc<ReadPost>);

#[derive(Debug, PartialEq, Eq)]
struct ReadPost {
    /// As the content of a JSON string.
    address: String,
    /// Whether the address lies under the marketplace's.
    is_path: bool,
    posted_at: Option<Timestamp>,
    json: Bytes,
    digest: [u8; 16],
}

impl PostFields {
    /// Reads the stored JSON of a job.
    ///
    /// # Errors
    /// [`CorruptJob`] if it is not a job post.
    pub fn of(job_json: &str) -> Result<Self, CorruptJob> {
        let post: Post<'_> = serde_json::from_str(job_json)?;
        let address = stored_address(&post.url);
        // In a box, which has no room to spare: posts are kept.
        let object = Bytes::from(serde_json::to_vec(&post)?.into_boxed_slice());
        let json = object.slice(1..object.len() - 1);
        Ok(Self(Arc::new(ReadPost {
            address: inside_string(&address.under(None)),
            is_path: address.is_path(),
            posted_at: number::whole_number(post.posted_at)
                .ok()
                .map(Timestamp::from_millis),
            digest: XxHash3_128::oneshot(&json).to_be_bytes(),
            json,
        })))
    }

    /// When the job was posted; `None` if the post does not say so.
    pub fn posted_at(&self) -> Option<Timestamp> {
        self.0.posted_at
    }

    /// The fields as JSON, without braces around them. `jobUrl`, which depends on the marketplace's address, is not one of
    /// them.
    pub fn json(&self) -> &Bytes {
        &self.0.json
    }

    /// An XXH3 hash of the JSON, 128 bits, which tells the post from others. It resists chance and not malice.
    pub fn digest(&self) -> &[u8] {
        &self.0.digest
    }

    /// How many bytes it holds.
    pub fn size(&self) -> usize {
        self.0.json.len() + self.0.address.len()
    }
}

/// What a Lead object says of the lead itself.
#[derive(Debug, Clone, Copy)]
pub struct LeadFields<'a> {
    /// Its id.
    pub id: &'a LeadId,
    /// Its status (decision A5b).
    pub status: LeadStatus,
    /// Why its last bid was skipped or failed.
    pub reason: Option<&'a Reason>,
    /// When its job became a match.
    pub created_at: Timestamp,
    /// The marketplace's id of the proposal.
    pub proposal_id: Option<&'a str>,
}

impl<'a> From<&'a Lead> for LeadFields<'a> {
    fn from(lead: &'a Lead) -> Self {
        Self {
            id: &lead.id,
            status: lead.status,
            reason: lead.reason.as_ref(),
            created_at: lead.created_at,
            proposal_id: lead.proposal_id.as_deref(),
        }
    }
}

impl<'a> From<&'a ListedLead> for LeadFields<'a> {
    fn from(lead: &'a ListedLead) -> Self {
        Self {
            id: &lead.id,
            status: lead.status,
            reason: lead.reason.as_ref(),
            created_at: lead.created_at,
            proposal_id: lead.proposal_id.as_deref(),
        }
    }
}

/// Writes the Lead objects of a campaign (specification, Lead). An object is the [head](Self::head), the
/// [fields](PostFields::json) of its job's post and the [tail](Self::tail).
#[derive(Debug)]
pub struct LeadWriter<'l> {
    links: &'l Links,
    /// From the campaign's id to the name of the proposal's field.
    campaign: String,
    /// What the addresses of a lead's operations begin with, as the content of a JSON string.
    operations: String,
    form: LeadForm,
}

impl<'l> LeadWriter<'l> {
    /// `campaign_name` is `None` once the campaign was removed.
    pub fn new(
        organization: &OrganizationId,
        campaign: &CampaignId,
        campaign_name: Option<&str>,
        links: &'l Links,
        form: LeadForm,
    ) -> Self {
        let name = campaign_name.map_or_else(|| "null".to_owned(), json);
        Self {
            links,
            campaign: format!(
                r#","campaignId":"{campaign}","campaignName":{name},"organizationId":"{organization}","proposalId":"#
            ),
            operations: format!("{}/v1/campaigns/{campaign}/leads/", links.api_in_json),
            form,
        }
    }

    /// Writes a Lead object.
    pub fn write(&self, lead: LeadFields<'_>, post: &PostFields, out: &mut Vec<u8>) {
        self.head(lead, post, out);
        out.extend_from_slice(post.json());
        self.tail(lead, out);
    }

    /// Writes what is before the fields of the post.
    pub fn head(&self, lead: LeadFields<'_>, post: &PostFields, out: &mut Vec<u8>) {
        let (id, status) = (lead.id.as_str(), lead.status.as_str());
        extend(out, [r#"{"id":""#, id, r#"","status":""#, status, "\""]);
        if let Some(reason) = lead.reason {
            extend(out, [",\"reason\":", &json(reason)]);
        }
        let created_at = lead.created_at.as_millis().to_string();
        let PostFields(post) = post;
        let marketplace = if post.is_path {
            &self.links.marketplace_in_json
        } else {
            ""
        };
        extend(
            out,
            [
                ",\"createdAt\":",
                &created_at,
                ",\"jobUrl\":\"",
                marketplace,
                &post.address,
                "\",",
            ],
        );
    }

    /// Writes what is behind the fields of the post.
    pub fn tail(&self, lead: LeadFields<'_>, out: &mut Vec<u8>) {
        extend(out, [&self.campaign]);
        match lead.proposal_id {
            Some(id) => extend(out, [&json(id)]),
            None => extend(out, ["null"]),
        }
        if self.form == LeadForm::Listed {
            out.push(b',');
            self.operations(lead.id, out);
        }
        out.push(b'}');
    }

    /// Writes the fields with the addresses of the lead's operations.
    pub fn operations(&self, lead: &LeadId, out: &mut Vec<u8>) {
        let (leads, id) = (self.operations.as_str(), lead.as_str());
        extend(
            out,
            [
                "\"bidUrl\":\"",
                leads,
                id,
                "/bid\",\"rejectUrl\":\"",
                leads,
                id,
                "/reject\"",
            ],
        );
    }
}

/// Writes one Lead object.
///
/// # Errors
/// [`CorruptJob`] if the job's JSON is not a job post.
pub fn lead_document(
    LeadWithJob { lead, job_json }: &LeadWithJob,
    campaign_name: Option<&str>,
    links: &Links,
    form: LeadForm,
) -> Result<Box<RawValue>, CorruptJob> {
    let post = PostFields::of(job_json)?;
    let writer = LeadWriter::new(
        &lead.organization_id,
        &lead.campaign_id,
        campaign_name,
        links,
        form,
    );
    let mut document = Vec::with_capacity(post.size() + 512);
    writer.write(lead.into(), &post, &mut document);
    Ok(serde_json::from_slice(&document)?)
}

fn extend<const N: usize>(out: &mut Vec<u8>, texts: [&str; N]) {
    for text in texts {
        out.extend_from_slice(text.as_bytes());
    }
}

/// Texts and reasons can always be written.
fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// A text as the content of a JSON string.
fn inside_string(text: &str) -> String {
    let quoted = json(text);
    quoted[1..quoted.len() - 1].to_owned()
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

    #[test]
    fn a_posts_digest_tells_it_from_others() {
        let post = PostFields::of(BARE).unwrap();
        assert_eq!(post.digest(), PostFields::of(BARE).unwrap().digest());
        for changed in [
            BARE.replace("\"T\"", "\"U\""),
            BARE.replace("D \\u00e9", "D  \\u00e9"),
        ] {
            let changed = PostFields::of(&changed).unwrap();
            assert_ne!(post.json(), changed.json());
            assert_ne!(post.digest(), changed.digest());
        }
    }

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
    fn texts_of_any_characters_are_written_as_json() {
        let odd = "a \"quoted\" \\ name\u{0}\u{2028}";
        let reason = Reason {
            code: crate::model::ReasonCode::Invalid,
            message: odd.to_owned(),
        };
        let lead = LeadWithJob {
            lead: Lead {
                status: LeadStatus::Failed,
                reason: Some(reason.clone()),
                proposal_id: Some(odd.to_owned()),
                ..lead()
            },
            job_json: BARE.to_owned(),
        };
        let links = Links::new("http://api.test/\"odd\"", None);
        let document = lead_document(&lead, Some(odd), &links, LeadForm::Listed).unwrap();
        let document: Value = serde_json::from_str(document.get()).unwrap();
        assert_eq!(
            (&document["campaignName"], &document["proposalId"]),
            (&json!(odd), &json!(odd))
        );
        assert_eq!(document["reason"], json!(reason));
        let bid_url = "http://api.test/\"odd\"/v1/campaigns/camp/leads/ld_1/bid";
        assert_eq!(document["bidUrl"], bid_url);
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
