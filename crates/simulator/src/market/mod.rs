//! The marketplace itself: jobs, accounts, proposals, attachments, and what each call does to them. Pure and
//! synchronous: time and ids are arguments, and there is no HTTP.

pub(crate) mod account;
pub(crate) mod feed;
pub(crate) mod job_state;
pub(crate) mod post;
pub(crate) mod proposal;

use http::StatusCode;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::answer::Refusal;
use crate::ids::Ids;
use crate::multipart::UploadedFile;
use account::{AccountPut, Accounts};
use feed::{Feed, InvalidCursor, Page};
use job_state::{JobState, JobStatePatch};
use post::{Demands, Post};
use proposal::{Call, Known, Outcome, Proposal, Proposals, accepted_json};

#[derive(Debug)]
struct Job {
    post: Arc<str>,
    position: u64,
    state: JobState,
}

#[derive(Debug)]
struct Attachment {
    account_id: String,
    file: UploadedFile,
}

/// The state of the marketplace.
#[derive(Debug)]
pub(crate) struct Market {
    feed: Feed,
    jobs: HashMap<Arc<str>, Job>,
    keep_posts: Option<usize>,
    accounts: Accounts,
    attachments: HashMap<String, Attachment>,
    proposals: Proposals,
}

impl Market {
    /// `run` distinguishes this market's cursors from those of other runs. `keep_posts` bounds the number of stored posts.
    pub(crate) fn new(run: u64, keep_posts: Option<usize>) -> Self {
        Self {
            feed: Feed::new(run),
            jobs: HashMap::new(),
            keep_posts,
            accounts: Accounts::default(),
            attachments: HashMap::new(),
            proposals: Proposals::default(),
        }
    }

    /// Appends a post to the feed. A post with a known id replaces the old one and keeps the job's state.
    pub(crate) fn publish(&mut self, post: Post) {
        let position = self.feed.append(Arc::clone(&post.id), Arc::clone(&post.text));
        if let Some(job) = self.jobs.get_mut(&post.id) {
            self.feed.withdraw(job.position);
            job.post = post.text;
            job.position = position;
        } else {
            let state = JobState::fresh(post.required_connects);
            self.jobs.insert(
                post.id,
                Job {
                    post: post.text,
                    position,
                    state,
                },
            );
        }
        while self.keep_posts.is_some_and(|most| self.feed.len() > most) {
            match self.feed.drop_oldest() {
                Some(id) => self.jobs.remove(&id),
                None => break,
            };
        }
    }

    pub(crate) fn page(&self, after: Option<&str>, limit: usize) -> Result<Page, InvalidCursor> {
        self.feed.page(after, limit)
    }

    /// A job's post and state, as JSON of the protocol.
    pub(crate) fn job(&self, id: &str) -> Result<String, Refusal> {
        let job = self.jobs.get(id).ok_or_else(|| Refusal::job_not_found(id))?;
        Ok(job_json(job))
    }

    /// The newest jobs with their states, newest first, and the number of stored jobs.
    pub(crate) fn newest_jobs(&self, limit: usize) -> String {
        let jobs: Vec<String> = self
            .feed
            .newest(limit)
            .iter()
            .filter_map(|id| self.jobs.get(id))
            .map(job_json)
            .collect();
        format!("{{\"jobs\":[{}],\"total\":{}}}", jobs.join(","), self.feed.len())
    }

    pub(crate) fn patch_job(&mut self, id: &str, patch: JobStatePatch) -> Result<String, Refusal> {
        let job = self.jobs.get_mut(id).ok_or_else(|| Refusal::job_not_found(id))?;
        job.state.merge(patch);
        Ok(job_json(job))
    }

    pub(crate) fn put_account(&mut self, token: &str, put: AccountPut) -> Value {
        self.accounts.put(token, put).to_json()
    }

    pub(crate) fn revoke_token(&mut self, token: &str) -> bool {
        self.accounts.revoke(token)
    }

    pub(crate) fn account(&self, token: Option<&str>) -> Result<Value, Refusal> {
        let account = token.and_then(|token| self.accounts.of_token(token));
        account
            .map(account::Account::to_json)
            .ok_or_else(Refusal::invalid_token)
    }

    pub(crate) fn attach(
        &mut self,
        token: Option<&str>,
        file: UploadedFile,
        id: String,
    ) -> Result<Value, Refusal> {
        let account = token
            .and_then(|token| self.accounts.of_token(token))
            .ok_or_else(Refusal::invalid_token)?;
        let answer = json!({"id": id});
        self.attachments.insert(
            id,
            Attachment {
                account_id: account.id.clone(),
                file,
            },
        );
        Ok(answer)
    }

    pub(crate) fn attachments(&self) -> Vec<Value> {
        let mut ids: Vec<&String> = self.attachments.keys().collect();
        ids.sort_unstable();
        ids.into_iter()
            .filter_map(|id| {
                let attachment = self.attachments.get(id)?;
                Some(json!({
                    "id": id,
                    "accountId": attachment.account_id,
                    "fileName": attachment.file.name,
                    "contentType": attachment.file.content_type,
                    "sizeBytes": attachment.file.size_bytes,
                    "sha256": attachment.file.sha256,
                }))
            })
            .collect()
    }

    pub(crate) fn note_attempt(&mut self, token: &str, key: &str) {
        self.proposals.note_attempt(token, key);
    }

    pub(crate) fn proposals(&self) -> Vec<Value> {
        self.proposals.to_json()
    }

    /// Checks a proposal. If it is accepted, spends the connects and enters the boost. A repeated call with the key of an
    /// accepted proposal changes nothing and gets the same answer with 200.
    pub(crate) fn propose(&mut self, call: Call, ids: &Ids) -> Result<(StatusCode, Value), Refusal> {
        let Some(account_id) = self
            .accounts
            .of_token(&call.token)
            .map(|account| account.id.clone())
        else {
            let refusal = Refusal::invalid_token();
            self.proposals.record(call, None, Outcome::from(&refusal));
            return Err(refusal);
        };
        match self.proposals.known(&account_id, &call.key, &call.body) {
            Known::Same(answer) => {
                self.proposals.repeat(&account_id, &call.key, StatusCode::OK);
                return Ok((StatusCode::OK, answer));
            }
            Known::Other => {
                let message = "this Idempotency-Key was used for another proposal, which was accepted";
                self.proposals
                    .repeat(&account_id, &call.key, StatusCode::UNPROCESSABLE_ENTITY);
                return Err(Refusal::invalid(message));
            }
            Known::No => {}
        }
        match self.judge(&account_id, &call.body) {
            Ok((proposal, connects_spent)) => {
                self.spend(&account_id, &proposal, connects_spent);
                let (proposal_id, submitted_at) = (ids.next(call.at), call.at);
                let answer = accepted_json(&proposal_id, connects_spent, submitted_at);
                let outcome = Outcome::Accepted {
                    proposal_id,
                    connects_spent,
                    submitted_at,
                };
                self.proposals.record(call, Some(&account_id), outcome);
                Ok((StatusCode::CREATED, answer))
            }
            Err(refusal) => {
                self.proposals
                    .record(call, Some(&account_id), Outcome::from(&refusal));
                Err(refusal)
            }
        }
    }

    /// Whether the account's proposal would be accepted now, and its cost in connects.
    fn judge(&self, account_id: &str, body: &Value) -> Result<(Proposal, u64), Refusal> {
        if !body.is_object() {
            return Err(Refusal::invalid("the body is no object"));
        }
        let proposal: Proposal = serde::Deserialize::deserialize(body)
            .map_err(|error: serde_json::Error| Refusal::invalid(error.to_string()))?;
        let job = self
            .jobs
            .get(proposal.job_id.as_str())
            .ok_or_else(|| Refusal::job_not_found(&proposal.job_id))?;
        if let Some(proposal_id) = self.proposals.applied(account_id, &proposal.job_id) {
            let mut refusal = Refusal::new(
                StatusCode::CONFLICT,
                "already_applied",
                "the account has a proposal on this job",
            );
            refusal.proposal_id = Some(proposal_id.clone());
            return Err(refusal);
        }
        let account = self
            .accounts
            .by_id(account_id)
            .ok_or_else(Refusal::invalid_token)?;
        let demands = Demands::of(&job.post);
        proposal.check_job(&job.state, &demands, account)?;
        proposal.check_content(&demands)?;
        self.check_attachments(account_id, &proposal)?;
        let cost = proposal.cost(&job.state);
        if cost > account.connects_balance {
            let message = format!(
                "the proposal costs {cost} connects, the account has {}",
                account.connects_balance
            );
            return Err(Refusal::new(
                StatusCode::PAYMENT_REQUIRED,
                "insufficient_connects",
                message,
            ));
        }
        Ok((proposal, cost))
    }

    fn check_attachments(&self, account_id: &str, proposal: &Proposal) -> Result<(), Refusal> {
        let mut seen = HashSet::new();
        for id in &proposal.attachments {
            if !seen.insert(id) {
                return Err(Refusal::invalid(format!("the attachment {id} is named twice")));
            }
            if self
                .attachments
                .get(id)
                .is_none_or(|attachment| attachment.account_id != account_id)
            {
                return Err(Refusal::invalid(format!("the account has no attachment {id}")));
            }
        }
        Ok(())
    }

    fn spend(&mut self, account_id: &str, proposal: &Proposal, connects: u64) {
        if let Some(account) = self.accounts.by_id_mut(account_id) {
            account.connects_balance = account.connects_balance.saturating_sub(connects);
        }
        if let Some(job) = self.jobs.get_mut(proposal.job_id.as_str()) {
            job.state.enter_boost(proposal.boost_connects);
        }
    }

    /// Counts of jobs, accounts and proposals.
    pub(crate) fn stats(&self) -> Value {
        json!({
            "jobs": self.feed.len(),
            "published": self.feed.published(),
            "accounts": self.accounts.len(),
            "proposals": self.proposals.len(),
            "proposalsAccepted": self.proposals.accepted(),
            "attachments": self.attachments.len(),
            "attachmentBytes": self.attachments.values().map(|attachment| attachment.file.size_bytes).sum::<u64>(),
        })
    }
}

fn job_json(job: &Job) -> String {
    let state = serde_json::to_string(&job.state).unwrap_or_else(|_| "null".to_owned());
    format!("{{\"job\":{},\"state\":{state}}}", job.post)
}

#[cfg(test)]
mod tests;
