//! From patches to changes: users, keys, accounts and endpoints.

use std::time::Duration;

use super::document::{AccountPatch, ApiKeyPatch, UserPatch, WebhookPatch};
use super::faults::path_to;
use super::fields::Field;
use super::plan::Planner;
use super::report::EntityKind;
use super::standing::{Leaving, Standing};
use crate::model::{
    ApiKey, ApiKeyRecord, CampaignId, EndpointId, OrganizationId, WebhookEndpoint, WebhookSecret,
};
use crate::port::{AccountRecord, ProvisioningChange, UserRecord, WebhookRecord};

/// How long a replaced webhook secret signs beside the new one (decision C3): receivers have a day to follow.
const SECRET_OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);

impl Planner<'_> {
    pub(super) fn users(
        &mut self,
        organization: &OrganizationId,
        patches: &[UserPatch],
        standing: &Standing<'_>,
    ) {
        for patch in patches {
            let Some(email) = &patch.email else { continue };
            let before = standing.users.get(&email.to_lowercase()).copied();
            match before {
                Some(user) if patch.absent => {
                    let email = user.email.clone();
                    let change = ProvisioningChange::RemoveUser(organization.clone(), email.clone());
                    self.remove(organization, EntityKind::User, &email, change);
                    continue;
                }
                None if patch.absent => {
                    self.report.unchanged += 1;
                    continue;
                }
                _ => {}
            }
            let email = before.map_or(email, |user| &user.email).clone();
            let after = UserRecord {
                name: patch
                    .name
                    .over(before.map(|user| user.name.clone()), email.clone()),
                password_hash: self.password_hash(patch, before),
                email,
            };
            if self.settle(organization, EntityKind::User, &after.email, before, &after) {
                self.puts
                    .push(ProvisioningChange::PutUser(organization.clone(), after));
            }
        }
    }

    /// A password that the standing hash was made of keeps that hash: each hash has a salt of its own.
    fn password_hash(&self, patch: &UserPatch, before: Option<&UserRecord>) -> Option<String> {
        let standing = before.and_then(|user| user.password_hash.clone());
        match &patch.password {
            Field::Given(password) => standing
                .filter(|hash| self.tools.passwords.verify(password, hash))
                .or_else(|| Some(self.tools.passwords.hash(password))),
            Field::Unset => None,
            Field::Unmentioned | Field::Faulty => standing,
        }
    }

    pub(super) fn api_keys(
        &mut self,
        organization: &OrganizationId,
        patches: &[ApiKeyPatch],
        standing: &Standing<'_>,
    ) {
        for patch in patches {
            let Some(id) = &patch.id else { continue };
            let before = standing.api_keys.get(id).copied();
            if patch.absent {
                if before.is_some() {
                    let change = ProvisioningChange::RemoveApiKey(organization.clone(), id.clone());
                    self.remove(organization, EntityKind::ApiKey, id.as_str(), change);
                } else {
                    self.report.unchanged += 1;
                }
                continue;
            }
            let name = patch
                .name
                .over(before.map(|(record, _)| record.name.clone()), id.to_string());
            let hash = match (patch.key.given(), before) {
                (Some(key), _) => key.hash(),
                (None, Some((_, hash))) => hash.clone(),
                (None, None) => {
                    let key = ApiKey::from_random(self.random());
                    self.show_once(
                        organization,
                        EntityKind::ApiKey,
                        id.as_str(),
                        key.expose().to_owned(),
                    );
                    key.hash()
                }
            };
            let owner = (organization.clone(), Some(id.clone()));
            if self
                .key_owners
                .entry(hash.clone())
                .or_insert_with(|| owner.clone())
                != &owner
            {
                let message = "is another key's already: every entry needs a key of its own";
                self.faults.push(&path_to(&patch.path, "key"), message);
            }
            let after = match before {
                // A revocation was of the key that was; a new key is a new one.
                Some((record, standing)) if *standing != hash => (
                    ApiKeyRecord {
                        name,
                        revoked_at: None,
                        ..record.clone()
                    },
                    hash,
                ),
                Some((record, _)) => (
                    ApiKeyRecord {
                        name,
                        ..record.clone()
                    },
                    hash,
                ),
                None => {
                    let record = ApiKeyRecord {
                        id: id.clone(),
                        organization_id: organization.clone(),
                        name,
                        created_at: self.tools.now,
                        last_used_at: None,
                        expires_at: None,
                        revoked_at: None,
                    };
                    (record, hash)
                }
            };
            if self.settle(organization, EntityKind::ApiKey, id.as_str(), before, &after) {
                self.puts.push(ProvisioningChange::PutApiKey(
                    organization.clone(),
                    after.0,
                    after.1,
                ));
            }
        }
    }

    pub(super) fn accounts(
        &mut self,
        organization: &OrganizationId,
        patches: &[AccountPatch],
        standing: &Standing<'_>,
    ) {
        for patch in patches {
            let Some(id) = &patch.id else { continue };
            let before = standing.accounts.get(id).copied();
            if patch.absent {
                if before.is_some() {
                    let change = ProvisioningChange::RemoveAccount(organization.clone(), id.clone());
                    self.remove(organization, EntityKind::BidderAccount, id.as_str(), change);
                } else {
                    self.report.unchanged += 1;
                }
                continue;
            }
            let token = before.map(|account| &account.token);
            let Some(token) = self.required(&patch.path, "token", &patch.token, token) else {
                continue;
            };
            let after = AccountRecord {
                id: id.clone(),
                name: patch
                    .name
                    .over(before.map(|account| account.name.clone()), id.to_string()),
                // A new token connects an account that the marketplace had refused (decision B4).
                connected: before.is_none_or(|account| account.connected || account.token != token),
                token,
            };
            if self.settle(
                organization,
                EntityKind::BidderAccount,
                id.as_str(),
                before,
                &after,
            ) {
                self.puts
                    .push(ProvisioningChange::PutAccount(organization.clone(), after));
            }
        }
    }

    /// Plans the endpoints of one scope. Returns them as they will be.
    pub(super) fn webhooks(
        &mut self,
        organization: &OrganizationId,
        scope: Option<&CampaignId>,
        patches: &[WebhookPatch],
        standing: &Standing<'_>,
        leaving: &Leaving<'_>,
    ) -> Vec<PlannedEndpoint> {
        let mut planned = Vec::new();
        for patch in patches {
            let Some(id) = &patch.id else {
                planned.push(PlannedEndpoint::Unknown);
                continue;
            };
            let known = standing.webhooks.get(id).copied();
            let is_here = |record: &&WebhookRecord| record.endpoint.campaign_id.as_ref() == scope;
            if patch.absent {
                if known.as_ref().is_some_and(is_here) {
                    let change = ProvisioningChange::RemoveWebhook(organization.clone(), id.clone());
                    self.remove(organization, EntityKind::Webhook, id.as_str(), change);
                } else {
                    self.report.unchanged += 1;
                }
                continue;
            }
            let before = known.filter(|_| !leaving.webhooks.contains(id));
            if let Some(elsewhere) = before.filter(|record| !is_here(record)) {
                let message = format!(
                    "\"{id}\" is a webhook of {} already: ids are unique within the organization",
                    elsewhere.endpoint.campaign_id.as_ref().map_or_else(
                        || "the organization itself".to_owned(),
                        |campaign| format!("campaign \"{campaign}\"")
                    )
                );
                self.faults.push(&path_to(&patch.path, "id"), message);
                planned.push(PlannedEndpoint::Unknown);
                continue;
            }
            match self.webhook(organization, scope, id, patch, before) {
                Some(record) => planned.push(PlannedEndpoint::Known(record.endpoint.clone())),
                None => planned.push(PlannedEndpoint::Unknown),
            }
        }
        planned
    }

    fn webhook(
        &mut self,
        organization: &OrganizationId,
        scope: Option<&CampaignId>,
        id: &EndpointId,
        patch: &WebhookPatch,
        before: Option<&WebhookRecord>,
    ) -> Option<WebhookRecord> {
        let endpoint = before.map(|record| &record.endpoint);
        let url = self.required(&patch.path, "url", &patch.url, endpoint.map(|e| &e.url));
        let events = self.required(&patch.path, "events", &patch.events, endpoint.map(|e| &e.events));
        let (secret, previous_secret) = match (patch.secret.given(), before) {
            (Some(new), Some(record)) if *new != record.secret => {
                let until = self.tools.now.plus(SECRET_OVERLAP);
                (new.clone(), Some((record.secret.clone(), until)))
            }
            (_, Some(record)) => (record.secret.clone(), record.previous_secret.clone()),
            (Some(given), None) => (given.clone(), None),
            (None, None) => {
                let secret = WebhookSecret::generate(self.random());
                self.show_once(organization, EntityKind::Webhook, id.as_str(), secret.expose());
                (secret, None)
            }
        };
        let after = WebhookRecord {
            endpoint: WebhookEndpoint {
                id: id.clone(),
                campaign_id: scope.cloned(),
                url: url?,
                events: events?,
                active: patch.active.over(endpoint.map(|e| e.active), true),
                created_at: endpoint.map_or(self.tools.now, |e| e.created_at),
            },
            secret,
            previous_secret,
        };
        if self.settle(organization, EntityKind::Webhook, id.as_str(), before, &after) {
            self.puts.push(ProvisioningChange::PutWebhook(
                organization.clone(),
                after.clone(),
            ));
        }
        Some(after)
    }
}

/// An endpoint as it will be.
#[derive(Debug)]
pub(super) enum PlannedEndpoint {
    Known(WebhookEndpoint),
    /// Something about it is faulty: it may be one that a campaign needs.
    Unknown,
}
