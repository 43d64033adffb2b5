//! Bids and rejections that arrive at the same time, decided on in one transaction (decision B2).
//!
//! The outcome is that of deciding on them one after the other, as they arrived. A decision that is not plain goes alone,
//! after the group, and so do the later ones of its organization: on a lead that has no record, on one that an earlier
//! decision of the group is on, with a session or a personal token, or in a period whose bids are not counted yet. If the
//! group fails, each of its decisions goes alone.
//!
//! | file | owns |
//! |---|---|
//! | [`found`] | what the store has for a group, and the locks on it |
//! | [`judged`] | judging one decision after the other, and storing what was decided |

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use bidloop_domain::model::{
    Activity, ApiKeyHash, Authorization, CampaignId, Lead, LeadId, NewBid, OrganizationId,
};
use bidloop_domain::port::{AcceptBid, RejectLead, StoreError};

use self::judged::decide_together;
use super::super::prelude::*;
use super::accept_bid::accept_bid;
use super::reject::reject;
use crate::grouping::{Grouped, Lanes, Locks};

mod found;
mod judged;

/// A bid or a rejection.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) authorization: Authorization,
    pub(crate) wanted: Wanted,
    pub(crate) activity: Activity,
}

/// What is to become of a lead.
#[derive(Debug)]
pub(crate) enum Wanted {
    Bid(NewBid),
    Rejection { lead: Lead, reason: Option<String> },
}

/// What became of a lead.
#[derive(Debug)]
pub(crate) enum Decided {
    Bid(AcceptBid),
    Rejection(RejectLead),
}

impl Decision {
    fn organization(&self) -> &OrganizationId {
        match &self.wanted {
            Wanted::Bid(bid) => &bid.organization_id,
            Wanted::Rejection { lead, .. } => &lead.organization_id,
        }
    }

    fn campaign(&self) -> &CampaignId {
        match &self.wanted {
            Wanted::Bid(bid) => &bid.campaign_id,
            Wanted::Rejection { lead, .. } => &lead.campaign_id,
        }
    }

    fn lead(&self) -> &LeadId {
        match &self.wanted {
            Wanted::Bid(bid) => &bid.lead_id,
            Wanted::Rejection { lead, .. } => &lead.id,
        }
    }

    fn bid(&self) -> Option<&NewBid> {
        match &self.wanted {
            Wanted::Bid(bid) => Some(bid),
            Wanted::Rejection { .. } => None,
        }
    }

    fn key(&self) -> Option<&ApiKeyHash> {
        match &self.authorization {
            Authorization::ApiKey(hash) => Some(hash),
            _ => None,
        }
    }
}

impl Store {
    /// Decides on a lead together with the decisions that arrive at the same time.
    pub(super) async fn decide_with_others(&self, decision: Decision) -> Result<Decided, StoreError> {
        let decisions = Decisions(self.clone());
        let lanes = Some(&self.decisions);
        with_others(lanes, &decisions, Arc::new(decision), Decision::organization).await
    }
}

/// Carries out a command of an organization with others that arrive at the same time; alone where there are no lanes for it.
pub(crate) async fn with_others<G: Grouped>(
    lanes: Option<&Lanes<G>>,
    by: &G,
    command: Arc<G::Command>,
    organization_of: impl FnOnce(&G::Command) -> &OrganizationId,
) -> Result<G::Answer, StoreError> {
    let Some(lanes) = lanes else {
        return by.alone(command).await;
    };
    let key = lane_key(organization_of(&command));
    lanes.carry_out(by, key, command).await
}

/// What an organization's commands wait in: bids share its quota.
fn lane_key(organization: &OrganizationId) -> u64 {
    let mut key = DefaultHasher::new();
    organization.as_str().hash(&mut key);
    key.finish()
}

/// Decisions on leads of a store.
#[derive(Clone)]
pub(crate) struct Decisions(Store);

impl Grouped for Decisions {
    type Command = Decision;
    type Answer = Decided;

    async fn together(
        &self,
        group: Vec<Arc<Decision>>,
        locks: Locks,
    ) -> Result<Option<Vec<Option<Decided>>>, StoreError> {
        let work = async move |conn: &mut Conn| decide_together(conn, &group).await;
        self.0.write_by_keys(locks, work).await
    }

    fn answering(&self, callers: usize) {
        if let Some(look_ups) = self.0.shared_look_ups() {
            look_ups.expect(callers);
        }
    }

    async fn alone(&self, decision: Arc<Decision>) -> Result<Decided, StoreError> {
        let work = async move |conn: &mut Conn| {
            let Decision {
                authorization,
                wanted,
                activity,
            } = &*decision;
            Ok(match wanted {
                Wanted::Bid(bid) => Decided::Bid(accept_bid(conn, authorization, bid, activity).await?),
                Wanted::Rejection { lead, reason } => {
                    Decided::Rejection(reject(conn, authorization, lead, reason.as_ref(), activity).await?)
                }
            })
        };
        self.0.write(work).await
    }
}
