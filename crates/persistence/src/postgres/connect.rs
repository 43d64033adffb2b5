//! Connections to PostgreSQL: what the URL says, TLS, and the settings of a session.
//!
//! It owns how one connection is made. The parent module owns the pool and what runs on a connection.

use std::time::Duration;

use diesel::ConnectionError;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection as _};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::backend::OpenError;
use crate::database::PostgresTls;

/// One address; a host name may have several.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long until a server that vanished silently is noticed.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(20);

/// The settings of every session, whatever the defaults of the server or the role are: decisions rely on rows that are
/// locked or updated under READ COMMITTED, a reported commit survives a power loss, and a statement or transaction that
/// nobody waits for ends.
const SESSION: &str = "
    SET default_transaction_isolation = 'read committed';
    SET statement_timeout = '30s';
    SET idle_in_transaction_session_timeout = '30s';
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
";

/// Opens connections to one server.
#[derive(Clone)]
pub(super) struct Connector {
    config: Config,
    tls: Option<MakeRustlsConnect>,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector")
            .field("tls", &self.tls.is_some())
            .finish_non_exhaustive()
    }
}

impl Connector {
    /// Reads a `postgres://` URL. `sslmode` is libpq's, except that whenever TLS is used the server's certificate
    /// is verified. `tls` knows the roots. Without `sslmode` there is no TLS.
    pub(super) fn new(url: &str, tls: PostgresTls) -> Result<Self, OpenError> {
        let TlsParameters { url, mode, roots } = TlsParameters::take_from(url)?;
        let mut config: Config = url
            .parse()
            .map_err(|error: tokio_postgres::Error| invalid(&error))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(OpenError::InvalidUrl("it names no host".to_owned()));
        }
        config
            .ssl_mode(mode)
            .connect_timeout(CONNECT_TIMEOUT)
            .keepalives_idle(SILENCE_TIMEOUT)
            .tcp_user_timeout(SILENCE_TIMEOUT);
        if config.get_application_name().is_none() {
            config.application_name("bidloop");
        }
        let tls = if mode == SslMode::Disable {
            None
        } else {
            let config = tls(roots.as_deref()).map_err(OpenError::InvalidUrl)?;
            Some(MakeRustlsConnect::new((*config).clone()))
        };
        Ok(Self { config, tls })
    }

    /// The hosts to which a connection may be made without TLS, by name or address. A local socket is no host.
    pub(super) fn hosts_without_tls(&self) -> Vec<String> {
        if self.config.get_ssl_mode() == SslMode::Require {
            return Vec::new();
        }
        let addresses = self.config.get_hostaddrs();
        if !addresses.is_empty() {
            // An address is connected to in place of the name beside it.
            return addresses.iter().map(ToString::to_string).collect();
        }
        let names = self.config.get_hosts().iter().filter_map(|host| match host {
            Host::Tcp(name) => Some(name.clone()),
            #[cfg(unix)]
            Host::Unix(_) => None,
        });
        names.collect()
    }

    pub(super) async fn connect(&self) -> Result<AsyncPgConnection, ConnectionError> {
        let connection = match &self.tls {
            None => {
                let (client, connection) = self.config.connect(NoTls).await.map_err(|e| refused(&e))?;
                AsyncPgConnection::try_from_client_and_connection(client, connection).await
            }
            Some(tls) => {
                let (client, connection) = self.config.connect(tls.clone()).await.map_err(|e| refused(&e))?;
                AsyncPgConnection::try_from_client_and_connection(client, connection).await
            }
        };
        let mut connection = connection?;
        connection
            .batch_execute(SESSION)
            .await
            .map_err(ConnectionError::CouldntSetupConfiguration)?;
        Ok(connection)
    }
}

/// The TLS parameters of a URL, taken out of it: the driver does not know all that libpq does.
struct TlsParameters {
    url: String,
    mode: SslMode,
    roots: Option<String>,
}

impl TlsParameters {
    fn take_from(url: &str) -> Result<Self, OpenError> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut tls = Self {
            url: base.to_owned(),
            mode: SslMode::Disable,
            roots: None,
        };
        let mut rest = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", "disable")) => tls.mode = SslMode::Disable,
                Some(("sslmode", "prefer")) => tls.mode = SslMode::Prefer,
                Some(("sslmode", "require" | "verify-ca" | "verify-full")) => tls.mode = SslMode::Require,
                Some(("sslmode", other)) => {
                    return Err(OpenError::InvalidUrl(format!(
                        "sslmode is {other:?}; it may be disable, prefer, require, verify-ca or verify-full"
                    )));
                }
                Some(("sslrootcert", path)) => tls.roots = Some(path.to_owned()),
                _ => rest.push(parameter),
            }
        }
        if !rest.is_empty() {
            tls.url = format!("{base}?{}", rest.join("&"));
        }
        Ok(tls)
    }
}

/// The driver's messages name the faulty option, never a password.
fn invalid(error: &tokio_postgres::Error) -> OpenError {
    OpenError::InvalidUrl(with_sources(error))
}

fn refused(error: &tokio_postgres::Error) -> ConnectionError {
    ConnectionError::BadConnection(with_sources(error))
}

/// The driver says "error connecting to server" and leaves the reason to the sources.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::{ClientConfig, RootCertStore};

    use super::*;

    const TLS: PostgresTls = |_| {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| error.to_string())?;
        let config = config.with_root_certificates(RootCertStore::empty());
        Ok(Arc::new(config.with_no_client_auth()))
    };

    fn parameters(url: &str) -> (String, SslMode, Option<String>) {
        let TlsParameters { url, mode, roots } = TlsParameters::take_from(url).unwrap();
        (url, mode, roots)
    }

    #[test]
    fn a_url_without_sslmode_asks_for_no_tls() {
        let url = "postgres://u:p@h/db?application_name=x";
        assert_eq!(parameters(url), (url.to_owned(), SslMode::Disable, None));
        assert!(Connector::new(url, TLS).unwrap().tls.is_none());
    }

    #[test]
    fn libpqs_tls_parameters_are_understood() {
        assert_eq!(
            parameters("postgres://h/db?sslmode=verify-full&sslrootcert=/ca.pem&host=/run"),
            (
                "postgres://h/db?host=/run".to_owned(),
                SslMode::Require,
                Some("/ca.pem".to_owned())
            )
        );
        assert!(
            Connector::new("postgres://h/db?sslmode=require", TLS)
                .unwrap()
                .tls
                .is_some()
        );
        assert!(TlsParameters::take_from("postgres://h/db?sslmode=maybe").is_err());
    }

    #[test]
    fn a_host_without_certain_tls_is_named() {
        for (url, hosts) in [
            ("postgres://u:p@db.test/x", &["db.test"][..]),
            ("postgres://db.test/x?sslmode=prefer", &["db.test"]),
            (
                "postgres://a.test,127.0.0.1:5433/x?sslmode=disable",
                &["a.test", "127.0.0.1"],
            ),
            ("postgres://localhost/x?hostaddr=192.0.2.1", &["192.0.2.1"]),
            ("postgres:///x?host=/run/postgresql", &[]),
            ("postgres://db.test/x?sslmode=require", &[]),
            ("postgres://db.test/x?sslmode=verify-full", &[]),
        ] {
            assert_eq!(
                Connector::new(url, TLS).unwrap().hosts_without_tls(),
                hosts,
                "{url}"
            );
        }
    }

    #[test]
    fn the_fault_of_the_tls_settings_is_reported() {
        let tls: PostgresTls = |roots| Err(format!("no {roots:?}"));
        let url = "postgres://h/db?sslmode=require&sslrootcert=/absent.pem";
        let error = Connector::new(url, tls).unwrap_err();
        assert!(error.to_string().contains("no Some(\"/absent.pem\")"), "{error}");
    }

    #[test]
    fn a_password_never_reaches_a_message() {
        let error = Connector::new("postgres://user:s3cret@h:port/db", TLS).unwrap_err();
        assert!(!error.to_string().contains("s3cret"), "{error}");
        let connector = Connector::new("postgres://user:s3cret@h/db", TLS).unwrap();
        assert!(!format!("{connector:?}").contains("s3cret"));
    }
}
