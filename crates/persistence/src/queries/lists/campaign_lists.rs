//! The served lists of the campaigns that a page of the feed concerns, with what decides on their actions.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bidloop_domain::model::{CampaignAction, CampaignMode, CampaignState, Timestamp, action_on_match};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::super::{Conn, VALUES_AT_ONCE, update_list_ends};
use super::due::make_backfill_due;
use super::match_list::{CampaignKey, MatchList};
use crate::failure::Failure;
use crate::rows::{CampaignListRow, ListEndRow, NewMatchRow, SubscriptionRow};
use crate::schema::{campaigns, organizations};

/// A campaign's served list, and the campaign as the revision that is held shared has it.
pub(super) struct CampaignList {
    pub(super) list: MatchList,
    mode: CampaignMode,
    state: CampaignState,
    subscribed: bool,
    /// The `createdAt` of all that becomes a match with this page.
    moment: Option<i64>,
    /// The number of a job since which the list is to be made anew, because it was too long to be edited.
    anew_since: Option<i64>,
}

impl CampaignList {
    fn new(campaign: CampaignKey, row: &CampaignListRow, subscribed: bool) -> Result<Self, Failure> {
        Ok(Self {
            list: MatchList {
                campaign,
                generation: row.generation,
                total: row.match_total,
                last_at: row.last_match_at,
            },
            mode: row.mode()?,
            state: row.state()?,
            subscribed,
            moment: None,
            anew_since: None,
        })
    }

    /// What the campaign does with a new match.
    pub(super) fn action(&self, fresh: bool) -> CampaignAction {
        action_on_match(self.mode, self.state, self.subscribed, fresh)
    }

    /// Makes a backfill of the campaign due, which covers the job of this number.
    pub(super) fn match_anew_since(&mut self, job_seq: i64) {
        self.anew_since = Some(job_seq);
    }

    /// The next match of a page that is recorded at `at`: all of one page have one moment, `at` or a millisecond
    /// after what the list ended with.
    pub(super) fn append<'a>(
        &mut self,
        campaign: &'a CampaignKey,
        job_id: &'a str,
        at: Timestamp,
    ) -> NewMatchRow<'a> {
        let after_last = self.list.last_at.map_or(i64::MIN, |last| last.saturating_add(1));
        let moment = *self.moment.get_or_insert(at.as_millis().max(after_last));
        self.list.append(campaign, job_id, moment)
    }
}

/// Some campaigns' lists.
pub(super) struct CampaignLists {
    lists: BTreeMap<CampaignKey, CampaignList>,
    changed: BTreeSet<CampaignKey>,
}

impl CampaignLists {
    /// Those of the campaigns that exist. The rows are not locked: who could change them waits for the revision or
    /// for the position.
    pub(super) async fn load(conn: &mut Conn, wanted: HashSet<&CampaignKey>) -> Result<Self, Failure> {
        let organizations: BTreeSet<&str> = wanted
            .iter()
            .map(|(organization, _)| organization.as_str())
            .collect();
        let organizations: Vec<&str> = organizations.into_iter().collect();
        let mut lists = BTreeMap::new();
        for chunk in organizations.chunks(VALUES_AT_ONCE) {
            let rows: Vec<(CampaignListRow, SubscriptionRow)> = campaigns::table
                .inner_join(organizations::table.on(organizations::id.eq(campaigns::organization_id)))
                .filter(campaigns::organization_id.eq_any(chunk.iter().copied()))
                .select((CampaignListRow::as_select(), SubscriptionRow::as_select()))
                .load(conn)
                .await?;
            for (row, subscription) in rows {
                let campaign = (row.organization_id()?, row.campaign_id()?);
                if wanted.contains(&campaign) {
                    let subscribed = subscription.into_subscription()?.is_active();
                    lists.insert(campaign.clone(), CampaignList::new(campaign, &row, subscribed)?);
                }
            }
        }
        Ok(Self {
            lists,
            changed: BTreeSet::new(),
        })
    }

    pub(super) fn contains(&self, campaign: &CampaignKey) -> bool {
        self.lists.contains_key(campaign)
    }

    /// Whether the generation is the one that the campaign's list is read from.
    pub(super) fn serves(&self, campaign: &CampaignKey, generation: i64) -> bool {
        let list = self.lists.get(campaign);
        list.is_some_and(|campaign| campaign.list.generation == generation)
    }

    /// The campaign's list, to be changed.
    pub(super) fn change(&mut self, campaign: &CampaignKey) -> Option<&mut CampaignList> {
        let list = self.lists.get_mut(campaign)?;
        if !self.changed.contains(campaign) {
            self.changed.insert(campaign.clone());
        }
        Some(list)
    }

    /// Writes how the changed lists end. Campaigns are locked here for the first time, so that bids wait for a page
    /// as shortly as may be; and every change of a list takes its campaign's lock, which lists share while they make
    /// leads.
    pub(super) async fn save(&self, conn: &mut Conn) -> Result<(), Failure> {
        let mut ends = Vec::with_capacity(self.changed.len());
        for campaign in &self.changed {
            if let Some(CampaignList { list, .. }) = self.lists.get(campaign) {
                ends.push(ListEndRow {
                    organization_id: campaign.0.as_str(),
                    campaign_id: campaign.1.as_str(),
                    match_total: list.total,
                    last_match_at: list.last_at,
                });
            }
        }
        update_list_ends(conn, &ends).await?;
        for campaign in &self.changed {
            let anew_since = self.lists.get(campaign).and_then(|list| list.anew_since);
            if let Some(job_seq) = anew_since {
                // No commit has a negative revision, and no other page this one.
                make_backfill_due(conn, campaign.0.as_str(), campaign.1.as_str(), -job_seq).await?;
            }
        }
        Ok(())
    }
}
