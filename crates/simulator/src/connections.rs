//! Accepts, serves and closes the HTTP/1.1 connections of both servers.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::tasks::{finish, stopped};

/// Serves until `stop` turns true or its sender is gone. An error of `respond` closes the connection.
pub(crate) async fn serve<R, A, E>(listener: TcpListener, stop: watch::Receiver<bool>, respond: R)
where
    R: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = Result<Response<Full<Bytes>>, E>> + Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let mut stopping = stop.clone();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(stream, stop.clone(), respond.clone()));
                }
                Err(error) => {
                    // Most likely out of file descriptors: accepting again at once would spin.
                    tracing::warn!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            () = stopped(&mut stopping) => break,
        }
    }
    drop(listener);
    finish(connections).await;
}

async fn serve_connection<R, A, E>(stream: TcpStream, mut stop: watch::Receiver<bool>, respond: R)
where
    R: Fn(Request<Incoming>) -> A,
    A: Future<Output = Result<Response<Full<Bytes>>, E>>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection without TCP_NODELAY");
    }
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service_fn(respond));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
