//! Show bidding: what a bid of a campaign does and who says so, and what its template writes (decisions A7 and D3). Tests:
//! `tests/use_case/show_bidding.rs`.

use std::sync::Arc;

use super::written_proposal::WrittenProposal;
use super::{FindLead, LeadAddress};
use crate::model::{
    AccountId, BiddingConfig, CampaignId, Connects, EffectiveConfig, JobPost, LeadId, Links, Measure, Member,
    OrganizationId, ProposalFile, ProposalTemplate, StatisticsStep, Timestamp, effective,
};
use crate::port::{
    AccountReading, BiddingAccount, Clock, CountsQuery, FeedQuery, LeadContext, ProposalWriter,
    ProvisioningStore, StatisticsStore, StoreError,
};

/// Among how many of the newest matches another lead is looked for.
const EXAMPLES: u32 = 20;

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
    /// What the organization's submitted bids took of it since midnight in UTC, boosts included.
    pub spent_today: Connects,
}

/// What templates write for one lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplatePreview {
    /// The lead, or the one that the match would become.
    pub lead: LeadId,
    /// The lead after it among the campaign's newest matches, the first after the last; `None` without another.
    pub another: Option<LeadId>,
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
    /// Connects spent.
    pub statistics: Arc<dyn StatisticsStore>,
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
        let templates = draft.unwrap_or(&known.proposal);
        let mut preview = None;
        if let Some(found) = self.example(member, campaign, lead).await? {
            let another = self.another(organization, campaign, &found.lead.lead.id).await?;
            preview = self.preview(&found, another, &known.name, templates);
        }
        let now = self.clock.now();
        let account = match means.account {
            Some(account) => Some(self.account(organization, account, now).await?),
            None => None,
        };
        Ok(Some(CampaignBidding {
            config: effective(&none, &none, &known.bidding_config),
            preview,
            template: known.proposal,
            attachments: means.attachments,
            account,
            accounts,
            now,
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

    /// The lead after this one among the newest matches.
    async fn another(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        than: &LeadId,
    ) -> Result<Option<LeadId>, StoreError> {
        let query = FeedQuery {
            status: None,
            offset: 0,
            limit: EXAMPLES,
        };
        let page = self.find.feed.feed_page(organization, campaign, &query).await?;
        let entries = page.map(|page| page.entries).unwrap_or_default();
        let ids: Vec<LeadId> = entries.into_iter().map(|entry| entry.lead.id).collect();
        let next = ids.iter().position(|id| id == than).map_or(0, |place| place + 1);
        let another = ids.get(next).or(ids.first());
        Ok(another.filter(|id| *id != than).cloned())
    }

    /// The account with what it has spent today.
    async fn account(
        &self,
        organization: &OrganizationId,
        account: BiddingAccount,
        now: Timestamp,
    ) -> Result<CampaignAccount, StoreError> {
        let step = StatisticsStep::Day;
        let today = CountsQuery {
            organization_id: Some(organization.clone()),
            step,
            from: step.start(now),
            until: step.shifted(step.start(now), 1),
            measures: vec![Measure::ConnectsSpent],
            by_time: None,
            by_campaign: false,
        };
        let sums = self.statistics.sums(&today).await?;
        let of_account = sums
            .iter()
            .filter(|sum| sum.subject == account.record.id.as_str());
        let spent = of_account.map(|sum| sum.count).fold(0, u64::saturating_add);
        Ok(CampaignAccount {
            id: account.record.id,
            name: account.record.name,
            connected: account.record.connected,
            reading: account.reading,
            spent_today: Connects::new(spent),
        })
    }

    /// `None` if the lead's job cannot be read.
    fn preview(
        &self,
        found: &LeadContext,
        another: Option<LeadId>,
        campaign_name: &str,
        templates: &ProposalTemplate,
    ) -> Option<TemplatePreview> {
        let post = JobPost::parse(&found.lead.job_json).ok()?;
        let written = WrittenProposal::of(&*self.writer, &found.lead, campaign_name, &self.links).ok()?;
        let letter = written.letter(templates.cover_letter.as_deref());
        let questions = post.questions.unwrap_or_default().into_iter();
        Some(TemplatePreview {
            lead: found.lead.lead.id.clone(),
            another,
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
