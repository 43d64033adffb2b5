//! A lead looked up before a decision. On PostgreSQL, look-ups that arrive at the same time share statements.

use std::sync::Arc;

use bidloop_domain::port::{LeadContext, LeadLookup, StoreError};

use super::super::prelude::*;
use super::context::{LeadKey, lead_of_campaign, leads_without_bid};
use super::together::lane_key;
use crate::grouping::{Grouped, Locks};

fn is_of_campaign(key: &LeadKey, found: &LeadContext) -> bool {
    let campaign = found.campaign.as_ref();
    found.lead.lead.organization_id == key.organization
        && campaign.is_some_and(|campaign| campaign.id == key.campaign)
}

impl Store {
    pub(super) async fn look_up_lead(&self, look_up: LeadKey) -> Result<LeadLookup, StoreError> {
        let look_up = Arc::new(look_up);
        let look_ups = LookUps(self.clone());
        match self.shared_look_ups() {
            Some(lanes) => {
                let key = lane_key(&look_up.organization);
                lanes.carry_out(&look_ups, key, look_up).await
            }
            None => look_ups.alone(look_up).await,
        }
    }
}

/// Look-ups of leads of a store.
#[derive(Clone)]
pub(crate) struct LookUps(Store);

impl Grouped for LookUps {
    type Command = LeadKey;
    type Answer = LeadLookup;

    /// Answers those whose leads are there and without a bid, as nearly all are.
    async fn together(
        &self,
        group: Vec<Arc<LeadKey>>,
        _locks: Locks,
    ) -> Result<Option<Vec<Option<LeadLookup>>>, StoreError> {
        // A lone one takes one statement. To plan that would take longer than the others, which are simpler.
        if let ([one], false) = (&group[..], self.0.plans_anew()) {
            return Ok(Some(vec![Some(self.alone(Arc::clone(one)).await?)]));
        }
        let quarantine = self.0.quarantine.clone();
        self.0
            .snapshot_by_keys(async move |conn: &mut Conn| {
                let found = leads_without_bid(conn, &quarantine, &group).await?;
                let answer = |look_up: &Arc<LeadKey>| {
                    let found = found.get(&look_up.lead);
                    let found = found.filter(|found| is_of_campaign(look_up, found));
                    found.map(|found| LeadLookup::Found(Box::new(found.clone())))
                };
                Ok(Some(group.iter().map(answer).collect()))
            })
            .await
    }

    async fn alone(&self, look_up: Arc<LeadKey>) -> Result<LeadLookup, StoreError> {
        let quarantine = self.0.quarantine.clone();
        self.0
            .look_up(async move |conn: &mut Conn| lead_of_campaign(conn, &quarantine, &look_up).await)
            .await
    }
}
