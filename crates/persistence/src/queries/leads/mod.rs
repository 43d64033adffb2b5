//! Leads: the commands of [`LeadStore`].
//!
//! | file | owns |
//! |---|---|
//! | [`pages`] | pages of a campaign's list |
//! | [`context`] | a lead with everything that a decision on it needs |
//! | [`accept_bid`] | accepting a bid |
//! | [`lock`] | finding and locking a lead |

use async_trait::async_trait;
use bidloop_domain::attachment_rules::MAX_FILES;
use bidloop_domain::model::{
    Activity, BiddingConfig, CampaignId, LeadAttachment, LeadId, LeadStatus, NewBid, NewEvent, OrganizationId,
};
use bidloop_domain::port::{
    AcceptBid, AddAttachments, LeadContext, LeadLookup, LeadPage, LeadStore, NewAttachment, RejectLead,
    ReopenLead, StoreError,
};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use self::context::lead_context;
use self::lock::{lead_row_anywhere, locked_lead_row};
use super::activities::insert_activity;
use super::events::queue_event;
use super::{Conn, Store};
use crate::columns::{FreeText, Json, can_be_stored_key};
use crate::failure::Failure;
use crate::rows::LeadAttachmentRow;
use crate::schema::{campaigns, lead_attachments, leads};

mod accept_bid;
mod context;
pub(super) mod lock;
mod pages;

#[async_trait]
impl LeadStore for Store {
    async fn page(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        offset: u64,
        limit: u32,
    ) -> Result<Option<LeadPage>, StoreError> {
        pages::page(self, organization, campaign, offset, limit).await
    }

    async fn campaign_exists(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<bool, StoreError> {
        let (organization, campaign) = (organization.clone(), campaign.clone());
        self.read(async move |conn: &mut Conn| campaign_exists(conn, &organization, &campaign).await)
            .await
    }

    async fn find(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        lead: &LeadId,
    ) -> Result<LeadLookup, StoreError> {
        let (organization, campaign, lead) = (organization.clone(), campaign.clone(), lead.clone());
        self.read(async move |conn: &mut Conn| find(conn, &organization, &campaign, &lead).await)
            .await
    }

    async fn find_anywhere(&self, lead: &LeadId) -> Result<Option<LeadContext>, StoreError> {
        let lead = lead.clone();
        self.read(async move |conn: &mut Conn| find_anywhere(conn, &lead).await)
            .await
    }

    async fn accept_bid(&self, bid: &NewBid, activity: &Activity) -> Result<AcceptBid, StoreError> {
        let (bid, activity) = (bid.clone(), activity.clone());
        self.write(async move |conn: &mut Conn| accept_bid::accept_bid(conn, &bid, &activity).await)
            .await
    }

    async fn reject(
        &self,
        organization: &OrganizationId,
        lead: &LeadId,
        reason: Option<&str>,
        activity: &Activity,
    ) -> Result<RejectLead, StoreError> {
        let (organization, lead, activity) = (organization.clone(), lead.clone(), activity.clone());
        let reason = reason.map(FreeText::from);
        self.write(async move |conn: &mut Conn| {
            reject(conn, &organization, &lead, reason.as_ref(), &activity).await
        })
        .await
    }

    async fn add_attachments(
        &self,
        organization: &OrganizationId,
        lead: &LeadId,
        files: &[NewAttachment],
        activity: &Activity,
    ) -> Result<AddAttachments, StoreError> {
        let (organization, lead, activity) = (organization.clone(), lead.clone(), activity.clone());
        let files = files.to_vec();
        self.write(async move |conn: &mut Conn| {
            add_attachments(conn, &organization, &lead, &files, &activity).await
        })
        .await
    }

    async fn record_dry_run(&self, activity: &Activity, event: &NewEvent) -> Result<(), StoreError> {
        let (activity, event) = (activity.clone(), event.clone());
        self.write(async move |conn: &mut Conn| {
            insert_activity(conn, &activity).await?;
            queue_event(conn, &event, activity.at).await?;
            Ok(())
        })
        .await
    }

    async fn configure(&self, lead: &LeadId, config: &BiddingConfig) -> Result<bool, StoreError> {
        let (lead, config) = (lead.clone(), Json(config.clone()));
        self.write(async move |conn: &mut Conn| configure(conn, &lead, &config).await)
            .await
    }

    async fn reopen(&self, lead: &LeadId, activity: &Activity) -> Result<ReopenLead, StoreError> {
        let (lead, activity) = (lead.clone(), activity.clone());
        self.write(async move |conn: &mut Conn| reopen(conn, &lead, &activity).await)
            .await
    }
}

async fn find(
    conn: &mut Conn,
    organization: &OrganizationId,
    campaign: &CampaignId,
    lead: &LeadId,
) -> Result<LeadLookup, Failure> {
    let found = lead_context(conn, organization, lead).await?;
    let of_campaign = |found: &LeadContext| found.campaign.as_ref().is_some_and(|own| own.id == *campaign);
    if let Some(found) = found.filter(of_campaign) {
        return Ok(LeadLookup::Found(Box::new(found)));
    }
    Ok(if campaign_exists(conn, organization, campaign).await? {
        LeadLookup::LeadUnknown
    } else {
        LeadLookup::CampaignUnknown
    })
}

async fn campaign_exists(
    conn: &mut Conn,
    organization: &OrganizationId,
    campaign: &CampaignId,
) -> Result<bool, Failure> {
    let known = campaigns::table.find((organization.as_str(), campaign.as_str()));
    Ok(diesel::select(diesel::dsl::exists(known))
        .get_result(conn)
        .await?)
}

async fn find_anywhere(conn: &mut Conn, lead: &LeadId) -> Result<Option<LeadContext>, Failure> {
    match lead_row_anywhere(conn, lead).await? {
        Some(row) => lead_context(conn, &row.into_lead()?.organization_id, lead).await,
        None => Ok(None),
    }
}

async fn reject(
    conn: &mut Conn,
    organization: &OrganizationId,
    lead: &LeadId,
    reason: Option<&FreeText>,
    activity: &Activity,
) -> Result<RejectLead, Failure> {
    let Some(row) = locked_lead_row(conn, organization, lead).await? else {
        return Ok(RejectLead::LeadUnknown);
    };
    let status = row.status()?;
    if !status.is_open() {
        return Ok(RejectLead::LeadNotNew(status));
    }
    diesel::update(leads::table.find((organization.as_str(), lead.as_str())))
        .set((
            leads::status.eq(LeadStatus::Rejected.as_str()),
            leads::rejection_reason.eq(reason),
        ))
        .execute(conn)
        .await?;
    insert_activity(conn, activity).await?;
    Ok(RejectLead::Rejected)
}

/// The lead's lock keeps others from adding files at the same time, so that counting and comparing first suffices.
async fn add_attachments(
    conn: &mut Conn,
    organization: &OrganizationId,
    lead: &LeadId,
    files: &[NewAttachment],
    activity: &Activity,
) -> Result<AddAttachments, Failure> {
    let Some(row) = locked_lead_row(conn, organization, lead).await? else {
        return Ok(AddAttachments::LeadUnknown);
    };
    let status = row.status()?;
    if !status.is_open() {
        return Ok(AddAttachments::LeadNotNew(status));
    }
    let mut all: Vec<LeadAttachmentRow> = lead_attachments::table
        .filter(lead_attachments::organization_id.eq(organization.as_str()))
        .filter(lead_attachments::lead_id.eq(lead.as_str()))
        .order(lead_attachments::position)
        .select(LeadAttachmentRow::as_select())
        .load(conn)
        .await?;
    let existing = all.len();
    if existing + files.len() > MAX_FILES {
        return Ok(AddAttachments::TooMany { existing });
    }
    for file in files {
        let new = LeadAttachmentRow::new(organization, lead, all.len(), file);
        if all.iter().any(|known| known.name_digest == new.name_digest) {
            let name = file.attachment.original_name.clone();
            return Ok(AddAttachments::DuplicateName(name));
        }
        all.push(new);
    }
    let _inserted: usize = insert_new!(conn, lead_attachments::table, &all[existing..]);
    insert_activity(conn, activity).await?;
    let list: Vec<LeadAttachment> = all.into_iter().map(|row| row.attachment.0).collect();
    Ok(AddAttachments::Added(list))
}

async fn configure(conn: &mut Conn, lead: &LeadId, config: &Json<BiddingConfig>) -> Result<bool, Failure> {
    if !can_be_stored_key(lead.as_str()) {
        return Ok(false);
    }
    let configured = diesel::update(leads::table.filter(leads::id.eq(lead.as_str())))
        .set(leads::bidding_config.eq(config))
        .execute(conn)
        .await?;
    Ok(configured == 1)
}

async fn reopen(conn: &mut Conn, lead: &LeadId, activity: &Activity) -> Result<ReopenLead, Failure> {
    let Some(found) = lead_row_anywhere(conn, lead).await? else {
        return Ok(ReopenLead::LeadUnknown);
    };
    let organization = found.into_lead()?.organization_id;
    let Some(row) = locked_lead_row(conn, &organization, lead).await? else {
        return Ok(ReopenLead::LeadUnknown);
    };
    let status = row.status()?;
    if !status.is_reopenable() {
        return Ok(ReopenLead::NotReopenable(status));
    }
    diesel::update(leads::table.find((organization.as_str(), lead.as_str())))
        .set((
            leads::status.eq(LeadStatus::New.as_str()),
            leads::reason.eq(None::<&str>),
        ))
        .execute(conn)
        .await?;
    insert_activity(conn, activity).await?;
    Ok(ReopenLead::Reopened)
}
