//! The served lists of the campaigns that a page of the feed concerns, and what decides on the campaigns' actions.

use std::collections::{BTreeMap, HashSet};

use bidloop_domain::model::{
    CampaignAction, CampaignId, CampaignMode, CampaignState, OrganizationId, Subscription, Timestamp,
    action_on_match,
};

use super::super::leads::context::organization_of_campaign;
use super::super::prelude::*;
use super::due::make_backfill_due;
use super::match_list::{CampaignKey, MatchList, NewMatch};
use super::served::ServedList;

/// A campaign's served list, and the campaign as of the revision that the transaction has locked.
pub(super) struct CampaignList {
    pub(super) list: MatchList,
    /// Mode and state; `None` if they cannot be read.
    stance: Option<(CampaignMode, CampaignState)>,
    subscribed: bool,
    /// Whether the end of the list is to be stored.
    is_changed: bool,
    /// The `createdAt` of all matches that this page adds.
    created_at: Option<i64>,
    /// The number of the job since which the list is to be matched anew, because editing it would take too long.
    anew_since: Option<i64>,
}

impl CampaignList {
    /// What the campaign does with a new match. One that cannot be read lists it.
    pub(super) fn action(&self, fresh: bool) -> CampaignAction {
        self.stance.map_or(CampaignAction::ListOnly, |(mode, state)| {
            action_on_match(mode, state, self.subscribed, fresh)
        })
    }

    /// Whether the campaign lists its matches only, whatever their age.
    pub(super) fn is_at_rest(&self) -> bool {
        let is_active = self
            .stance
            .is_some_and(|(_, state)| state == CampaignState::Active);
        !is_active || !self.subscribed
    }

    /// Makes a backfill of the campaign due, which covers the job of this number.
    pub(super) fn match_anew_since(&mut self, job_seq: i64) {
        self.anew_since = Some(job_seq);
    }

    /// Appends a match of a page that is recorded at `at`. All matches of a page have the same `createdAt`: `at`, or a
    /// millisecond after the end of the list.
    pub(super) fn append<'a>(
        &mut self,
        campaign: &'a CampaignKey,
        job_id: &'a str,
        at: Timestamp,
    ) -> NewMatch<'a> {
        let after_last = self.list.last_at.map_or(i64::MIN, |last| last.saturating_add(1));
        let created_at = *self.created_at.get_or_insert(at.as_millis().max(after_last));
        self.list.append(campaign, job_id, created_at)
    }
}

/// What a campaign's row says of its list.
#[derive(Queryable, Selectable)]
#[diesel(table_name = campaigns)]
struct ListColumns {
    organization_id: Attempt<Col<OrganizationId>>,
    id: Attempt<Col<CampaignId>>,
    mode: Attempt<Col<CampaignMode>>,
    state: Attempt<Col<CampaignState>>,
    #[diesel(embed)]
    list: ServedList,
}

/// Some campaigns' lists.
pub(super) struct CampaignLists {
    lists: BTreeMap<CampaignKey, CampaignList>,
}

impl CampaignLists {
    /// Loads the lists of the campaigns that exist. The rows are not locked: a transaction that could change them waits
    /// for the revision or for the position.
    pub(super) async fn load(
        conn: &mut Conn,
        quarantine: &Quarantine,
        wanted: HashSet<&CampaignKey>,
    ) -> Result<Self, Failure> {
        let keys = wanted
            .iter()
            .map(|(organization, campaign)| (organization.as_str(), campaign.as_str()));
        let rows: Vec<(ListColumns, Tried<Subscription>)> = campaigns::table
            .inner_join(organizations::table.on(organization_of_campaign()))
            .filter(pair_of!("campaigns.organization_id, campaigns.id", keys))
            .select((ListColumns::as_select(), Tried::<Subscription>::as_select()))
            .load(conn)
            .await?;
        let mut lists = BTreeMap::new();
        for (row, subscription) in rows {
            let (Ok(Col(organization)), Ok(Col(id))) = (row.organization_id.0, row.id.0) else {
                // No campaign that a filter names has such an id.
                continue;
            };
            let campaign = (organization, id);
            let stance = row.mode.0.and_then(|mode| Ok((mode.0, row.state.0?.0)));
            if let Err(why) = &stance {
                quarantine.set_aside(&UnreadableRow::of_organization(
                    "campaigns",
                    &campaign.0,
                    &campaign.1,
                    format_args!("mode or state cannot be read: {why}"),
                ));
            }
            let subscription = subscription.or_aside(quarantine);
            let list = CampaignList {
                list: MatchList {
                    campaign: campaign.clone(),
                    generation: row.list.generation,
                    total: row.list.total,
                    gap: row.list.gap,
                    last_at: row.list.last_at,
                },
                stance: stance.ok(),
                subscribed: subscription.is_some_and(|subscription| subscription.is_active()),
                is_changed: false,
                created_at: None,
                anew_since: None,
            };
            lists.insert(campaign, list);
        }
        Ok(Self { lists })
    }

    pub(super) fn contains(&self, campaign: &CampaignKey) -> bool {
        self.lists.contains_key(campaign)
    }

    /// Whether the campaign's list is served from this generation.
    pub(super) fn serves(&self, campaign: &CampaignKey, generation: i64) -> bool {
        let list = self.lists.get(campaign);
        list.is_some_and(|campaign| campaign.list.generation == generation)
    }

    /// The campaign's list, to be changed.
    pub(super) fn change(&mut self, campaign: &CampaignKey) -> Option<&mut CampaignList> {
        let list = self.lists.get_mut(campaign)?;
        list.is_changed = true;
        Some(list)
    }

    /// Stores the ends of the changed lists. This is what locks the campaigns, as late as possible, so that bids wait
    /// only shortly. Every change of a list takes this lock; showing a list shares it while leads are made.
    pub(super) async fn save(&self, conn: &mut Conn) -> Result<(), Failure> {
        let changed: Vec<&CampaignList> = self.lists.values().filter(|list| list.is_changed).collect();
        Batch::of("campaigns", &changed)
            .with(campaigns::organization_id, |changed| {
                changed.list.campaign.0.as_str()
            })
            .with(campaigns::id, |changed| changed.list.campaign.1.as_str())
            .with(campaigns::match_total, |changed| changed.list.total)
            .with(campaigns::last_match_at, |changed| changed.list.last_at)
            .with(campaigns::match_settled, |changed| changed.list.gap.settled)
            .with(campaigns::match_gap, |changed| changed.list.gap.gap)
            .run(conn, Write::Update(2))
            .await?;
        for changed in changed {
            if let Some(job_seq) = changed.anew_since {
                // No commit has a negative revision, and no other page has this one.
                let (organization, id) = &changed.list.campaign;
                make_backfill_due(conn, organization.as_str(), id.as_str(), -job_seq).await?;
            }
        }
        Ok(())
    }
}
