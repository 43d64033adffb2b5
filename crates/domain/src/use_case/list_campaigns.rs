//! List campaigns: each with what it does, what it lacks, and what it brought in. Tests:
//! `tests/use_case/show_overview.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::{
    AccountId, CampaignId, Connects, Measure, Member, MissingPart, OrganizationId, SUBMITTED, StatisticsStep,
};
use crate::port::{
    CampaignSign, Clock, CountedSum, CountsQuery, OrganizationFacts, OverviewStore, StatisticsStore,
    StoreError,
};

/// How many days "7 days" are, today included.
const DAYS: i64 = 7;

/// A campaign in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedCampaign {
    /// Id, name, mode and state.
    pub sign: CampaignSign,
    /// The account that it bids with.
    pub account_id: Option<AccountId>,
    /// How many saved filters it has.
    pub filters: u64,
    /// What it lacks; the first prevent a start.
    pub missing: Vec<MissingPart>,
    /// Jobs that matched it today, in UTC.
    pub matches_today: u64,
    /// Proposals submitted today and in the six days before.
    pub submitted: u64,
    /// Connects spent in that time.
    pub connects: Connects,
}

impl ListedCampaign {
    /// Whether it has what an active campaign needs (decision D1).
    pub fn can_start(&self) -> bool {
        self.missing.iter().all(|part| !part.prevents_start())
    }
}

/// Lists an organization's campaigns.
#[derive(Debug)]
pub struct ListCampaigns {
    /// Campaigns and what they have.
    pub store: Arc<dyn OverviewStore>,
    /// What they brought in.
    pub statistics: Arc<dyn StatisticsStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl ListCampaigns {
    /// A member's, by name; `None` if the organization was removed.
    pub async fn execute(&self, member: &Member) -> Result<Option<Vec<ListedCampaign>>, StoreError> {
        self.of(member.organization_id()).await
    }

    /// An organization's, by name; `None` if there is no such organization.
    pub async fn of(&self, organization: &OrganizationId) -> Result<Option<Vec<ListedCampaign>>, StoreError> {
        let now = self.clock.now();
        let Some(facts) = self.store.facts(organization, now).await? else {
            return Ok(None);
        };
        let today = StatisticsStep::Day.start(now);
        let tomorrow = StatisticsStep::Day.shifted(today, 1);
        let query = |from, measures| CountsQuery {
            organization_id: Some(organization.clone()),
            step: StatisticsStep::Day,
            from,
            until: tomorrow,
            measures,
            by_time: None,
            by_campaign: true,
        };
        let week_ago = StatisticsStep::Day.shifted(tomorrow, -DAYS);
        let ends = vec![Measure::Ended, Measure::ConnectsSpent];
        let mut sums = self
            .statistics
            .sums(&query(today, vec![Measure::Matched]))
            .await?;
        sums.extend(self.statistics.sums(&query(week_ago, ends)).await?);
        Ok(Some(listed(facts, &sums)))
    }
}

fn listed(facts: OrganizationFacts, sums: &[CountedSum]) -> Vec<ListedCampaign> {
    let mut figures: HashMap<&CampaignId, (u64, u64, u64)> = HashMap::new();
    for sum in sums {
        let Some(campaign) = &sum.campaign_id else {
            continue;
        };
        let (matched, submitted, connects) = figures.entry(campaign).or_default();
        match sum.measure {
            Measure::Matched => *matched += sum.count,
            Measure::Ended if sum.subject == SUBMITTED => *submitted += sum.count,
            Measure::ConnectsSpent => *connects += sum.count,
            _ => {}
        }
    }
    let campaigns = facts.campaigns.into_iter().map(|campaign| {
        let known = figures.get(&campaign.sign.id).copied();
        let (matches_today, submitted, connects) = known.unwrap_or_default();
        ListedCampaign {
            account_id: campaign.account_id,
            filters: campaign.filters,
            missing: campaign.parts.missing(),
            matches_today,
            submitted,
            connects: Connects::new(connects),
            sign: campaign.sign,
        }
    });
    campaigns.collect()
}
