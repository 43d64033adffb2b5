//! Translators with one fault each: exactly the rule that the fault breaks is reported as broken.

use std::time::Duration;

use bidloop_marketplace_check::{RULES, Report, Verdict};
use http::HeaderValue;
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use serde_json::{Value, json};

use crate::faulty_translator::{self, Fault, KEY, Memory, Reply, Sent};
use crate::market::{TOKEN, checked, finding, now_ms, rules_that_are, run, simulator, target, unheld};

const FEED: &str = "GET /api/jobs";
const JOB: &str = "GET /api/jobs/<id>";
const ACCOUNT: &str = "GET /api/account";
const ATTACHMENTS: &str = "POST /api/attachments";
const PROPOSALS: &str = "POST /api/proposals";

fn nothing(_: &mut Sent, _: &mut Memory) {}

fn as_it_is(_: &Sent, _: &mut Reply, _: &mut Memory) {}

/// A fault of requests.
const fn asks(name: &'static str, breaks: &'static str, request: fn(&mut Sent, &mut Memory)) -> Fault {
    Fault {
        name,
        breaks,
        request,
        reply: as_it_is,
    }
}

/// A fault of answers.
const fn answers(
    name: &'static str,
    breaks: &'static str,
    reply: fn(&Sent, &mut Reply, &mut Memory),
) -> Fault {
    Fault {
        name,
        breaks,
        request: nothing,
        reply,
    }
}

fn each_job(sent: &Sent, reply: &mut Reply, change: impl Fn(&mut Value)) {
    if sent.is(FEED) {
        reply.jobs().into_iter().flatten().for_each(change);
    }
}

fn is_accepted(sent: &Sent, reply: &Reply) -> bool {
    sent.is(PROPOSALS) && reply.status < 300
}

fn a_wrong_token(sent: &Sent, call: &str) -> bool {
    sent.is(call) && !sent.header(&AUTHORIZATION).is_empty() && !sent.has_right_token()
}

fn use_the_right_token(sent: &mut Sent) {
    sent.set_header(AUTHORIZATION, &format!("Bearer {TOKEN}"));
}

const FAULTS: &[Fault] = &[
    // ---- the feed
    answers("a page without hasMore", "feed.page", |sent, reply, _| {
        if sent.is(FEED) {
            reply.json.as_object_mut().unwrap().remove("hasMore");
        }
    }),
    answers("a page as an array", "feed.page", |sent, reply, _| {
        if sent.is(FEED) && reply.status == 200 {
            reply.json = reply.json["jobs"].take();
        }
    }),
    answers("a number as a string", "feed.job-shape", |sent, reply, _| {
        each_job(sent, reply, |job| {
            job["metadata"]["hourlyRate"]["min"] = json!("10");
        });
    }),
    answers("a missing title", "feed.job-shape", |sent, reply, _| {
        each_job(sent, reply, |job| {
            drop(job.as_object_mut().unwrap().remove("title"));
        });
    }),
    answers("an id that is a number", "feed.job-shape", |sent, reply, _| {
        each_job(sent, reply, |job| {
            if job["id"] == "job-7" {
                job["id"] = json!(7);
            }
        });
    }),
    answers("a script as url", "feed.job-url", |sent, reply, _| {
        each_job(sent, reply, |job| job["url"] = json!("javascript:alert(1)"));
    }),
    answers(
        "seconds instead of milliseconds",
        "feed.times",
        |sent, reply, _| {
            each_job(sent, reply, |job| {
                job["postedAt"] = json!(job["postedAt"].as_i64().unwrap() / 1000);
            });
        },
    ),
    answers("a clock that is a day ahead", "feed.times", |sent, reply, _| {
        each_job(sent, reply, |job| {
            job["postedAt"] = json!(job["postedAt"].as_i64().unwrap() + 86_400_000);
        });
    }),
    answers("a job twice on a page", "feed.unique-ids", |sent, reply, _| {
        if sent.is(FEED)
            && sent.after().is_none()
            && let Some([first, second, ..]) = reply.jobs().map(Vec::as_mut_slice)
        {
            *second = first.clone();
        }
    }),
    answers("the newest job first", "feed.order", |sent, reply, _| {
        if sent.is(FEED)
            && let Some(jobs) = reply.jobs()
        {
            jobs.reverse();
        }
    }),
    asks("no limit", "feed.limit", |sent, _| {
        drop(sent.query.remove("limit"));
    }),
    Fault {
        name: "the cursor's own job again",
        breaks: "feed.after-cursor",
        request: |sent, _| {
            let limit = sent
                .query
                .get("limit")
                .and_then(|limit| limit.parse::<u32>().ok());
            if let (Some(_), Some(limit)) = (sent.after(), limit) {
                sent.query.insert("limit".to_owned(), (limit - 1).to_string());
            }
        },
        reply: |sent, reply, memory| {
            let earlier = sent.after().and_then(|after| memory.values.get(after)).cloned();
            let cursor = reply.json["cursor"].as_str().map(str::to_owned);
            let Some(jobs) = reply.jobs().filter(|jobs| !jobs.is_empty()) else {
                return;
            };
            if let (Some(cursor), Some(last)) = (cursor, jobs.last()) {
                memory.values.insert(cursor, last.clone());
            }
            jobs.splice(0..0, earlier);
        },
    },
    answers(
        "a cursor that stands still",
        "feed.cursor-moves",
        |sent, reply, _| {
            let is_empty = reply.jobs().is_none_or(|jobs| jobs.is_empty());
            if let (Some(after), false) = (sent.after(), is_empty) {
                reply.json["cursor"] = json!(after);
            }
        },
    ),
    answers(
        "a cursor that works once",
        "feed.same-cursor",
        |sent, reply, memory| {
            if let (Some(after), Some(jobs @ [_, ..])) = (sent.after(), reply.jobs().map(Vec::as_mut_slice))
                && memory.count(after) > 1
            {
                jobs.rotate_left(1);
            }
        },
    ),
    answers(
        "a job left out between pages",
        "feed.page-sizes",
        |sent, reply, _| {
            let is_small = sent.query.get("limit").is_some_and(|limit| limit != "500");
            if let (true, Some(_), Some(jobs)) = (is_small, sent.after(), reply.jobs())
                && jobs.len() > 1
            {
                jobs.remove(0);
            }
        },
    ),
    answers(
        "hasMore that is always true",
        "feed.has-more",
        |sent, reply, _| {
            if sent.is(FEED) && reply.status == 200 {
                reply.json["hasMore"] = json!(true);
            }
        },
    ),
    answers(
        "hasMore that is always false",
        "feed.has-more",
        |sent, reply, _| {
            if sent.is(FEED) && reply.status == 200 {
                reply.json["hasMore"] = json!(false);
            }
        },
    ),
    answers("no cursor at the end", "feed.end", |sent, reply, _| {
        if sent.after().is_some() && reply.jobs().is_some_and(|jobs| jobs.is_empty()) {
            reply.error(400, "invalid_cursor");
        }
    }),
    answers(
        "the beginning again at the end",
        "feed.end",
        |sent, reply, memory| {
            if !sent.is(FEED) {
                return;
            }
            if sent.after().is_none() && sent.query["limit"] == "500" {
                memory.values.insert("page".to_owned(), reply.json.clone());
            }
            if sent.after().is_some() && reply.jobs().is_some_and(|jobs| jobs.is_empty()) {
                reply.json = memory.values["page"].clone();
            }
        },
    ),
    answers(
        "a crash at an unknown cursor",
        "feed.unknown-cursor",
        |sent, reply, _| {
            if sent.is(FEED) && reply.status == 400 {
                reply.error(500, "error");
            }
        },
    ),
    asks("an unknown cursor for none", "feed.unknown-cursor", |sent, _| {
        if sent.after().is_some_and(|after| after.starts_with("no-such")) {
            sent.query.remove("after");
        }
    }),
    // ---- jobs and the account
    answers("another job than asked for", "jobs.found", |sent, reply, _| {
        if sent.is(JOB) && reply.status == 200 {
            reply.json["job"]["id"] = json!("job-0");
        }
    }),
    answers(
        "a job of the feed that is unknown",
        "jobs.found",
        |sent, reply, _| {
            if sent.is("GET /api/jobs/job-12") && sent.has_right_token() {
                reply.error(404, "job_not_found");
            }
        },
    ),
    answers("a state of its own words", "jobs.state", |sent, reply, _| {
        if sent.is(JOB) && reply.status == 200 {
            reply.json["state"]["status"] = json!("OPEN");
        }
    }),
    answers("no list of warnings", "jobs.state", |sent, reply, _| {
        if sent.is(JOB) && reply.status == 200 {
            reply.json["state"]["warnings"] = Value::Null;
        }
    }),
    answers("the lowest boost first", "jobs.boosts", |sent, reply, _| {
        if let (true, Some(boosts)) = (sent.is(JOB), reply.json["state"]["boosts"].as_array_mut()) {
            boosts.reverse();
        }
    }),
    asks("some job for an unknown one", "jobs.unknown", |sent, _| {
        if sent.call.contains("no-such-job") {
            "GET /api/jobs/job-1".clone_into(&mut sent.call);
        }
    }),
    answers("a balance as text", "account.shape", |sent, reply, _| {
        if let (true, Some(balance)) = (sent.is(ACCOUNT), reply.json.get_mut("connectsBalance")) {
            *balance = json!(balance.to_string());
        }
    }),
    answers("no rate instead of null", "account.shape", |sent, reply, _| {
        if sent.is(ACCOUNT) {
            reply.json.as_object_mut().unwrap().remove("profileHourlyRate");
        }
    }),
    // ---- tokens
    asks("any token opens the account", "tokens.account", |sent, _| {
        if a_wrong_token(sent, ACCOUNT) {
            use_the_right_token(sent);
        }
    }),
    asks("jobs for any token", "tokens.job", |sent, _| {
        if a_wrong_token(sent, JOB) {
            sent.headers.remove(AUTHORIZATION);
        }
    }),
    answers(
        "another status for a wrong token",
        "tokens.attachments",
        |sent, reply, _| {
            if a_wrong_token(sent, ATTACHMENTS) {
                reply.error(403, "forbidden");
            }
        },
    ),
    answers(
        "another code for a wrong token",
        "tokens.account",
        |sent, reply, _| {
            if a_wrong_token(sent, ACCOUNT) {
                reply.error(401, "unauthorized");
            }
        },
    ),
    asks("proposals for any token", "tokens.proposals", |sent, _| {
        if a_wrong_token(sent, PROPOSALS) {
            use_the_right_token(sent);
        }
    }),
    asks("uploads without a token", "tokens.missing", |sent, _| {
        if sent.is(ATTACHMENTS) && sent.header(&AUTHORIZATION).is_empty() {
            use_the_right_token(sent);
        }
    }),
    // ---- uploads
    answers("500 for an upload", "attachments.created", |sent, reply, _| {
        if sent.is(ATTACHMENTS) && sent.has_right_token() {
            reply.error(500, "error");
        }
    }),
    answers("200 for an upload", "attachments.created", |sent, reply, _| {
        if sent.is(ATTACHMENTS) && reply.status == 201 {
            reply.status = 200;
        }
    }),
    answers("each file once", "attachments.again", |sent, reply, memory| {
        if sent.is(ATTACHMENTS) && reply.status == 201 && memory.count("upload") > 1 {
            reply.error(409, "duplicate");
        }
    }),
    answers(
        "an upload without a file",
        "attachments.without-file",
        |sent, reply, _| {
            if sent.is(ATTACHMENTS) && reply.status == 422 {
                reply.set(201, json!({"id": "file_0"}));
            }
        },
    ),
    // ---- proposals
    answers(
        "a crash at a malformed proposal",
        "proposals.malformed",
        |sent, reply, _| {
            if sent.is(PROPOSALS) && sent.body.len() < 20 && sent.has_right_token() {
                reply.error(500, "error");
            }
        },
    ),
    asks(
        "a key for a proposal without one",
        "proposals.key-required",
        |sent, _| {
            if sent.is(PROPOSALS) && sent.header(&KEY).is_empty() {
                sent.set_header(KEY, "made-up");
            }
        },
    ),
    Fault {
        name: "a refusal that is stored with its key",
        breaks: "proposals.key-after-refusal",
        request: |sent, memory| {
            // The refusal is given again without asking the marketplace.
            if sent.is(PROPOSALS) && sent.has_right_token() && memory.values.contains_key(sent.header(&KEY)) {
                "GET /api/account".clone_into(&mut sent.call);
            }
        },
        reply: |sent, reply, memory| {
            let key = sent.header(&KEY).to_owned();
            if sent.is(PROPOSALS) && sent.has_right_token() && reply.status == 422 {
                memory.values.insert(key, reply.json.clone());
            } else if let (true, Some(refusal)) = (sent.is(ACCOUNT), memory.values.get(&key)) {
                reply.set(422, refusal.clone());
            }
        },
    },
    answers(
        "submittedAt in seconds",
        "proposals.accepted",
        |sent, reply, _| {
            if is_accepted(sent, reply) {
                reply.json["submittedAt"] = json!(now_ms() / 1_000_000 * 1_000);
            }
        },
    ),
    answers("no connectsSpent", "proposals.accepted", |sent, reply, _| {
        if is_accepted(sent, reply) {
            reply.json.as_object_mut().unwrap().remove("connectsSpent");
        }
    }),
    asks(
        "a key that is lost with its connection",
        "proposals.after-cut",
        |sent, memory| {
            let key = sent.header(&KEY).to_owned();
            if sent.is(PROPOSALS) && key.ends_with("-1") && sent.body.len() > 20 && memory.count(&key) == 1 {
                sent.set_header(KEY, &format!("{key}-lost"));
            }
        },
    ),
    asks("no idempotency", "proposals.after-cut", |sent, memory| {
        if sent.is(PROPOSALS) && !sent.header(&KEY).is_empty() {
            let number = memory.count("key");
            sent.set_header(KEY, &number.to_string());
        }
    }),
    answers(
        "a new proposal for each repetition",
        "proposals.repeated",
        |sent, reply, memory| {
            if is_accepted(sent, reply) {
                reply.status = 201;
                reply.json["proposalId"] = json!(format!("proposal-{}", memory.count("accepted")));
            }
        },
    ),
    answers("201 for a repetition", "proposals.repeated", |sent, reply, _| {
        if is_accepted(sent, reply) {
            reply.status = 201;
        }
    }),
    answers(
        "already_applied without the proposal",
        "proposals.already-applied",
        |_, reply, _| {
            if reply.status == 409 {
                reply.json.as_object_mut().unwrap().remove("proposalId");
            }
        },
    ),
    answers(
        "another code for a second proposal",
        "proposals.already-applied",
        |_, reply, _| {
            if reply.status == 409 {
                reply.error(422, "invalid");
            }
        },
    ),
    answers(
        "a proposal that is paid twice",
        "proposals.paid-once",
        |sent, reply, memory| {
            if is_accepted(sent, reply) {
                memory
                    .values
                    .insert("spent".to_owned(), reply.json["connectsSpent"].clone());
            }
            if let (true, Some(spent)) = (
                sent.is(ACCOUNT) && reply.status == 200,
                memory.values.get("spent"),
            ) {
                let balance = reply.json["connectsBalance"].as_i64().unwrap();
                reply.json["connectsBalance"] = json!(balance - spent.as_i64().unwrap());
            }
        },
    ),
    // ---- every answer
    answers(
        "an upload without an answer",
        "answers.complete",
        |sent, reply, memory| {
            reply.is_cut = sent.is(ATTACHMENTS) && sent.has_right_token() && memory.count("upload") == 1;
        },
    ),
    answers("a slow answer", "answers.in-time", |sent, reply, memory| {
        if sent.is(ATTACHMENTS) && sent.has_right_token() && memory.count("upload") == 1 {
            reply.delay = Duration::from_secs(10);
        }
    }),
    answers("JSON as text", "answers.content-type", |sent, reply, _| {
        if sent.is(ACCOUNT) {
            reply
                .headers
                .insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
        }
    }),
    answers("a page for an unknown job", "answers.errors", |_, reply, _| {
        if reply.status == 404 {
            reply.text = Some("<html>Not found</html>".to_owned());
            reply
                .headers
                .insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
        }
    }),
    answers("401 without a code", "answers.errors", |_, reply, _| {
        if reply.status == 401 {
            reply.json = json!({"message": "who are you?"});
        }
    }),
    answers(
        "errors in an object of their own",
        "answers.errors",
        |_, reply, _| {
            if reply.status == 404 {
                reply.json = json!({"error": reply.json});
            }
        },
    ),
    answers(
        "429 that says nothing",
        "answers.retry-after",
        |sent, reply, memory| {
            if sent.is(ACCOUNT) && sent.has_right_token() && memory.count("account") == 1 {
                reply.error(429, "rate_limited");
                reply.headers.remove(RETRY_AFTER);
            }
        },
    ),
    answers("a connection for each call", "connections.kept", |_, reply, _| {
        reply
            .headers
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }),
    answers(
        "a connection that ends without notice",
        "connections.kept",
        |sent, reply, _| {
            reply.is_cut = sent.is(FEED) && sent.connection.1 == 3;
        },
    ),
    answers(
        "a connection that is lost after a refusal",
        "connections.after-refusal",
        |sent, reply, memory| {
            let connection = sent.connection.0.to_string();
            if sent.connection.1 == 1 && a_wrong_token(sent, ATTACHMENTS) {
                memory.count(&connection);
            }
            reply.is_cut = sent.connection.1 == 2 && memory.counts.contains_key(&connection);
        },
    ),
];

/// The report on a translator with the fault.
async fn report_on(fault: Fault) -> Report {
    let simulator = simulator().await;
    let base_url = faulty_translator::start(&simulator, fault).await;
    let report = checked(&target(&base_url)).await;
    simulator.shutdown().await;
    report
}

/// Checks that exactly the fault's rule is broken, and says what to do.
fn assert_found(fault: Fault, report: &Report) {
    let broken = rules_that_are(report, Verdict::Broken);
    assert_eq!(broken, [fault.breaks], "{}: {}", fault.name, unheld(report));
    let finding = finding(report, fault.breaks);
    for text in [finding.expected.as_deref(), finding.came.as_deref(), finding.mend] {
        assert!(
            text.is_some_and(|text| !text.is_empty()),
            "{}: {finding:?}",
            fault.name
        );
    }
}

/// Checks the faults of the rules that begin with one of the words.
fn find_faults_of(subjects: &[&str]) {
    run(async || {
        let faults = FAULTS
            .iter()
            .filter(|fault| subjects.iter().any(|subject| fault.breaks.starts_with(subject)));
        let found = faults.map(|fault| async { (*fault, report_on(*fault).await) });
        for found in found {
            let (fault, report) = found.await;
            assert_found(fault, &report);
        }
    });
}

#[test]
fn each_fault_of_the_feed_breaks_its_rule_alone() {
    find_faults_of(&["feed."]);
}

#[test]
fn each_fault_of_jobs_accounts_and_uploads_breaks_its_rule_alone() {
    find_faults_of(&["jobs.", "account.", "attachments."]);
}

#[test]
fn each_fault_of_tokens_breaks_its_rule_alone() {
    find_faults_of(&["tokens."]);
}

#[test]
fn each_fault_of_proposals_breaks_its_rule_alone() {
    find_faults_of(&["proposals."]);
}

#[test]
fn each_fault_of_answers_and_connections_breaks_its_rule_alone() {
    find_faults_of(&["answers.", "connections."]);
}

#[test]
fn every_rule_has_a_fault_that_breaks_it() {
    for rule in RULES {
        assert!(
            FAULTS.iter().any(|fault| fault.breaks == rule.name),
            "{}",
            rule.name
        );
    }
    assert!(
        FAULTS
            .iter()
            .all(|fault| RULES.iter().any(|rule| rule.name == fault.breaks))
    );
}
