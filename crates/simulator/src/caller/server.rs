//! The receiver's HTTP/1.1 connections: reading a delivery, giving its answer. What a delivery leads to is
//! `receiver`'s.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::ALLOW;
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::delivery::Delivery;
use super::receiver::{Answer, Shared};
use crate::clock::now_ms;
use crate::simulator::stopped;

/// How long answers under way may take once the receiver stops.
const GRACE: Duration = Duration::from_secs(2);
/// Far above any delivery.
const MAX_BODY: usize = 32 * 1_048_576;

/// Serves until `stop` turns true or its sender is gone.
pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>, stop: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let mut stopping = stop.clone();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(stream, Arc::clone(&shared), stop.clone()));
                }
                Err(error) => {
                    // Out of file descriptors, most likely: accepting again at once would only spin.
                    tracing::warn!(%error, "the receiver cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            () = stopped(&mut stopping) => break,
        }
    }
    drop(listener);
    let ended = tokio::time::timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
    if ended.is_err() {
        connections.shutdown().await;
    }
}

async fn serve_connection(stream: TcpStream, shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection without TCP_NODELAY");
    }
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(respond(request, &shared).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service);
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

async fn respond(request: Request<Incoming>, shared: &Shared) -> Response<Full<Bytes>> {
    if request.method() != Method::POST {
        let mut response = response(Answer::status(405).with_body("deliveries are posted"));
        response
            .headers_mut()
            .insert(ALLOW, http::HeaderValue::from_static("POST"));
        return response;
    }
    let (head, body) = request.into_parts();
    let body = match Limited::new(body, MAX_BODY).collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => return response(Answer::status(413)),
        Err(_) => return response(Answer::status(400).with_body("the body breaks off")),
    };
    let path = head.uri.path().to_owned();
    let answer = shared.take(Delivery::read(
        path,
        head.headers,
        body,
        &shared.secrets,
        now_ms(),
    ));
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    response(answer)
}

fn response(answer: Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}
