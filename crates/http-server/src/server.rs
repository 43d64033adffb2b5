//! The server: its address, its limits, and its graceful stop.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_http::error::DispatchError;
use actix_http::{HttpService, KeepAlive};
use actix_server::{Server, ServerHandle};
use actix_service::{ServiceFactory, ServiceFactoryExt, fn_service, map_config};
use actix_web::dev::AppConfig;
use actix_web::middleware::from_fn;
use actix_web::{App, web};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::connection::{Admission, ConnectionLimits, Exchange, GuardedStream, LongBodies};
use crate::observation::{RequestObserver, observe};

/// The time that requests in flight have to finish when the server stops (contract, section 1).
const STOP_SECONDS: u64 = 15;

/// The settings of the server.
#[derive(Debug, Clone, Copy)]
pub struct ServerSettings {
    /// Threads that read requests and write answers. Two are enough for most loads, since use cases run elsewhere.
    pub workers: usize,
    /// How many connections there are, and how long each may take.
    pub connections: ConnectionLimits,
}

/// A server that is listening.
#[derive(Debug)]
pub struct RunningServer {
    address: SocketAddr,
    handle: ServerHandle,
    stopping: Arc<AtomicBool>,
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
        self.stopping.store(true, Ordering::Relaxed);
        self.handle.stop(true).await;
        self.task.await.map_err(io::Error::other)?
    }
}

/// Serves `routes` on a bound listener. Must be called within a tokio runtime.
pub fn serve(
    observer: Arc<dyn RequestObserver>,
    routes: impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
    listener: TcpListener,
    settings: ServerSettings,
) -> io::Result<RunningServer> {
    let address = listener.local_addr()?;
    let observing = observer.clone();
    let app = move || {
        App::new()
            .app_data(web::Data::new(observing.clone()))
            .wrap(from_fn(observe))
            .configure(routes.clone())
    };
    let workers = settings.workers.max(1);
    let limits = settings.connections;
    let guard = Guard {
        limits,
        admission: Admission::new(limits.per_address),
        long_bodies: Arc::new(LongBodies::new(&limits)),
        stopping: Arc::default(),
        observer,
    };
    let is_stopping = guard.stopping.clone();
    let builder = Server::build()
        .workers(workers)
        .max_concurrent_connections(limits.connections.div_ceil(workers))
        .shutdown_timeout(STOP_SECONDS)
        .disable_signals();
    let stopping = builder.graceful_shutdown_signal();
    let server = builder
        .listen("http", listener, move || {
            let stopping = stopping.clone();
            accept(guard.clone()).and_then(
                HttpService::build()
                    // A `GuardedStream` times heads and idleness.
                    .keep_alive(KeepAlive::Os)
                    .client_request_timeout(Duration::ZERO)
                    .client_disconnect_timeout(limits.linger)
                    .graceful_shutdown_signal(move || {
                        let stopping = stopping.clone();
                        async move { stopping.notified().await }
                    })
                    .on_connect_ext(|stream: &GuardedStream, data| {
                        data.insert(Rc::clone(stream.exchange()));
                    })
                    .h1(map_config(app(), |()| AppConfig::default())),
            )
        })?
        .run();
    Ok(RunningServer {
        address,
        handle: server.handle(),
        stopping: is_stopping,
        task: tokio::spawn(server),
    })
}

/// What connections are guarded with.
#[derive(Clone)]
struct Guard {
    limits: ConnectionLimits,
    admission: Admission,
    long_bodies: Arc<LongBodies>,
    stopping: Arc<AtomicBool>,
    observer: Arc<dyn RequestObserver>,
}

impl Guard {
    /// Takes a connection, unless its address has too many.
    fn admit(&self, io: TcpStream) -> io::Result<(GuardedStream, Option<SocketAddr>)> {
        let peer = io.peer_addr()?;
        let admitted = self
            .admission
            .admit(peer.ip())
            .ok_or(io::ErrorKind::ConnectionRefused)?;
        io.set_nodelay(true)?;
        let stream = GuardedStream::new(
            io,
            Exchange::new(self.limits),
            self.observer.clone(),
            self.long_bodies.clone(),
            self.stopping.clone(),
            admitted,
        );
        Ok((stream, Some(peer)))
    }
}

fn accept(
    guard: Guard,
) -> impl ServiceFactory<
    TcpStream,
    Config = (),
    Response = (GuardedStream, Option<SocketAddr>),
    Error = DispatchError,
    InitError = (),
> {
    fn_service(move |io: TcpStream| {
        let guarded = guard.admit(io);
        async { guarded.map_err(DispatchError::Io) }
    })
}
