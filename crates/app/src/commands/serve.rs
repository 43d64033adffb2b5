//! `bidloop serve`: the HTTP API and the workers of one process, from start to graceful stop.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bidloop_billing::StripeWebhook;
use bidloop_console::{Console, Streams};
use bidloop_domain::port::{BlobStore, StoreError};
use bidloop_http_api::{
    BodyLimits, Description, HeldReadiness, HttpApi, Offer, Readiness, RequestMetrics, application,
};
use bidloop_http_server::{ConnectionLimits, RunningServer, ServerSettings, UseCaseRuntime};
use bidloop_mcp::http::{CallMetrics, McpServer};
use bidloop_persistence::{Database, MigrateError};
use clap::ValueEnum;
use futures::future::join_all;

use super::progress::Progress;
use super::{Failure, Outcome, database, targets};
use crate::billing::stripe_webhook;
use crate::bucket;
use crate::console::console;
use crate::descriptors;
use crate::metrics::Metrics;
use crate::service::{Service, Stores, webhook_sender};
use crate::settings::Settings;
use crate::shutdown::StopSignals;
use crate::system::SystemEntropy;
use crate::tools;
use crate::traces::Traces;
use crate::workers::{self, Role, WorkerStates, Workers};

/// How long a stop waits for requests and deliveries in flight (contract section 1).
const STOP_WITHIN: Duration = Duration::from_secs(15);
/// Threads that read requests, write answers, and wait for what use cases read.
const HTTP_THREADS: usize = 2;
/// The most connections to `server.operability_listen`.
const OPERABILITY_CONNECTIONS: usize = 64;
/// The most connections to `mcp.listen`, each with one call at a time.
const MCP_CONNECTIONS: usize = 256;
/// The pause between attempts to reach the database at the start.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(5);

pub(super) async fn run(settings: &Settings, roles: &BTreeSet<Role>) -> Outcome {
    let started = Instant::now();
    let mut stop = StopSignals::catch();
    for warning in &settings.warnings {
        tracing::warn!(%warning, "a setting may surprise");
    }
    let database = database::open(settings)?;
    let listening = Listening::start(settings, &database, roles).await?;
    tokio::select! {
        () = stop.requested() => return listening.stop().await,
        prepared = listening.prepare(settings, &database) => prepared?,
    }
    warn_of_targets(settings, &database).await;
    if settings.attachments.is_bucket() {
        tokio::spawn(warn_of_bucket(Arc::clone(&listening.service.blobs)));
    }
    if roles.contains(&Role::Api) {
        offer_first_sign_in(&listening.service).await;
    }
    let running = listening.work(roles);
    tracing::info!(took_ms = started.elapsed().as_millis(), "ready");
    stop.requested().await;
    tracing::info!("stopping: takes no new work");
    running.stop().await
}

/// Starts a service whose database is reachable, for a process that also runs something else.
pub(super) async fn start(
    settings: &Settings,
    database: &Database,
    roles: &BTreeSet<Role>,
) -> Result<Running, Failure> {
    let listening = Listening::start(settings, database, roles).await?;
    listening.prepare(settings, database).await?;
    Ok(listening.work(roles))
}

/// All roles of a process.
pub(super) fn all_roles() -> BTreeSet<Role> {
    Role::value_variants().iter().copied().collect()
}

/// The servers of a process: of the API and of operability, which are one unless the settings part them.
struct Servers {
    running: Vec<RunningServer>,
    /// Those of the console, if one is served: they would not end by themselves.
    streams: Option<Arc<Streams>>,
}

impl Servers {
    async fn stop(self) -> Outcome {
        if let Some(streams) = self.streams {
            streams.close();
        }
        let stopped = join_all(self.running.into_iter().map(RunningServer::stop)).await;
        stopped
            .into_iter()
            .collect::<Result<(), _>>()
            .map_err(|error| Failure::failed(format!("the HTTP server did not stop cleanly: {error}")))
    }
}

/// A service that answers HTTP and does not work yet.
struct Listening {
    service: Arc<Service>,
    servers: Servers,
    is_starting: Arc<AtomicBool>,
}

impl Listening {
    async fn start(
        settings: &Settings,
        database: &Database,
        roles: &BTreeSet<Role>,
    ) -> Result<Self, Failure> {
        let (listener, address) = bind("server.listen", settings.server.listen)?;
        let operability = settings.server.operability_listen;
        let operability = operability
            .map(|listen| bind("server.operability_listen", listen))
            .transpose()?;
        let mcp = settings.mcp.as_ref().filter(|_| roles.contains(&Role::Api));
        let mcp = mcp.map(|mcp| bind("mcp.listen", mcp.listen)).transpose()?;
        let base_url = settings
            .server
            .base_url
            .clone()
            .unwrap_or_else(|| format!("http://{address}"));
        let service = Arc::new(Service::new(settings, database, &base_url).await?);
        let is_starting = Arc::new(AtomicBool::new(true));
        let readiness = DatabaseReadiness {
            is_starting: Arc::clone(&is_starting),
            database: database.clone(),
            workers: Arc::clone(&service.worker_states),
        };
        let api = http_api(&service, settings, readiness, &base_url);
        let limits = connection_limits(settings);
        let (mut servers, mut streams) = (Vec::new(), None);
        if let Some((listener, address)) = operability {
            let limits = limits.at_most(OPERABILITY_CONNECTIONS);
            servers.push(start_http(
                &service.traces,
                api.clone(),
                Beside::default(),
                listener,
                Offer::OperabilityOnly,
                limits,
            )?);
            tracing::info!(%address, "listening for operability");
        }
        if let Some(offer) = offer(roles, !servers.is_empty()) {
            let mut beside = Beside::default();
            if offer != Offer::OperabilityOnly {
                let console = || console(&service, settings, &base_url);
                beside.console = settings.console_enabled.then(console);
                beside.stripe = stripe_webhook(&service, settings);
            }
            streams = beside
                .console
                .as_ref()
                .map(|console| Arc::clone(&console.streams));
            servers.push(start_http(&service.traces, api, beside, listener, offer, limits)?);
            tracing::info!(%address, %base_url, ?roles, "listening");
        }
        if let Some((listener, address)) = mcp {
            let hosts = tools::own_hosts(settings, address, &base_url);
            let tools = tools::mcp_server(&service, settings, &base_url, hosts);
            let limits = limits.at_most(MCP_CONNECTIONS);
            servers.push(start_mcp(&service.traces, tools, listener, limits)?);
            tracing::info!(%address, "listening for tools at /mcp");
        }
        let servers = Servers {
            running: servers,
            streams,
        };
        Ok(Self {
            service,
            servers,
            is_starting,
        })
    }

    /// Prepares the database. Until then the process is not ready, and does not ask.
    async fn prepare(&self, settings: &Settings, database: &Database) -> Outcome {
        prepare_database(settings, database).await?;
        self.is_starting.store(false, Ordering::Release);
        Ok(())
    }

    fn work(self, roles: &BTreeSet<Role>) -> Running {
        let workers = workers::start(&self.service, roles);
        Running {
            service: self.service,
            servers: self.servers,
            workers,
        }
    }

    async fn stop(self) -> Outcome {
        self.servers.stop().await
    }
}

/// A service at work.
pub(super) struct Running {
    service: Arc<Service>,
    servers: Servers,
    workers: Workers,
}

impl Running {
    pub(super) fn stores(&self) -> &Stores {
        &self.service.stores
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.service.metrics
    }

    /// Stops taking work and waits at most 15 seconds for requests and deliveries in flight.
    pub(super) async fn stop(self) -> Outcome {
        let began = Instant::now();
        let (stopped, finished) = tokio::join!(self.servers.stop(), self.workers.stop(STOP_WITHIN));
        self.service
            .traces
            .stop(STOP_WITHIN.saturating_sub(began.elapsed()))
            .await;
        if !finished {
            tracing::warn!("work in flight did not finish in time; the database has its state");
        }
        stopped
    }
}

/// Binds before the service is wired, because links contain the address, and port 0 stands for any free port.
fn bind(key: &str, listen: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let bound = TcpListener::bind(listen).and_then(|listener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::AddrInUse => "; another program listens there: choose another address",
            _ => "",
        };
        Failure::failed(format!("{key} {listen}: {error}{hint}"))
    })
}

/// What the API's address serves. Every process serves the operability endpoints, there or apart. The API's operations need
/// the role.
fn offer(roles: &BTreeSet<Role>, operability_is_apart: bool) -> Option<Offer> {
    match (roles.contains(&Role::Api), operability_is_apart) {
        (true, false) => Some(Offer::All),
        (true, true) => Some(Offer::OperationsOnly),
        (false, false) => Some(Offer::OperabilityOnly),
        (false, true) => None,
    }
}

/// The limits that the settings or the process's descriptors set, and the program's own times.
fn connection_limits(settings: &Settings) -> ConnectionLimits {
    let limit = descriptors::raise_limit();
    let fitting = descriptors::connections_within(limit);
    let connections = settings.server.max_connections.map_or(fitting, NonZeroUsize::get);
    if limit.is_some_and(|limit| connections >= limit) {
        tracing::warn!(
            connections,
            limit,
            "server.max_connections leaves no descriptor for webhooks and the database: raise the limit of open files"
        );
    }
    ConnectionLimits {
        connections,
        per_address: settings.server.max_connections_per_address.map(NonZeroUsize::get),
        ..ConnectionLimits::DEFAULT
    }
}

fn http_api(service: &Service, settings: &Settings, readiness: DatabaseReadiness, base_url: &str) -> HttpApi {
    HttpApi {
        authenticate: Arc::clone(&service.authenticate),
        locate_lead: Arc::clone(&service.locate_lead),
        list_leads: Arc::clone(&service.list_leads),
        submit_bid: Arc::clone(&service.submit_bid),
        reject_lead: Arc::clone(&service.reject_lead),
        upload_attachments: Arc::clone(&service.upload_attachments),
        description: Arc::new(Description::of_service_at(base_url)),
        origins: settings.server.cors_origins.clone(),
        entropy: Arc::new(SystemEntropy),
        readiness: Arc::new(HeldReadiness::new(Arc::new(readiness))),
        metrics: Arc::clone(&service.metrics) as Arc<dyn RequestMetrics>,
        runtime: UseCaseRuntime::current(),
    }
}

/// What is served beside the API, if the settings have it.
#[derive(Default)]
struct Beside {
    console: Option<Console>,
    stripe: Option<StripeWebhook>,
}

fn start_http(
    traces: &Arc<Traces>,
    api: HttpApi,
    beside: Beside,
    listener: TcpListener,
    offer: Offer,
    connections: ConnectionLimits,
) -> Result<RunningServer, Failure> {
    let settings = ServerSettings {
        workers: HTTP_THREADS,
        connections,
    };
    let observer = traces.of_requests(Arc::new(api.clone()));
    let api = application(api, offer, BodyLimits::DEFAULT);
    let console = beside.console.map(bidloop_console::application);
    let stripe = beside.stripe.map(bidloop_billing::application);
    let routes = move |config: &mut _| {
        // Routes are tried in this order, and most of the console's are regular expressions.
        api(config);
        if let Some(stripe) = &stripe {
            stripe(config);
        }
        if let Some(console) = &console {
            console(config);
        }
    };
    bidloop_http_server::serve(observer, routes, listener, settings)
        .map_err(|error| Failure::failed(format!("the HTTP server cannot be started: {error}")))
}

fn start_mcp(
    traces: &Arc<Traces>,
    tools: McpServer,
    listener: TcpListener,
    connections: ConnectionLimits,
) -> Result<RunningServer, Failure> {
    let settings = ServerSettings {
        workers: 1,
        connections,
    };
    let observer = traces.of_requests(Arc::new(bidloop_mcp::http::Observer {
        metrics: Arc::clone(&tools.metrics),
        entropy: Arc::new(SystemEntropy),
    }));
    let routes = bidloop_mcp::http::application(tools);
    bidloop_http_server::serve(observer, routes, listener, settings)
        .map_err(|error| Failure::failed(format!("the tool server cannot be started: {error}")))
}

/// Logs a code while there is nobody who could sign in (decision E3).
async fn offer_first_sign_in(service: &Service) {
    match service.people.first_run.new_code().await {
        Ok(Some(code)) => tracing::info!(
            code = code.expose(),
            "first sign-in code: open /first-run in a browser and type it"
        ),
        Ok(None) => {}
        Err(error) => {
            tracing::warn!(%error, "no first sign-in code could be made: `bidloop first-run` makes one");
        }
    }
}

async fn warn_of_targets(settings: &Settings, database: &Database) {
    match targets::warnings(&*database.provisioning(), &webhook_sender(settings)).await {
        Ok(lines) => {
            for warning in lines {
                tracing::warn!(warning, "a webhook target is refused");
            }
        }
        Err(error) => tracing::warn!(%error, "the webhooks' targets could not be checked"),
    }
}

/// A bucket that is away may come back, so the service works meanwhile.
async fn warn_of_bucket(blobs: Arc<dyn BlobStore>) {
    if let Err(error) = bucket::look(&*blobs).await {
        tracing::warn!(%error, "uploads and bids with files fail for now; `bidloop doctor` tries the bucket again");
    }
}

/// Migrates the database, or checks its schema if it must not migrate. Retries while the database is unavailable.
async fn prepare_database(settings: &Settings, database: &Database) -> Outcome {
    let mut pause = FIRST_PAUSE;
    loop {
        let unavailable = match prepare_once(settings, database).await {
            Ok(()) => return Ok(()),
            Err(Preparation::Refused(failure)) => return Err(failure),
            Err(Preparation::Unavailable(why)) => why,
        };
        tracing::warn!(error = %unavailable, retry_in_ms = pause.as_millis(), "the database is unavailable; will retry");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

enum Preparation {
    Unavailable(String),
    Refused(Failure),
}

impl From<StoreError> for Preparation {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(why) => Self::Unavailable(why),
            other => Self::Refused(other.into()),
        }
    }
}

async fn prepare_once(settings: &Settings, database: &Database) -> Result<(), Preparation> {
    if settings.database.auto_migrate {
        let progress = Progress::logged("Migrating the database");
        return match progress.during(database.migrate()).await {
            Ok(ran) => {
                if !ran.is_empty() {
                    tracing::info!(steps = ran.join(", "), "migrated the database");
                }
                Ok(())
            }
            Err(MigrateError::Store(error)) => Err(error.into()),
            Err(other) => Err(Preparation::Refused(Failure::failed(other.to_string()))),
        };
    }
    match database::schema_fault(&database.schema_state().await?) {
        None => Ok(()),
        Some(fault) => Err(Preparation::Refused(Failure::failed(fault))),
    }
}

#[derive(Debug)]
struct DatabaseReadiness {
    is_starting: Arc<AtomicBool>,
    database: Database,
    workers: Arc<WorkerStates>,
}

#[async_trait]
impl Readiness for DatabaseReadiness {
    async fn is_ready(&self) -> bool {
        self.database.ready().await.is_ok()
    }

    fn is_starting(&self) -> bool {
        self.is_starting.load(Ordering::Acquire)
    }

    fn workers_down(&self) -> Vec<&'static str> {
        self.workers.down()
    }
}

impl CallMetrics for Metrics {
    fn answered(&self, operation: &'static str, status: u16, duration: Duration) {
        self.request(operation, status, duration);
    }
}

impl RequestMetrics for Metrics {
    fn answered(&self, operation: &'static str, status: u16, duration: Duration) {
        self.request(operation, status, duration);
    }

    fn text(&self) -> String {
        self.render()
    }
}

#[cfg(test)]
#[path = "serve_panics_tests.rs"]
mod panics;
