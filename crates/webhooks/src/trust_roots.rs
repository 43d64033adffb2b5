//! The certificate authorities that vouch for receivers: the bundled ones and those of a PEM file.
//!
//! Reads no file: the settings' owner hands over the bytes and adds the path to what is wrong with them.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::{self, PemObject as _};

/// The trust roots of TLS connections to receivers (decision C6).
#[derive(Debug, Clone)]
pub struct TrustRoots {
    store: RootCertStore,
}

/// What is wrong with the PEM text of extra trust roots.
#[derive(Debug, thiserror::Error)]
pub enum TrustRootError {
    /// The text holds no certificate, perhaps because it is a key or not PEM at all.
    #[error("holds no certificate (no `-----BEGIN CERTIFICATE-----`)")]
    NoCertificate,
    /// A certificate's PEM is broken.
    #[error("certificate {position} is not readable PEM: {cause}")]
    Pem {
        /// The certificate's place in the text, from 1.
        position: usize,
        /// What the PEM reader says.
        cause: pem::Error,
    },
    /// A section is PEM, but what it holds cannot serve as a root.
    #[error("certificate {position} cannot be used as a trust root: {cause}")]
    Certificate {
        /// The certificate's place in the text, from 1.
        position: usize,
        /// What the certificate reader says.
        cause: rustls::Error,
    },
}

impl TrustRoots {
    /// Mozilla's roots, compiled in, so that the program does not depend on the machine's.
    pub fn bundled() -> Self {
        Self {
            store: RootCertStore {
                roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
            },
        }
    }

    /// These roots and those of `pem`: one or more certificates, among other sections and text. All or none.
    ///
    /// A root vouches for the certificates it has signed. A receiver's own certificate can stand here only
    /// if it is self-signed and does not call itself an authority (`CA:TRUE`).
    pub fn with_pem(mut self, pem: &[u8]) -> Result<Self, TrustRootError> {
        let mut found = 0;
        for certificate in CertificateDer::pem_slice_iter(pem) {
            found += 1;
            let certificate = certificate.map_err(|cause| TrustRootError::Pem {
                position: found,
                cause,
            })?;
            self.store
                .add(certificate)
                .map_err(|cause| TrustRootError::Certificate {
                    position: found,
                    cause,
                })?;
        }
        if found == 0 {
            return Err(TrustRootError::NoCertificate);
        }
        Ok(self)
    }

    /// The TLS settings of a connection that trusts these roots and speaks HTTP/1.1.
    pub(crate) fn into_client_config(self) -> Arc<ClientConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        #[expect(clippy::expect_used, reason = "ring has cipher suites for TLS 1.2 and 1.3")]
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider supports the default protocol versions")
            .with_root_certificates(self.store)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Arc::new(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate_pem() -> String {
        rcgen::generate_simple_self_signed(["receiver.test".to_owned()])
            .unwrap()
            .cert
            .pem()
    }

    fn problem_with(pem: &str) -> String {
        TrustRoots::bundled()
            .with_pem(pem.as_bytes())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn every_certificate_of_the_text_is_added_to_the_bundled_ones() {
        let bundled = TrustRoots::bundled();
        let text = format!("# first\n{}\n# second\n{}", certificate_pem(), certificate_pem());
        let extended = bundled.clone().with_pem(text.as_bytes()).unwrap();
        assert_eq!(extended.store.roots.len(), bundled.store.roots.len() + 2);
    }

    #[test]
    fn a_text_without_a_certificate_is_refused() {
        for text in [
            "",
            "not PEM",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        ] {
            assert_eq!(
                problem_with(text),
                "holds no certificate (no `-----BEGIN CERTIFICATE-----`)",
                "{text:?}"
            );
        }
    }

    #[test]
    fn the_broken_certificate_is_named_by_its_place() {
        let unfinished = format!("{}-----BEGIN CERTIFICATE-----\nAAAA\n", certificate_pem());
        let problem = problem_with(&unfinished);
        assert!(
            problem.starts_with("certificate 2 is not readable PEM: "),
            "{problem}"
        );

        let no_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let problem = problem_with(no_certificate);
        assert!(
            problem.starts_with("certificate 1 cannot be used as a trust root: "),
            "{problem}"
        );
    }
}
