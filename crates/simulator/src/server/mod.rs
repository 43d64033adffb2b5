//! The HTTP/1.1 server: reads calls and applies faults. `call` answers the calls.

mod call;
mod route;

use bytes::Bytes;
use http::StatusCode;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::answer::{Answer, Refusal};
use crate::connections;
use crate::faults::Fault;
use crate::multipart::{UploadedFile, read_upload};
use crate::shared::Shared;
use crate::tasks::stopped;
use route::{Call, query, route, segments};

/// The largest body of a protocol call, far above any proposal.
const MAX_BODY: usize = 8 * 1_048_576;
/// The largest body of a control call, which may publish many jobs.
const MAX_CONTROL_BODY: usize = 256 * 1_048_576;

/// Serves until `stop` turns true or its sender is gone.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>, stop: watch::Receiver<bool>) {
    let stopping = stop.clone();
    connections::serve(listener, stop, move |request| {
        respond(request, Arc::clone(&shared), stopping.clone())
    })
    .await;
}

/// Closes the connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("closed on purpose")]
struct Cut;

/// A request whose body has been read.
#[derive(Debug)]
struct ReadRequest {
    call: Call,
    query: Option<String>,
    token: Option<String>,
    idempotency_key: Option<String>,
    traceparent: Option<String>,
    body: Body,
    fault: Option<Fault>,
}

#[derive(Debug)]
enum Body {
    Bytes(Bytes),
    Upload(UploadedFile),
    Refused(Refusal),
}

/// The end of a call.
#[derive(Debug)]
enum Outcome {
    Answer(Answer),
    /// The connection is closed without an answer.
    Cut,
    /// There is no answer until the simulator stops.
    Hang,
}

async fn respond(
    request: Request<Incoming>,
    shared: Arc<Shared>,
    mut stop: watch::Receiver<bool>,
) -> Result<Response<Full<Bytes>>, Cut> {
    let segments = segments(request.uri().path());
    let call = match route(request.method(), &segments) {
        Ok(call) => call,
        Err(answer) => return Ok(answer.into_response()),
    };
    let request = read(request, call, &segments, &shared).await;
    // In a task of its own, a call completes even if its client disconnects.
    let outcome = tokio::spawn(execute(request, shared, stop.clone())).await;
    match outcome.unwrap_or(Outcome::Cut) {
        Outcome::Answer(answer) => Ok(answer.into_response()),
        Outcome::Cut => Err(Cut),
        Outcome::Hang => {
            stopped(&mut stop).await;
            Err(Cut)
        }
    }
}

async fn read(request: Request<Incoming>, call: Call, segments: &[String], shared: &Shared) -> ReadRequest {
    let header = |name: HeaderName| {
        request
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    let token = header(AUTHORIZATION).and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then(|| token.trim().to_owned())
    });
    let idempotency_key = header(HeaderName::from_static("idempotency-key"))
        .map(|key| key.trim().to_owned())
        .filter(|key| !key.is_empty());
    let traceparent = header(HeaderName::from_static("traceparent"));
    let mut fault = None;
    if call.is_protocol() {
        shared.count_call(call.name());
        fault = shared.faults().take(request.method(), segments);
        if let (Call::Propose, Some(key)) = (&call, &idempotency_key) {
            shared
                .market()
                .note_attempt(token.as_deref().unwrap_or_default(), key);
        }
    }
    let query = request.uri().query().map(str::to_owned);
    let content_type = header(CONTENT_TYPE);
    let body = if call == Call::Attach {
        let body = request.into_body().into_data_stream();
        read_upload(content_type.as_deref(), body)
            .await
            .map_or_else(Body::Refused, Body::Upload)
    } else {
        let limit = if call.is_protocol() {
            MAX_BODY
        } else {
            MAX_CONTROL_BODY
        };
        read_bytes(request.into_body(), limit).await
    };
    ReadRequest {
        call,
        query,
        token,
        idempotency_key,
        traceparent,
        body,
        fault,
    }
}

async fn read_bytes(body: Incoming, limit: usize) -> Body {
    match http_body_util::Limited::new(body, limit).collect().await {
        Ok(collected) => Body::Bytes(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Body::Refused(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "the body is too large",
        )),
        Err(_) => Body::Refused(Refusal::bad_request("the body breaks off")),
    }
}

async fn execute(request: ReadRequest, shared: Arc<Shared>, mut stop: watch::Receiver<bool>) -> Outcome {
    let Some(fault) = request.fault.clone() else {
        return Outcome::Answer(call::answer(request, &shared));
    };
    if let Some(delay) = fault.delay_ms {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(delay)) => {}
            () = stopped(&mut stop) => return Outcome::Cut,
        }
    }
    if fault.drop_after_commit {
        let _lost = call::answer(request, &shared);
        return match (fault.hang, fault.status) {
            (true, _) => Outcome::Hang,
            (false, Some(status)) if fault.body.is_some() => Outcome::Answer(fault_answer(&fault, status)),
            // The marketplace itself would not deny what it did. A gateway before it does.
            (false, Some(status)) => Outcome::Answer(Answer::gateway(status_code(status))),
            (false, None) => Outcome::Cut,
        };
    }
    if fault.hang {
        return Outcome::Hang;
    }
    let answer = match fault.status {
        Some(status) => fault_answer(&fault, status),
        None => call::answer(request, &shared),
    };
    Outcome::Answer(if fault.malformed {
        truncated(answer)
    } else {
        answer
    })
}

fn fault_answer(fault: &Fault, status: u16) -> Answer {
    let (code, message) = match status {
        401 => ("invalid_token", "the token belongs to no account"),
        402 => ("insufficient_connects", "the account has too few connects"),
        404 => ("job_not_found", "no job has this id"),
        409 => ("already_applied", "the account has a proposal on this job"),
        422 => ("invalid", "the marketplace does not accept this"),
        429 => ("rate_limited", "too many calls"),
        503 => ("unavailable", "the marketplace is away"),
        _ => ("fault", "a requested fault"),
    };
    let body = fault
        .body
        .clone()
        .unwrap_or_else(|| json!({"code": code, "message": message}));
    let status = status_code(status);
    // The protocol's 429 always says when to retry.
    let default_wait = (status == StatusCode::TOO_MANY_REQUESTS).then(|| "1".to_owned());
    let retry_after = fault
        .retry_after
        .as_ref()
        .map(ToString::to_string)
        .or(default_wait);
    Answer {
        retry_after,
        ..Answer::json(status, &body)
    }
}

fn status_code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The answer without the second half of its body, which is no longer JSON.
fn truncated(answer: Answer) -> Answer {
    let half = answer.body.len() / 2;
    Answer {
        body: answer.body.slice(..half),
        ..answer
    }
}

/// Reads a JSON body of a control call.
fn json_body(body: &Bytes) -> Result<Value, Refusal> {
    serde_json::from_slice(body)
        .map_err(|error| Refusal::bad_request(format!("the body is not JSON: {error}")))
}
