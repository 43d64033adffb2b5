//! Leads: the commands of [`LeadStore`].
//!
//! | file | owns |
//! |---|---|
//! | [`pages`] | pages of a campaign's list |
//! | [`context`] | a lead with everything that a decision on it needs |
//! | [`look_up`] | the same, together with others |
//! | [`locate`] | a lead's own record, together with others |
//! | [`accept_bid`] | accepting a bid |
//! | [`reject`] | rejecting a lead |
//! | [`together`] | bids and rejections that arrive at the same time |
//! | [`acted_on`] | the lead of a command, made of its match if need be |
//! | [`rows`] | making, finding and locking leads |

use async_trait::async_trait;
use bidloop_domain::attachment_rules::MAX_FILES;
use bidloop_domain::model::{
    Activity, Authorization, BiddingConfig, CampaignId, JobId, Lead, LeadAttachment, LeadId, LeadStatus,
    NewBid, NewEvent, OrganizationId, Reason, Timestamp, Unauthorized,
};
use bidloop_domain::port::{
    AcceptBid, AddAttachments, ConfigureLead, JobContent, LeadContext, LeadLookup, LeadPage, LeadStore,
    NewAttachment, RecordDryRun, RejectLead, ReopenLead, StoreError,
};
use sha2::{Digest as _, Sha256};

use self::acted_on::ActedOn;
use self::context::{LeadKey, lead_context};
use self::rows::{locked_lead, organization_of};
use self::together::{Decided, Decision, Wanted};
use super::activities::insert_activity;
use super::authorization::active_subscription;
use super::events::queue_dry_run;
use super::lists::lead_statuses::show_status;
use super::prelude::*;
use crate::columns::{Encoded, InColumn as _};

mod accept_bid;
pub(super) mod acted_on;
pub(super) mod context;
pub(super) mod locate;
pub(super) mod look_up;
mod pages;
mod reject;
pub(super) mod rows;
pub(super) mod together;

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

    async fn job_contents(&self, jobs: &[JobId]) -> Result<Vec<JobContent>, StoreError> {
        pages::job_contents(self, jobs).await
    }

    async fn campaign_exists(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<bool, StoreError> {
        let (organization, campaign) = (organization.clone(), campaign.clone());
        self.look_up(async move |conn: &mut Conn| {
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
        self.look_up_lead(LeadKey::of(organization, campaign, lead)).await
    }

    async fn locate(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        lead: &LeadId,
    ) -> Result<LeadLookup<Lead>, StoreError> {
        self.locate_lead(LeadKey::of(organization, campaign, lead)).await
    }

    async fn find_anywhere(&self, lead: &LeadId) -> Result<Option<LeadContext>, StoreError> {
        let (lead, quarantine) = (lead.clone(), self.quarantine.clone());
        self.read(
            async move |conn: &mut Conn| match organization_of(conn, &lead).await? {
                Some(organization) => lead_context(conn, &quarantine, &organization, &lead).await,
                None => Ok(None),
            },
        )
        .await
    }

    async fn accept_bid(
        &self,
        authorization: &Authorization,
        bid: &NewBid,
        activity: &Activity,
    ) -> Result<AcceptBid, StoreError> {
        let decision = Decision {
            authorization: authorization.clone(),
            wanted: Wanted::Bid(bid.clone()),
            activity: activity.clone(),
        };
        match self.decide_with_others(decision).await? {
            Decided::Bid(accepted) => Ok(accepted),
            Decided::Rejection(_) => Err(answered_another()),
        }
    }

    async fn reject(
        &self,
        authorization: &Authorization,
        lead: &Lead,
        reason: Option<&str>,
        activity: &Activity,
    ) -> Result<RejectLead, StoreError> {
        let decision = Decision {
            authorization: authorization.clone(),
            wanted: Wanted::Rejection {
                lead: lead.clone(),
                reason: reason.map(str::to_owned),
            },
            activity: activity.clone(),
        };
        match self.decide_with_others(decision).await? {
            Decided::Rejection(rejected) => Ok(rejected),
            Decided::Bid(_) => Err(answered_another()),
        }
    }

    async fn add_attachments(
        &self,
        authorization: &Authorization,
        lead: &Lead,
        files: &[NewAttachment],
        activity: &Activity,
    ) -> Result<AddAttachments, StoreError> {
        let (lead, activity) = (lead.clone(), activity.clone());
        let (authorization, files) = (authorization.clone(), files.to_vec());
        let of = lead.organization_id.clone();
        self.write_for(&of, async move |conn: &mut Conn| {
            let acted_on = match acted_on(conn, &authorization, &lead, activity.at).await? {
                Acts::NotAuthorized(why) => return Ok(AddAttachments::NotAuthorized(why)),
                Acts::LeadUnknown => return Ok(AddAttachments::LeadUnknown),
                Acts::On(acted_on) => acted_on,
            };
            let added = add_attachments(conn, &acted_on.lead, &files, &activity).await?;
            if !matches!(added, AddAttachments::Added(_)) {
                acted_on.forget(conn).await?;
            }
            Ok(added)
        })
        .await
    }

    async fn record_dry_run(
        &self,
        authorization: &Authorization,
        activity: &Activity,
        event: &NewEvent,
    ) -> Result<RecordDryRun, StoreError> {
        let (authorization, activity, event) = (authorization.clone(), activity.clone(), event.clone());
        let quarantine = self.quarantine.clone();
        let of = event.organization_id.clone();
        self.write_for(&of, async move |conn: &mut Conn| {
            if let Err(why) =
                active_subscription(conn, &authorization, &event.organization_id, activity.at).await?
            {
                return Ok(RecordDryRun::NotAuthorized(why));
            }
            if !queue_dry_run(conn, &quarantine, &event, activity.at).await? {
                return Ok(RecordDryRun::TooManyPending);
            }
            insert_activity(conn, &activity).await?;
            Ok(RecordDryRun::Recorded)
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

    async fn configure_as(
        &self,
        authorization: &Authorization,
        lead: &Lead,
        config: &BiddingConfig,
        activity: &Activity,
    ) -> Result<ConfigureLead, StoreError> {
        let (lead, activity) = (lead.clone(), activity.clone());
        let (authorization, config) = (authorization.clone(), Col(config.clone()));
        let of = lead.organization_id.clone();
        self.write_for(&of, async move |conn: &mut Conn| {
            let lead = match acted_on(conn, &authorization, &lead, activity.at).await? {
                Acts::NotAuthorized(why) => return Ok(ConfigureLead::NotAuthorized(why)),
                Acts::LeadUnknown => return Ok(ConfigureLead::LeadUnknown),
                Acts::On(acted_on) => acted_on.lead,
            };
            diesel::update(leads::table.find((lead.organization_id.as_str(), lead.id.as_str())))
                .set(leads::bidding_config.eq(&config))
                .execute(conn)
                .await?;
            insert_activity(conn, &activity).await?;
            Ok(ConfigureLead::Configured)
        })
        .await
    }

    async fn reopen(&self, lead: &LeadId, activity: &Activity) -> Result<ReopenLead, StoreError> {
        let (lead, activity) = (lead.clone(), activity.clone());
        self.write(async move |conn: &mut Conn| {
            let Some(organization) = organization_of(conn, &lead).await? else {
                return Ok(ReopenLead::LeadUnknown);
            };
            let found = locked_lead(conn, &organization, &lead).await?;
            reopen(conn, found, &activity).await
        })
        .await
    }

    async fn reopen_as(
        &self,
        authorization: &Authorization,
        organization: &OrganizationId,
        lead: &LeadId,
        activity: &Activity,
    ) -> Result<ReopenLead, StoreError> {
        let (organization, lead, activity) = (organization.clone(), lead.clone(), activity.clone());
        let authorization = authorization.clone();
        let of = organization.clone();
        self.write_for(&of, async move |conn: &mut Conn| {
            let found = locked_lead(conn, &organization, &lead).await?;
            if let Err(why) = active_subscription(conn, &authorization, &organization, activity.at).await? {
                return Ok(ReopenLead::NotAuthorized(why));
            }
            reopen(conn, found, &activity).await
        })
        .await
    }
}

fn answered_another() -> StoreError {
    StoreError::Backend("a decision got the answer of another kind".to_owned())
}

/// The lead is locked.
async fn reopen(conn: &mut Conn, lead: Option<Lead>, activity: &Activity) -> Result<ReopenLead, Failure> {
    let Some(lead) = lead else {
        return Ok(ReopenLead::LeadUnknown);
    };
    if !lead.status.is_reopenable() {
        return Ok(ReopenLead::NotReopenable(lead.status));
    }
    diesel::update(leads::table.find((lead.organization_id.as_str(), lead.id.as_str())))
        .set((
            leads::status.eq(LeadStatus::New.as_str()),
            leads::reason.eq(None::<Col<Reason>>),
        ))
        .execute(conn)
        .await?;
    insert_activity(conn, activity).await?;
    show_status(conn, &lead, LeadStatus::New).await?;
    Ok(ReopenLead::Reopened)
}

/// What a command on a lead finds.
enum Acts {
    NotAuthorized(Unauthorized),
    LeadUnknown,
    On(Box<ActedOn>),
}

/// Locks the lead, checks the authorization, and makes a match without a record a lead.
async fn acted_on(
    conn: &mut Conn,
    authorization: &Authorization,
    wanted: &Lead,
    at: Timestamp,
) -> Result<Acts, Failure> {
    let organization = &wanted.organization_id;
    let found = locked_lead(conn, organization, &wanted.id).await?;
    if let Err(why) = active_subscription(conn, authorization, organization, at).await? {
        return Ok(Acts::NotAuthorized(why));
    }
    let key = (organization.clone(), wanted.campaign_id.clone());
    let acted_on = ActedOn::of(conn, found, &key, &wanted.id, &wanted.job_id).await?;
    Ok(acted_on.map_or(Acts::LeadUnknown, |acted_on| Acts::On(Box::new(acted_on))))
}

/// The lock on `lead` keeps others from adding files at the same time, so counting and comparing first is enough.
async fn add_attachments(
    conn: &mut Conn,
    lead: &Lead,
    files: &[NewAttachment],
    activity: &Activity,
) -> Result<AddAttachments, Failure> {
    if !lead.status.is_open() {
        return Ok(AddAttachments::LeadNotNew(lead.status));
    }
    let (organization, lead) = (&lead.organization_id, &lead.id);
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
