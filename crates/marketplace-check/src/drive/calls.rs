//! Looks up jobs and the account, uploads a file, and tries tokens and connections.

use bidloop_marketplace::percent_encode;
use http::header::CONNECTION;

use super::Given;
use crate::answer::Asked;
use crate::caller::{Call, Caller, Connection};
use crate::observed::{Connections, JobLookup, Observed, RefusedTokens, Uploads};

/// The most jobs that are looked up.
const MOST_LOOKUPS: usize = 10;

pub(super) async fn make(caller: &mut Caller, given: &Given<'_>, seen: &mut Observed) {
    let ids = chosen(&seen.feed.ids(), given.job);
    if given.token.is_some() {
        for id in &ids {
            let asked = caller.ask(job(id).token(given.token)).await;
            seen.jobs.push(JobLookup {
                id: id.clone(),
                asked,
            });
        }
        seen.unknown_job = Some(caller.ask(job(&given.unknown_job()).token(given.token)).await);
        seen.account = Some(caller.ask(account().token(given.token)).await);
        seen.uploads = uploads(caller, given).await;
    }
    seen.refused = refused_tokens(caller, given, ids.first()).await;
    seen.connections = connections(caller, given).await;
}

/// The newest jobs of as many equal parts of the feed, and the named one if it is in the feed.
fn chosen(ids: &[&str], named: Option<&str>) -> Vec<String> {
    let parts = ids.len().min(MOST_LOOKUPS);
    let spread = (1..=parts).map(|part| ids[part * ids.len() / parts - 1]);
    let named = named.filter(|named| ids.contains(named));
    let mut chosen: Vec<String> = spread.chain(named).map(str::to_owned).collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

fn job(id: &str) -> Call {
    Call::get(format!("/api/jobs/{}", percent_encode(id)))
}

fn account() -> Call {
    Call::get("/api/account")
}

/// The upload of a file in a part with this name.
fn upload(part: &str, content: &[u8]) -> Call {
    let head = format!(
        "--bidloop-check\r\nContent-Disposition: form-data; name=\"{part}\"; filename=\"check.txt\"\r\n\
         Content-Type: text/plain\r\n\r\n"
    );
    let body = [head.as_bytes(), content, b"\r\n--bidloop-check--\r\n"].concat();
    Call::post(
        "/api/attachments",
        "multipart/form-data; boundary=bidloop-check",
        body,
    )
}

const FILE: &[u8] = b"A file of the check of a marketplace's protocol.\n";

async fn uploads(caller: &mut Caller, given: &Given<'_>) -> Uploads {
    Uploads {
        first: Some(caller.ask(upload("file", FILE).token(given.token)).await),
        again: Some(caller.ask(upload("file", FILE).token(given.token)).await),
        without_file: Some(caller.ask(upload("other", FILE).token(given.token)).await),
    }
}

async fn refused_tokens(caller: &mut Caller, given: &Given<'_>, id: Option<&String>) -> RefusedTokens {
    let wrong = given.wrong_token();
    let token = Some(wrong.as_str());
    let mut refused = RefusedTokens {
        account: Some(caller.ask(account().token(token)).await),
        attachments: Some(caller.ask(upload("file", FILE).token(token)).await),
        ..RefusedTokens::default()
    };
    if let Some(id) = id {
        refused.job = Some(caller.ask(job(id).token(token)).await);
    }
    refused.without = vec![
        caller.ask(account()).await,
        caller.ask(upload("file", FILE)).await,
    ];
    refused
}

async fn connections(caller: &Caller, given: &Given<'_>) -> Connections {
    let read = || Call::get("/api/jobs?limit=1").token(given.feed_token);
    let mut kept = Connection::default();
    let mut connections = Connections::default();
    for _ in 0..3 {
        let asked = caller.ask_on(&mut kept, read()).await;
        let goes_on = asked.outcome.is_ok();
        connections.kept.push(asked);
        if !goes_on {
            break;
        }
    }
    let mut refusing = Connection::default();
    // More than a socket's buffers hold of a body that nobody reads.
    let refused = upload("file", &b"x".repeat(300_000)).token(Some(&given.wrong_token()));
    let refused = caller.ask_on(&mut refusing, refused).await;
    let goes_on = !closes(&refused);
    connections.after_refusal.push(refused);
    if goes_on {
        connections
            .after_refusal
            .push(caller.ask_on(&mut refusing, read()).await);
    }
    connections
}

/// Whether the connection ends with this answer, or has ended without one.
pub(crate) fn closes(asked: &Asked) -> bool {
    match &asked.outcome {
        Ok(answer) => says_close(answer),
        Err(_) => true,
    }
}

/// Whether an answer announces the end of its connection.
fn says_close(answer: &crate::answer::Answer) -> bool {
    answer.version == http::Version::HTTP_10
        || answer.header(CONNECTION.as_str()).eq_ignore_ascii_case("close")
}
