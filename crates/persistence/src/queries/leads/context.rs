//! One lead with everything that a decision on it needs.

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

/// The organization's lead. One statement reads everything but its bid, so that a decision is based on one moment.
pub(crate) async fn lead_context(
    conn: &mut Conn,
    quarantine: &Quarantine,
    organization: &OrganizationId,
    lead: &LeadId,
) -> Result<Option<LeadContext>, Failure> {
    let campaign = campaigns::organization_id
        .eq(leads::organization_id)
        .and(campaigns::id.eq(leads::campaign_id));
    let account = bidder_accounts::organization_id
        .eq(campaigns::organization_id)
        .and(bidder_accounts::id.nullable().eq(campaigns::account_id));
    let upload = lead_attachments::organization_id
        .eq(leads::organization_id)
        .and(lead_attachments::lead_id.eq(leads::id));
    let mut rows: Vec<ContextRow> = leads::table
        .inner_join(jobs::table.on(jobs::id.eq(leads::job_id)))
        .inner_join(organizations::table.on(organizations::id.eq(leads::organization_id)))
        .left_join(campaigns::table.on(campaign))
        .left_join(bidder_accounts::table.on(account))
        .left_join(lead_attachments::table.on(upload))
        .filter(leads::organization_id.eq(organization.as_str()))
        .filter(leads::id.eq(lead.as_str()))
        .order(lead_attachments::position)
        .select((
            Tried::<Lead>::as_select(),
            leads::bid_id,
            jobs::json,
            Option::<Tried<Campaign>>::as_select(),
            Option::<Tried<AccountSummary>>::as_select(),
            lead_attachments::attachment.nullable(),
        ))
        .load(conn)
        .await?;
    let uploads = rows.iter_mut().filter_map(|(.., upload)| upload.take());
    let attachments = uploads.map(|upload| upload.0).collect();
    let Some((lead, bid_id, job_json, campaign, account, _)) = rows.into_iter().next() else {
        return Ok(None);
    };
    let lead = lead.required(quarantine)?;
    let campaign = campaign
        .map(|campaign| campaign.required(quarantine))
        .transpose()?;
    let account = account.map(|account| account.required(quarantine)).transpose()?;
    let bid = match bid_id {
        Some(id) => Some(bid_record(conn, quarantine, organization, &id).await?),
        None => None,
    };
    Ok(Some(LeadContext {
        lead: LeadWithJob { lead, job_json },
        campaign: campaign.map(|campaign| Campaign { account, ..campaign }),
        attachments,
        bid,
    }))
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
