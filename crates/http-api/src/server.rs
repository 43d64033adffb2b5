//! Listening: the server's limits, its address, and its graceful stop.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer, web};
use tokio::task::JoinHandle;

use crate::HttpApi;
use crate::observation::observe;
use crate::routes::{configure, configure_operability, unknown_route};

/// How long requests in flight may take to finish at a stop (contract, section 1).
const STOP_SECONDS: u64 = 15;

/// How long an idle connection is kept.
const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// How long a new connection may take to send its first request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a body is read on after its request was refused, so that its sender sees the answer.
const LINGER: Duration = Duration::from_secs(10);

/// Connections that one worker holds at a time; more wait to be accepted.
const MAX_CONNECTIONS_PER_WORKER: usize = 10_000;

/// What a process offers over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// The operations under `/v1` and the operability endpoints.
    Operations,
    /// The operability endpoints alone: a replica without the API's role.
    OperabilityOnly,
}

/// What to serve, and with how many threads.
#[derive(Debug, Clone, Copy)]
pub struct ServerSettings {
    /// What is served.
    pub offer: Offer,
    /// Threads that read and answer; two go far, since use cases run elsewhere.
    pub workers: usize,
}

/// A server that listens.
#[derive(Debug)]
pub struct RunningServer {
    address: SocketAddr,
    handle: ServerHandle,
    task: JoinHandle<io::Result<()>>,
}

impl RunningServer {
    /// The address it is bound to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no new connections, lets requests in flight finish for at most 15 seconds, and returns when all is
    /// closed.
    pub async fn stop(self) -> io::Result<()> {
        self.handle.stop(true).await;
        self.task.await.map_err(io::Error::other)?
    }
}

/// Serves the API on a bound listener. To be called within a tokio runtime.
pub fn serve(api: HttpApi, listener: TcpListener, settings: ServerSettings) -> io::Result<RunningServer> {
    let address = listener.local_addr()?;
    let api = web::Data::new(api);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(api.clone())
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
