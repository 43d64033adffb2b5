//! A lead looked up before a decision. On PostgreSQL, look-ups that arrive at the same time share statements.

use std::sync::Arc;

use bidloop_domain::port::{LeadLookup, StoreError};

use super::super::prelude::*;
use super::context::{LeadKey, lead_of_campaign, leads_without_bid};
use super::together::with_others;
use crate::grouping::{Grouped, Locks};

impl Store {
    pub(super) async fn look_up_lead(&self, key: LeadKey) -> Result<LeadLookup, StoreError> {
        let look_ups = LookUps(self.clone());
        let lanes = self.shared_look_ups();
        with_others(lanes, &look_ups, Arc::new(key), |key| &key.organization).await
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
                let answer = |key: &Arc<LeadKey>| {
                    let found = found.get(&key.lead);
                    let found = found.filter(|found| key.is_of(&found.lead.lead));
                    found.map(|found| LeadLookup::Found(Box::new(found.clone())))
                };
                Ok(Some(group.iter().map(answer).collect()))
            })
            .await
    }

    async fn alone(&self, key: Arc<LeadKey>) -> Result<LeadLookup, StoreError> {
        let quarantine = self.0.quarantine.clone();
        self.0
            .look_up(async move |conn: &mut Conn| lead_of_campaign(conn, &quarantine, &key).await)
            .await
    }
}
