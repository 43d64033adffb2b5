//! Manage an organization: a person changes one thing in the console (decisions D1, E1, E4 and E5). Tests:
//! `tests/use_case/manage_organization.rs`.
//!
//! A change is a provisioning document for the one organization. It is planned and committed as `bidloop apply` does it, so
//! there is no second set of rules. What it changed is recorded in the same transaction, with the person as actor.

mod change;
mod described;
mod document;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use self::change::OrganizationChange;
use self::described::describe;
use self::document::{Document, Drawn};
use super::apply_provisioning::{ATTEMPTS, ApplyProvisioning, ApplyProvisioningError};
use super::new_ids;
use super::sessions::SignedIn;
use crate::model::{
    Activity, ActivityId, ActivityKind, ActivityOutcome, BlobRef, CampaignId, CampaignState, EventKind,
    FieldError, Member, MissingPart, OrganizationId, Secret, SubscriptionStatus, Timestamp, Unauthorized,
    WebhookSecret, details,
};
use crate::port::{
    AttachmentPieces, AttachmentSource, AttachmentSourceError, BlobError, ByPerson, CommitProvisioning,
    MatchStore, Pause, ProvisioningSnapshot, StoreError, WebhookSender, WorkKind,
};
use crate::provisioning::{OrganizationRecord, Plan};

/// Up to how many campaigns, endpoints and accounts of an organization, and filters of a campaign, people add more. A
/// provisioning file, which an operator writes, may have more.
const MAX_OF_A_KIND: usize = 1_000;

/// How long a change waits until its campaign's list is matched anew.
const WAITS_FOR_MATCHES: Duration = Duration::from_secs(3);
/// How long it waits between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Why nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManageOrganizationError {
    /// The person is no owner (decision E1), or the session or the membership ended meanwhile (decision E2).
    #[error(transparent)]
    NotAuthorized(#[from] Unauthorized),
    /// The organization has no such thing, or does not exist any more.
    #[error("the organization has no such thing")]
    Unknown,
    /// What acts is refused while the subscription is not active (decision E4).
    #[error("the organization's subscription is not active")]
    SubscriptionLapsed(SubscriptionStatus),
    /// The campaign cannot start without these (decision D1).
    #[error("the campaign cannot start: something is missing")]
    CannotStart(Vec<MissingPart>),
    /// Active campaigns would lose the last of what they need (decision D1).
    #[error("an active campaign needs it")]
    StillNeeded(Vec<(CampaignId, MissingPart)>),
    /// What was typed is faulty. Paths are relative to the thing changed: `["keywords"]`, `["url"]`.
    #[error("{}", super::apply_provisioning::lines(.0))]
    Faulty(Vec<FieldError>),
    /// The organization has the most that people can add of one kind.
    #[error(
        "no more than {MAX_OF_A_KIND} {0} can be added here: remove one first, or use a provisioning file"
    )]
    TooMany(&'static str),
    /// Others kept changing the store.
    #[error("others are changing settings at this moment: try again")]
    Contended,
    /// The attachments' storage failed.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ApplyProvisioningError> for ManageOrganizationError {
    fn from(error: ApplyProvisioningError) -> Self {
        match error {
            ApplyProvisioningError::Faulty(faults) => Self::Faulty(faults),
            ApplyProvisioningError::Contended | ApplyProvisioningError::Busy(_) => Self::Contended,
            ApplyProvisioningError::Blobs(error) => Self::Blobs(error),
            ApplyProvisioningError::Store(error) => Self::Store(error),
        }
    }
}

/// What a change did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The id of the campaign, filter, endpoint or account that was made; `None` if nothing was.
    pub made: Option<String>,
    /// A webhook's new secret, to be shown this once.
    pub secret: Option<Secret<String>>,
    /// The switch of its mode paused the campaign (decision D1).
    pub paused: bool,
    /// All was as wanted before. Nothing is recorded.
    pub unchanged: bool,
    /// The campaign's list is still being matched with the new filters; until then the former list is served.
    pub matching_goes_on: bool,
}

/// Changes an organization's settings for its members.
#[derive(Debug)]
pub struct ManageOrganization {
    /// Plans and commits.
    pub provisioning: ApplyProvisioning,
    /// Checks addresses before they are saved (decision E8).
    pub sender: Arc<dyn WebhookSender>,
    /// Tells when a campaign's list is matched anew.
    pub matches: Arc<dyn MatchStore>,
    /// Waits for that.
    pub pause: Arc<dyn Pause>,
}

impl ManageOrganization {
    /// Makes one change.
    ///
    /// After a change of filters it waits up to three seconds until the campaign's list is matched anew.
    ///
    /// # Errors
    /// Nothing has changed then, and nothing is recorded.
    pub async fn change(
        &self,
        person: &SignedIn,
        change: &OrganizationChange,
    ) -> Result<Changed, ManageOrganizationError> {
        if let Some(url) = change.new_address() {
            self.sender
                .check_target(url)
                .map_err(|refused| fault("url", refused.message))?;
        }
        let secret = matches!(change, OrganizationChange::RotateSecret { .. }).then(|| {
            let mut random = [0; 32];
            self.provisioning.entropy.fill_random(&mut random);
            WebhookSecret::generate(random)
        });
        for _ in 0..ATTEMPTS {
            if let Some(changed) = self.attempt(person, change, secret.as_ref()).await? {
                return self.after_matching(&person.member, change, changed).await;
            }
        }
        Err(ManageOrganizationError::Contended)
    }

    /// `None` if the store changed meanwhile.
    async fn attempt(
        &self,
        person: &SignedIn,
        change: &OrganizationChange,
        secret: Option<&WebhookSecret>,
    ) -> Result<Option<Changed>, ManageOrganizationError> {
        let member = &person.member;
        let organization = member.organization_id();
        let store = &self.provisioning.store;
        let snapshot = store.snapshot(std::slice::from_ref(organization), &[]).await?;
        let before = snapshot
            .organizations
            .first()
            .ok_or(ManageOrganizationError::Unknown)?;
        let needs_owner = change.needs_owner(before);
        if needs_owner && !member.is_owner() {
            return Err(Unauthorized::NotOwner.into());
        }
        refuse(change, before)?;
        let id = self.id_for(change, organization, before).await?;
        let drawn = Drawn { id: &id, secret };
        let document = Document::of(change, before, &drawn).map_err(|_| ManageOrganizationError::Unknown)?;
        let relative = |error: ManageOrganizationError| match error {
            ManageOrganizationError::Faulty(faults) => {
                ManageOrganizationError::Faulty(document.relative(faults))
            }
            other => other,
        };
        let source = StoredFiles::of(change, before);
        let now = self.provisioning.clock.now();
        let prepared = self.provisioning.prepare(&document.json, &source).await;
        let prepared = prepared.map_err(|error| relative(error.into()))?;
        let plan = self
            .provisioning
            .plan(&document.json, &prepared, &snapshot, now)
            .await;
        let plan = plan.map_err(|error| relative(error.into()))?;
        let mut changed = Changed {
            made: plan.report.created.first().map(|made| made.id.clone()),
            secret: plan.report.secrets.first().map(|secret| secret.value.clone()),
            paused: false,
            unchanged: plan.changes.is_empty(),
            matching_goes_on: false,
        };
        if changed.unchanged {
            return Ok(Some(changed));
        }
        changed.secret = changed
            .secret
            .or(secret.map(|secret| Secret::new(secret.expose())));
        changed.paused = matches!(change, OrganizationChange::EditCampaign { .. }) && pauses(before, &plan);
        let by = ByPerson {
            authorization: person.authorization(),
            needs_owner,
            entry: self.entry(member, change, &id, before, &plan, now),
        };
        let committed = self.commit(&snapshot, &plan, &by, now).await?;
        Ok(committed.then_some(changed))
    }

    async fn commit(
        &self,
        snapshot: &ProvisioningSnapshot,
        plan: &Plan,
        by: &ByPerson,
        now: Timestamp,
    ) -> Result<bool, ManageOrganizationError> {
        let store = &self.provisioning.store;
        match store
            .commit_by(snapshot.revision, &plan.changes, Some(by), now)
            .await?
        {
            CommitProvisioning::Committed => {
                self.provisioning.signal.wake(WorkKind::Backfills);
                // A new token makes bids due that waited for it.
                self.provisioning.signal.wake(WorkKind::Submissions);
                Ok(true)
            }
            CommitProvisioning::NotAuthorized(why) => Err(why.into()),
            // No organization is removed here, so nothing waits for the end of its bids.
            CommitProvisioning::RevisionMoved | CommitProvisioning::BidsOutstanding { .. } => Ok(false),
        }
    }

    fn entry(
        &self,
        member: &Member,
        change: &OrganizationChange,
        id: &str,
        before: &OrganizationRecord,
        plan: &Plan,
        now: Timestamp,
    ) -> Activity {
        let described = describe(change, id, before, &plan.changes);
        Activity {
            id: ActivityId(self.provisioning.entropy.uuid()),
            at: now,
            organization_id: member.organization_id().clone(),
            campaign_id: described.campaign,
            lead_id: None,
            kind: ActivityKind::Change,
            actor: member.actor(),
            outcome: ActivityOutcome::Accepted,
            http_status: None,
            dry_run: false,
            message: described.message,
            details: details(described.details),
        }
    }

    /// The id of what the change makes, not in use; empty if it makes nothing.
    async fn id_for(
        &self,
        change: &OrganizationChange,
        organization: &OrganizationId,
        record: &OrganizationRecord,
    ) -> Result<String, StoreError> {
        use OrganizationChange as Change;
        let of = |prefix, name, taken: &dyn Fn(&str) -> bool| {
            new_ids::candidates(prefix, name)
                .find(|id| !taken(id))
                .unwrap_or_default()
        };
        Ok(match change {
            Change::CreateCampaign { name, .. } => {
                for id in new_ids::candidates("camp", name) {
                    let Ok(campaign) = CampaignId::parse(&id) else {
                        break;
                    };
                    let is_taken = record.campaign(&campaign).is_some()
                        || self
                            .provisioning
                            .store
                            .has_history(organization, &campaign)
                            .await?;
                    if !is_taken {
                        return Ok(id);
                    }
                }
                String::new()
            }
            Change::PutFilter {
                filter: None, name, ..
            } => of("f", name, &|id| {
                let mut filters = record.campaigns.iter().flat_map(|campaign| &campaign.filters);
                filters.any(|known| known.id.as_str() == id)
            }),
            Change::CreateWebhook { url, .. } => {
                let host = url::Url::parse(url).ok();
                let host = host.as_ref().and_then(url::Url::host_str).unwrap_or_default();
                of("wh", host, &|id| {
                    record
                        .webhooks
                        .iter()
                        .any(|known| known.endpoint.id.as_str() == id)
                })
            }
            Change::AddAccount { name, .. } => of("acct", name, &|id| {
                record.accounts.iter().any(|known| known.id.as_str() == id)
            }),
            _ => String::new(),
        })
    }

    /// Waits until a changed campaign's list is matched anew, for a while.
    async fn after_matching(
        &self,
        member: &Member,
        change: &OrganizationChange,
        mut changed: Changed,
    ) -> Result<Changed, ManageOrganizationError> {
        let (OrganizationChange::PutFilter { campaign, .. }
        | OrganizationChange::RemoveFilter { campaign, .. }) = change
        else {
            return Ok(changed);
        };
        if changed.unchanged {
            return Ok(changed);
        }
        let mut waited = Duration::ZERO;
        loop {
            // The change is made, whatever becomes of this look.
            let due = self
                .matches
                .is_backfill_due(member.organization_id(), campaign)
                .await;
            changed.matching_goes_on = due.unwrap_or(true);
            if !changed.matching_goes_on || waited >= WAITS_FOR_MATCHES {
                return Ok(changed);
            }
            self.pause.pause(BETWEEN_LOOKS).await;
            waited += BETWEEN_LOOKS;
        }
    }
}

/// Refuses what the plan would refuse, with what is missing, and what a lapsed subscription refuses.
fn refuse(change: &OrganizationChange, record: &OrganizationRecord) -> Result<(), ManageOrganizationError> {
    if let OrganizationChange::StartCampaign { campaign } = change {
        let campaign = record
            .campaign(campaign)
            .ok_or(ManageOrganizationError::Unknown)?;
        if !record.subscription.is_active() {
            let status = record.subscription.status;
            return Err(ManageOrganizationError::SubscriptionLapsed(status));
        }
        let missing = needed(record, campaign);
        if !missing.is_empty() {
            return Err(ManageOrganizationError::CannotStart(missing));
        }
    }
    if let Some(kind) = too_many(change, record) {
        return Err(ManageOrganizationError::TooMany(kind));
    }
    let lost = losses(change, record);
    if !lost.is_empty() {
        return Err(ManageOrganizationError::StillNeeded(lost));
    }
    Ok(())
}

/// The kind that the change would add one too many of.
fn too_many(change: &OrganizationChange, record: &OrganizationRecord) -> Option<&'static str> {
    use OrganizationChange as Change;
    let (count, kind) = match change {
        Change::CreateCampaign { .. } => (record.campaigns.len(), "campaigns"),
        Change::CreateWebhook { .. } => (record.webhooks.len(), "endpoints"),
        Change::AddAccount { .. } => (record.accounts.len(), "bidder accounts"),
        Change::PutFilter {
            campaign,
            filter: None,
            ..
        } => (record.campaign(campaign)?.filters.len(), "filters of a campaign"),
        _ => return None,
    };
    (count >= MAX_OF_A_KIND).then_some(kind)
}

/// What the campaign lacks to be active.
fn needed(record: &OrganizationRecord, campaign: &crate::provisioning::CampaignRecord) -> Vec<MissingPart> {
    let mut missing = record.parts_of(campaign).missing();
    missing.retain(|part| part.prevents_start());
    missing
}

/// What active campaigns would lose by the change.
fn losses(change: &OrganizationChange, record: &OrganizationRecord) -> Vec<(CampaignId, MissingPart)> {
    use OrganizationChange as Change;
    let mut after = record.clone();
    match change {
        Change::RemoveFilter { campaign, filter } => {
            for known in after.campaigns.iter_mut().filter(|known| known.id == *campaign) {
                known.filters.retain(|known| known.id != *filter);
            }
        }
        Change::RemoveWebhook { endpoint } => after.webhooks.retain(|known| known.endpoint.id != *endpoint),
        Change::EditWebhook {
            endpoint,
            events,
            active,
            ..
        } => {
            for known in after
                .webhooks
                .iter_mut()
                .filter(|known| known.endpoint.id == *endpoint)
            {
                let keeps = events
                    .as_ref()
                    .is_none_or(|events| events.contains(&EventKind::JobNew));
                known.endpoint.active = active.unwrap_or(known.endpoint.active) && keeps;
            }
        }
        _ => return Vec::new(),
    }
    let active = after
        .campaigns
        .iter()
        .filter(|campaign| campaign.state == CampaignState::Active);
    let lost = active.flat_map(|campaign| {
        let before = record.campaign(&campaign.id).map(|known| needed(record, known));
        let before = before.unwrap_or_default();
        let now = needed(&after, campaign).into_iter();
        now.filter(move |part| !before.contains(part))
            .map(|part| (campaign.id.clone(), part))
    });
    lost.collect()
}

/// Whether the plan pauses a campaign that was active.
fn pauses(before: &OrganizationRecord, plan: &Plan) -> bool {
    plan.changes.iter().any(|change| match change {
        crate::port::ProvisioningChange::PutCampaign(_, after) => {
            let was = before.campaign(&after.id).map(|campaign| campaign.state);
            was == Some(CampaignState::Active) && after.state == CampaignState::Paused
        }
        _ => false,
    })
}

fn fault(field: &str, message: String) -> ManageOrganizationError {
    ManageOrganizationError::Faulty(vec![FieldError::new(&[field], message)])
}

/// The files of a change, which are all in the blob store.
#[derive(Debug)]
struct StoredFiles(HashMap<String, BlobRef>);

impl StoredFiles {
    fn of(change: &OrganizationChange, before: &OrganizationRecord) -> Self {
        let known = change.campaign().and_then(|campaign| before.campaign(campaign));
        let known = known.map_or(&[][..], |campaign| &campaign.attachments);
        let added = match change {
            OrganizationChange::AddFiles { files, .. } => &files[..],
            _ => &[],
        };
        let all = known.iter().chain(added);
        Self(
            all.map(|file| (file.blob.storage_path.clone(), file.blob.clone()))
                .collect(),
        )
    }
}

#[async_trait]
impl AttachmentSource for StoredFiles {
    fn stored(&self, path: &str) -> Option<BlobRef> {
        self.0.get(path).cloned()
    }

    async fn open(&self, _: &str) -> Result<AttachmentPieces, AttachmentSourceError> {
        Err(AttachmentSourceError::NotFound)
    }
}
