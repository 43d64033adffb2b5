//! The keys that seal secrets.

use std::fmt;

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};

/// Bytes in front of each sealed text, drawn anew each time. So many cannot repeat by chance.
const NONCE: usize = 24;

/// The keys of a key file: the first one seals, all of them open.
#[derive(Debug)]
pub(crate) struct SecretKeys(Vec<SealingKey>);

/// One key. Its id is derived from it, so that a file needs no names.
pub(crate) struct SealingKey {
    id: String,
    cipher: XChaCha20Poly1305,
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SealingKey").field(&self.id).finish()
    }
}

impl SecretKeys {
    /// Reads the content of a key file: a key a line, 64 hexadecimal digits. Empty lines and lines that begin with `#` are
    /// skipped. The error does not repeat the content.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut keys: Vec<SealingKey> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut bytes = [0; 32];
            hex::decode_to_slice(line, &mut bytes)
                .map_err(|_| format!("line {number} is not a key: 64 hexadecimal digits"))?;
            let key = SealingKey::new(&bytes);
            if keys.iter().any(|other| other.id == key.id) {
                return Err(format!("line {number} repeats a key"));
            }
            keys.push(key);
        }
        if keys.is_empty() {
            return Err("holds no key: 64 hexadecimal digits on a line".to_owned());
        }
        Ok(Self(keys))
    }

    /// The key that seals.
    pub(crate) fn first(&self) -> &SealingKey {
        // Parsing refuses a file without a key.
        &self.0[0]
    }

    pub(crate) fn with_id(&self, id: &str) -> Option<&SealingKey> {
        self.0.iter().find(|key| key.id == id)
    }
}

impl SealingKey {
    fn new(bytes: &[u8; 32]) -> Self {
        let digest = Sha256::new()
            .chain_update(b"bidloop sealing key")
            .chain_update(bytes)
            .finalize();
        Self {
            id: hex::encode(&digest[..4]),
            cipher: XChaCha20Poly1305::new(bytes.into()),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// A nonce and the sealed text, which opens only together with `bound_to`.
    pub(crate) fn seal(&self, msg: &[u8], bound_to: &[u8]) -> Result<Vec<u8>, String> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(|error| format!("the system gives no random bytes: {error}"))?;
        let payload = Payload { msg, aad: bound_to };
        let sealed = self
            .cipher
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| "a secret cannot be sealed".to_owned())?;
        Ok([&nonce[..], &sealed].concat())
    }

    /// What was sealed; `None` if it was changed, or was bound to something else.
    pub(crate) fn open(&self, sealed: &[u8], bound_to: &[u8]) -> Option<Vec<u8>> {
        let (nonce, msg) = sealed.split_first_chunk::<NONCE>()?;
        let payload = Payload { msg, aad: bound_to };
        self.cipher.decrypt(&XNonce::from(*nonce), payload).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_holds_keys_comments_and_empty_lines() {
        let one = "0f".repeat(32);
        let two = "F0".repeat(32);
        let keys = SecretKeys::parse(&format!("# keys\n\n{one}\n  {two}\r\n")).map(|keys| keys.0.len());
        assert_eq!(keys, Ok(2));
    }

    #[test]
    fn a_faulty_key_file_is_refused_without_its_content() {
        let one = "0f".repeat(32);
        for (text, because) in [
            (String::new(), "no key"),
            ("# none".to_owned(), "no key"),
            (format!("{one}\n{one}0"), "line 2"),
            (format!("{one}\n{one}"), "repeats"),
            ("s3cret".to_owned(), "line 1"),
        ] {
            let error = SecretKeys::parse(&text).map(|_| ()).unwrap_err();
            assert!(
                error.contains(because) && !error.contains("s3cret") && !error.contains(&one),
                "{error}"
            );
        }
    }
}
