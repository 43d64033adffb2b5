//! Write automatic bids: for a lead of an automatic campaign, writes the letter and the answers from the campaign's
//! templates and submits them with [`SubmitBid`] (decision D3). Tests: `tests/use_case/write_automatic_bids.rs`.

use std::sync::Arc;
use std::time::Duration;

use super::written_proposal::WrittenProposal;
use super::{LeadError, Requester, SubmitBid};
use crate::bidding::QuestionAnswerPair;
use crate::model::{
    Activity, ActivityId, ActivityKind, ActivityOutcome, Actor, BidRequest, BiddingConfig, CampaignMode,
    CampaignState, JobPost, Links, readable_job,
};
use crate::port::{
    AutomaticBidIntent, AutomaticBidStore, Clock, Entropy, LeadContext, LeadLookup, LeadStore, LeaseOwner,
    ProposalWriter, Quarantine, StoreError, UnreadableRow,
};

/// How long a claim of an intent lasts.
const LEASE: Duration = Duration::from_secs(10);

/// The outcome of an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutomaticBidOutcome {
    /// The bid is queued.
    Queued,
    /// The lead does not change; Activity has the reason.
    Parked,
    /// The lead was bid on or rejected otherwise, or no longer exists.
    Superseded,
    /// The lead or what belongs to it cannot be read (decision D2). The intent stays and is set aside.
    Unreadable,
}

/// Bids by template.
#[derive(Debug)]
pub struct WriteAutomaticBids {
    /// Intents to bid.
    pub intents: Arc<dyn AutomaticBidStore>,
    /// Leads.
    pub leads: Arc<dyn LeadStore>,
    /// Renders templates.
    pub writer: Arc<dyn ProposalWriter>,
    /// Takes the bids.
    pub submit_bid: Arc<SubmitBid>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes ids.
    pub entropy: Arc<dyn Entropy>,
    /// Addresses of operations and jobs.
    pub links: Links,
    /// The name of this process, unique among all processes.
    pub owner: LeaseOwner,
    /// Takes intents that cannot be carried out because something cannot be read.
    pub quarantine: Quarantine,
}

impl WriteAutomaticBids {
    /// Claims up to `limit` intents; each must now be [carried out](Self::execute).
    pub async fn claim(&self, limit: u32) -> Result<Vec<AutomaticBidIntent>, StoreError> {
        let now = self.clock.now();
        self.intents.claim(&self.owner, now, now.plus(LEASE), limit).await
    }

    /// Writes and queues the bid, or parks the lead and records the reason in Activity. After a crash the intent is claimed
    /// again and finds the lead queued.
    pub async fn execute(&self, intent: &AutomaticBidIntent) -> Result<AutomaticBidOutcome, StoreError> {
        match self.carry_out(intent).await {
            Err(StoreError::Corrupt(why)) => {
                let (organization, lead) = (&intent.organization_id, &intent.lead_id);
                self.quarantine.set_aside(&UnreadableRow::of_organization(
                    "automatic_bids",
                    organization,
                    lead,
                    why,
                ));
                Ok(AutomaticBidOutcome::Unreadable)
            }
            outcome => outcome,
        }
    }

    async fn carry_out(&self, intent: &AutomaticBidIntent) -> Result<AutomaticBidOutcome, StoreError> {
        let lookup = self
            .leads
            .find(&intent.organization_id, &intent.campaign_id, &intent.lead_id)
            .await?;
        let found = match lookup {
            LeadLookup::Found(found) if found.lead.lead.status.is_open() => found,
            _ => {
                self.intents.complete(intent, None, self.clock.now()).await?;
                return Ok(AutomaticBidOutcome::Superseded);
            }
        };
        readable_job(&found.lead.job_json)?;
        let request = match self.write(&found) {
            Ok(request) => request,
            Err(why) => {
                let entry = self.parked(intent, &why);
                self.intents.complete(intent, Some(&entry), entry.at).await?;
                return Ok(AutomaticBidOutcome::Parked);
            }
        };
        let service = Requester::service(intent.organization_id.clone());
        let bid = self
            .submit_bid
            .execute(&service, &intent.campaign_id, &intent.lead_id, Ok(request))
            .await;
        let outcome = match bid {
            Ok(_) => AutomaticBidOutcome::Queued,
            Err(LeadError::Store(error)) => return Err(error),
            Err(LeadError::BidTooLate(_) | LeadError::LeadUnknown | LeadError::CampaignUnknown) => {
                AutomaticBidOutcome::Superseded
            }
            // The use case has recorded the reason in Activity.
            Err(_) => AutomaticBidOutcome::Parked,
        };
        self.intents.complete(intent, None, self.clock.now()).await?;
        Ok(outcome)
    }

    fn write(&self, found: &LeadContext) -> Result<BidRequest, String> {
        let campaign = found.campaign.as_ref().ok_or("the campaign was removed")?;
        if campaign.mode != CampaignMode::Automatic || campaign.state != CampaignState::Active {
            return Err("the campaign is no longer active and automatic".to_owned());
        }
        if !campaign.subscription.is_active() {
            return Err("the organization has no active subscription".to_owned());
        }
        let written = WrittenProposal::of(&*self.writer, &found.lead, &campaign.name, &self.links)?;
        let cover_letter = written.letter(campaign.proposal.cover_letter.as_deref())?;
        let questions = JobPost::parse(&found.lead.job_json)
            .map_err(|fault| fault.to_string())?
            .questions
            .unwrap_or_default();
        let mut question_answer_pairs = Vec::with_capacity(questions.len());
        for question in questions {
            let answer = written.answer(&campaign.proposal.answers, &question)?;
            question_answer_pairs.push(QuestionAnswerPair { question, answer });
        }
        Ok(BidRequest {
            cover_letter,
            question_answer_pairs,
            dry_run: false,
            bidding_config: BiddingConfig::default(),
        })
    }

    fn parked(&self, intent: &AutomaticBidIntent, why: &str) -> Activity {
        let (id, at) = (ActivityId(self.entropy.uuid()), self.clock.now());
        let lead = (&intent.organization_id, &intent.campaign_id, &intent.lead_id);
        Activity {
            outcome: ActivityOutcome::Refused,
            message: format!("The lead stays parked: {why}."),
            ..Activity::on_lead(id, at, lead, ActivityKind::Bid, Actor::service())
        }
    }
}
