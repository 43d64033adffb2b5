//! One lead with everything that a decision on it needs.

use std::collections::HashMap;

use bidloop_domain::model::{
    AccountSummary, BidRecord, Campaign, Lead, LeadAttachment, LeadId, LeadWithJob, OrganizationId,
};
use bidloop_domain::port::LeadContext;

use super::super::prelude::*;

/// The lead and its bid's id, the job, the campaign, the account, and one of the lead's files. There is a row for each
/// file; mostly the lead has none.
type ContextRow = (
    Tried<Lead>,
    Option<String>,
    String,
    Option<Tried<Campaign>>,
    Option<Tried<AccountSummary>>,
    Option<Col<LeadAttachment>>,
);

/// Selects the rows of the leads that conditions find. One statement reads everything but a lead's bid, so that a decision is
/// based on one moment.
macro_rules! context_rows {
    ($($condition:expr),+) => {{
        let campaign = campaigns::organization_id
            .eq(leads::organization_id)
            .and(campaigns::id.eq(leads::campaign_id));
        let account = bidder_accounts::organization_id
            .eq(campaigns::organization_id)
            .and(bidder_accounts::id.nullable().eq(campaigns::account_id));
        let upload = lead_attachments::organization_id
            .eq(leads::organization_id)
            .and(lead_attachments::lead_id.eq(leads::id));
        leads::table
            .inner_join(jobs::table.on(jobs::id.eq(leads::job_id)))
            .inner_join(organizations::table.on(organizations::id.eq(leads::organization_id)))
            .left_join(campaigns::table.on(campaign))
            .left_join(bidder_accounts::table.on(account))
            .left_join(lead_attachments::table.on(upload))
            $(.filter($condition))+
            .order((leads::id, lead_attachments::position))
            .select((
                Tried::<Lead>::as_select(),
                leads::bid_id,
                jobs::json,
                Option::<Tried<Campaign>>::as_select(),
                Option::<Tried<AccountSummary>>::as_select(),
                lead_attachments::attachment.nullable(),
            ))
    }};
}

/// The organization's lead.
pub(crate) async fn lead_context(
    conn: &mut Conn,
    quarantine: &Quarantine,
    organization: &OrganizationId,
    lead: &LeadId,
) -> Result<Option<LeadContext>, Failure> {
    let lead = leads::id.eq(lead.as_str());
    let rows = context_rows!(leads::organization_id.eq(organization.as_str()), lead);
    let Some((mut found, bid_id)) = contexts(quarantine, rows.load(conn).await?)?.pop() else {
        return Ok(None);
    };
    if let Some(id) = bid_id {
        found.bid = Some(bid_record(conn, quarantine, organization, &id).await?);
    }
    Ok(Some(found))
}

/// Those of the leads that have no bid, by their ids, which are unique.
pub(super) async fn leads_without_bid(
    conn: &mut Conn,
    quarantine: &Quarantine,
    ids: impl Iterator<Item = &LeadId>,
) -> Result<HashMap<LeadId, LeadContext>, Failure> {
    let ids: Vec<&str> = ids.map(LeadId::as_str).collect();
    let rows = context_rows!(one_of!(leads::id, ids), leads::bid_id.is_null());
    let found = contexts(quarantine, rows.load(conn).await?)?;
    let by_id = |(found, _): (LeadContext, _)| (found.lead.lead.id.clone(), found);
    Ok(found.into_iter().map(by_id).collect())
}

/// What rows say of each lead, without its bid, and the bid's id. The rows of one lead follow each other.
fn contexts(
    quarantine: &Quarantine,
    rows: Vec<ContextRow>,
) -> Result<Vec<(LeadContext, Option<String>)>, Failure> {
    let mut contexts: Vec<(LeadContext, Option<String>)> = Vec::new();
    for (lead, bid_id, job_json, campaign, account, upload) in rows {
        let lead = lead.required(quarantine)?;
        let upload = upload.map(|upload| upload.0);
        if let Some((of_lead, _)) = contexts.last_mut()
            && of_lead.lead.lead.id == lead.id
        {
            of_lead.attachments.extend(upload);
            continue;
        }
        let campaign = campaign
            .map(|campaign| campaign.required(quarantine))
            .transpose()?;
        let account = account.map(|account| account.required(quarantine)).transpose()?;
        let context = LeadContext {
            lead: LeadWithJob { lead, job_json },
            campaign: campaign.map(|campaign| Campaign { account, ..campaign }),
            attachments: upload.into_iter().collect(),
            bid: None,
        };
        contexts.push((context, bid_id));
    }
    Ok(contexts)
}

/// The bid is not joined: as long as PostgreSQL has no statistics of the table, it would read all of the organization's
/// bids.
async fn bid_record(
    conn: &mut Conn,
    quarantine: &Quarantine,
    organization: &OrganizationId,
    id: &str,
) -> Result<BidRecord, Failure> {
    let bid = bids::table
        .find((organization.as_str(), id))
        .select(Tried::<BidRecord>::as_select());
    let bid: Tried<BidRecord> = bid.first(conn).await?;
    bid.required(quarantine)
}
