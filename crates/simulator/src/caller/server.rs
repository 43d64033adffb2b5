//! The receiver's HTTP/1.1 connections: reads a delivery and sends the answer that `inbox` chooses.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::header::ALLOW;
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::delivery::Delivery;
use super::inbox::{Answer, Inbox};
use crate::clock::now_ms;
use crate::connections;

/// The largest body, far above any delivery.
const MAX_BODY: usize = 32 * 1_048_576;

/// Serves until `stop` turns true or its sender is gone.
pub(super) async fn serve(listener: TcpListener, inbox: Arc<Inbox>, stop: watch::Receiver<bool>) {
    connections::serve(listener, stop, move |request| {
        let inbox = Arc::clone(&inbox);
        async move { Ok::<_, Infallible>(respond(request, &inbox).await) }
    })
    .await;
}

async fn respond(request: Request<Incoming>, inbox: &Inbox) -> Response<Full<Bytes>> {
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
    let answer = inbox.record(Delivery::read(
        path,
        head.headers,
        body,
        inbox.verifier.as_ref(),
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
