//! Show bidding: what a bid of a campaign does and who says so, and what its template writes (decisions A7 and D3). Tests:
//! `tests/use_case/show_bidding.rs`.

use std::sync::Arc;

use super::written_proposal::WrittenProposal;
use super::{FindLead, LeadAddress};
use crate::model::{
    AccountId, BiddingConfig, CampaignId, EffectiveConfig, JobPost, LeadId, Links, Member, ProposalFile,
    ProposalTemplate, Timestamp, effective,
};
use crate::port::{
    AccountReading, BiddingAccount, Clock, LeadContext, ProposalWriter, ProvisioningStore, StoreError,
};

/// A campaign's part in its bids.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignBidding {
    /// The configuration of a bid without overrides on a lead without a configuration of its own. Each field tells its
    /// source.
    pub config: EffectiveConfig,
    /// The templates as they are stored.
    pub template: ProposalTemplate,
    /// What the shown templates write; `None` without a lead or match to write for.
    pub preview: Option<TemplatePreview>,
    /// The files of bids on leads without files of their own.
    pub attachments: Vec<ProposalFile>,
    /// The account that bids; `None` without one (decision A8).
    pub account: Option<CampaignAccount>,
    /// All accounts of the organization, by name.
    pub accounts: Vec<(AccountId, String)>,
    /// The moment of all this.
    pub now: Timestamp,
}

/// The account of a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignAccount {
    /// The account.
    pub id: AccountId,
    /// Its name.
    pub name: String,
    /// False once the marketplace refused its token.
    pub connected: bool,
    /// What was last read of it.
    pub reading: Option<AccountReading>,
}

/// What templates write for one lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplatePreview {
    /// The lead, or the one that the match would become.
    pub lead: LeadId,
    /// The job's title.
    pub title: String,
    /// The letter, or why the lead would stay parked.
    pub letter: Result<String, String>,
    /// Each question with its answer, or why the lead would stay parked.
    pub answers: Vec<(String, Result<String, String>)>,
}

impl TemplatePreview {
    /// Why the lead would stay parked; nothing if the bid could be written.
    pub fn parked(&self) -> impl Iterator<Item = &str> {
        let letter = self.letter.as_ref().err();
        let answers = self
            .answers
            .iter()
            .filter_map(|(_, answer)| answer.as_ref().err());
        letter.into_iter().chain(answers).map(String::as_str)
    }
}

/// Shows what bids of a campaign do.
#[derive(Debug)]
pub struct ShowBidding {
    /// Campaigns.
    pub provisioning: Arc<dyn ProvisioningStore>,
    /// Leads and matches.
    pub find: FindLead,
    /// Renders templates.
    pub writer: Arc<dyn ProposalWriter>,
    /// Addresses of operations and jobs.
    pub links: Links,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl ShowBidding {
    /// The campaign's bidding, with a preview on the lead (`None`: the newest) of the templates (`None`: the stored ones).
    /// `None` if the organization has no such campaign.
    pub async fn execute(
        &self,
        member: &Member,
        campaign: &CampaignId,
        lead: Option<&LeadId>,
        draft: Option<&ProposalTemplate>,
    ) -> Result<Option<CampaignBidding>, StoreError> {
        let organization = member.organization_id();
        let snapshot = self
            .provisioning
            .snapshot(std::slice::from_ref(organization), &[])
            .await?;
        let Some(record) = snapshot.organizations.into_iter().next() else {
            return Ok(None);
        };
        let mut accounts: Vec<(AccountId, String)> = record
            .accounts
            .iter()
            .map(|account| (account.id.clone(), account.name.clone()))
            .collect();
        accounts.sort_by(|one, other| one.1.cmp(&other.1));
        let known = record.campaigns.into_iter().find(|known| known.id == *campaign);
        let (Some(known), Some(means)) = (known, self.find.feed.bid_means(organization, campaign).await?)
        else {
            return Ok(None);
        };
        let none = BiddingConfig::default();
        let found = self.example(member, campaign, lead).await?;
        let templates = draft.unwrap_or(&known.proposal);
        Ok(Some(CampaignBidding {
            config: effective(&none, &none, &known.bidding_config),
            preview: found.and_then(|found| self.preview(&found, &known.name, templates)),
            template: known.proposal,
            attachments: means.attachments,
            account: means.account.map(CampaignAccount::from),
            accounts,
            now: self.clock.now(),
        }))
    }

    /// The lead to write for.
    async fn example(
        &self,
        member: &Member,
        campaign: &CampaignId,
        lead: Option<&LeadId>,
    ) -> Result<Option<LeadContext>, StoreError> {
        let organization = member.organization_id();
        if let Some(lead) = lead {
            let address = LeadAddress::of(lead.clone());
            let found = self.find.find(organization, campaign, &address).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        let newest = self.find.feed.newest(organization, Some(campaign)).await?;
        let address = match (newest.lead, newest.matched) {
            (Some((_, lead)), _) => LeadAddress::of(lead),
            (None, Some((_, job))) => LeadAddress {
                lead: LeadId::derive(organization, campaign, &job),
                job: Some(job),
            },
            (None, None) => return Ok(None),
        };
        self.find.find(organization, campaign, &address).await
    }

    /// `None` if the lead's job cannot be read.
    fn preview(
        &self,
        found: &LeadContext,
        campaign_name: &str,
        templates: &ProposalTemplate,
    ) -> Option<TemplatePreview> {
        let post = JobPost::parse(&found.lead.job_json).ok()?;
        let written = WrittenProposal::of(&*self.writer, &found.lead, campaign_name, &self.links).ok()?;
        let letter = written.letter(templates.cover_letter.as_deref());
        let questions = post.questions.unwrap_or_default().into_iter();
        Some(TemplatePreview {
            lead: found.lead.lead.id.clone(),
            title: post.title,
            letter: letter.map(|letter| letter.as_str().to_owned()),
            answers: questions
                .map(|question| {
                    let answer = written.answer(&templates.answers, &question);
                    (question, answer)
                })
                .collect(),
        })
    }
}

impl From<BiddingAccount> for CampaignAccount {
    fn from(account: BiddingAccount) -> Self {
        Self {
            id: account.record.id,
            name: account.record.name,
            connected: account.record.connected,
            reading: account.reading,
        }
    }
}
