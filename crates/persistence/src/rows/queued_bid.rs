//! Queued bids as submitters claim them.

use bidloop_domain::bidding::QuestionAnswerPair;
use bidloop_domain::model::{
    AccountId, BidId, CampaignId, CoverLetter, EffectiveConfig, FrozenAttachment, JobId, LeadId,
    OrganizationId, Proposal, QueuedBid, Timestamp,
};
use diesel::prelude::*;

use crate::columns::{FreeText, Json, number, read, uuid};
use crate::failure::Failure;
use crate::schema::bids;

/// The columns of `bids` that submitting needs.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = bids)]
pub(crate) struct QueuedBidRow {
    pub(crate) organization_id: String,
    pub(crate) id: String,
    campaign_id: String,
    pub(crate) lead_id: String,
    pub(crate) job_id: String,
    pub(crate) account_id: String,
    cover_letter: FreeText,
    answers: Json<Vec<QuestionAnswerPair>>,
    config: Json<EffectiveConfig>,
    attachments: Json<Vec<FrozenAttachment>>,
    pub(crate) queued_at: i64,
    deadline: i64,
    attempts: i64,
    proposal: Option<Json<Proposal>>,
    answer_outstanding: bool,
}

impl QueuedBidRow {
    pub(crate) fn into_bid(self) -> Result<QueuedBid, Failure> {
        Ok(QueuedBid {
            id: BidId(uuid("bids.id", &self.id)?),
            organization_id: read(
                "bids.organization_id",
                &self.organization_id,
                OrganizationId::parse(&self.organization_id),
            )?,
            campaign_id: read(
                "bids.campaign_id",
                &self.campaign_id,
                CampaignId::parse(&self.campaign_id),
            )?,
            lead_id: LeadId::from_caller(&self.lead_id),
            job_id: read("bids.job_id", &self.job_id, JobId::parse(&self.job_id))?,
            account_id: read(
                "bids.account_id",
                &self.account_id,
                AccountId::parse(&self.account_id),
            )?,
            cover_letter: CoverLetter::parse(self.cover_letter.0)
                .ok_or_else(|| Failure::Corrupt(format!("bid {} has a blank cover letter", self.id)))?,
            answers: self.answers.0,
            config: self.config.0,
            attachments: self.attachments.0,
            queued_at: Timestamp::from_millis(self.queued_at),
            deadline: Timestamp::from_millis(self.deadline),
            attempts: number("bids.attempts", self.attempts)?,
            proposal: self.proposal.map(|proposal| proposal.0),
            answer_outstanding: self.answer_outstanding,
        })
    }
}
