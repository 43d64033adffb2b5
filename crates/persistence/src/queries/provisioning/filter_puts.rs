//! Filters that are put one after the other, together: a file may change ten thousand of them, and pages of the feed
//! wait while it is committed; on SQLite every other command does.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bidloop_domain::model::{CampaignId, OrganizationId};
use bidloop_domain::port::{FilterRecord, ProvisioningChange};
use serde_json::Value;

use super::super::filter_changes::FilterKey;
use super::super::lists::due::due_at;
use super::super::prelude::*;
use super::campaigns::no_campaign;
use crate::columns::InColumn;
use crate::sql_types::EscapedText;

/// A filter to be put into a campaign.
pub(super) struct FilterPut<'c> {
    organization: &'c OrganizationId,
    campaign: &'c CampaignId,
    filter: &'c FilterRecord,
}

impl FilterPut<'_> {
    pub(super) fn name(&self) -> FilterKey {
        (self.organization.clone(), self.filter.id.clone())
    }
}

/// The filters that the first of the changes put, up to another change or one of the same filter.
pub(super) fn leading(changes: &[ProvisioningChange]) -> Vec<FilterPut<'_>> {
    let mut seen = HashSet::new();
    let puts = changes.iter().map_while(|change| match change {
        ProvisioningChange::PutFilter(organization, campaign, filter) => Some(FilterPut {
            organization,
            campaign,
            filter,
        }),
        _ => None,
    });
    puts.take_while(|put| seen.insert((put.organization, &put.filter.id)))
        .collect()
}

/// Where filters stood so far, and as what, by organization and id.
type Known = HashMap<(String, String), (String, Attempt<Col<Value>>)>;

/// Stores filters, each of which is among `puts` once, and makes backfills due where matches may change.
pub(super) async fn put(conn: &mut Conn, puts: &[FilterPut<'_>], revision: i64) -> Result<(), Failure> {
    let known = known(conn, puts).await?;
    let mut rows = Vec::with_capacity(puts.len());
    let mut due: BTreeMap<&OrganizationId, BTreeSet<&str>> = BTreeMap::new();
    for put in puts {
        let key = (put.organization.to_string(), put.filter.id.to_string());
        let before = known.get(&key);
        let stays = |(campaign, body): &(String, Attempt<Col<Value>>)| {
            campaign == put.campaign.as_str() && body.0.as_ref().is_ok_and(|body| body.0 == put.filter.body)
        };
        if !before.is_some_and(stays) {
            let due = due.entry(put.organization).or_default();
            due.insert(put.campaign.as_str());
            due.extend(before.map(|(campaign, _)| campaign.as_str()));
        }
        rows.push((
            put,
            InColumn::<EscapedText>::written(&put.filter.name)?,
            put.filter.body.written()?,
        ));
    }
    Batch::of("filters", &rows)
        .with(filters::organization_id, |(put, ..)| put.organization.as_str())
        .with(filters::id, |(put, ..)| put.filter.id.as_str())
        .with(filters::campaign_id, |(put, ..)| put.campaign.as_str())
        .with(filters::name, |(_, name, _)| name.clone())
        .with(filters::body, |(.., body)| body.clone())
        .run(conn, Write::Put(2))
        .await?;
    for (organization, due) in due {
        let missing = make_backfills_due(conn, organization, &due, revision).await?;
        let into = puts
            .iter()
            .find(|put| put.organization == organization && missing.contains(put.campaign.as_str()));
        if let Some(put) = into {
            return Err(no_campaign(organization, put.campaign));
        }
    }
    Ok(())
}

async fn known(conn: &mut Conn, puts: &[FilterPut<'_>]) -> Result<Known, Failure> {
    let mut ids: BTreeMap<&OrganizationId, Vec<&str>> = BTreeMap::new();
    for put in puts {
        ids.entry(put.organization)
            .or_default()
            .push(put.filter.id.as_str());
    }
    let mut known = Known::new();
    for (organization, ids) in ids {
        let rows: Vec<(String, String, Attempt<Col<Value>>)> = filters::table
            .filter(filters::organization_id.eq(organization.as_str()))
            .filter(one_of!(filters::id, ids))
            .select((filters::id, filters::campaign_id, filters::body))
            .load(conn)
            .await?;
        for (id, campaign, body) in rows {
            known.insert((organization.to_string(), id), (campaign, body));
        }
    }
    Ok(known)
}

/// Tells which of the campaigns there are not.
async fn make_backfills_due<'c>(
    conn: &mut Conn,
    organization: &OrganizationId,
    ids: &BTreeSet<&'c str>,
    revision: i64,
) -> Result<BTreeSet<&'c str>, Failure> {
    let mut missing = BTreeSet::new();
    let ids: Vec<&str> = ids.iter().copied().collect();
    let found = || {
        campaigns::table
            .filter(campaigns::organization_id.eq(organization.as_str()))
            .filter(one_of!(campaigns::id, &ids))
    };
    let updated = diesel::update(found())
        .set(due_at(revision))
        .execute(conn)
        .await?;
    if updated < ids.len() {
        let there: Vec<String> = found().select(campaigns::id).load(conn).await?;
        missing.extend(ids.iter().filter(|id| !there.iter().any(|there| there == *id)));
    }
    Ok(missing)
}
