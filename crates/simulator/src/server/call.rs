//! Answers each call: reads its arguments and picks the HTTP status. `market` has the rules.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Body, ReadRequest, json_body, query};
use crate::answer::{Answer, Refusal};
use crate::clock::now_ms;
use crate::faults::Faults;
use crate::market::account::AccountPut;
use crate::market::job_state::JobStatePatch;
use crate::market::proposal;
use crate::server::Call;
use crate::shared::{Checks, Shared};

const MAX_PAGE: usize = 500;
const DEFAULT_PAGE: usize = 100;

pub(super) fn answer(request: ReadRequest, shared: &Shared) -> Answer {
    decide(request, shared).unwrap_or_else(Answer::from)
}

fn decide(request: ReadRequest, shared: &Shared) -> Result<Answer, Refusal> {
    let body = match &request.body {
        Body::Bytes(bytes) => bytes.clone(),
        Body::Upload(_) => bytes::Bytes::new(),
        Body::Refused(refusal) => {
            // An invalid token is reported before a faulty body.
            if request.call == Call::Attach {
                shared.market().account(request.token.as_deref())?;
            }
            return Err(refusal.clone());
        }
    };
    let ok = |value: &Value| Ok(Answer::json(StatusCode::OK, value));
    match &request.call {
        Call::Feed => feed(&request, shared),
        Call::Job(id) => {
            // Anybody may see a job, but a token that was revoked is reported.
            if let Some(token) = &request.token {
                shared.market().account(Some(token))?;
            }
            Ok(Answer::text(StatusCode::OK, shared.market().job(id)?))
        }
        Call::JobPage(ciphertext) => {
            let id = ciphertext.strip_prefix("~02").unwrap_or(ciphertext);
            Ok(Answer::text(StatusCode::OK, shared.market().job(id)?))
        }
        Call::Account => ok(&shared.market().account(request.token.as_deref())?),
        Call::Attach => attach(request, shared),
        Call::Propose => propose(request, &body, shared),
        Call::SimPublish => {
            let Value::Array(posts) = json_body(&body)? else {
                return Err(Refusal::bad_request("expected an array of job posts"));
            };
            let unchecked = query(request.query.as_deref(), "unchecked").is_some_and(|value| value == "true");
            let checks = if unchecked { Checks::None } else { Checks::Types };
            let published = shared
                .publish(posts, checks)
                .map_err(|error| Refusal::bad_request(error.to_string()))?;
            ok(&Value::Array(published))
        }
        Call::SimJobs => {
            let limit = page_limit(request.query.as_deref())?;
            Ok(Answer::text(StatusCode::OK, shared.market().newest_jobs(limit)))
        }
        Call::SimPatchJob(id) => {
            let patch = parsed::<JobStatePatch>(&json_body(&body)?)?;
            Ok(Answer::text(
                StatusCode::OK,
                shared.market().patch_job(id, patch)?,
            ))
        }
        Call::SimPutAccount(token) => {
            let put = parsed::<AccountPut>(&json_body(&body)?)?;
            ok(&shared.market().put_account(token, put))
        }
        Call::SimAccount(token) => ok(&shared.market().account(Some(token))?),
        Call::SimRevokeToken(token) => {
            if !shared.market().revoke_token(token) {
                return Err(Refusal::new(
                    StatusCode::NOT_FOUND,
                    "not_found",
                    "no account was put with this token",
                ));
            }
            ok(&json!({"revoked": true}))
        }
        Call::SimProposals => ok(&Value::Array(shared.market().proposals())),
        Call::SimAttachments => ok(&Value::Array(shared.market().attachments())),
        Call::SimPutFaults => {
            let faults = Faults::parse(&json_body(&body)?).map_err(Refusal::bad_request)?;
            let mut active = shared.faults();
            active.put(faults);
            ok(&json!(active.active()))
        }
        Call::SimFaults => ok(&json!(shared.faults().active())),
        Call::SimStats => ok(&shared.stats()),
    }
}

fn feed(request: &ReadRequest, shared: &Shared) -> Result<Answer, Refusal> {
    shared.check_feed_token(request.token.as_deref())?;
    let limit = page_limit(request.query.as_deref())?;
    let after = query(request.query.as_deref(), "after");
    let page = shared.market().page(after.as_deref(), limit).map_err(|_| {
        Refusal::new(
            StatusCode::BAD_REQUEST,
            "invalid_cursor",
            "the cursor has expired or is not from this feed",
        )
    })?;
    Ok(Answer::text(StatusCode::OK, page.to_json()))
}

fn page_limit(text: Option<&str>) -> Result<usize, Refusal> {
    let Some(limit) = query(text, "limit") else {
        return Ok(DEFAULT_PAGE);
    };
    limit
        .parse()
        .ok()
        .filter(|limit| (1..=MAX_PAGE).contains(limit))
        .ok_or_else(|| {
            Refusal::new(
                StatusCode::BAD_REQUEST,
                "invalid_limit",
                "limit: expected 1 to 500",
            )
        })
}

fn attach(request: ReadRequest, shared: &Shared) -> Result<Answer, Refusal> {
    let Body::Upload(file) = request.body else {
        return Err(Refusal::bad_request("expected a multipart body"));
    };
    let id = shared.ids.next(now_ms());
    let answer = shared.market().attach(request.token.as_deref(), file, id)?;
    Ok(Answer::json(StatusCode::CREATED, &answer))
}

fn propose(request: ReadRequest, body: &[u8], shared: &Shared) -> Result<Answer, Refusal> {
    let Some(token) = request.token else {
        return Err(Refusal::invalid_token());
    };
    let Some(key) = request.idempotency_key else {
        // Without a key, the call cannot be recorded.
        shared.market().account(Some(&token))?;
        return Err(Refusal::invalid("the header Idempotency-Key is missing"));
    };
    let body: Value = match serde_json::from_slice(body) {
        Ok(body) => body,
        Err(error) => {
            shared.market().account(Some(&token))?;
            return Err(Refusal::invalid(format!("the body is not JSON: {error}")));
        }
    };
    let call = proposal::Call {
        key,
        token,
        traceparent: request.traceparent,
        body,
        at: now_ms(),
    };
    let (status, answer) = shared.market().propose(call, &shared.ids)?;
    Ok(Answer::json(status, &answer))
}

fn parsed<'de, T: Deserialize<'de>>(body: &'de Value) -> Result<T, Refusal> {
    // Deserializing would also accept an array of the members in order.
    if !body.is_object() {
        return Err(Refusal::bad_request("expected an object"));
    }
    T::deserialize(body).map_err(|error| Refusal::bad_request(error.to_string()))
}
