//! Secrets at rest: marketplace tokens and webhook secrets are stored sealed (XChaCha20-Poly1305).
//!
//! A sealed text names the key that sealed it, and opens only in its own place: the same column of the same row of the
//! same organization. So a text that was copied to another row opens nothing.
//!
//! Plain text is read too: earlier versions stored it, and without a key file it stays so.

mod key_file;
mod keys;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use bidloop_domain::model::{MarketplaceToken, Secret, WebhookSecret};

use crate::failure::Failure;
use keys::SecretKeys;

/// What a sealed text begins with; the key's id and a colon follow.
const SEALED: &str = "sealed1:";

/// Where a secret is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    column: &'static str,
    organization: &'a str,
    id: &'a str,
}

impl<'a> Place<'a> {
    /// The token of a bidder account.
    pub(crate) fn token(organization: &'a str, account: &'a str) -> Self {
        Self::new("bidder_accounts.token", organization, account)
    }

    /// The secret of an endpoint.
    pub(crate) fn secret(organization: &'a str, endpoint: &'a str) -> Self {
        Self::new("webhook_endpoints.secret", organization, endpoint)
    }

    /// The replaced secret of an endpoint.
    pub(crate) fn previous_secret(organization: &'a str, endpoint: &'a str) -> Self {
        Self::new("webhook_endpoints.previous_secret", organization, endpoint)
    }

    fn new(column: &'static str, organization: &'a str, id: &'a str) -> Self {
        Self {
            column,
            organization,
            id,
        }
    }

    /// What the seal is bound to. No part holds the separator.
    fn bound_to(self) -> String {
        format!("{}\0{}\0{}", self.column, self.organization, self.id)
    }
}

/// Seals and opens the secrets of one database.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sealer {
    keys: Keys,
}

/// Where the keys come from.
#[derive(Debug, Clone, Default)]
enum Keys {
    /// What is written stays plain.
    #[default]
    None,
    /// From a file that was read.
    Known(Arc<SecretKeys>),
    /// From a file beside the database, which is made when a key is first needed: looking at a database makes none.
    Beside(PathBuf, Arc<OnceLock<Arc<SecretKeys>>>),
}

impl Sealer {
    /// Seals with the first key in the file, and opens with all of them; `None`: what is written stays plain.
    pub(crate) fn with_key_file(file: Option<&Path>) -> Result<Self, String> {
        let keys = file.map(key_file::read).transpose()?;
        let keys = keys.map_or(Keys::None, |keys| Keys::Known(Arc::new(keys)));
        Ok(Self { keys })
    }

    /// Seals and opens with the keys in this file, which is made when a key is first needed.
    pub(crate) fn with_own_key_file(file: PathBuf) -> Result<Self, String> {
        if file.exists() {
            return Self::with_key_file(Some(&file));
        }
        Ok(Self {
            keys: Keys::Beside(file, Arc::default()),
        })
    }

    fn keys(&self) -> Result<Option<&SecretKeys>, String> {
        match &self.keys {
            Keys::None => Ok(None),
            Keys::Known(keys) => Ok(Some(keys)),
            Keys::Beside(file, known) => {
                if known.get().is_none() {
                    let keys = Arc::new(key_file::made_or_read(file)?);
                    // Another thread has read the same file.
                    let _known_already = known.set(keys);
                }
                Ok(known.get().map(Arc::as_ref))
            }
        }
    }

    /// What begins the texts that the first key has sealed; `None` without keys.
    pub(crate) fn current_prefix(&self) -> Result<Option<String>, Failure> {
        let keys = self.keys().map_err(Failure::fault)?;
        Ok(keys.map(|keys| format!("{SEALED}{}:", keys.first().id())))
    }

    /// What is stored for a secret.
    pub(crate) fn seal(&self, place: Place<'_>, secret: &str) -> Result<Secret<String>, Failure> {
        let Some(keys) = self.keys().map_err(Failure::fault)? else {
            if secret.starts_with(SEALED) {
                return Err(Failure::fault(format!(
                    "a secret that begins with `{SEALED}` cannot be stored without secrets.key_file"
                )));
            }
            return Ok(Secret::new(secret.to_owned()));
        };
        let key = keys.first();
        let sealed = key
            .seal(secret.as_bytes(), place.bound_to().as_bytes())
            .map_err(Failure::fault)?;
        let sealed = BASE64_STANDARD_NO_PAD.encode(sealed);
        Ok(Secret::new(format!("{SEALED}{}:{sealed}", key.id())))
    }

    /// The secret that is stored, or why it cannot be opened and what to do.
    pub(crate) fn open(&self, place: Place<'_>, stored: &Secret<String>) -> Result<Secret<String>, String> {
        let Some(sealed) = stored.expose().strip_prefix(SEALED) else {
            return Ok(stored.clone());
        };
        let malformed = || "the sealed secret is malformed: provision it anew".to_owned();
        let (id, sealed) = sealed.split_once(':').ok_or_else(malformed)?;
        let Some(key) = self.keys()?.and_then(|keys| keys.with_id(id)) else {
            let id: String = id.chars().filter(char::is_ascii_alphanumeric).take(16).collect();
            return Err(format!(
                "it is sealed with the key {id}, which secrets.key_file lacks: add that key to the file, or provision \
                 the secret anew"
            ));
        };
        let sealed = BASE64_STANDARD_NO_PAD.decode(sealed).map_err(|_| malformed())?;
        let opened = key
            .open(&sealed, place.bound_to().as_bytes())
            .ok_or("the seal is broken, or another row's: provision the secret anew")?;
        let opened = String::from_utf8(opened).map_err(|_| malformed())?;
        Ok(Secret::new(opened))
    }

    /// The stored token of an account.
    pub(crate) fn open_token(
        &self,
        place: Place<'_>,
        stored: &Secret<String>,
    ) -> Result<MarketplaceToken, String> {
        let opened = self.open(place, stored)?;
        Ok(MarketplaceToken::unchecked(opened.expose().clone()))
    }

    /// The stored secret of an endpoint.
    pub(crate) fn open_webhook_secret(
        &self,
        place: Place<'_>,
        stored: &Secret<String>,
    ) -> Result<WebhookSecret, String> {
        let opened = self.open(place, stored)?;
        WebhookSecret::parse(opened.expose()).map_err(|_| "a malformed secret".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222222222222222222222222222";

    fn sealer(keys: &[&str]) -> Sealer {
        Sealer {
            keys: Keys::Known(Arc::new(SecretKeys::parse(&keys.join("\n")).unwrap())),
        }
    }

    fn place(id: &str) -> Place<'_> {
        Place::new("bidder_accounts.token", "org", id)
    }

    fn sealed(sealer: &Sealer, secret: &str) -> Secret<String> {
        sealer.seal(place("a"), secret).unwrap()
    }

    #[test]
    fn a_sealed_secret_shows_nothing_of_itself_and_opens_in_its_place() {
        let sealer = sealer(&[ONE]);
        let (first, second) = (sealed(&sealer, "s3cret"), sealed(&sealer, "s3cret"));
        assert!(!first.expose().contains("s3cret"));
        assert_ne!(first, second, "equal secrets are not seen to be equal");
        assert_eq!(
            sealer.open(place("a"), &first),
            Ok(Secret::new("s3cret".to_owned()))
        );
        assert!(!format!("{sealer:?}").contains(ONE));
    }

    #[test]
    fn a_seal_opens_in_no_other_row_column_or_organization() {
        let sealer = sealer(&[ONE]);
        let text = sealed(&sealer, "s3cret");
        for elsewhere in [
            Place::new("bidder_accounts.token", "org", "b"),
            Place::new("bidder_accounts.token", "other", "a"),
            Place::new("webhook_endpoints.secret", "org", "a"),
        ] {
            let refused = sealer.open(elsewhere, &text).unwrap_err();
            assert!(refused.contains("another row's"), "{refused}");
        }
    }

    #[test]
    fn a_changed_text_does_not_open() {
        let sealer = sealer(&[ONE]);
        let text = sealed(&sealer, "s3cret").expose().clone();
        for at in SEALED.len()..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = Secret::new(String::from_utf8_lossy(&changed).into_owned());
            assert!(sealer.open(place("a"), &changed).is_err(), "byte {at}");
        }
    }

    #[test]
    fn the_first_key_seals_and_all_open() {
        let old = sealed(&sealer(&[ONE]), "s3cret");
        let both = sealer(&[TWO, ONE]);
        assert!(both.open(place("a"), &old).is_ok());
        let new = sealed(&both, "s3cret");
        assert!(sealer(&[TWO]).open(place("a"), &new).is_ok());
        let lost = sealer(&[TWO]).open(place("a"), &old).unwrap_err();
        assert!(lost.contains("add that key to the file"), "{lost}");
    }

    #[test]
    fn without_keys_secrets_stay_plain_and_sealed_ones_cannot_be_opened() {
        let plain = Sealer::default();
        assert_eq!(sealed(&plain, "s3cret").expose(), "s3cret");
        assert!(
            plain
                .open(place("a"), &sealed(&sealer(&[ONE]), "s3cret"))
                .is_err()
        );
        assert!(plain.seal(place("a"), "sealed1:looks like it").is_err());
    }

    #[test]
    fn what_earlier_versions_stored_is_read_as_it_is() {
        let plain = Secret::new("s3cret".to_owned());
        assert_eq!(sealer(&[ONE]).open(place("a"), &plain), Ok(plain.clone()));
    }
}
