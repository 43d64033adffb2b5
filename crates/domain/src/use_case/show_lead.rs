//! Show lead: everything about one lead, with what happened to it (decision E9). Tests: `tests/use_case/show_lead.rs`.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::lead_address::{FindLead, LeadAddress};
use super::matched_filters::{MatchedFilter, MatchedFilters};
use crate::matching::PreparedJob;
use crate::model::{
    Activity, ActivityId, ActivityKind, ActivityOutcome, ActivityQuery, Actor, BidRecord, Campaign,
    CampaignId, ExplanationStep, JobPost, Lead, LeadAttachment, LeadStatus, Links, OrganizationId, Timestamp,
    UsdCents,
};
use crate::port::{ActivityStore, BidLetter, BidSummary, LeadContext, StoreError};

/// The most entries of a lead's timeline that come from the Activity record.
pub const TIMELINE: u32 = 200;

/// A lead's latest bid.
#[derive(Debug, Clone, PartialEq)]
pub struct LeadBid {
    /// How it stands.
    pub summary: BidSummary,
    /// The letter and the answers.
    pub letter: BidLetter,
    /// What was frozen and decided.
    pub record: BidRecord,
    /// What its connects cost.
    pub connects_cost: UsdCents,
    /// The decision step by step; empty before the first attempt.
    pub steps: Vec<ExplanationStep>,
}

/// What happened to a lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeadEvent {
    /// The job was posted on the marketplace.
    Posted,
    /// The job became a match of the campaign.
    Matched,
    /// An event was delivered to an endpoint, or not.
    Delivery {
        /// `job.new` or `bid_complete`.
        event: String,
        /// The receiver's host.
        host: String,
        /// The answer's status, if there was an answer.
        response_status: Option<u16>,
        /// How long it took.
        duration_ms: Option<u64>,
        /// Why it failed: a code; `None` if it was delivered.
        reason: Option<String>,
    },
    /// A bid was accepted, or a dry run.
    BidAccepted,
    /// The lead of an automatic campaign stays parked.
    Parked,
    /// Files were uploaded.
    Uploaded,
    /// A bid ended.
    Ended {
        /// `submitted`, `skipped` or `failed`.
        status: ActivityOutcome,
        /// How often the marketplace was asked.
        attempts: Option<u64>,
        /// The marketplace's id of the proposal.
        proposal_id: Option<String>,
    },
    /// The lead was rejected.
    Rejected {
        /// Why, if the caller said so.
        reason: Option<String>,
    },
    /// The lead was given a configuration of its own, or another one.
    Configured,
    /// The lead was set back to `new`.
    Reopened,
}

/// An entry of a lead's timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineEntry {
    /// When.
    pub at: Timestamp,
    /// Milliseconds since the job was posted; negative if clocks differ.
    pub since_posting: i64,
    /// What.
    pub event: LeadEvent,
    /// Who; `None` for what no entry of the Activity record tells.
    pub actor: Option<Actor>,
    /// Whether it was a dry run or tells of one.
    pub dry_run: bool,
    /// The entry's sentence; empty without one.
    pub message: String,
    /// The entry of the Activity record.
    pub activity: Option<ActivityId>,
}

/// A lead as its page shows it.
#[derive(Debug, Clone)]
pub struct LeadPageView {
    /// The lead, or the one that the match would become.
    pub lead: Lead,
    /// The post.
    pub post: JobPost,
    /// The job on the marketplace.
    pub job_url: String,
    /// Its campaign.
    pub campaign: Campaign,
    /// The filter that the job matches now, with its conditions.
    pub matched: Option<MatchedFilter>,
    /// Files uploaded for it.
    pub attachments: Vec<LeadAttachment>,
    /// Its latest bid.
    pub bid: Option<LeadBid>,
    /// Oldest first.
    pub timeline: Vec<TimelineEntry>,
    /// Whether the Activity record has more about the lead than the timeline shows.
    pub has_more: bool,
}

/// Shows one lead or match. No match becomes a lead by it (decision E5).
#[derive(Debug)]
pub struct ShowLead {
    /// Leads and matches.
    pub find: FindLead,
    /// The Activity record.
    pub activities: Arc<dyn ActivityStore>,
    /// Addresses of jobs.
    pub links: Links,
}

impl ShowLead {
    /// The lead; `None` if the organization's campaign has neither the lead nor such a match.
    pub async fn execute(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        address: &LeadAddress,
    ) -> Result<Option<LeadPageView>, StoreError> {
        let Some(found) = self.find.find(organization, campaign, address).await? else {
            return Ok(None);
        };
        let LeadContext {
            lead,
            campaign: Some(campaign),
            attachments,
            bid,
        } = found
        else {
            return Ok(None);
        };
        let (lead, job_json) = (lead.lead, lead.job_json);
        let post = JobPost::parse(&job_json)
            .map_err(|fault| StoreError::Corrupt(format!("job {}: {fault}", lead.job_id)))?;
        let feed = &self.find.feed;
        let filters = feed.campaign_filters(organization, &campaign.id).await?;
        let matched =
            MatchedFilters::of(filters.unwrap_or_default()).matching(&PreparedJob::new(&post.facts()));
        let query = ActivityQuery {
            organization_id: Some(organization.clone()),
            lead_id: Some(lead.id.clone()),
            limit: TIMELINE + 1,
            ..ActivityQuery::default()
        };
        let mut entries = self.activities.list(&query).await?;
        let has_more = entries.len() > TIMELINE as usize;
        entries.truncate(TIMELINE as usize);
        let bid = match bid {
            Some(record) => {
                let latest = feed.latest_bid(organization, &lead.id).await?;
                latest.map(|(summary, letter)| lead_bid(summary, letter, record, &entries))
            }
            None => None,
        };
        Ok(Some(LeadPageView {
            timeline: timeline(&lead, &post, &entries),
            job_url: self.links.job_url(&post.url),
            lead,
            post,
            campaign,
            matched,
            attachments,
            bid,
            has_more,
        }))
    }
}

/// `entries` are the lead's, newest first. The steps of an ended bid are in the entry of its end, those of a queued one in
/// its stored proposal.
fn lead_bid(summary: BidSummary, letter: BidLetter, record: BidRecord, entries: &[Activity]) -> LeadBid {
    let id = summary.id.to_string();
    let is_its_end = |entry: &&Activity| {
        entry.kind == ActivityKind::Submission && text(&entry.details, "bidId") == Some(&*id)
    };
    let end = entries.iter().find(is_its_end);
    let recorded = end.and_then(|entry| entry.details.get("steps"));
    let recorded = recorded.and_then(|steps| serde_json::from_value(steps.clone()).ok());
    let proposal = record.proposal.as_ref();
    LeadBid {
        steps: recorded
            .or_else(|| proposal.map(|proposal| proposal.steps.clone()))
            .unwrap_or_default(),
        connects_cost: summary.connects_spent.cost(),
        summary,
        letter,
        record,
    }
}

fn timeline(lead: &Lead, post: &JobPost, entries: &[Activity]) -> Vec<TimelineEntry> {
    let posted_at = post.posted_at;
    let since_posting = |at: Timestamp| at.as_millis().saturating_sub(posted_at.as_millis());
    let plain = |at, event| TimelineEntry {
        at,
        since_posting: since_posting(at),
        event,
        actor: None,
        dry_run: false,
        message: String::new(),
        activity: None,
    };
    let mut timeline = vec![
        plain(posted_at, LeadEvent::Posted),
        plain(lead.created_at, LeadEvent::Matched),
    ];
    timeline.extend(entries.iter().rev().filter_map(|entry| {
        Some(TimelineEntry {
            event: event(entry)?,
            actor: Some(entry.actor.clone()),
            dry_run: entry.dry_run,
            message: entry.message.clone(),
            activity: Some(entry.id),
            ..plain(entry.at, LeadEvent::Posted)
        })
    }));
    // The sort is stable: what happened at one moment keeps its order.
    timeline.sort_by_key(|entry| entry.at);
    timeline
}

/// What an entry of the Activity record tells of its lead; `None` for refused requests, which changed nothing.
fn event(entry: &Activity) -> Option<LeadEvent> {
    let details = &entry.details;
    let is_accepted = entry.outcome == ActivityOutcome::Accepted;
    match entry.kind {
        ActivityKind::Delivery => Some(LeadEvent::Delivery {
            event: text(details, "event").unwrap_or_default().to_owned(),
            host: host(text(details, "url").unwrap_or_default()).to_owned(),
            response_status: number(details, "responseStatus").and_then(|status| status.try_into().ok()),
            duration_ms: number(details, "durationMs"),
            reason: text(details, "reason").map(str::to_owned),
        }),
        ActivityKind::Bid if is_accepted => Some(LeadEvent::BidAccepted),
        ActivityKind::Bid if entry.actor == Actor::service() => Some(LeadEvent::Parked),
        ActivityKind::Upload if is_accepted => Some(LeadEvent::Uploaded),
        ActivityKind::Rejection if is_accepted => Some(LeadEvent::Rejected {
            reason: text(details, "reason").map(str::to_owned),
        }),
        ActivityKind::Submission if entry.outcome == ActivityOutcome::New => Some(LeadEvent::Reopened),
        ActivityKind::Submission => Some(LeadEvent::Ended {
            status: entry.outcome,
            attempts: number(details, "attempts"),
            proposal_id: text(details, "proposalId").map(str::to_owned),
        }),
        ActivityKind::Change => Some(LeadEvent::Configured),
        ActivityKind::Bid | ActivityKind::Upload | ActivityKind::Rejection => None,
    }
}

fn text<'d>(details: &'d Map<String, Value>, name: &str) -> Option<&'d str> {
    details.get(name)?.as_str()
}

fn number(details: &Map<String, Value>, name: &str) -> Option<u64> {
    details.get(name)?.as_u64()
}

/// The host of a webhook's address, with its port if it names one.
pub(super) fn host(url: &str) -> &str {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = after_scheme.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

impl LeadPageView {
    /// Whether the lead takes a bid, a rejection or files.
    pub const fn is_open(&self) -> bool {
        self.lead.status.is_open()
    }

    /// Whether the lead can be reopened.
    pub const fn is_reopenable(&self) -> bool {
        self.lead.status.is_reopenable()
    }

    /// The lead's status.
    pub const fn status(&self) -> LeadStatus {
        self.lead.status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_read_from_an_address() {
        for (url, expected) in [
            ("https://hooks.test/jobs?a=1", "hooks.test"),
            ("http://127.0.0.1:9000", "127.0.0.1:9000"),
            ("https://name:word@hooks.test/x", "hooks.test"),
            ("", ""),
        ] {
            assert_eq!(host(url), expected);
        }
    }
}
