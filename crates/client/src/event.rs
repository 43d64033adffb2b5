//! The events that the service delivers.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::lead::{Lead, LeadReason};
use crate::open_enum::open_enum;

/// A received webhook: the envelope and its event.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Delivery {
    /// The id of this delivery, the same as in `webhook-id`.
    pub id: String,
    /// The version of the payload, a date.
    pub version: String,
    /// When the event was made, in UNIX seconds.
    pub created_at: i64,
    /// The event.
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A job matches a campaign.
    JobNew(Box<JobNew>),
    /// A bid ended.
    BidComplete(Box<BidComplete>),
    /// An event that this version of the client does not know.
    Unknown {
        /// Its name.
        event: String,
        /// Its data.
        data: Value,
    },
}

/// The data of `job.new`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct JobNew {
    /// The organization.
    pub organization_id: String,
    /// The campaign that the job matches.
    pub campaign_id: String,
    /// The lead's id.
    pub lead_id: String,
    /// The address of the bid operation.
    pub bid_url: String,
    /// The address of the reject operation.
    pub reject_url: String,
    /// The job.
    pub lead: Lead,
}

/// The data of `bid_complete`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BidComplete {
    /// The organization.
    pub organization_id: String,
    /// The campaign.
    pub campaign_id: String,
    /// The lead that was bid on.
    pub lead_id: String,
    /// Whether this is the end of a dry run.
    #[serde(default)]
    pub dry_run: bool,
    /// How the bid ended.
    pub outcome: Outcome,
    /// Why it was skipped or failed.
    #[serde(default)]
    pub reason: Option<LeadReason>,
    /// The marketplace's id of the proposal.
    #[serde(default)]
    pub proposal_id: Option<String>,
    /// When the proposal was submitted, in UNIX milliseconds.
    #[serde(default)]
    pub submitted_at: Option<i64>,
    /// The price; `None` if the bid ended before an amount was known.
    #[serde(default)]
    pub terms: Option<Terms>,
    /// The boost, in connects; `None` if a dry run cannot know it.
    #[serde(default)]
    pub boost_connects: Option<u32>,
    /// The connects that the proposal cost.
    #[serde(default)]
    pub connects_spent: Option<u32>,
    /// The same in USD.
    #[serde(default)]
    pub connects_cost_usd: Option<f64>,
    /// The job's address at the marketplace.
    #[serde(default)]
    pub job_url: Option<String>,
    /// The job's title.
    #[serde(default)]
    pub title: Option<String>,
}

open_enum! {
    /// How a bid ended.
    Outcome {
        /// The marketplace has the proposal; a dry run would have been sent.
        Submitted = "submitted",
        /// The bidding configuration said not to bid.
        Skipped = "skipped",
        /// The marketplace refused the proposal, or its deadline passed.
        Failed = "failed",
    }
}

/// The price of a proposal.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Terms {
    /// By the hour or for the whole.
    #[serde(rename = "type")]
    pub kind: TermsKind,
    /// USD, an hour or in all; `None` if a dry run cannot know it.
    #[serde(default)]
    pub amount: Option<f64>,
}

open_enum! {
    /// How a proposal is paid.
    TermsKind {
        /// By the hour.
        Hourly = "hourly",
        /// For the whole.
        Fixed = "fixed",
    }
}

impl<'de> Deserialize<'de> for Delivery {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let envelope = Envelope::deserialize(deserializer)?;
        let event = match envelope.event.as_str() {
            "job.new" => Event::JobNew(serde_json::from_value(envelope.data).map_err(D::Error::custom)?),
            "bid_complete" => {
                Event::BidComplete(serde_json::from_value(envelope.data).map_err(D::Error::custom)?)
            }
            _ => Event::Unknown {
                event: envelope.event,
                data: envelope.data,
            },
        };
        Ok(Self {
            id: envelope.id,
            version: envelope.version,
            created_at: envelope.created_at,
            event,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    id: String,
    event: String,
    version: String,
    created_at: i64,
    data: Value,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn delivery(event: &str, data: &Value) -> Delivery {
        let envelope = json!({"id": "d1", "event": event, "version": "2026-09-10", "createdAt": 5, "data": data, "new": 1});
        serde_json::from_value(envelope).unwrap()
    }

    #[test]
    fn a_job_new_holds_its_lead_and_addresses() {
        let data = json!({
            "organizationId": "o", "campaignId": "c", "leadId": "ld_1", "bidUrl": "http://s/bid", "rejectUrl": "http://s/reject",
            "lead": {"id": "ld_1", "status": "new", "title": "T", "jobUrl": "http://m", "campaignId": "c", "organizationId": "o",
                     "vendorQualifications": {"talentType": "ANY", "englishLevel": "KLINGON"},
                     "openJobs": [{"id": "1", "type": "HOURLY", "isPtcPrivate": false}]}
        });
        let Event::JobNew(job) = delivery("job.new", &data).event else {
            panic!("no job.new")
        };
        let demands = job.lead.vendor_qualifications.unwrap();
        assert_eq!(demands.english_level.unwrap().as_str(), "KLINGON");
        assert_eq!(job.bid_url, "http://s/bid");
    }

    #[test]
    fn a_bid_complete_of_a_dry_run_has_what_is_known() {
        let data = json!({
            "organizationId": "o", "campaignId": "c", "leadId": "ld_1", "dryRun": true, "outcome": "submitted", "reason": null,
            "proposalId": null, "submittedAt": null, "terms": {"type": "hourly", "amount": null}, "boostConnects": null,
            "connectsSpent": 0, "connectsCostUsd": 0, "jobUrl": "http://m", "title": "T"
        });
        let Event::BidComplete(end) = delivery("bid_complete", &data).event else {
            panic!("no bid_complete")
        };
        assert_eq!((end.dry_run, &end.outcome), (true, &Outcome::Submitted));
        assert_eq!(end.terms.unwrap().amount, None);
    }

    #[test]
    fn an_event_of_a_later_version_is_no_error() {
        let event = delivery("lead.archived", &json!([1])).event;
        assert!(
            matches!(event, Event::Unknown { event, data } if event == "lead.archived" && data == json!([1]))
        );
    }
}
