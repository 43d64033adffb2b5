//! Manage API keys: create, list and revoke an organization's keys (decision D5, `docs/rules.md#d5`).

use std::sync::Arc;

use serde_json::{Value, json};

use super::ActingMember;
use super::apply_provisioning::ATTEMPTS;
use super::first_run::{MAX_NAME_CHARS, checked_name};
use super::key_leases::leases_end;
use super::lead_request::details_on;
use super::new_ids;
use crate::model::{
    Activity, ActivityId, ActivityKind, ActivityOutcome, ApiKey, ApiKeyHash, ApiKeyId, ApiKeyRecord,
    OrganizationId, Timestamp, Unauthorized,
};
use crate::port::{
    ApiKeyStore, ByPerson, Clock, CommitProvisioning, CreateApiKey, Entropy, OrganizationRecord, Pause,
    ProvisioningChange, ProvisioningStore, RevokeApiKey, StoreError,
};

/// How often an id is generated until it is not in use.
const ID_ATTEMPTS: u32 = 4;

/// A key to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApiKey {
    /// The organization that the key gives access to.
    pub organization_id: OrganizationId,
    /// The key's id; one is generated if there is none.
    pub id: Option<ApiKeyId>,
    /// Shown as the actor in the Activity record; 1 to 200 characters, no control characters.
    pub name: String,
    /// When the key stops working.
    pub expires_at: Option<Timestamp>,
}

/// A key that was just created. Only its SHA-256 is stored, so it cannot be shown again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedApiKey {
    /// The id in lists and for revoking.
    pub id: ApiKeyId,
    /// As requested.
    pub name: String,
    /// The key itself.
    pub key: ApiKey,
}

impl CreatedApiKey {
    /// What `bidloop keys create --json` prints (contract section 1): `{"id", "name", "key"}`.
    pub fn to_json(&self) -> Value {
        json!({"id": self.id, "name": self.name, "key": self.key.expose()})
    }
}

/// Why keys were not created, listed or revoked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManageApiKeysError {
    /// There is no such organization.
    #[error("there is no organization \"{0}\": provision it first")]
    OrganizationUnknown(OrganizationId),
    /// Only organizations with an active paid subscription can create keys (specification, Authentication 5).
    #[error(
        "organization \"{0}\" has no active paid subscription, which creating keys needs: set the subscription's \
         status to \"active\" and collectionPaused to false first"
    )]
    SubscriptionInactive(OrganizationId),
    /// The name is blank, too long or has control characters.
    #[error(
        "the key needs a name of 1 to {MAX_NAME_CHARS} characters without control characters: give one that says who \
         will use it"
    )]
    Name,
    /// The expiry is in the past.
    #[error("the key would be expired from the start: choose a moment in the future")]
    ExpiryPast,
    /// The organization has a key with this id.
    #[error("organization \"{organization}\" has a key \"{id}\" already: choose another id")]
    IdTaken {
        /// The organization that has the key.
        organization: OrganizationId,
        /// The id that is taken.
        id: ApiKeyId,
    },
    /// The organization has no key with this id.
    #[error("organization \"{organization}\" has no key \"{id}\": `bidloop keys list` shows those it has")]
    KeyUnknown {
        /// The organization whose keys were searched.
        organization: OrganizationId,
        /// The unknown id.
        id: ApiKeyId,
    },
    /// The person is no owner (decision E1), or the session or the membership ended meanwhile (decision E2).
    #[error(transparent)]
    NotAuthorized(#[from] Unauthorized),
    /// Others kept changing the store.
    #[error("others are changing settings at this moment: try again")]
    Contended,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Creates, lists and revokes API keys.
#[derive(Debug)]
pub struct ManageApiKeys {
    /// Holds the keys.
    pub keys: Arc<dyn ApiKeyStore>,
    /// Subscriptions.
    pub organizations: Arc<dyn ProvisioningStore>,
    /// Dates keys and revocations.
    pub clock: Arc<dyn Clock>,
    /// Generates keys and ids.
    pub entropy: Arc<dyn Entropy>,
    /// Waits until a revoked key is refused everywhere.
    pub pause: Arc<dyn Pause>,
}

impl ManageApiKeys {
    /// Creates a key.
    pub async fn create(&self, new: NewApiKey) -> Result<CreatedApiKey, ManageApiKeysError> {
        let now = self.clock.now();
        let name = check(&new.name, new.expires_at, now)?;
        self.refuse_without_subscription(&new.organization_id).await?;
        let mut bytes = [0; 32];
        self.entropy.fill_random(&mut bytes);
        let key = ApiKey::from_random(bytes);
        let mut record = ApiKeyRecord {
            id: self.id_for(&new),
            organization_id: new.organization_id.clone(),
            name,
            created_at: now,
            last_used_at: None,
            expires_at: new.expires_at,
            revoked_at: None,
        };
        for _ in 0..ID_ATTEMPTS {
            match self.keys.create(&record, &key.hash()).await? {
                CreateApiKey::Created => {
                    return Ok(CreatedApiKey {
                        id: record.id,
                        name: record.name,
                        key,
                    });
                }
                CreateApiKey::OrganizationUnknown => {
                    return Err(ManageApiKeysError::OrganizationUnknown(new.organization_id));
                }
                CreateApiKey::IdTaken if new.id.is_some() => break,
                CreateApiKey::IdTaken => record.id = self.id_for(&new),
            }
        }
        Err(ManageApiKeysError::IdTaken {
            organization: new.organization_id,
            id: record.id,
        })
    }

    /// The organization's keys, revoked and expired ones included, oldest first.
    pub async fn list(&self, organization: &OrganizationId) -> Result<Vec<ApiKeyRecord>, ManageApiKeysError> {
        let keys = self.keys.list(organization).await?;
        keys.ok_or_else(|| ManageApiKeysError::OrganizationUnknown(organization.clone()))
    }

    /// Refuses the key from now on, in every process. Returns when it was revoked, which may have been earlier.
    pub async fn revoke(
        &self,
        organization: &OrganizationId,
        id: &ApiKeyId,
    ) -> Result<Timestamp, ManageApiKeysError> {
        let now = self.clock.now();
        let revoked_at = match self.keys.revoke(organization, id, now).await? {
            RevokeApiKey::Revoked => now,
            RevokeApiKey::RevokedBefore(moment) => moment,
            RevokeApiKey::Unknown => {
                return Err(ManageApiKeysError::KeyUnknown {
                    organization: organization.clone(),
                    id: id.clone(),
                });
            }
        };
        leases_end(&*self.pause).await;
        Ok(revoked_at)
    }

    /// Creates a key for an owner, with an id made from its name, and records it in the same transaction.
    pub async fn create_as(
        &self,
        person: &ActingMember,
        name: &str,
        expires_at: Option<Timestamp>,
    ) -> Result<CreatedApiKey, ManageApiKeysError> {
        let name = check(name, expires_at, self.clock.now())?;
        let mut bytes = [0; 32];
        self.entropy.fill_random(&mut bytes);
        let key = ApiKey::from_random(bytes);
        let hash = key.hash();
        let id = self
            .change_as(person, |organization, now| {
                if !organization.subscription.is_active() {
                    return Err(ManageApiKeysError::SubscriptionInactive(organization.id.clone()));
                }
                let keys = &organization.api_keys;
                let is_free = |id: &ApiKeyId| keys.iter().all(|(known, _)| known.id != *id);
                let mut ids = new_ids::candidates("key", &name).map_while(|id| ApiKeyId::parse(&id).ok());
                let id = ids.find(is_free).unwrap_or_else(|| self.random_id());
                let record = ApiKeyRecord {
                    id: id.clone(),
                    organization_id: organization.id.clone(),
                    name: name.clone(),
                    created_at: now,
                    last_used_at: None,
                    expires_at,
                    revoked_at: None,
                };
                Ok(KeyChange {
                    message: format!("API key \"{name}\" created."),
                    field: ("expiresAt", json!(expires_at)),
                    put: Some((record, hash.clone())),
                    result: id,
                })
            })
            .await?;
        Ok(CreatedApiKey { id, name, key })
    }

    /// Refuses the key from now on, for an owner, and records it in the same transaction. Returns when it was revoked,
    /// which may have been earlier: then nothing is recorded.
    pub async fn revoke_as(
        &self,
        person: &ActingMember,
        id: &ApiKeyId,
    ) -> Result<Timestamp, ManageApiKeysError> {
        let revoked = self.change_as(person, |organization, now| {
            let known = organization.api_keys.iter().find(|(known, _)| known.id == *id);
            let (known, hash) = known.ok_or_else(|| ManageApiKeysError::KeyUnknown {
                organization: organization.id.clone(),
                id: id.clone(),
            })?;
            let revoked_at = known.revoked_at.unwrap_or(now);
            let record = ApiKeyRecord {
                revoked_at: Some(now),
                ..known.clone()
            };
            Ok(KeyChange {
                message: format!("API key \"{}\" revoked.", known.name),
                field: ("revokedAt", json!(now)),
                put: known.revoked_at.is_none().then(|| (record, hash.clone())),
                result: revoked_at,
            })
        });
        let revoked_at = revoked.await?;
        leases_end(&*self.pause).await;
        Ok(revoked_at)
    }

    /// Commits what `change` makes of the organization as it is now.
    async fn change_as<T>(
        &self,
        person: &ActingMember,
        change: impl Fn(&OrganizationRecord, Timestamp) -> Result<KeyChange<T>, ManageApiKeysError>,
    ) -> Result<T, ManageApiKeysError> {
        let member = &person.member;
        if !member.is_owner() {
            return Err(Unauthorized::NotOwner.into());
        }
        let id = member.organization_id();
        for _ in 0..ATTEMPTS {
            let snapshot = self.organizations.snapshot(std::slice::from_ref(id), &[]).await?;
            let organization = snapshot.organizations.first();
            let organization =
                organization.ok_or_else(|| ManageApiKeysError::OrganizationUnknown(id.clone()))?;
            let now = self.clock.now();
            let change = change(organization, now)?;
            let Some((record, hash)) = change.put else {
                return Ok(change.result);
            };
            let (field, value) = change.field;
            let changed =
                json!({"type": "api_key", "id": record.id, "field": field, "old": null, "new": value});
            let entry = Activity {
                id: ActivityId(self.entropy.uuid()),
                at: now,
                organization_id: id.clone(),
                campaign_id: None,
                lead_id: None,
                kind: ActivityKind::Change,
                actor: member.actor(),
                outcome: ActivityOutcome::Accepted,
                http_status: None,
                dry_run: false,
                message: change.message,
                details: details_on(&person.authorization, json!({ "changes": [changed] })),
            };
            let put = [ProvisioningChange::PutApiKey(id.clone(), record, hash)];
            let by = ByPerson {
                authorization: person.authorization.clone(),
                needs_owner: true,
                entry,
            };
            let store = &self.organizations;
            match store.commit_by(snapshot.revision, &put, Some(&by), now).await? {
                CommitProvisioning::Committed => return Ok(change.result),
                CommitProvisioning::NotAuthorized(why) => return Err(why.into()),
                CommitProvisioning::RevisionMoved | CommitProvisioning::BidsOutstanding { .. } => {}
            }
        }
        Err(ManageApiKeysError::Contended)
    }

    /// The subscription may end right after this check. Then the key is refused when it is used.
    async fn refuse_without_subscription(&self, id: &OrganizationId) -> Result<(), ManageApiKeysError> {
        let snapshot = self.organizations.snapshot(std::slice::from_ref(id), &[]).await?;
        match snapshot.organizations.first() {
            None => Err(ManageApiKeysError::OrganizationUnknown(id.clone())),
            Some(organization) if !organization.subscription.is_active() => {
                Err(ManageApiKeysError::SubscriptionInactive(id.clone()))
            }
            Some(_) => Ok(()),
        }
    }

    fn id_for(&self, new: &NewApiKey) -> ApiKeyId {
        new.id.clone().unwrap_or_else(|| self.random_id())
    }

    fn random_id(&self) -> ApiKeyId {
        let mut bytes = [0; 6];
        self.entropy.fill_random(&mut bytes);
        ApiKeyId::random(bytes)
    }
}

/// What an owner changes of a key.
struct KeyChange<T> {
    message: String,
    field: (&'static str, Value),
    /// `None` if nothing is to be changed.
    put: Option<(ApiKeyRecord, ApiKeyHash)>,
    result: T,
}

/// The name as it is stored.
fn check(name: &str, expires_at: Option<Timestamp>, now: Timestamp) -> Result<String, ManageApiKeysError> {
    let name = checked_name(name).ok_or(ManageApiKeysError::Name)?;
    if expires_at.is_some_and(|expiry| expiry <= now) {
        return Err(ManageApiKeysError::ExpiryPast);
    }
    Ok(name)
}

#[cfg(test)]
#[path = "manage_api_keys_tests.rs"]
mod tests;
