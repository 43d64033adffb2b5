//! Leads: the commands of [`LeadStore`].
//!
//! | file | owns |
//! |---|---|
//! | [`pages`] | pages of a campaign's list |
//! | [`context`] | a lead with everything that a decision on it needs |
//! | [`accept_bid`] | accepting a bid |
//! | [`rows`] | making, finding and locking leads |

use async_trait::async_trait;
use bidloop_domain::attachment_rules::MAX_FILES;
use bidloop_domain::model::{
    Activity, BiddingConfig, CampaignId, LeadAttachment, LeadId, LeadStatus, NewBid, NewEvent,
    OrganizationId, Reason,
};
use bidloop_domain::port::{
    AcceptBid, AddAttachments, LeadContext, LeadLookup, LeadPage, LeadStore, NewAttachment, RejectLead,
    ReopenLead, StoreError,
};
use sha2::{Digest as _, Sha256};

use self::context::lead_context;
use self::rows::{locked_lead, organization_of};
use super::activities::insert_activity;
use super::events::queue_events;
use super::prelude::*;
use crate::columns::{Encoded, InColumn as _};

mod accept_bid;
mod context;
mod pages;
pub(super) mod rows;

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
        self.read(async move |conn: &mut Conn| {
            let campaign = campaigns::table.find((organization.as_str(), campaign.as_str()));
            Ok(exists!(conn, campaign))
        })
        .await
    }

    async fn find(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        lead: &LeadId,
    ) -> Result<LeadLookup, StoreError> {
        let (organization, campaign, lead) = (organization.clone(), campaign.clone(), lead.clone());
        self.read(async move |conn: &mut Conn| {
            let found = lead_context(conn, &organization, &lead).await?;
            let of_campaign =
                |found: &LeadContext| found.campaign.as_ref().is_some_and(|own| own.id == campaign);
            if let Some(found) = found.filter(of_campaign) {
                return Ok(LeadLookup::Found(Box::new(found)));
            }
            Ok(
                if exists!(
                    conn,
                    campaigns::table.find((organization.as_str(), campaign.as_str()))
                ) {
                    LeadLookup::LeadUnknown
                } else {
                    LeadLookup::CampaignUnknown
                },
            )
        })
        .await
    }

    async fn find_anywhere(&self, lead: &LeadId) -> Result<Option<LeadContext>, StoreError> {
        let lead = lead.clone();
        self.read(
            async move |conn: &mut Conn| match organization_of(conn, &lead).await? {
                Some(organization) => lead_context(conn, &organization, &lead).await,
                None => Ok(None),
            },
        )
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
        let reason = reason.map(|reason| Col(reason.to_owned()));
        self.write(async move |conn: &mut Conn| {
            let Some(found) = locked_lead(conn, &organization, &lead).await? else {
                return Ok(RejectLead::LeadUnknown);
            };
            if !found.status.is_open() {
                return Ok(RejectLead::LeadNotNew(found.status));
            }
            diesel::update(leads::table.find((organization.as_str(), lead.as_str())))
                .set((
                    leads::status.eq(LeadStatus::Rejected.as_str()),
                    leads::rejection_reason.eq(&reason),
                ))
                .execute(conn)
                .await?;
            insert_activity(conn, &activity).await?;
            Ok(RejectLead::Rejected)
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
            queue_events(conn, &[event], activity.at).await?;
            Ok(())
        })
        .await
    }

    async fn configure(&self, lead: &LeadId, config: &BiddingConfig) -> Result<bool, StoreError> {
        let (lead, config) = (lead.clone(), Col(config.clone()));
        self.write(async move |conn: &mut Conn| {
            let configured = diesel::update(leads::table.filter(leads::id.eq(lead.as_str())))
                .set(leads::bidding_config.eq(&config))
                .execute(conn)
                .await?;
            Ok(configured == 1)
        })
        .await
    }

    async fn reopen(&self, lead: &LeadId, activity: &Activity) -> Result<ReopenLead, StoreError> {
        let (lead, activity) = (lead.clone(), activity.clone());
        self.write(async move |conn: &mut Conn| {
            let Some(organization) = organization_of(conn, &lead).await? else {
                return Ok(ReopenLead::LeadUnknown);
            };
            let Some(found) = locked_lead(conn, &organization, &lead).await? else {
                return Ok(ReopenLead::LeadUnknown);
            };
            if !found.status.is_reopenable() {
                return Ok(ReopenLead::NotReopenable(found.status));
            }
            diesel::update(leads::table.find((organization.as_str(), lead.as_str())))
                .set((
                    leads::status.eq(LeadStatus::New.as_str()),
                    leads::reason.eq(None::<Col<Reason>>),
                ))
                .execute(conn)
                .await?;
            insert_activity(conn, &activity).await?;
            Ok(ReopenLead::Reopened)
        })
        .await
    }
}

/// The lead's lock keeps others from adding files at the same time, so counting and comparing first is enough.
async fn add_attachments(
    conn: &mut Conn,
    organization: &OrganizationId,
    lead: &LeadId,
    files: &[NewAttachment],
    activity: &Activity,
) -> Result<AddAttachments, Failure> {
    let Some(found) = locked_lead(conn, organization, lead).await? else {
        return Ok(AddAttachments::LeadUnknown);
    };
    if !found.status.is_open() {
        return Ok(AddAttachments::LeadNotNew(found.status));
    }
    let existing: Vec<(String, Col<LeadAttachment>)> = lead_attachments::table
        .filter(lead_attachments::organization_id.eq(organization.as_str()))
        .filter(lead_attachments::lead_id.eq(lead.as_str()))
        .order(lead_attachments::position)
        .select((lead_attachments::name_digest, lead_attachments::attachment))
        .load(conn)
        .await?;
    if existing.len() + files.len() > MAX_FILES {
        return Ok(AddAttachments::TooMany {
            existing: existing.len(),
        });
    }
    let (mut names, mut all): (Vec<String>, Vec<LeadAttachment>) = existing
        .into_iter()
        .map(|(name, attachment)| (name, attachment.0))
        .unzip();
    let mut new: Vec<(i64, String, Encoded)> = Vec::with_capacity(files.len());
    for file in files {
        let name = hex::encode(Sha256::digest(file.comparison_key.as_bytes()));
        if names.contains(&name) {
            return Ok(AddAttachments::DuplicateName(
                file.attachment.original_name.clone(),
            ));
        }
        names.push(name.clone());
        all.push(file.attachment.clone());
        new.push((stored(all.len()), name, file.attachment.written()?));
    }
    Batch::of("lead_attachments", &new)
        .with(lead_attachments::organization_id, |_| organization.as_str())
        .with(lead_attachments::lead_id, |_| lead.as_str())
        .with(lead_attachments::position, |(position, ..)| *position)
        .with(lead_attachments::name_digest, |(_, name, _)| name.as_str())
        .with(lead_attachments::attachment, |(.., attachment)| {
            attachment.clone()
        })
        .run(conn, Write::Insert)
        .await?;
    insert_activity(conn, activity).await?;
    Ok(AddAttachments::Added(all))
}
