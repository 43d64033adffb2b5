//! The certificate authorities that TLS connections of the program trust: the bundled ones and those of a PEM file.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

/// Mozilla's roots. They are compiled in, so that the program does not depend on the machine's.
pub(crate) fn bundled_roots() -> RootCertStore {
    RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    }
}

/// The TLS settings of connections to PostgreSQL. As libpq has it, the certificates of the file `sslrootcert` are trusted
/// in place of the bundled ones.
pub(crate) fn database_tls(sslrootcert: Option<&str>) -> Result<Arc<ClientConfig>, String> {
    let Some(file) = sslrootcert else {
        return Ok(client_config(bundled_roots()));
    };
    let roots = with_roots_of(RootCertStore::empty(), file);
    roots
        .map(client_config)
        .map_err(|error| format!("sslrootcert {error}"))
}

/// Adds all certificates of the PEM file, which must hold at least one, to `roots`; reports what is wrong with the file.
///
/// A root vouches for the certificates that it has signed. A server's own certificate can stand here only if it is
/// self-signed and does not call itself an authority (`CA:TRUE`).
pub(crate) fn with_roots_of(roots: RootCertStore, file: &str) -> Result<RootCertStore, String> {
    let pem = std::fs::read(file).map_err(|error| format!("{file} cannot be read: {error}"))?;
    add_roots(roots, &pem).map_err(|error| format!("{file} {error}"))
}

fn add_roots(mut roots: RootCertStore, pem: &[u8]) -> Result<RootCertStore, String> {
    let mut found = 0;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        found += 1;
        let certificate =
            certificate.map_err(|cause| format!("certificate {found} is not readable PEM: {cause}"))?;
        roots
            .add(certificate)
            .map_err(|cause| format!("certificate {found} cannot be used as a trust root: {cause}"))?;
    }
    if found == 0 {
        return Err("holds no certificate (no `-----BEGIN CERTIFICATE-----`)".to_owned());
    }
    Ok(roots)
}

/// The TLS settings of connections that trust `roots`.
pub(crate) fn client_config(roots: RootCertStore) -> Arc<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    #[expect(clippy::expect_used, reason = "ring has cipher suites for TLS 1.2 and 1.3")]
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider supports the default protocol versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
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
        add_roots(bundled_roots(), pem.as_bytes()).unwrap_err()
    }

    #[test]
    fn every_certificate_of_the_text_is_added_to_the_bundled_ones() {
        let text = format!("# first\n{}\n# second\n{}", certificate_pem(), certificate_pem());
        let extended = add_roots(bundled_roots(), text.as_bytes()).unwrap();
        assert_eq!(extended.roots.len(), bundled_roots().roots.len() + 2);
    }

    #[test]
    fn the_databases_own_root_certificates_replace_the_bundled_ones() {
        let roots = add_roots(RootCertStore::empty(), certificate_pem().as_bytes()).unwrap();
        assert_eq!(roots.roots.len(), 1);

        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), certificate_pem()).unwrap();
        database_tls(file.path().to_str()).unwrap();
    }

    #[test]
    fn a_missing_root_certificate_of_the_database_is_named() {
        let problem = database_tls(Some("/does/not/exist.pem")).unwrap_err();
        assert!(
            problem.starts_with("sslrootcert /does/not/exist.pem cannot be read: "),
            "{problem}"
        );
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
