//! Bids as they are accepted, and as an operator sees them.

use bidloop_domain::bidding::{BillingPeriod, QuestionAnswerPair, Reason};
use bidloop_domain::model::{
    AccountId, BidId, BidRecord, Connects, EffectiveConfig, FrozenAttachment, LeadStatus, NewBid, Proposal,
    Timestamp,
};
use diesel::prelude::*;

use crate::columns::{FreeText, Json, number, read, uuid, word};
use crate::failure::Failure;
use crate::schema::bids;

/// The columns of `bids` that a new one has.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = bids)]
pub(crate) struct NewBidRow {
    organization_id: String,
    id: String,
    campaign_id: String,
    lead_id: String,
    job_id: String,
    account_id: String,
    cover_letter: FreeText,
    answers: Json<Vec<QuestionAnswerPair>>,
    config: Json<EffectiveConfig>,
    attachments: Json<Vec<FrozenAttachment>>,
    queued_at: i64,
    period_start: i64,
    deadline: i64,
    status: &'static str,
    next_attempt_at: i64,
    attempts: i64,
    answer_outstanding: bool,
    boost_connects: i64,
    connects_spent: i64,
}

impl NewBidRow {
    /// `bid` on the lead's job, made with `account`, its unit of quota taken from `period`; due at once.
    pub(crate) fn new(
        bid: &NewBid,
        job_id: String,
        account_id: String,
        attachments: Vec<FrozenAttachment>,
        period: BillingPeriod,
    ) -> Self {
        Self {
            organization_id: bid.organization_id.to_string(),
            id: bid.id.to_string(),
            campaign_id: bid.campaign_id.to_string(),
            lead_id: bid.lead_id.to_string(),
            job_id,
            account_id,
            cover_letter: FreeText::from(bid.cover_letter.as_str()),
            answers: Json(bid.answers.clone()),
            config: Json(bid.config.clone()),
            attachments: Json(attachments),
            queued_at: bid.queued_at.as_millis(),
            period_start: period.start.as_millis(),
            deadline: bid.deadline.as_millis(),
            status: LeadStatus::Queued.as_str(),
            next_attempt_at: bid.queued_at.as_millis(),
            attempts: 0,
            answer_outstanding: false,
            boost_connects: 0,
            connects_spent: 0,
        }
    }
}

/// The columns of `bids` that an operator sees.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = bids)]
pub(crate) struct BidRecordRow {
    id: String,
    account_id: String,
    status: String,
    queued_at: i64,
    deadline: i64,
    attempts: i64,
    answer_outstanding: bool,
    proposal: Option<Json<Proposal>>,
    config: Json<EffectiveConfig>,
    attachments: Json<Vec<FrozenAttachment>>,
    reason: Option<Json<Reason>>,
    proposal_id: Option<FreeText>,
    submitted_at: Option<i64>,
    connects_spent: i64,
}

impl BidRecordRow {
    pub(crate) fn into_record(self) -> Result<BidRecord, Failure> {
        Ok(BidRecord {
            id: BidId(uuid("bids.id", &self.id)?),
            account_id: read(
                "bids.account_id",
                &self.account_id,
                AccountId::parse(&self.account_id),
            )?,
            status: word("bids.status", &self.status)?,
            queued_at: Timestamp::from_millis(self.queued_at),
            deadline: Timestamp::from_millis(self.deadline),
            attempts: number("bids.attempts", self.attempts)?,
            answer_outstanding: self.answer_outstanding,
            proposal: self.proposal.map(|proposal| proposal.0),
            config: self.config.0,
            attachments: self.attachments.0,
            reason: self.reason.map(|reason| reason.0),
            proposal_id: self.proposal_id.map(|id| id.0),
            submitted_at: self.submitted_at.map(Timestamp::from_millis),
            connects_spent: Connects::new(number("bids.connects_spent", self.connects_spent)?),
        })
    }
}
