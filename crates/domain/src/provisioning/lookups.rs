//! What must be known before a file can be planned: from the store, from files, and from the source of randomness.
//!
//! The use case looks it up through ports, so that planning is a pure function. Faulty values need no look-up; planning
//! reports them.

use std::collections::HashMap;

use bidloop_matching::json::{Faults, Field, Fields, Path};
use serde_json::Value;

use super::attachments::{AttachmentEntry, read_attachments};
use super::peek::{id_of, is_absent, objects_with_paths, path_to, text_of};
use crate::model::{ApiKey, ApiKeyHash, BlobRef, OrganizationId, Secret, Timestamp};

/// What a file needs to know.
#[derive(Debug, Default)]
pub(crate) struct Lookups<'v> {
    /// The organizations to load, if they exist.
    pub(crate) organizations: Vec<OrganizationId>,
    /// Digests of keys whose owners are needed.
    pub(crate) key_hashes: Vec<ApiKeyHash>,
    /// The passwords to hash.
    pub(crate) passwords: Vec<GivenPassword<'v>>,
    /// The paths of the keys and secrets that the file leaves out. Each needs 32 random bytes.
    pub(crate) left_out: Vec<Vec<String>>,
    /// The files to read.
    pub(crate) attachments: Vec<(OrganizationId, AttachmentEntry)>,
}

/// A password in the file.
#[derive(Debug)]
pub(crate) struct GivenPassword<'v> {
    pub(crate) path: Vec<String>,
    pub(crate) organization: OrganizationId,
    pub(crate) email: &'v str,
    pub(crate) password: Secret<&'v str>,
}

/// The results of the look-ups, each under the path of its value.
pub(crate) struct Provided<'a> {
    /// When new entities are created and overlaps begin.
    pub(crate) now: Timestamp,
    /// Checks the syntax of a template; the error says what is wrong.
    pub(crate) check_template: &'a dyn Fn(&str) -> Result<(), String>,
    /// The hash of each password. An unchanged password keeps its hash.
    pub(crate) password_hashes: HashMap<Vec<String>, Secret<String>>,
    /// Fresh random bytes.
    pub(crate) random: HashMap<Vec<String>, [u8; 32]>,
    /// The content of the attachments that could be read.
    pub(crate) blobs: &'a HashMap<Vec<String>, BlobRef>,
    /// The faults of the other attachments.
    pub(crate) faults: &'a Faults,
}

impl<'v> Lookups<'v> {
    pub(crate) fn of(file: &'v Value) -> Self {
        let mut lookups = Self::default();
        for (path, organization) in objects_with_paths(file, &[], "organizations") {
            lookups.organization(&path, organization);
        }
        lookups
    }

    fn organization(&mut self, path: &[String], organization: &'v Value) {
        let Some(id) = id_of(organization, OrganizationId::parse) else {
            return;
        };
        if is_absent(organization.get("state")) {
            self.organizations.push(id);
            return;
        }
        for (path, user) in objects_with_paths(organization, path, "users") {
            if let (Some(email), Some(password)) = (text_of(user, "email"), text_of(user, "password"))
                && !is_absent(user.get("state"))
            {
                self.passwords.push(GivenPassword {
                    path: path_to(&path, "password"),
                    organization: id.clone(),
                    email,
                    password: Secret::new(password),
                });
            }
        }
        for (path, entry) in objects_with_paths(organization, path, "apiKeys") {
            match text_of(entry, "key").map(ApiKey::parse) {
                None => self.left_out.push(path_to(&path, "key")),
                Some(Ok(key)) => self.key_hashes.push(key.hash()),
                Some(Err(_)) => {}
            }
        }
        self.secrets(path, organization);
        for (path, campaign) in objects_with_paths(organization, path, "campaigns") {
            self.secrets(&path, campaign);
            if !is_absent(campaign.get("state")) {
                // Planning reports the faults.
                let files = Fields::read(campaign, Path::At(&path), &mut Faults::new(), read_attachments);
                if let Some(Field::Given(files)) = files {
                    let files = files.into_iter().map(|file| (id.clone(), file));
                    self.attachments.extend(files);
                }
            }
        }
        self.organizations.push(id);
    }

    fn secrets(&mut self, path: &[String], owner: &'v Value) {
        for (path, webhook) in objects_with_paths(owner, path, "webhooks") {
            if text_of(webhook, "secret").is_none() {
                self.left_out.push(path_to(&path, "secret"));
            }
        }
    }
}
