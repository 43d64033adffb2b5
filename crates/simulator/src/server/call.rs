//! What each call answers. Owns the reading of arguments and the HTTP statuses; the rules are the market's.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Asked, Body, json_body, query};
use crate::answer::{Answer, Refusal};
use crate::clock::now_ms;
use crate::faults::Faults;
use crate::market::account::AccountPut;
use crate::market::job_state::JobStatePatch;
use crate::market::proposal;
use crate::server::Call;
use crate::simulator::{Checks, Shared};

const MAX_PAGE: usize = 500;
const DEFAULT_PAGE: usize = 100;

pub(super) fn answer(asked: Asked, shared: &Shared) -> Answer {
    decide(asked, shared).unwrap_or_else(Answer::from)
}

fn decide(asked: Asked, shared: &Shared) -> Result<Answer, Refusal> {
    let body = match &asked.body {
        Body::Bytes(bytes) => bytes.clone(),
        Body::Upload(_) => bytes::Bytes::new(),
        Body::Refused(refusal) => {
            // Who may not call at all hears of that first.
            if asked.call == Call::Attach {
                shared.market().account(asked.token.as_deref())?;
            }
            return Err(refusal.clone());
        }
    };
    let ok = |value: &Value| Ok(Answer::json(StatusCode::OK, value));
    match &asked.call {
        Call::Feed => feed(&asked, shared),
        Call::Job(id) => Ok(Answer::text(StatusCode::OK, shared.market().job(id)?)),
        Call::JobPage(ciphertext) => {
            let id = ciphertext.strip_prefix("~02").unwrap_or(ciphertext);
            Ok(Answer::text(StatusCode::OK, shared.market().job(id)?))
        }
        Call::Account => ok(&shared.market().account(asked.token.as_deref())?),
        Call::Attach => attach(asked, shared),
        Call::Propose => propose(asked, &body, shared),
        Call::SimPublish => {
            let Value::Array(posts) = json_body(&body)? else {
                return Err(Refusal::bad_request("expected an array of job posts"));
            };
            let unchecked = query(asked.query.as_deref(), "unchecked").is_some_and(|value| value == "true");
            let checks = if unchecked { Checks::None } else { Checks::Types };
            let published = shared
                .publish(posts, checks)
                .map_err(|error| Refusal::bad_request(error.to_string()))?;
            ok(&Value::Array(published))
        }
        Call::SimJobs => {
            let limit = page_limit(asked.query.as_deref())?;
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
            let mut standing = shared.faults();
            standing.put(faults);
            ok(&json!(standing.standing()))
        }
        Call::SimFaults => ok(&json!(shared.faults().standing())),
        Call::SimStats => ok(&shared.stats()),
    }
}

fn feed(asked: &Asked, shared: &Shared) -> Result<Answer, Refusal> {
    shared.check_feed_token(asked.token.as_deref())?;
    let limit = page_limit(asked.query.as_deref())?;
    let after = query(asked.query.as_deref(), "after");
    let page = shared.market().page(after.as_deref(), limit).map_err(|_| {
        Refusal::new(
            StatusCode::BAD_REQUEST,
            "invalid_cursor",
            "the cursor has expired or was never given out",
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

fn attach(asked: Asked, shared: &Shared) -> Result<Answer, Refusal> {
    let Body::Upload(file) = asked.body else {
        return Err(Refusal::bad_request("expected a multipart body"));
    };
    let id = shared.ids.next(now_ms());
    let answer = shared.market().attach(asked.token.as_deref(), file, id)?;
    Ok(Answer::json(StatusCode::CREATED, &answer))
}

fn propose(asked: Asked, body: &[u8], shared: &Shared) -> Result<Answer, Refusal> {
    let Some(token) = asked.token else {
        return Err(Refusal::invalid_token());
    };
    let Some(key) = asked.idempotency_key else {
        // Without a key there is nothing to record the call under.
        shared.market().account(Some(&token))?;
        return Err(Refusal::invalid("the header Idempotency-Key is missing"));
    };
    let body: Value = match serde_json::from_slice(body) {
        Ok(body) => body,
        Err(error) => {
            shared.market().account(Some(&token))?;
            return Err(Refusal::invalid(format!("the body is no JSON: {error}")));
        }
    };
    let call = proposal::Call {
        key,
        token,
        body,
        at: now_ms(),
    };
    let (status, answer) = shared.market().propose(call, &shared.ids)?;
    Ok(Answer::json(status, &answer))
}

fn parsed<'de, T: Deserialize<'de>>(body: &'de Value) -> Result<T, Refusal> {
    // Deserializing would take an array for the members in their order.
    if !body.is_object() {
        return Err(Refusal::bad_request("expected an object"));
    }
    T::deserialize(body).map_err(|error| Refusal::bad_request(error.to_string()))
}
