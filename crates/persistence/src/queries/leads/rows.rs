//! Leads as rows of their table: made, found and locked.

use std::collections::{BTreeSet, HashMap};

use bidloop_domain::model::{
    BiddingConfig, CampaignId, JobId, Lead, LeadId, LeadStatus, OrganizationId, Timestamp,
};

use super::super::prelude::*;
use crate::columns::InColumn as _;

/// The lead that a job newly is in a campaign.
pub(crate) fn new_lead(
    (organization, campaign): &(OrganizationId, CampaignId),
    job: &JobId,
    created_at: i64,
) -> Lead {
    Lead {
        id: LeadId::derive(organization, campaign, job),
        organization_id: organization.clone(),
        campaign_id: campaign.clone(),
        job_id: job.clone(),
        created_at: Timestamp::from_millis(created_at),
        status: LeadStatus::New,
        reason: None,
        rejection_reason: None,
        proposal_id: None,
        bidding_config: BiddingConfig::default(),
    }
}

/// Stores leads as [`new_lead`] makes them. Existing leads stay as they are. Returns how many were stored.
pub(crate) async fn insert_new_leads(conn: &mut Conn, new: &[Lead]) -> Result<usize, Failure> {
    let no_config = BiddingConfig::default().written()?;
    Batch::of("leads", new)
        .with(leads::organization_id, |lead| lead.organization_id.as_str())
        .with(leads::id, |lead| lead.id.as_str())
        .with(leads::campaign_id, |lead| lead.campaign_id.as_str())
        .with(leads::job_id, |lead| lead.job_id.as_str())
        .with(leads::created_at, |lead| lead.created_at.as_millis())
        .with(leads::status, |_| LeadStatus::New.as_str())
        .with(leads::bidding_config, |_| no_config.clone())
        .run(conn, Write::InsertNew)
        .await
}

/// The organization's lead, which no other transaction changes until this one ends. Of all locks that a command on a
/// lead takes, this is the first.
pub(crate) async fn locked_lead(
    conn: &mut Conn,
    organization: &OrganizationId,
    id: &LeadId,
) -> Result<Option<Lead>, Failure> {
    let lead = leads::table
        .find((organization.as_str(), id.as_str()))
        .select(Row::<Lead>::as_select());
    let found: Option<Row<Lead>> = for_update!(lead).first(conn).await.optional()?;
    Ok(found.map(|lead| lead.0))
}

/// Locks several leads in the order of their keys. They are found by their ids alone: see [`pages`](super::pages).
pub(crate) async fn locked_leads(
    conn: &mut Conn,
    ids: BTreeSet<&str>,
) -> Result<HashMap<LeadId, Lead>, Failure> {
    let leads = leads::table
        .filter(one_of!(leads::id, ids))
        .order((leads::organization_id, leads::id))
        .select(Row::<Lead>::as_select());
    let found: Vec<Row<Lead>> = for_update!(leads).load(conn).await?;
    Ok(found
        .into_iter()
        .map(|Row(lead)| (lead.id.clone(), lead))
        .collect())
}

/// The organization of a lead, for operators' commands.
pub(super) async fn organization_of(conn: &mut Conn, id: &LeadId) -> Result<Option<OrganizationId>, Failure> {
    let found: Option<Col<OrganizationId>> = leads::table
        .filter(leads::id.eq(id.as_str()))
        .select(leads::organization_id)
        .first(conn)
        .await
        .optional()?;
    Ok(found.map(|organization| organization.0))
}
