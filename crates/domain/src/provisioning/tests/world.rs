//! Organizations in memory, and changes carried out on them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};

use async_trait::async_trait;
use bidloop_matching::json::Faults;
use futures::executor::block_on;
use serde_json::Value;
use uuid::Uuid;

use crate::model::{ApiKeyHash, BlobRef, EmailKey, OrganizationId, Person, Timestamp};
use crate::port::{
    CampaignRecord, Entropy, HasherBusy, OrganizationRecord, PasswordHasher, ProposalWriter,
    ProvisioningChange, ProvisioningSnapshot, Revision, StoredPerson, TemplateError, UnreadableEntity,
    UserRecord,
};
use crate::provisioning::{Known, Lookups, Provided, ProvisioningReport, plan};
use crate::use_case::apply_provisioning::password_hashes;

/// Random bytes that are never twice the same.
#[derive(Debug, Default)]
pub(crate) struct CountingIds(AtomicU8);

impl Entropy for CountingIds {
    fn uuid(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::Relaxed)))
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        bytes.fill(self.0.fetch_add(1, Ordering::Relaxed));
    }

    fn fraction(&self) -> f64 {
        0.5
    }
}

/// Hides nothing, but salts: hashing twice gives two hashes.
#[derive(Debug, Default)]
pub(crate) struct SaltingHasher(AtomicU8);

#[async_trait]
impl PasswordHasher for SaltingHasher {
    async fn hash(&self, password: &str) -> Result<String, HasherBusy> {
        Ok(format!("{}${password}", self.0.fetch_add(1, Ordering::Relaxed)))
    }

    async fn verify(&self, password: &str, hash: Option<&str>) -> Result<bool, HasherBusy> {
        let hashed = hash.and_then(|hash| hash.split_once('$'));
        Ok(hashed.is_some_and(|(_, hashed)| hashed == password))
    }
}

/// Knows that `{{` needs `}}`.
#[derive(Debug)]
pub(crate) struct BraceChecker;

impl ProposalWriter for BraceChecker {
    fn check(&self, template: &str) -> Result<(), TemplateError> {
        let balanced = template.matches("{{").count() == template.matches("}}").count();
        balanced
            .then_some(())
            .ok_or_else(|| TemplateError("unclosed tag\nin line 1".to_owned()))
    }

    fn render(&self, template: &str, _lead: &Value) -> Result<String, TemplateError> {
        Ok(template.to_owned())
    }
}

/// Everything that is provisioned.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) organizations: Vec<OrganizationRecord>,
    pub(crate) removed_keys: Vec<ApiKeyHash>,
    pub(crate) being_erased: Vec<OrganizationId>,
    /// What cannot be read, and is not in the organizations.
    pub(crate) unreadable: Vec<UnreadableEntity>,
    /// The changes of the last file that was applied.
    pub(crate) changes: Vec<ProvisioningChange>,
    pub(crate) now: Timestamp,
    pub(crate) ids: CountingIds,
    pub(crate) passwords: SaltingHasher,
}

impl Default for World {
    fn default() -> Self {
        Self {
            organizations: Vec::new(),
            removed_keys: Vec::new(),
            being_erased: Vec::new(),
            unreadable: Vec::new(),
            changes: Vec::new(),
            now: Timestamp::from_seconds(1_790_000_000),
            ids: CountingIds::default(),
            passwords: SaltingHasher::default(),
        }
    }
}

impl World {
    /// A world to which `file` was applied.
    pub(crate) fn with(file: &Value) -> Self {
        let mut world = Self::default();
        world.apply(file).unwrap();
        world
    }

    /// Applies a file whose attachments all hold their path as content; the error is the fault lines.
    pub(crate) fn apply(&mut self, file: &Value) -> Result<ProvisioningReport, Vec<String>> {
        let lookups = Lookups::of(file);
        let snapshot = self.snapshot(&lookups.organizations, &lookups.key_hashes);
        let blobs = lookups.attachments.iter().map(|(organization, attachment)| {
            let content = hex::encode(&attachment.source);
            let blob = BlobRef {
                size_bytes: attachment.source.len() as u64,
                storage_path: format!("campaigns/{organization}/{content}"),
                sha256: content,
            };
            (attachment.path.clone(), blob)
        });
        let random = lookups.left_out.iter().map(|path| {
            let mut bytes = [0; 32];
            self.ids.fill_random(&mut bytes);
            (path.clone(), bytes)
        });
        let people = self.people(&lookups.people);
        let provided = Provided {
            now: self.now,
            check_template: &|text| BraceChecker.check(text).map_err(|fault| fault.to_string()),
            password_hashes: block_on(password_hashes(&self.passwords, &lookups.passwords, &people))
                .map_err(|busy| vec![busy.to_string()])?,
            random: random.collect(),
            blobs: &blobs.collect(),
            faults: &Faults::default(),
        };
        let plan = plan(
            file,
            snapshot.organizations,
            Known {
                taken_keys: &snapshot.taken_key_hashes,
                removed_keys: &snapshot.removed_key_hashes,
                being_erased: &snapshot.being_erased,
                unreadable: &snapshot.unreadable,
                people: &people,
            },
            &provided,
        )
        .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        for change in &plan.changes {
            self.carry_out(change);
        }
        self.changes = plan.changes;
        Ok(plan.report)
    }

    pub(crate) fn snapshot(&self, ids: &[OrganizationId], hashes: &[ApiKeyHash]) -> ProvisioningSnapshot {
        let asked = self.organizations.iter().filter(|o| ids.contains(&o.id));
        let keys = self
            .organizations
            .iter()
            .flat_map(|o| o.api_keys.iter().map(|key| (&key.1, &o.id)));
        ProvisioningSnapshot {
            revision: Revision(0),
            organizations: asked.cloned().collect(),
            taken_key_hashes: keys
                .filter(|(hash, _)| hashes.contains(hash))
                .map(|(hash, id)| (hash.clone(), id.clone()))
                .collect(),
            removed_key_hashes: self.removed_keys.clone(),
            being_erased: self.being_erased.clone(),
            unreadable: self.unreadable.clone(),
        }
    }

    /// Those of these people that are users somewhere.
    pub(crate) fn people(&self, keys: &[EmailKey]) -> Vec<StoredPerson> {
        let users = self.organizations.iter().flat_map(|o| &o.users);
        let by_key: BTreeMap<EmailKey, &UserRecord> =
            users.map(|user| (EmailKey::of(&user.email), user)).collect();
        let asked = by_key.into_iter().filter(|(key, _)| keys.contains(key));
        let people = asked.map(|(key, user)| StoredPerson {
            person: Person {
                key,
                email: user.email.clone(),
                name: user.name.clone(),
            },
            password_hash: user.password_hash.clone(),
        });
        people.collect()
    }

    pub(crate) fn carry_out(&mut self, change: &ProvisioningChange) {
        use ProvisioningChange as Change;
        match change.clone() {
            Change::PutOrganization {
                id,
                name,
                subscription,
            } => {
                let record = OrganizationRecord {
                    id,
                    name,
                    subscription,
                    users: Vec::new(),
                    api_keys: Vec::new(),
                    webhooks: Vec::new(),
                    accounts: Vec::new(),
                    campaigns: Vec::new(),
                };
                match self.organizations.iter_mut().find(|o| o.id == record.id) {
                    Some(o) => (o.name, o.subscription) = (record.name, record.subscription),
                    None => self.organizations.push(record),
                }
            }
            Change::RemoveOrganization(id) => {
                let removed: Vec<_> = self.organizations.extract_if(.., |o| o.id == id).collect();
                let keys = removed.into_iter().flat_map(|o| o.api_keys);
                self.removed_keys.extend(keys.map(|(_, hash)| hash));
                self.being_erased.push(id);
            }
            Change::PutUser(id, user) => {
                let key = EmailKey::of(&user.email);
                for known in self.organizations.iter_mut().flat_map(|o| &mut o.users) {
                    if EmailKey::of(&known.email) == key {
                        *known = UserRecord {
                            role: known.role,
                            ..user.clone()
                        };
                    }
                }
                put(&mut self.of(&id).users, user, |u| EmailKey::of(&u.email));
            }
            Change::RemoveUser(id, email) => {
                let key = EmailKey::of(&email);
                self.of(&id).users.retain(|u| EmailKey::of(&u.email) != key);
            }
            Change::PutApiKey(id, record, hash) => {
                let taken = self
                    .organizations
                    .iter()
                    .flat_map(|o| o.api_keys.iter().map(move |k| (&o.id, k)));
                let others = taken.filter(|(owner, (key, _))| (*owner, &key.id) != (&id, &record.id));
                assert!(
                    others.map(|(_, (_, hash))| hash).all(|other| *other != hash),
                    "the hash is unique"
                );
                let known = self.of(&id).api_keys.iter().find(|known| known.0.id == record.id);
                let replaced = known.map(|known| known.1.clone()).filter(|known| *known != hash);
                self.removed_keys.extend(replaced);
                put(&mut self.of(&id).api_keys, (record, hash), |key| key.0.id.clone());
            }
            Change::RemoveApiKey(id, key) => {
                let keys = &mut self.of(&id).api_keys;
                let removed: Vec<_> = keys.extract_if(.., |known| known.0.id == key).collect();
                self.removed_keys.extend(removed.into_iter().map(|known| known.1));
            }
            Change::PutWebhook(id, webhook) => {
                let o = self.of(&id);
                let scope = webhook.endpoint.campaign_id.as_ref();
                assert!(scope.is_none_or(|scope| o.campaigns.iter().any(|c| c.id == *scope)));
                put(&mut o.webhooks, webhook, |w| w.endpoint.id.clone());
            }
            Change::RemoveWebhook(id, webhook) => self.of(&id).webhooks.retain(|w| w.endpoint.id != webhook),
            Change::PutAccount(id, account) => put(&mut self.of(&id).accounts, account, |a| a.id.clone()),
            Change::RemoveAccount(id, account) => {
                let o = self.of(&id);
                o.accounts.retain(|a| a.id != account);
                for campaign in &mut o.campaigns {
                    campaign.account_id.take_if(|bids_with| *bids_with == account);
                }
            }
            Change::PutCampaign(id, campaign) => {
                let o = self.of(&id);
                let standing = o.campaigns.iter().find(|c| c.id == campaign.id);
                let filters = standing.map(|c| c.filters.clone()).unwrap_or_default();
                put(&mut o.campaigns, CampaignRecord { filters, ..*campaign }, |c| {
                    c.id.clone()
                });
            }
            Change::RemoveCampaign(id, campaign) => {
                let o = self.of(&id);
                o.campaigns.retain(|c| c.id != campaign);
                o.webhooks
                    .retain(|w| w.endpoint.campaign_id.as_ref() != Some(&campaign));
            }
            Change::PutFilter(id, campaign, filter) => {
                let o = self.of(&id);
                let elsewhere = o.campaigns.iter().filter(|c| c.id != campaign);
                assert!(
                    elsewhere.flat_map(|c| &c.filters).all(|f| f.id != filter.id),
                    "the id is unique"
                );
                let campaign = o.campaigns.iter_mut().find(|c| c.id == campaign).unwrap();
                put(&mut campaign.filters, filter, |f| f.id.clone());
            }
            Change::RemoveFilter(id, campaign, filter) => {
                let campaign = self
                    .of(&id)
                    .campaigns
                    .iter_mut()
                    .find(|c| c.id == campaign)
                    .unwrap();
                campaign.filters.retain(|f| f.id != filter);
            }
        }
    }

    fn of(&mut self, id: &OrganizationId) -> &mut OrganizationRecord {
        self.organizations.iter_mut().find(|o| o.id == *id).unwrap()
    }
}

fn put<T, K: PartialEq>(list: &mut Vec<T>, entity: T, key: impl Fn(&T) -> K) {
    match list.iter_mut().find(|known| key(known) == key(&entity)) {
        Some(known) => *known = entity,
        None => list.push(entity),
    }
}
