//! Checks proposals and records every one received under its idempotency key.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;

use super::account::Account;
use super::job_state::{JobState, Status};
use super::post::{Demands, Payment};
use crate::answer::Refusal;

/// The body of `POST /api/proposals`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Proposal {
    pub(crate) job_id: String,
    pub(crate) cover_letter: String,
    pub(crate) answers: Vec<GivenAnswer>,
    pub(crate) terms: Terms,
    #[serde(default)]
    pub(crate) boost_connects: u32,
    #[serde(default)]
    pub(crate) attachments: Vec<String>,
    #[serde(default)]
    pub(crate) accept_warnings: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenAnswer {
    pub(crate) question: String,
    /// May be empty.
    #[serde(rename = "answer")]
    _answer: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Terms {
    #[serde(rename = "type")]
    pub(crate) kind: TermsKind,
    pub(crate) amount: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TermsKind {
    Hourly,
    Fixed,
}

impl Proposal {
    /// The cost of the proposal in connects.
    pub(crate) fn cost(&self, state: &JobState) -> u64 {
        u64::from(state.required_connects) + u64::from(self.boost_connects)
    }

    /// Checks the proposal against the job's state, beginning with the checks that no proposal could pass.
    pub(crate) fn check_job(
        &self,
        state: &JobState,
        demands: &Demands,
        account: &Account,
    ) -> Result<(), Refusal> {
        let unprocessable =
            |code, message: &str| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, code, message);
        if state.status == Status::Closed {
            return Err(unprocessable("job_closed", "the job takes no more proposals"));
        }
        if !state.eligible {
            return Err(unprocessable(
                "not_eligible",
                "the client takes no proposals from this account",
            ));
        }
        if let Some(reason) = disqualification(demands, account) {
            return Err(unprocessable("not_eligible", &reason));
        }
        if let Some(warning) = state.warnings.first()
            && !self.accept_warnings
        {
            return Err(unprocessable(
                "job_warning",
                &format!("{}: {}", warning.code, warning.message),
            ));
        }
        Ok(())
    }

    /// Checks the content of the proposal.
    pub(crate) fn check_content(&self, demands: &Demands) -> Result<(), Refusal> {
        if self.cover_letter.trim().is_empty() {
            return Err(Refusal::invalid("coverLetter is blank"));
        }
        if !(self.terms.amount.is_finite() && self.terms.amount > 0.0) {
            return Err(Refusal::invalid("terms.amount is not above 0"));
        }
        match (demands.payment(), self.terms.kind) {
            (Payment::Hourly, TermsKind::Fixed) => {
                return Err(Refusal::invalid(
                    "terms.type is fixed, the job is paid by the hour",
                ));
            }
            (Payment::Fixed, TermsKind::Hourly) => {
                return Err(Refusal::invalid(
                    "terms.type is hourly, the job has a fixed price",
                ));
            }
            _ => {}
        }
        self.check_answers(demands.questions())
    }

    /// Checks that each question is answered exactly once, or as often as the job repeats it.
    fn check_answers(&self, questions: &[String]) -> Result<(), Refusal> {
        let mut open: Vec<&str> = questions.iter().map(String::as_str).collect();
        for (index, given) in self.answers.iter().enumerate() {
            let Some(place) = open.iter().position(|question| *question == given.question) else {
                let message = format!("answers[{index}].question is none of the job's questions still open");
                return Err(Refusal::invalid(message));
            };
            open.remove(place);
        }
        match open.first() {
            Some(question) => Err(Refusal::invalid(format!(
                "the question {question:?} is not answered"
            ))),
            None => Ok(()),
        }
    }
}

/// Why the account may not apply. An unknown value of the account does not disqualify it.
fn disqualification(demands: &Demands, account: &Account) -> Option<String> {
    if let Some(vendor) = &demands.vendor_qualifications {
        if let (Some(least), Some(score)) = (vendor.job_success_score, account.job_success_score)
            && score < least
        {
            return Some(format!(
                "the job asks for a job success score of {least}, the account has {score}"
            ));
        }
        if let (Some(least), Some(earnings)) = (vendor.minimum_earnings, account.earnings)
            && earnings <= least
        {
            return Some(format!(
                "the job asks for more than {least} USD earned, the account has {earnings}"
            ));
        }
    }
    let home = match demands.region.as_deref()? {
        "USOnly" => "United States",
        "UKOnly" => "United Kingdom",
        _ => return None,
    };
    let country = account.country.as_deref()?;
    (country != home).then(|| format!("the job is open to {home} only, the account is in {country}"))
}

/// The outcome of a call.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    Accepted {
        proposal_id: String,
        connects_spent: u64,
        submitted_at: i64,
    },
    Refused {
        status: StatusCode,
        code: &'static str,
    },
}

impl From<&Refusal> for Outcome {
    fn from(refusal: &Refusal) -> Self {
        Self::Refused {
            status: refusal.status,
            code: refusal.code,
        }
    }
}

/// Every call made under one idempotency key of one account.
#[derive(Debug, Clone)]
struct Record {
    key: String,
    token: String,
    account_id: Option<String>,
    /// Of the call that was recorded.
    traceparent: Option<String>,
    body: Value,
    received_at: i64,
    calls: u64,
    outcome: Outcome,
    /// The status of each answer.
    statuses: Vec<u16>,
}

impl Record {
    fn to_json(&self, attempts: u64) -> Value {
        let (status, code, proposal_id, connects_spent, submitted_at) = match &self.outcome {
            Outcome::Accepted {
                proposal_id,
                connects_spent,
                submitted_at,
            } => (201, None, Some(proposal_id), *connects_spent, Some(*submitted_at)),
            Outcome::Refused { status, code } => (status.as_u16(), Some(*code), None, 0, None),
        };
        // An entry has the members of the proposal and those of its outcome.
        let mut record = self.body.as_object().cloned().unwrap_or_default();
        let outcome = json!({
            "idempotencyKey": self.key,
            "repeats": self.calls - 1,
            "attempts": attempts.max(self.calls),
            "status": status,
            "code": code,
            "statuses": self.statuses,
            "proposalId": proposal_id,
            "connectsSpent": connects_spent,
            "submittedAt": submitted_at,
            "receivedAt": self.received_at,
            "token": self.token,
            "accountId": self.account_id,
            "traceparent": self.traceparent,
            "body": self.body,
        });
        record.extend(outcome.as_object().cloned().unwrap_or_default());
        Value::Object(record)
    }
}

/// A `POST /api/proposals`.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) key: String,
    pub(crate) token: String,
    pub(crate) traceparent: Option<String>,
    pub(crate) body: Value,
    pub(crate) at: i64,
}

/// Every received proposal, in the order of the first calls.
#[derive(Debug, Default)]
pub(crate) struct Proposals {
    records: Vec<Record>,
    /// By account (or by token, if it opens none) and key.
    by_key: HashMap<(String, String), usize>,
    /// Proposal ids by account and job.
    applied: HashMap<(String, String), String>,
    /// The number of calls by token and key, including those answered by a fault.
    attempts: HashMap<(String, String), u64>,
}

/// The earlier use of an idempotency key.
#[derive(Debug, PartialEq)]
pub(crate) enum Known {
    /// No accepted proposal has this key.
    No,
    /// The same proposal was accepted with this answer.
    Same(Value),
    /// Another proposal was accepted.
    Other,
}

impl Proposals {
    /// Counts a call before a fault can answer it.
    pub(crate) fn note_attempt(&mut self, token: &str, key: &str) {
        *self
            .attempts
            .entry((token.to_owned(), key.to_owned()))
            .or_default() += 1;
    }

    pub(crate) fn known(&self, account_id: &str, key: &str, body: &Value) -> Known {
        let record = self
            .by_key
            .get(&(account_id.to_owned(), key.to_owned()))
            .and_then(|index| self.records.get(*index));
        match record {
            Some(Record {
                outcome:
                    Outcome::Accepted {
                        proposal_id,
                        connects_spent,
                        submitted_at,
                    },
                body: first,
                ..
            }) => {
                if first == body {
                    Known::Same(accepted_json(proposal_id, *connects_spent, *submitted_at))
                } else {
                    Known::Other
                }
            }
            _ => Known::No,
        }
    }

    pub(crate) fn applied(&self, account_id: &str, job_id: &str) -> Option<&String> {
        self.applied.get(&(account_id.to_owned(), job_id.to_owned()))
    }

    /// Records the outcome of a call under its key. It replaces a refused call with the same key.
    pub(crate) fn record(&mut self, call: Call, account_id: Option<&str>, outcome: Outcome) {
        let owner = account_id.map_or_else(|| format!("token {}", call.token), str::to_owned);
        let status = match &outcome {
            Outcome::Accepted { proposal_id, .. } => {
                let job_id = call.body["jobId"].as_str().unwrap_or_default().to_owned();
                self.applied.insert((owner.clone(), job_id), proposal_id.clone());
                StatusCode::CREATED
            }
            Outcome::Refused { status, .. } => *status,
        };
        let index = *self
            .by_key
            .entry((owner, call.key.clone()))
            .or_insert(self.records.len());
        if let Some(record) = self.records.get_mut(index) {
            record.calls += 1;
            record.statuses.push(status.as_u16());
            record.token = call.token;
            record.traceparent = call.traceparent;
            record.body = call.body;
            record.outcome = outcome;
        } else {
            self.records.push(Record {
                key: call.key,
                token: call.token,
                account_id: account_id.map(str::to_owned),
                traceparent: call.traceparent,
                body: call.body,
                received_at: call.at,
                calls: 1,
                outcome,
                statuses: vec![status.as_u16()],
            });
        }
    }

    /// Counts a repeated call of an accepted proposal.
    pub(crate) fn repeat(&mut self, account_id: &str, key: &str, status: StatusCode) {
        let index = self.by_key.get(&(account_id.to_owned(), key.to_owned())).copied();
        if let Some(record) = index.and_then(|index| self.records.get_mut(index)) {
            record.calls += 1;
            record.statuses.push(status.as_u16());
        }
    }

    pub(crate) fn accepted(&self) -> usize {
        self.applied.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn to_json(&self) -> Vec<Value> {
        let attempts = |record: &Record| {
            self.attempts
                .get(&(record.token.clone(), record.key.clone()))
                .copied()
                .unwrap_or_default()
        };
        self.records
            .iter()
            .map(|record| record.to_json(attempts(record)))
            .collect()
    }
}

/// The answer to an accepted proposal, the same for every repeated call.
pub(crate) fn accepted_json(proposal_id: &str, connects_spent: u64, submitted_at: i64) -> Value {
    json!({"proposalId": proposal_id, "connectsSpent": connects_spent, "submittedAt": submitted_at})
}
