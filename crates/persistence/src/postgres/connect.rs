//! Connections to PostgreSQL: what the URL says, TLS, and the settings of a session.
//!
//! It owns how one connection is made. The parent module owns the pool and what runs on a connection.

use std::time::Duration;

use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use diesel::ConnectionError;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connection::Conn;
use super::errors::from_server;
use crate::backend::OpenError;
use crate::database::PostgresTls;
use crate::grouping::Locks;

/// One address; a host name may have several.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long until a server that vanished silently is noticed.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(20);

/// The settings of every session, whatever the defaults of the server or the role are: decisions rely on rows that are
/// locked or updated under READ COMMITTED, a reported commit survives a power loss, a statement or transaction that
/// nobody waits for ends, and no short statement is compiled because it might have been a long one.
const SESSION: &str = "
    SET default_transaction_isolation = 'read committed';
    SET statement_timeout = '30s';
    SET idle_in_transaction_session_timeout = '30s';
    SET jit = off;
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
";

/// The same for one transaction, where a pooler gives each to another session.
const SESSION_OF_A_TRANSACTION: &str = "
    SET LOCAL statement_timeout = '30s';
    SET LOCAL idle_in_transaction_session_timeout = '30s';
    SET LOCAL jit = off
";

/// The same for one that writes.
const WRITES_OF_A_TRANSACTION: &str =
    "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'";

/// For a transaction of statements over arrays, which find rows by their keys: left to itself, the server plans each anew, which
/// takes as long as to run it.
const KEEP_PLANS: &str = "SET LOCAL plan_cache_mode = 'force_generic_plan'";

/// The same where each statement is planned anew anyway: the server need not weigh ways to join that read whole tables.
const PLAN_SOON: &str = "
    SET LOCAL plan_cache_mode = 'force_generic_plan'; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off
";

/// For a transaction that gives up when it does not have a lock soon.
const SOON: &str = "SET LOCAL lock_timeout = '100ms'";

/// Who has the server's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Session {
    /// This connection, as long as it lives. The session keeps settings and prepared statements.
    Own,
    /// This connection for one transaction after the other, or for a statement outside of them.
    OfAPooler,
}

impl Session {
    pub(crate) fn of(prepared_statements: bool) -> Self {
        if prepared_statements {
            Self::Own
        } else {
            Self::OfAPooler
        }
    }

    /// What begins a transaction with a commit.
    pub(super) fn begin_write(self) -> String {
        match self {
            Self::Own => "BEGIN".to_owned(),
            Self::OfAPooler => {
                format!(
                    "BEGIN ISOLATION LEVEL READ COMMITTED;{SESSION_OF_A_TRANSACTION};{WRITES_OF_A_TRANSACTION}"
                )
            }
        }
    }

    /// The same for a transaction that finds rows by their keys.
    pub(super) fn begin_write_by_keys(self, locks: Locks) -> String {
        let (begin, by_keys) = (self.begin_write(), self.by_keys());
        match locks {
            Locks::Soon => format!("{begin};{by_keys};{SOON}"),
            Locks::Patiently => format!("{begin};{by_keys}"),
        }
    }

    pub(super) fn begin_snapshot_by_keys(self) -> String {
        format!("{};{}", self.begin_snapshot(), self.by_keys())
    }

    fn by_keys(self) -> &'static str {
        match self {
            Self::Own => KEEP_PLANS,
            Self::OfAPooler => PLAN_SOON,
        }
    }

    pub(super) fn begin_snapshot(self) -> String {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        match self {
            Self::Own => begin.to_owned(),
            Self::OfAPooler => format!("{begin};{SESSION_OF_A_TRANSACTION}"),
        }
    }
}

/// Opens connections to one server.
#[derive(Clone)]
pub(super) struct Connector {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    pub(super) session: Session,
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
        Ok(Self {
            config,
            tls,
            session: Session::Own,
        })
    }

    pub(super) fn with_session(self, session: Session) -> Self {
        Self { session, ..self }
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

    pub(super) async fn connect(&self) -> Result<Conn, ConnectionError> {
        let client = match &self.tls {
            None => self.client(NoTls).await,
            Some(tls) => self.client(tls.clone()).await,
        };
        let client = client.map_err(|error| ConnectionError::BadConnection(with_sources(&error)))?;
        if self.session == Session::Own {
            let set_up = client.batch_execute(SESSION).await;
            set_up.map_err(|error| ConnectionError::CouldntSetupConfiguration(from_server(&error)))?;
        }
        Ok(Conn::new(client, self.session))
    }

    async fn client<T>(&self, tls: T) -> Result<Client, tokio_postgres::Error>
    where
        T: MakeTlsConnect<Socket, Stream: Send + 'static> + Send,
    {
        let (client, connection) = self.config.connect(tls).await?;
        // It ends with the client, or with the connection.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = with_sources(&error), "a connection to PostgreSQL ended");
            }
        });
        Ok(client)
    }
}

impl Manager for Connector {
    type Type = Conn;
    type Error = ConnectionError;

    async fn create(&self) -> Result<Conn, ConnectionError> {
        self.connect().await
    }

    async fn recycle(&self, conn: &mut Conn, _: &Metrics) -> RecycleResult<ConnectionError> {
        // The server is not asked: that would cost a third of the throughput.
        if conn.is_free() {
            Ok(())
        } else {
            Err(RecycleError::message(
                "the connection is closed, or in a transaction",
            ))
        }
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

/// The driver says "error connecting to server" and leaves the reason to the sources.
pub(super) fn with_sources(error: &dyn std::error::Error) -> String {
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
