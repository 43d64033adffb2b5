//! The rules, in one table: a name, what the protocol says, what to do about a departure, and the judge.
//!
//! A new rule is a line of [`RULES`], a function in one of the files here, and, if it needs a call that nobody makes yet,
//! that call in `drive` and its place in `observed`. The tests plant a fault for it.

mod answers;
mod feed;
mod jobs;
mod proposals;
mod tokens;
mod uploads;

use crate::answer::{Answer, Asked};
use crate::observed::Observed;

/// A rule of the marketplace protocol.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its name: the subject, and what it is about.
    pub name: &'static str,
    /// What the protocol says.
    pub says: &'static str,
    /// What to do where it is broken, and what goes wrong otherwise.
    pub mend: &'static str,
    pub(crate) judge: fn(&Observed) -> Judgement,
}

/// Held, or why not.
pub(crate) type Judgement = Result<(), Flaw>;

/// Why a rule is not known to be held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// What was expected, and what came.
    Broken { expected: String, came: String },
    /// Why it could not be tried.
    NotTried(String),
}

fn broken(expected: impl Into<String>, came: impl Into<String>) -> Judgement {
    Err(Flaw::Broken {
        expected: expected.into(),
        came: came.into(),
    })
}

fn not_tried(why: impl Into<String>) -> Flaw {
    Flaw::NotTried(why.into())
}

/// The answer to a call, whatever its status.
fn answered(asked: &Asked) -> Result<&Answer, Flaw> {
    asked.outcome.as_ref().map_err(|_| not_tried(asked.shown()))
}

/// The call, or that it was not made for want of a token.
fn made<'a>(asked: Option<&'a Asked>, seen: &Observed) -> Result<&'a Asked, Flaw> {
    asked.ok_or_else(|| {
        not_tried(if seen.has_token {
            "there was nothing to try it with"
        } else {
            "give the token of a bidder account: --token-file FILE"
        })
    })
}

/// Fails unless the call was answered with this status.
fn expect_status(asked: &Asked, status: u16) -> Judgement {
    if answered(asked)?.status == status {
        return Ok(());
    }
    broken(format!("{} → {status}", asked.call), asked.shown())
}

/// Fails unless the call was answered with this status and this code. A body without a code breaks `answers.errors`.
fn expect_refusal(asked: &Asked, status: u16, code: &str) -> Judgement {
    let answer = answered(asked)?;
    let holds = answer.status == status && answer.error_body().is_none_or(|body| body.code == code);
    if holds {
        return Ok(());
    }
    broken(
        format!("{} → {status} {{\"code\": \"{code}\", …}}", asked.call),
        asked.shown(),
    )
}

/// Every rule, in the order of the report.
pub const RULES: &[Rule] = &[
    Rule {
        name: "feed.page",
        says: "GET /api/jobs answers 200 with {\"jobs\": [JobPost], \"cursor\": text, \"hasMore\": true or false}.",
        mend: "Send all three members on every page, an empty one too. A page without them is not read, and the watcher stands still.",
        judge: feed::page,
    },
    Rule {
        name: "feed.job-shape",
        says: "A JobPost has id, ciphertext, title, description, url and postedAt; each other field may be null, and has its own type.",
        mend: "Send the type that docs/marketplace.yaml names, or null. A post with a field of another type is skipped, and nobody bids on it.",
        judge: feed::job_shape,
    },
    Rule {
        name: "feed.job-url",
        says: "A job's url is a path that begins with one slash, or an http or https address without a user name.",
        mend: "Send the address of the job's page. A post with another address is skipped.",
        judge: feed::job_url,
    },
    Rule {
        name: "feed.times",
        says: "postedAt is the moment of posting in UNIX milliseconds, and has passed.",
        mend: "Multiply seconds by 1000, and set the clock. A post that seems old is listed but not acted on.",
        judge: feed::times,
    },
    Rule {
        name: "feed.unique-ids",
        says: "A page holds each job once.",
        mend: "Send the marketplace's own id of the job, the same one each time. Jobs with one id are taken for one job.",
        judge: feed::unique_ids,
    },
    Rule {
        name: "feed.order",
        says: "The feed is read from the oldest job to the newest. (One in ten may be out of place: edited jobs are listed again.)",
        mend: "Sort each page and the pages by the moment of posting, oldest first. With the newest first, jobs after the cursor are never read.",
        judge: feed::order,
    },
    Rule {
        name: "feed.limit",
        says: "A page holds at most as many jobs as its limit, 1 to 500.",
        mend: "Apply the parameter limit. A page beyond 64 MB is not read.",
        judge: feed::limit,
    },
    Rule {
        name: "feed.after-cursor",
        says: "A page holds the jobs strictly after its cursor, none of those before.",
        mend: "Begin behind the last job that the cursor stands for. Repeated jobs are recognized, but cost a page each time.",
        judge: feed::after_cursor,
    },
    Rule {
        name: "feed.cursor-moves",
        says: "While hasMore is true, the cursor of a page is another one than the page was asked with.",
        mend: "Return the cursor behind the last job of the page. Otherwise the same page would be read for ever, so it is refused.",
        judge: feed::cursor_moves,
    },
    Rule {
        name: "feed.same-cursor",
        says: "A cursor can be used again, and the same jobs follow it.",
        mend: "Keep the position in the cursor, not in the server: a page is read again when storing it failed.",
        judge: feed::same_cursor,
    },
    Rule {
        name: "feed.page-sizes",
        says: "No job is left out, whatever the limit.",
        mend: "Order jobs by something unique, such as time and id, and begin the next page behind the last job sent. Jobs that share a moment are lost otherwise.",
        judge: feed::page_sizes,
    },
    Rule {
        name: "feed.has-more",
        says: "hasMore is true exactly while there are jobs after the page.",
        mend: "Ask the marketplace for one job more than the limit. With true for ever the watcher reads without a pause; with false too early jobs wait.",
        judge: feed::has_more,
    },
    Rule {
        name: "feed.end",
        says: "After the last cursor comes an empty page, whose cursor can be used in turn.",
        mend: "Return the cursor that came if there is nothing after it. The watcher asks with it until new jobs come.",
        judge: feed::end,
    },
    Rule {
        name: "feed.unknown-cursor",
        says: "A cursor that the feed never gave, or no longer knows, is refused with a 4xx other than 401, 408 and 429.",
        mend: "Answer 400 {\"code\": \"invalid_cursor\", …}. The watcher then begins at the oldest job; a 5xx is retried for ever, and a 200 hides that jobs are missing.",
        judge: feed::unknown_cursor,
    },
    Rule {
        name: "jobs.found",
        says: "GET /api/jobs/<id> answers 200 with {\"job\": JobPost, \"state\": {…}} for each job of the feed, with the same id.",
        mend: "Look the job up by the id that the feed gave. A bid on a job that cannot be looked up is not submitted.",
        judge: jobs::found,
    },
    Rule {
        name: "jobs.state",
        says: "A job's state has status (open or closed), alreadyHired, warnings, boosts and requiredConnects, none of them null.",
        mend: "Send an empty list or 0 for what the marketplace does not have. Without the state no bid is decided.",
        judge: jobs::state,
    },
    Rule {
        name: "jobs.boosts",
        says: "boosts are the connects that others have bid for the first places, highest first.",
        mend: "Sort them from the highest. Place 2 is paid for by the second of them.",
        judge: jobs::boosts,
    },
    Rule {
        name: "jobs.unknown",
        says: "GET /api/jobs/<id> answers 404 for an id that no job has.",
        mend: "Answer 404 {\"code\": \"job_not_found\", …}. The bid then ends as job_not_found instead of being retried.",
        judge: jobs::unknown,
    },
    Rule {
        name: "account.shape",
        says: "GET /api/account answers 200 with {\"id\", \"name\", \"connectsBalance\": whole number, \"profileHourlyRate\": number or null}.",
        mend: "Send all four. The balance decides whether a bid and its boost can be paid.",
        judge: jobs::account,
    },
    Rule {
        name: "tokens.account",
        says: "GET /api/account answers 401 invalid_token for a token that no account has.",
        mend: "Answer 401 {\"code\": \"invalid_token\", …}. The account is then shown as disconnected, and its bids wait for a new token.",
        judge: tokens::account,
    },
    Rule {
        name: "tokens.job",
        says: "GET /api/jobs/<id> answers 401 invalid_token for a token that no account has.",
        mend: "Check the token before the job, also where anybody may see the job.",
        judge: tokens::job,
    },
    Rule {
        name: "tokens.attachments",
        says: "POST /api/attachments answers 401 invalid_token for a token that no account has.",
        mend: "Check the token before the file. A file in another account cannot be used by the proposal.",
        judge: tokens::attachments,
    },
    Rule {
        name: "tokens.proposals",
        says: "POST /api/proposals answers 401 invalid_token for a token that no account has.",
        mend: "Check the token before anything else. Otherwise one account bids in another's name.",
        judge: tokens::proposals,
    },
    Rule {
        name: "tokens.missing",
        says: "Calls for an account answer 401 invalid_token without the header Authorization.",
        mend: "Refuse a call without a token. Whoever reaches the translator could bid otherwise.",
        judge: tokens::missing,
    },
    Rule {
        name: "attachments.created",
        says: "POST /api/attachments, a multipart body with one part named file, answers 201 with {\"id\": text}.",
        mend: "Store the file, and answer with the id that a proposal will name. A bid waits until its files are uploaded.",
        judge: uploads::created,
    },
    Rule {
        name: "attachments.again",
        says: "The same file can be uploaded again: 201 with an id, the same or another one.",
        mend: "Accept it. After a lost answer the file is sent again.",
        judge: uploads::again,
    },
    Rule {
        name: "attachments.without-file",
        says: "An upload without a part named file is refused with a 4xx.",
        mend: "Answer 422 {\"code\": \"invalid\", …}. Otherwise a proposal goes out without its attachment.",
        judge: uploads::without_file,
    },
    Rule {
        name: "proposals.malformed",
        says: "A body that is no proposal is refused with 422 invalid.",
        mend: "Answer 422 {\"code\": \"invalid\", …}. The bid then ends with that message; a 5xx is retried until the deadline.",
        judge: proposals::malformed,
    },
    Rule {
        name: "proposals.key-required",
        says: "A proposal without the header Idempotency-Key is refused with 422 invalid.",
        mend: "Refuse it. Without a key a repetition cannot be told from a second proposal.",
        judge: proposals::key_required,
    },
    Rule {
        name: "proposals.key-after-refusal",
        says: "A key whose proposal was refused can be used again, with another body too.",
        mend: "Store a key only with an accepted proposal. After a lack of connects the proposal is sent again under its key.",
        judge: proposals::key_after_refusal,
    },
    Rule {
        name: "proposals.accepted",
        says: "An accepted proposal is answered with 201 {\"proposalId\": text, \"connectsSpent\": whole number, \"submittedAt\": UNIX milliseconds}.",
        mend: "Send all three, and milliseconds. The lead shows them, and the bid_complete webhook carries them.",
        judge: proposals::accepted,
    },
    Rule {
        name: "proposals.after-cut",
        says: "A proposal whose connection is cut before the answer is found again by its key: 201 or 200, and one proposal.",
        mend: "Store the key before the marketplace is called, finish the call whatever the connection does, and let a second call with the key wait. Otherwise a lost answer costs a second proposal, or the bid is reported as failed although it was made.",
        judge: proposals::after_cut,
    },
    Rule {
        name: "proposals.repeated",
        says: "The same key again is answered with 200 and the same body, and has no further effect.",
        mend: "Store the answer with the key, and return it. Every retry would be a new proposal otherwise, and cost connects.",
        judge: proposals::repeated,
    },
    Rule {
        name: "proposals.already-applied",
        says: "A second proposal of an account on a job, under another key, is refused with 409 already_applied and the first one's proposalId.",
        mend: "Name the proposal that stands: {\"code\": \"already_applied\", \"message\": …, \"proposalId\": …}. The lead then shows it.",
        judge: proposals::already_applied,
    },
    Rule {
        name: "proposals.paid-once",
        says: "The account's balance falls by connectsSpent, once.",
        mend: "Look for a second proposal, or for connectsSpent that leaves out the boost.",
        judge: proposals::paid_once,
    },
    Rule {
        name: "answers.complete",
        says: "Every call gets a whole HTTP answer.",
        mend: "Answer with an error body instead of closing the connection. Whether a proposal without an answer was taken is unknown, and it is repeated until the answer comes.",
        judge: answers::complete,
    },
    Rule {
        name: "answers.in-time",
        says: "Every call is answered within the time-out.",
        mend: "Answer sooner, or raise marketplace.timeout_ms. Whether a proposal that is answered late was taken is unknown meanwhile.",
        judge: answers::in_time,
    },
    Rule {
        name: "answers.content-type",
        says: "JSON is sent as application/json, uncompressed.",
        mend: "Set Content-Type: application/json, and no Content-Encoding that was not asked for.",
        judge: answers::content_type,
    },
    Rule {
        name: "answers.errors",
        says: "Every error has the body {\"code\": text, \"message\": text}.",
        mend: "Send it with every 4xx and 5xx, also from the framework's own error pages. An error without a code is taken for a gateway's: it says nothing about the proposal.",
        judge: answers::errors,
    },
    Rule {
        name: "answers.retry-after",
        says: "An answer with 429 has the header Retry-After, in seconds or as an HTTP date.",
        mend: "Pass on the marketplace's, or name a few seconds. Otherwise the service guesses.",
        judge: answers::retry_after,
    },
    Rule {
        name: "connections.kept",
        says: "A connection serves several calls.",
        mend: "Speak HTTP/1.1 and keep connections open for a minute. Otherwise each call pays for a new connection, and calls on a connection that has just closed get no answer.",
        judge: answers::connections_kept,
    },
    Rule {
        name: "connections.after-refusal",
        says: "A refused upload gets its answer, and the connection then serves the next call or is closed with Connection: close.",
        mend: "Read the rest of the body before the answer. Bytes that are left over are taken for the next request.",
        judge: answers::connections_after_refusal,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_sentences_end() {
        let names: HashSet<_> = RULES.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), RULES.len());
        for rule in RULES {
            assert!(
                rule.says.ends_with(['.', ')']) && rule.mend.ends_with('.'),
                "{}",
                rule.name
            );
        }
    }

    #[test]
    fn a_check_without_any_call_holds_nothing() {
        let seen = Observed::default();
        for rule in RULES {
            let judged = (rule.judge)(&seen);
            assert!(
                matches!(judged, Err(Flaw::NotTried(_))),
                "{}: {judged:?}",
                rule.name
            );
        }
    }
}
