//! One lead with everything that a decision on it needs.

use bidloop_domain::model::{BidRecord, LeadAttachment, LeadId, LeadWithJob, OrganizationId};
use bidloop_domain::port::LeadContext;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::super::Conn;
use crate::columns::{Json, can_be_stored_key};
use crate::failure::Failure;
use crate::rows::{AccountSummaryRow, BidRecordRow, BiddingCampaignRow, LeadRow, SubscriptionRow};
use crate::schema::{bidder_accounts, bids, campaigns, jobs, lead_attachments, leads, organizations};

/// A row a file of the lead's; mostly there is none.
type ContextRow = (
    LeadRow,
    String,
    SubscriptionRow,
    Option<BiddingCampaignRow>,
    Option<AccountSummaryRow>,
    Option<Json<LeadAttachment>>,
);

/// The organization's lead: in one statement, so that all that is decided on is of one moment; but for its bid.
pub(super) async fn lead_context(
    conn: &mut Conn,
    organization: &OrganizationId,
    lead: &LeadId,
) -> Result<Option<LeadContext>, Failure> {
    if !can_be_stored_key(lead.as_str()) {
        return Ok(None);
    }
    let campaign = campaigns::organization_id
        .eq(leads::organization_id)
        .and(campaigns::id.eq(leads::campaign_id));
    let account = bidder_accounts::organization_id
        .eq(campaigns::organization_id)
        .and(bidder_accounts::id.nullable().eq(campaigns::account_id));
    let upload = lead_attachments::organization_id
        .eq(leads::organization_id)
        .and(lead_attachments::lead_id.eq(leads::id));
    let rows: Vec<ContextRow> = leads::table
        .inner_join(jobs::table.on(jobs::id.eq(leads::job_id)))
        .inner_join(organizations::table.on(organizations::id.eq(leads::organization_id)))
        .left_join(campaigns::table.on(campaign))
        .left_join(bidder_accounts::table.on(account))
        .left_join(lead_attachments::table.on(upload))
        .filter(leads::organization_id.eq(organization.as_str()))
        .filter(leads::id.eq(lead.as_str()))
        .order(lead_attachments::position)
        .select((
            LeadRow::as_select(),
            jobs::json,
            SubscriptionRow::as_select(),
            Option::<BiddingCampaignRow>::as_select(),
            Option::<AccountSummaryRow>::as_select(),
            lead_attachments::attachment.nullable(),
        ))
        .load(conn)
        .await?;
    let Some((mut context, bid_id)) = context_of(rows)? else {
        return Ok(None);
    };
    if let Some(bid_id) = bid_id {
        context.bid = Some(bid_record(conn, organization, &bid_id).await?);
    }
    Ok(Some(context))
}

/// Not joined: as long as PostgreSQL knows little of the table, it would read all of the organization's bids.
async fn bid_record(conn: &mut Conn, organization: &OrganizationId, id: &str) -> Result<BidRecord, Failure> {
    let row: BidRecordRow = bids::table
        .find((organization.as_str(), id))
        .select(BidRecordRow::as_select())
        .first(conn)
        .await?;
    row.into_record()
}

/// The context but for the bid, and the bid's id.
fn context_of(mut rows: Vec<ContextRow>) -> Result<Option<(LeadContext, Option<String>)>, Failure> {
    let attachments: Vec<LeadAttachment> = rows
        .iter_mut()
        .filter_map(|(.., upload)| upload.take())
        .map(|upload| upload.0)
        .collect();
    let Some((mut lead, job_json, subscription, campaign, account, _)) = rows.into_iter().next() else {
        return Ok(None);
    };
    let campaign = match campaign {
        Some(campaign) => {
            let account = account.map(AccountSummaryRow::into_summary).transpose()?;
            Some(campaign.into_campaign(account, subscription.into_subscription()?)?)
        }
        None => None,
    };
    let bid_id = lead.bid_id.take();
    let context = LeadContext {
        lead: LeadWithJob {
            lead: lead.into_lead()?,
            job_json,
        },
        campaign,
        attachments,
        bid: None,
    };
    Ok(Some((context, bid_id)))
}
