//! A lead's own record, for requests that need no more. On PostgreSQL, requests that arrive at the same time share
//! statements.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use bidloop_domain::model::{CampaignId, Lead, LeadId, OrganizationId};
use bidloop_domain::port::{LeadLookup, StoreError};

use super::super::prelude::*;
use super::context::{LeadKey, lead_of_organization};
use super::together::with_others;
use crate::grouping::{Grouped, Locks};

type Loaded = (
    Vec<(Col<OrganizationId>, Col<CampaignId>)>,
    Vec<(Col<LeadId>, Tried<Lead>)>,
);

impl Store {
    pub(super) async fn locate_lead(&self, key: LeadKey) -> Result<LeadLookup<Lead>, StoreError> {
        let locations = Locations(self.clone());
        let lanes = self.shared_locations();
        with_others(lanes, &locations, Arc::new(key), |key| &key.organization).await
    }
}

/// Where leads of a store are.
#[derive(Clone)]
pub(crate) struct Locations(Store);

impl Grouped for Locations {
    type Command = LeadKey;
    type Answer = LeadLookup<Lead>;

    async fn together(
        &self,
        group: Vec<Arc<LeadKey>>,
        _locks: Locks,
    ) -> Result<Option<Vec<Option<LeadLookup<Lead>>>>, StoreError> {
        if let [one] = &group[..] {
            return Ok(Some(vec![Some(self.alone(Arc::clone(one)).await?)]));
        }
        let quarantine = self.0.quarantine.clone();
        let work = async move |conn: &mut Conn| Ok(Some(located(conn, &quarantine, &group).await?));
        self.0.snapshot_by_keys(work).await
    }

    async fn alone(&self, key: Arc<LeadKey>) -> Result<LeadLookup<Lead>, StoreError> {
        let quarantine = self.0.quarantine.clone();
        self.0
            .look_up(async move |conn: &mut Conn| located_alone(conn, &quarantine, &key).await)
            .await
    }
}

/// What is found of each; `None`: it cannot be read. The statements must see one moment.
async fn located(
    conn: &mut Conn,
    quarantine: &Quarantine,
    asked: &[Arc<LeadKey>],
) -> Result<Vec<Option<LeadLookup<Lead>>>, Failure> {
    let ids: BTreeSet<&str> = asked.iter().map(|key| key.lead.as_str()).collect();
    let campaign_keys: BTreeSet<(&str, &str)> = asked.iter().map(|key| key.campaign_key()).collect();
    let of_campaigns = campaigns::table
        .filter(pair_of!("campaigns.organization_id, campaigns.id", campaign_keys))
        .select((campaigns::organization_id, campaigns::id));
    let of_leads = leads::table
        .filter(one_of!(leads::id, ids))
        .select((leads::id, Tried::<Lead>::as_select()));
    let (campaigns, leads): Loaded = load_together!(conn, of_campaigns, of_leads)?;
    let campaigns: HashSet<_> = campaigns
        .into_iter()
        .map(|(organization, campaign)| (organization.0, campaign.0))
        .collect();
    let leads: HashMap<LeadId, Option<Lead>> = leads
        .into_iter()
        .map(|(id, lead)| (id.0, lead.or_aside(quarantine)))
        .collect();
    let answer = |key: &Arc<LeadKey>| {
        let campaign = (key.organization.clone(), key.campaign.clone());
        if !campaigns.contains(&campaign) {
            return Some(LeadLookup::CampaignUnknown);
        }
        let Some(lead) = leads.get(&key.lead) else {
            return Some(LeadLookup::LeadUnknown);
        };
        let lead = lead.as_ref()?;
        Some(if key.is_of(lead) {
            LeadLookup::Found(Box::new(lead.clone()))
        } else {
            LeadLookup::LeadUnknown
        })
    };
    Ok(asked.iter().map(answer).collect())
}

/// The same for one, in one statement.
async fn located_alone(
    conn: &mut Conn,
    quarantine: &Quarantine,
    key: &LeadKey,
) -> Result<LeadLookup<Lead>, Failure> {
    let found: Option<(Option<String>, Option<Tried<Lead>>)> = campaigns::table
        .find((key.organization.as_str(), key.campaign.as_str()))
        .left_join(leads::table.on(lead_of_organization(key.lead.to_string())))
        .select((leads::campaign_id.nullable(), Option::<Tried<Lead>>::as_select()))
        .first(conn)
        .await
        .optional()?;
    Ok(match found {
        Some((Some(of), Some(lead))) if of == key.campaign.as_str() => {
            LeadLookup::Found(Box::new(lead.required(quarantine)?))
        }
        Some(_) => LeadLookup::LeadUnknown,
        None => LeadLookup::CampaignUnknown,
    })
}
