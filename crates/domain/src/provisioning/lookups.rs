//! What must be known before a file can be planned: from the store, from files, and from the source of randomness.
//!
//! The use case looks it up through ports, so that planning is a pure function. Faulty values need no look-up; planning
//! reports them.

use std::collections::HashMap;

use bidloop_matching::json::{Faults, Field, Fields, Path};
use serde_json::Value;

use super::attachments::{AttachmentEntry, read_attachments};
use super::peek::{id_of, is_absent, objects_with_paths, path_to, text_of};
use crate::model::{
    ApiKey, ApiKeyHash, BlobRef, EmailAddress, EmailKey, OrganizationId, Password, Secret, Timestamp,
};
use crate::port::StoredPerson;

/// What a file needs to know.
#[derive(Debug, Default)]
pub(crate) struct Lookups<'v> {
    /// The organizations to load, if they exist.
    pub(crate) organizations: Vec<OrganizationId>,
    /// Digests of keys whose owners are needed.
    pub(crate) key_hashes: Vec<ApiKeyHash>,
    /// The people to load, if they exist.
    pub(crate) people: Vec<EmailKey>,
    /// The passwords to hash.
    pub(crate) passwords: Vec<GivenPassword<'v>>,
    /// The paths of the keys and secrets that the file leaves out. Each needs 32 random bytes.
    pub(crate) left_out: Vec<Vec<String>>,
    /// The files to read.
    pub(crate) attachments: Vec<(OrganizationId, AttachmentEntry)>,
}

/// A person as the store and the entries of the file so far have it.
#[derive(Debug, Clone)]
pub(crate) struct KnownPerson {
    pub(super) email: String,
    pub(super) name: String,
    /// Whether an entry of the file says the name.
    pub(super) is_named: bool,
    pub(super) password_hash: Option<Secret<String>>,
    /// The hash of the password that an entry of the file gives.
    pub(super) given_password: Option<Secret<String>>,
}

impl KnownPerson {
    /// A person whom nobody knows yet, by the address as the file has it.
    pub(super) fn unknown(email: &str) -> Self {
        Self {
            email: email.to_owned(),
            name: email.to_owned(),
            is_named: false,
            password_hash: None,
            given_password: None,
        }
    }
}

impl From<StoredPerson> for KnownPerson {
    fn from(stored: StoredPerson) -> Self {
        Self {
            email: stored.person.email,
            name: stored.person.name,
            is_named: false,
            password_hash: stored.password_hash,
            given_password: None,
        }
    }
}

/// A password in the file.
#[derive(Debug)]
pub(crate) struct GivenPassword<'v> {
    pub(crate) path: Vec<String>,
    pub(crate) person: EmailKey,
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
            let Some(email) = text_of(user, "email").filter(|email| EmailAddress::parse(email).is_ok())
            else {
                continue;
            };
            if is_absent(user.get("state")) {
                continue;
            }
            let person = EmailKey::of(email);
            self.people.push(person.clone());
            if let Some(password) = text_of(user, "password").filter(|text| Password::parse(text).is_ok()) {
                self.passwords.push(GivenPassword {
                    path: path_to(&path, "password"),
                    person,
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
