//! Makes the one proposal that the operator allowed, and the calls around it that must not make another.

use std::time::Duration;

use bidloop_marketplace::percent_encode;
use http::{HeaderName, StatusCode};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Given;
use crate::answer::{Answer, Asked};
use crate::caller::{Call, Caller};
use crate::observed::Proposals;
use crate::shape::whole;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How often the call after a cut connection is repeated while the first is still being worked on.
const MOST_RETRIES: u32 = 5;

pub(super) async fn make(caller: &mut Caller, given: &Given<'_>, job_id: &str) -> Result<Proposals, String> {
    if given.token.is_none() {
        return Err("give the account's token with --token-file".to_owned());
    }
    let body = proposal(caller, given, job_id).await?;
    let mut run = Run {
        caller,
        given,
        body: body.to_string(),
        seen: Proposals::default(),
    };
    if let Err(obstacle) = run.all().await {
        run.seen.obstacle = Some(obstacle);
    }
    Ok(run.seen)
}

/// A proposal that the job should take.
async fn proposal(caller: &mut Caller, given: &Given<'_>, job_id: &str) -> Result<Value, String> {
    let path = format!("/api/jobs/{}", percent_encode(job_id));
    let asked = caller.ask(Call::get(path).token(given.token)).await;
    let Some(answer) = asked.success() else {
        return Err(format!("the job could not be looked up: {}", asked.shown()));
    };
    let answer = answer.json();
    if answer["state"]["status"] == "closed" {
        return Err(format!("the job {job_id} is closed: name an open one"));
    }
    let post = &answer["job"];
    let pay = &post["metadata"];
    let is_fixed = pay["paymentType"]
        .as_str()
        .is_some_and(|kind| kind.to_lowercase().starts_with("fixed"));
    let amounts = if is_fixed {
        [&pay["fixedPrice"], &Value::Null]
    } else {
        [&pay["hourlyRate"]["max"], &pay["hourlyRate"]["min"]]
    };
    let amount = amounts
        .into_iter()
        .find_map(Value::as_f64)
        .filter(|amount| *amount > 0.0);
    let questions = post["questions"].as_array().into_iter().flatten();
    let answers: Vec<Value> = questions
        .map(|question| json!({"question": question, "answer": "This answer belongs to a test."}))
        .collect();
    Ok(json!({
        "jobId": job_id,
        "coverLetter": "This proposal tests the connection to the marketplace. Please disregard it.",
        "answers": answers,
        "terms": {"type": if is_fixed { "fixed" } else { "hourly" }, "amount": amount.unwrap_or(50.0)},
        "boostConnects": 0,
        "attachments": [],
        "acceptWarnings": true,
    }))
}

struct Run<'a> {
    caller: &'a mut Caller,
    given: &'a Given<'a>,
    body: String,
    seen: Proposals,
}

impl Run<'_> {
    /// Fails with what keeps the rest from being tried.
    async fn all(&mut self) -> Result<(), String> {
        self.refusals().await?;
        self.seen.balances[0] = self.balance().await;
        let first_key = self.key(1);
        let after_cut = self.after_cut(&first_key).await?;
        let refused = after_cut
            .outcome
            .as_ref()
            .is_ok_and(|answer| answer.status.is_client_error());
        let (key, accepted) = if after_cut.success().is_some() || !refused {
            self.seen.refusal_sticks = after_cut.success().map(|_| false);
            self.seen.after_cut = Some(after_cut.clone());
            (first_key, after_cut)
        } else {
            let key = self.key(2);
            let accepted = self.with_another_key(&after_cut, &key).await?;
            (key, accepted)
        };
        if accepted.success().is_none() {
            return Err(format!("no proposal was accepted: {}", accepted.shown()));
        }
        self.seen.accepted = Some(accepted);
        self.seen.repeated = Some(self.propose(&key, self.body.clone()).await);
        let other_key = self.key(3);
        self.seen.second_key = Some(self.propose(&other_key, self.body.clone()).await);
        self.seen.balances[1] = self.balance().await;
        Ok(())
    }

    /// Calls that must be refused. One that is accepted has used up the job.
    async fn refusals(&mut self) -> Result<(), String> {
        let token = self.given.token;
        let valid = Call::post("/api/proposals", "application/json", self.body.clone());
        let other_key = self.key(0);
        let keyed = valid.clone().with(IDEMPOTENCY_KEY, &other_key);
        let wrong = self.given.wrong_token();

        let asked = self.caller.ask(keyed.clone()).await;
        self.seen.without_token = Some(asked.clone());
        not_accepted(&asked)?;
        let asked = self.caller.ask(keyed.token(Some(&wrong))).await;
        self.seen.wrong_token = Some(asked.clone());
        not_accepted(&asked)?;
        // The proposal that follows has the key of the first of these refusals.
        for (key, body) in [(self.key(1), "{}"), (other_key, "{\"jobId\": ")] {
            let asked = self.propose(&key, body.to_owned()).await;
            self.seen.malformed.push(asked.clone());
            not_accepted(&asked)?;
        }
        let asked = self.caller.ask(valid.token(token)).await;
        self.seen.without_key = Some(asked.clone());
        not_accepted(&asked)
    }

    /// Sends the proposal, cuts the connection before the answer, and sends it again.
    async fn after_cut(&mut self, key: &str) -> Result<Asked, String> {
        let call = self.call(key, self.body.clone());
        if let Err(fault) = self.caller.send_and_hang_up(&call).await {
            return Err(format!("the proposal could not be sent: {fault}"));
        }
        let mut asked = self.propose(key, self.body.clone()).await;
        for attempt in 1..=MOST_RETRIES {
            if !asked
                .outcome
                .as_ref()
                .is_ok_and(|answer| answer.status.is_server_error())
            {
                break;
            }
            sleep(Duration::from_millis(200) * attempt).await;
            asked = self.propose(key, self.body.clone()).await;
        }
        Ok(asked)
    }

    /// Finds out why the proposal after the cut connection was refused, with a proposal under another key.
    async fn with_another_key(&mut self, refused: &Asked, key: &str) -> Result<Asked, String> {
        if status(refused) == Some(StatusCode::CONFLICT) {
            let before = self.seen.balances[0];
            let now = self.balance().await;
            if before.is_some() && before == now {
                return Err(format!(
                    "the account has a proposal on this job from before ({}): name another job",
                    refused.shown()
                ));
            }
            self.seen.after_cut = Some(refused.clone());
            return Err("the proposal whose connection was cut was not found again by its key".to_owned());
        }
        let other = self.propose(key, self.body.clone()).await;
        if other.success().is_none() {
            return Err(format!(
                "the marketplace refused the proposal: {}; name an open job that the account can pay for",
                refused.shown()
            ));
        }
        self.seen.refusal_sticks = Some(true);
        Ok(other)
    }

    async fn balance(&mut self) -> Option<i64> {
        let asked = self
            .caller
            .ask(Call::get("/api/account").token(self.given.token))
            .await;
        whole(&asked.success().map(Answer::json)?["connectsBalance"])
    }

    fn key(&self, number: u8) -> String {
        format!("bidloop-check-{}-{number}", self.given.run)
    }

    fn call(&self, key: &str, body: String) -> Call {
        Call::post("/api/proposals", "application/json", body)
            .with(IDEMPOTENCY_KEY, key)
            .token(self.given.token)
    }

    async fn propose(&mut self, key: &str, body: String) -> Asked {
        let call = self.call(key, body);
        self.caller.ask(call).await
    }
}

fn status(asked: &Asked) -> Option<StatusCode> {
    asked.outcome.as_ref().ok().map(|answer| answer.status)
}

fn not_accepted(asked: &Asked) -> Result<(), String> {
    match asked.success() {
        Some(_) => Err(format!(
            "a proposal that should be refused was accepted: {}",
            asked.shown()
        )),
        None => Ok(()),
    }
}
