//! One lead with everything that a decision on it needs.

use bidloop_domain::model::{LeadAttachment, LeadId, LeadWithJob, OrganizationId};
use bidloop_domain::port::LeadContext;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::Conn;
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
    Option<BidRecordRow>,
    Option<Json<LeadAttachment>>,
);

/// The organization's lead in one statement, so that everything is of one moment.
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
    let latest_bid = bids::organization_id
        .eq(leads::organization_id)
        .and(bids::id.nullable().eq(leads::bid_id));
    let upload = lead_attachments::organization_id
        .eq(leads::organization_id)
        .and(lead_attachments::lead_id.eq(leads::id));
    let rows: Vec<ContextRow> = leads::table
        .inner_join(jobs::table.on(jobs::id.eq(leads::job_id)))
        .inner_join(organizations::table.on(organizations::id.eq(leads::organization_id)))
        .left_join(campaigns::table.on(campaign))
        .left_join(bidder_accounts::table.on(account))
        .left_join(bids::table.on(latest_bid))
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
            Option::<BidRecordRow>::as_select(),
            lead_attachments::attachment.nullable(),
        ))
        .load(conn)
        .await?;
    context_of(rows)
}

fn context_of(mut rows: Vec<ContextRow>) -> Result<Option<LeadContext>, Failure> {
    let attachments: Vec<LeadAttachment> = rows
        .iter_mut()
        .filter_map(|(.., upload)| upload.take())
        .map(|upload| upload.0)
        .collect();
    let Some((lead, job_json, subscription, campaign, account, bid, _)) = rows.into_iter().next() else {
        return Ok(None);
    };
    let campaign = match campaign {
        Some(campaign) => {
            let account = account.map(AccountSummaryRow::into_summary).transpose()?;
            Some(campaign.into_campaign(account, subscription.into_subscription()?)?)
        }
        None => None,
    };
    Ok(Some(LeadContext {
        lead: LeadWithJob {
            lead: lead.into_lead()?,
            job_json,
        },
        campaign,
        attachments,
        bid: bid.map(BidRecordRow::into_record).transpose()?,
    }))
}
