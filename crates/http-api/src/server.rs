//! The server: its limits, its address, and its graceful stop.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer, web};
use tokio::task::JoinHandle;

use crate::HttpApi;
use crate::bodies_in_flight::{BodiesInFlight, BodyLimits};
use crate::held_readiness::HeldReadiness;
use crate::observation::observe;
use crate::routes::{configure, configure_operability, unknown_route};

/// The time that requests in flight have to finish when the server stops (contract, section 1).
const STOP_SECONDS: u64 = 15;

/// The time that an idle connection is kept open.
const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// The time that a new connection has to send the head of its first request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the rest of a body is read after its request was refused, so that the sender sees the answer.
const LINGER: Duration = Duration::from_secs(10);

/// The most connections of one worker. Further ones wait to be accepted.
const MAX_CONNECTIONS_PER_WORKER: usize = 10_000;

/// The routes that a process serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// The operations under `/v1` and the operability endpoints.
    Operations,
    /// The operability endpoints alone: a replica without the API's role.
    OperabilityOnly,
}

/// The settings of the server.
#[derive(Debug, Clone, Copy)]
pub struct ServerSettings {
    /// The routes.
    pub offer: Offer,
    /// Threads that read requests and write answers. Two are enough for most loads, since use cases run elsewhere.
    pub workers: usize,
    /// How many bytes of request bodies are held at once.
    pub bodies: BodyLimits,
}

/// A server that is listening.
#[derive(Debug)]
pub struct RunningServer {
    address: SocketAddr,
    handle: ServerHandle,
    task: JoinHandle<io::Result<()>>,
}

impl RunningServer {
    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting connections, waits at most 15 seconds for requests in flight, and returns when all connections
    /// are closed.
    pub async fn stop(self) -> io::Result<()> {
        self.handle.stop(true).await;
        self.task.await.map_err(io::Error::other)?
    }
}

/// Serves the API on a bound listener. Must be called within a tokio runtime.
pub fn serve(mut api: HttpApi, listener: TcpListener, settings: ServerSettings) -> io::Result<RunningServer> {
    let address = listener.local_addr()?;
    api.readiness = Arc::new(HeldReadiness::new(api.readiness));
    let api = web::Data::new(api);
    let bodies = web::Data::new(BodiesInFlight::new(settings.bodies));
    let server = HttpServer::new(move || {
        App::new()
            .app_data(api.clone())
            .app_data(bodies.clone())
            .wrap(from_fn(observe))
            .configure(|config| match settings.offer {
                Offer::Operations => configure(config),
                Offer::OperabilityOnly => configure_operability(config),
            })
            .default_service(web::to(unknown_route))
    })
    .workers(settings.workers.max(1))
    .max_connections(MAX_CONNECTIONS_PER_WORKER)
    .keep_alive(KEEP_ALIVE)
    .client_request_timeout(HEAD_TIMEOUT)
    .client_disconnect_timeout(LINGER)
    .shutdown_timeout(STOP_SECONDS)
    .tcp_nodelay(true)
    .disable_signals()
    .listen(listener)?
    .run();
    Ok(RunningServer {
        address,
        handle: server.handle(),
        task: tokio::spawn(server),
    })
}
