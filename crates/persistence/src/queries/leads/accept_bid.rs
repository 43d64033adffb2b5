//! Accepting a bid: the one transaction in which a lead is queued and a unit of quota taken (decision B2).

use bidloop_domain::model::{
    AccountSummary, Activity, CampaignAttachment, FrozenAttachment, LeadAttachment, LeadStatus, NewBid,
    Subscription,
};
use bidloop_domain::port::AcceptBid;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::super::Conn;
use super::super::quota::locked_quota;
use super::lock::locked_lead_row;
use crate::columns::Json;
use crate::failure::Failure;
use crate::rows::{
    AccountSummaryRow, ActivityRow, NewBidRow, SubscriptionRow, frozen_campaign_file, frozen_upload,
};
use crate::schema::{
    activities, bidder_accounts, bids, campaigns, lead_attachments, leads, organizations, quota_usage,
};

/// What a bid is accepted on, beside its lead and the quota.
struct Grounds {
    subscription: Subscription,
    account: Option<AccountSummary>,
    attachments: Vec<FrozenAttachment>,
}

/// Queues the bid if all holds. The lead is locked, then the quota: however many bids arrive at once, each is judged
/// on what those before it left, and writes only once it is known to be accepted.
pub(super) async fn accept_bid(
    conn: &mut Conn,
    bid: &NewBid,
    activity: &Activity,
) -> Result<AcceptBid, Failure> {
    let Some(lead) = locked_lead_row(conn, &bid.organization_id, &bid.lead_id).await? else {
        return Ok(AcceptBid::LeadUnknown);
    };
    if lead.campaign_id != bid.campaign_id.as_str() {
        return Ok(AcceptBid::LeadUnknown);
    }
    let Some(grounds) = grounds(conn, bid).await? else {
        return Ok(AcceptBid::LeadUnknown);
    };
    let status = lead.status()?;
    if !status.is_open() {
        return Ok(AcceptBid::LeadNotNew(status));
    }
    let Some(account) = grounds.account.filter(|account| account.connected) else {
        return Ok(AcceptBid::NoConnectedAccount);
    };
    let quota = locked_quota(conn, &bid.organization_id, &grounds.subscription, bid.queued_at).await?;
    if quota.usage.is_used_up() {
        return Ok(AcceptBid::QuotaUsedUp(quota.usage));
    }

    let organization = bid.organization_id.as_str();
    let account_id = account.id.to_string();
    let row = NewBidRow::new(bid, lead.job_id, account_id, grounds.attachments, quota.period);
    let period_start = quota.period.start.as_millis();
    execute_together!(
        conn,
        diesel::update(quota_usage::table.find((organization, period_start)))
            .set(quota_usage::used.eq(quota_usage::used + 1)),
        diesel::insert_into(bids::table).values(row),
        diesel::update(leads::table.find((organization, bid.lead_id.as_str()))).set((
            leads::status.eq(LeadStatus::Queued.as_str()),
            leads::bid_id.eq(bid.id.to_string()),
        )),
        diesel::insert_into(activities::table)
            .values(ActivityRow::from(activity))
            .on_conflict_do_nothing(),
    )?;
    Ok(AcceptBid::Accepted)
}

/// `None` if the campaign is gone. A row a file of the lead's; mostly there is none.
async fn grounds(conn: &mut Conn, bid: &NewBid) -> Result<Option<Grounds>, Failure> {
    type Row = (
        SubscriptionRow,
        Option<AccountSummaryRow>,
        Json<Vec<CampaignAttachment>>,
        Option<Json<LeadAttachment>>,
    );
    let account = bidder_accounts::organization_id
        .eq(campaigns::organization_id)
        .and(bidder_accounts::id.nullable().eq(campaigns::account_id));
    let upload = lead_attachments::organization_id
        .eq(campaigns::organization_id)
        .and(lead_attachments::lead_id.eq(bid.lead_id.as_str()));
    let mut rows: Vec<Row> = campaigns::table
        .inner_join(organizations::table.on(organizations::id.eq(campaigns::organization_id)))
        .left_join(bidder_accounts::table.on(account))
        .left_join(lead_attachments::table.on(upload))
        .filter(campaigns::organization_id.eq(bid.organization_id.as_str()))
        .filter(campaigns::id.eq(bid.campaign_id.as_str()))
        .order(lead_attachments::position)
        .select((
            SubscriptionRow::as_select(),
            Option::<AccountSummaryRow>::as_select(),
            campaigns::attachments,
            lead_attachments::attachment.nullable(),
        ))
        .load(conn)
        .await?;
    let uploads: Vec<FrozenAttachment> = rows
        .iter_mut()
        .filter_map(|(_, _, _, upload)| upload.take())
        .map(|upload| frozen_upload(upload.0))
        .collect();
    let Some((subscription, account, campaign_files, _)) = rows.into_iter().next() else {
        return Ok(None);
    };
    Ok(Some(Grounds {
        subscription: subscription.into_subscription()?,
        account: account.map(AccountSummaryRow::into_summary).transpose()?,
        attachments: if uploads.is_empty() {
            campaign_files.0.into_iter().map(frozen_campaign_file).collect()
        } else {
            uploads
        },
    }))
}
