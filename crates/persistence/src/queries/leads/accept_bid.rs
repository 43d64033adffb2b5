//! Accepting a bid: the one transaction in which a lead is queued and a unit of quota used (decision B2).

use bidloop_domain::model::{
    AccountSummary, Activity, Authorization, Lead, LeadAttachment, LeadStatus, NewBid, ProposalFile,
    Subscription, Tally,
};
use bidloop_domain::port::AcceptBid;

use super::super::authorization::active_subscription;
use super::super::lists::lead_statuses::show_status;
use super::super::prelude::*;
use super::super::quota::{locked_quota, set_used};
use super::super::statistics::count;
use super::acted_on::ActedOn;
use super::context::account_of_campaign;
use super::rows::locked_lead;

/// What a bid is accepted on, beside its lead, the subscription and the quota.
struct Grounds {
    account: Option<AccountSummary>,
    attachments: Vec<ProposalFile>,
}

/// Queues the bid if all conditions hold. The lead is locked, then the quota: of bids that arrive at the same time, each
/// is judged on what those before it left. But for the record of a match, nothing is written before the bid is known to
/// be accepted.
pub(super) async fn accept_bid(
    conn: &mut Conn,
    authorization: &Authorization,
    bid: &NewBid,
    activity: &Activity,
) -> Result<AcceptBid, Failure> {
    let lead = locked_lead(conn, &bid.organization_id, &bid.lead_id).await?;
    let authorized = active_subscription(conn, authorization, &bid.organization_id, activity.at).await?;
    let subscription = match authorized {
        Ok(subscription) => subscription,
        Err(why) => return Ok(AcceptBid::NotAuthorized(why)),
    };
    let key = (bid.organization_id.clone(), bid.campaign_id.clone());
    let Some(acted_on) = ActedOn::of(conn, lead, &key, &bid.lead_id, &bid.job_id).await? else {
        return Ok(AcceptBid::LeadUnknown);
    };
    let accepted = accept_on(conn, &acted_on.lead, subscription, bid, activity).await?;
    if accepted != AcceptBid::Accepted {
        acted_on.forget(conn).await?;
    }
    Ok(accepted)
}

/// The lead is locked.
async fn accept_on(
    conn: &mut Conn,
    lead: &Lead,
    subscription: Subscription,
    bid: &NewBid,
    activity: &Activity,
) -> Result<AcceptBid, Failure> {
    let Some(grounds) = grounds(conn, bid).await? else {
        return Ok(AcceptBid::LeadUnknown);
    };
    if !lead.status.is_open() {
        return Ok(AcceptBid::LeadNotNew(lead.status));
    }
    let Some(account) = grounds.account.filter(|account| account.connected) else {
        return Ok(AcceptBid::NoConnectedAccount);
    };
    let (mut usage, quota) = locked_quota(conn, &bid.organization_id, subscription, bid.queued_at).await?;
    if quota.is_used_up() {
        return Ok(AcceptBid::QuotaUsedUp(quota));
    }

    let organization = bid.organization_id.as_str();
    let new = (
        bid.columns()?,
        bids::account_id.eq(account.id.as_str()),
        bids::attachments.eq(Col(grounds.attachments)),
        bids::period_start.eq(usage.period_start),
        bids::status.eq(LeadStatus::Queued.as_str()),
        // Due at once.
        bids::next_attempt_at.eq(bid.queued_at.as_millis()),
        bids::attempts.eq(0_i64),
        bids::answer_outstanding.eq(false),
        bids::boost_connects.eq(0_i64),
        bids::connects_spent.eq(0_i64),
    );
    let entry = activity.columns()?;
    usage.used.0 += 1;
    set_used(conn, &[&usage]).await?;
    diesel::insert_into(bids::table).values(new).execute(conn).await?;
    diesel::update(leads::table.find((organization, bid.lead_id.as_str())))
        .set((
            leads::status.eq(LeadStatus::Queued.as_str()),
            leads::bid_id.eq(bid.id.to_string()),
        ))
        .execute(conn)
        .await?;
    diesel::insert_into(activities::table)
        .values(entry)
        .on_conflict_do_nothing()
        .execute(conn)
        .await?;
    show_status(conn, lead, LeadStatus::Queued).await?;
    let mut tally = Tally::default();
    tally.bid(bid);
    count(conn, &tally, bid.queued_at).await?;
    Ok(AcceptBid::Accepted)
}

/// `None` if the campaign was removed.
async fn grounds(conn: &mut Conn, bid: &NewBid) -> Result<Option<Grounds>, Failure> {
    // There is a row for each of the lead's files; mostly it has none.
    type GroundsRow = (
        Option<Row<AccountSummary>>,
        Col<Vec<ProposalFile>>,
        Option<Col<LeadAttachment>>,
    );
    let upload = lead_attachments::organization_id
        .eq(campaigns::organization_id)
        .and(lead_attachments::lead_id.eq(bid.lead_id.as_str()));
    let mut rows: Vec<GroundsRow> = campaigns::table
        .left_join(bidder_accounts::table.on(account_of_campaign()))
        .left_join(lead_attachments::table.on(upload))
        .filter(campaigns::organization_id.eq(bid.organization_id.as_str()))
        .filter(campaigns::id.eq(bid.campaign_id.as_str()))
        .order(lead_attachments::position)
        .select((
            Option::<Row<AccountSummary>>::as_select(),
            campaigns::attachments,
            lead_attachments::attachment.nullable(),
        ))
        .load(conn)
        .await?;
    let uploads = rows.iter_mut().filter_map(|(.., upload)| upload.take());
    let uploads: Vec<ProposalFile> = uploads.map(|upload| upload.0.into()).collect();
    let Some((account, campaign_files, _)) = rows.into_iter().next() else {
        return Ok(None);
    };
    Ok(Some(Grounds {
        account: account.map(|account| account.0),
        attachments: if uploads.is_empty() {
            campaign_files.0
        } else {
            uploads
        },
    }))
}
