//! Writes and reads the protocol's JSON.
//!
//! Unknown fields are ignored. A missing field, or one of the wrong type, makes the answer malformed; in the feed, it
//! makes only its entry malformed.

use std::borrow::Cow;

use bidloop_domain::bidding::{LiveJobState, QuestionAnswerPair, Terms};
use bidloop_domain::model::{
    Connects, JobId, JobPost, Object, Proposal, Timestamp, sanitize_for_log, whole_number,
};
use bidloop_domain::port::{
    FeedCursor, FeedEntry, FeedPage, LiveAccount, LiveJob, MarketplaceError, SubmittedProposal,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// The most characters of a text of the marketplace in an error.
pub(crate) const MESSAGE_CHARS: usize = 300;

/// A text of the marketplace on one line and shortened, for an error or the log.
pub(crate) fn shortened(text: &str) -> String {
    sanitize_for_log(text.trim(), MESSAGE_CHARS)
}

/// The longest cursor that is accepted; a longer one might not fit into a request.
const MAX_CURSOR_BYTES: usize = 4096;

/// Marks bytes that are not UTF-8. It is a noncharacter, so no valid text contains it.
const NOT_UTF8: char = '\u{FFFF}';

fn malformed(error: &serde_json::Error) -> MarketplaceError {
    MarketplaceError::Malformed(error.to_string())
}

/// Reads an answer, which must be an object.
fn read<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, MarketplaceError> {
    let Object(answer) = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
    Ok(answer)
}

// ---- the feed

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FeedBody<'a> {
    #[serde(borrow)]
    jobs: Vec<&'a RawValue>,
    cursor: String,
    has_more: bool,
}

/// Reads the page of the feed after the cursor `after`.
pub(crate) fn feed_page(body: &[u8], after: Option<&FeedCursor>) -> Result<FeedPage, MarketplaceError> {
    let text = marked_utf8(body);
    let page: FeedBody<'_> = read(text.as_bytes())?;
    let cursor = FeedCursor(page.cursor);
    if cursor.0.len() > MAX_CURSOR_BYTES {
        return Err(MarketplaceError::Malformed(format!(
            "the cursor is longer than {MAX_CURSOR_BYTES} bytes"
        )));
    }
    if page.has_more && after == Some(&cursor) {
        // The same page would be read for ever.
        return Err(MarketplaceError::Malformed(
            "hasMore is true, but the cursor does not move".to_owned(),
        ));
    }
    let damaged = matches!(text, Cow::Owned(_));
    let entries = page
        .jobs
        .into_iter()
        .map(|entry| feed_entry(entry.get(), damaged))
        .collect();
    Ok(FeedPage {
        entries,
        cursor,
        has_more: page.has_more,
    })
}

fn feed_entry(json: &str, page_is_damaged: bool) -> FeedEntry {
    let parsed = if page_is_damaged && json.contains(NOT_UTF8) {
        Err("contains bytes that are not UTF-8".to_owned())
    } else {
        JobPost::parse_feed_entry(json).map_err(|error| error.to_string())
    };
    match parsed {
        Ok(post) => FeedEntry::Job {
            post: Box::new(post),
            json: json.to_owned(),
        },
        Err(fault) => FeedEntry::Malformed {
            id: entry_id(json),
            fault: shortened(&fault),
        },
    }
}

/// The id of a malformed entry, if it has one.
fn entry_id(json: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Id<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let id = serde_json::from_str::<Id<'_>>(json).ok()?.id.get();
    serde_json::from_str::<String>(id).ok().map(|id| shortened(&id))
}

/// The body as text. Bytes that are not UTF-8 are marked, so that only the entry that contains them is refused.
fn marked_utf8(body: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(body) {
        return Cow::Borrowed(text);
    }
    let mut marked = String::with_capacity(body.len());
    for chunk in body.utf8_chunks() {
        marked.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            marked.push(NOT_UTF8);
        }
    }
    Cow::Owned(marked)
}

// ---- a job's live state

#[derive(Deserialize)]
struct JobBody<'a> {
    #[serde(borrow)]
    job: &'a RawValue,
    state: Object<LiveJobState>,
}

/// Reads the live state of the job `asked`.
pub(crate) fn live_job(body: &[u8], asked: &JobId) -> Result<LiveJob, MarketplaceError> {
    let JobBody {
        job,
        state: Object(mut state),
    } = read(body)?;
    let post =
        JobPost::parse(job.get()).map_err(|error| MarketplaceError::Malformed(format!("job: {error}")))?;
    if post.id != *asked {
        return Err(MarketplaceError::Malformed(format!(
            "requested job {asked}, got job {}",
            post.id
        )));
    }
    // The protocol lists them highest first. The boost would be wrong if they were in another order.
    state.boosts.sort_unstable_by(|a, b| b.cmp(a));
    Ok(LiveJob { post, state })
}

// ---- an account

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccountBody {
    id: String,
    name: String,
    #[serde(deserialize_with = "whole_number")]
    connects_balance: i64,
    profile_hourly_rate: Option<f64>,
}

/// Reads the live state of an account.
pub(crate) fn live_account(body: &[u8]) -> Result<LiveAccount, MarketplaceError> {
    let account: AccountBody = read(body)?;
    Ok(LiveAccount {
        id: account.id,
        name: account.name,
        // A negative balance pays for as much as an empty one.
        connects_balance: Connects::new(u64::try_from(account.connects_balance).unwrap_or(0)),
        profile_hourly_rate: account.profile_hourly_rate,
    })
}

// ---- uploads and proposals

#[derive(Deserialize)]
struct UploadedBody {
    #[serde(deserialize_with = "not_empty")]
    id: String,
}

/// Reads the id of an uploaded file.
pub(crate) fn uploaded(body: &[u8]) -> Result<String, MarketplaceError> {
    read::<UploadedBody>(body).map(|uploaded| uploaded.id)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProposalBody<'a> {
    job_id: &'a str,
    cover_letter: &'a str,
    answers: &'a [QuestionAnswerPair],
    terms: Terms,
    boost_connects: Connects,
    attachments: &'a [String],
    accept_warnings: bool,
}

/// Writes the body of `POST /api/proposals`.
pub(crate) fn proposal_json(proposal: &Proposal) -> Vec<u8> {
    let body = ProposalBody {
        job_id: proposal.job_id.as_str(),
        cover_letter: proposal.cover_letter.as_str(),
        answers: &proposal.answers,
        terms: proposal.terms,
        boost_connects: proposal.boost_connects,
        attachments: &proposal.attachments,
        accept_warnings: proposal.accept_warnings,
    };
    #[expect(
        clippy::expect_used,
        reason = "texts, numbers and lists of them always have a JSON form"
    )]
    serde_json::to_vec(&body).expect("a proposal has a JSON form")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SubmittedBody {
    #[serde(deserialize_with = "not_empty")]
    proposal_id: String,
    connects_spent: Connects,
    #[serde(deserialize_with = "whole_number")]
    submitted_at: i64,
}

/// Reads the answer to an accepted proposal.
pub(crate) fn submitted(body: &[u8]) -> Result<SubmittedProposal, MarketplaceError> {
    let submitted: SubmittedBody = read(body)?;
    Ok(SubmittedProposal {
        proposal_id: submitted.proposal_id,
        connects_spent: submitted.connects_spent,
        submitted_at: Timestamp::from_millis(submitted.submitted_at),
    })
}

// ---- refusals

/// The readable fields of the body of an error; none if it is not JSON.
#[derive(Debug, Default)]
pub(crate) struct RefusalBody {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) proposal_id: Option<String>,
}

impl RefusalBody {
    pub(crate) fn read(body: &[u8]) -> Self {
        let value: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |member: &str| {
            value
                .get(member)
                .and_then(serde_json::Value::as_str)
                .map(str::to_owned)
        };
        Self {
            code: text("code").unwrap_or_default(),
            message: text("message").unwrap_or_default(),
            proposal_id: text("proposalId").filter(|id| !id.is_empty()),
        }
    }
}

// ---- values

fn not_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        Err(D::Error::custom("expected a text that is not empty"))
    } else {
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(id: &str) -> String {
        format!(
            r#"{{"id":"{id}", "ciphertext":"~{id}","title":"T","description":"D","url":"/jobs/~{id}","postedAt":1}}"#
        )
    }

    fn page(jobs: &str) -> FeedPage {
        feed_page(
            format!(r#"{{"jobs":[{jobs}],"cursor":"c2","hasMore":true}}"#).as_bytes(),
            Some(&FeedCursor("c1".to_owned())),
        )
        .unwrap()
    }

    #[test]
    fn messages_are_cut_to_one_line_of_bounded_length() {
        assert_eq!(shortened("  two\r\nlines "), "two lines");
        let long = shortened(&"ä".repeat(1000));
        assert_eq!(long.chars().count(), MESSAGE_CHARS + 1);
        assert!(long.ends_with("ä…"));
    }

    #[test]
    fn an_entry_keeps_its_json_byte_for_byte() {
        let written = post("7").replace("\"D\"", "\"caf\\u00e9  \\/ é\"");
        let page = page(&format!(" {written} "));
        let FeedEntry::Job { post, json } = &page.entries[0] else {
            panic!("{page:?}")
        };
        assert_eq!((json, post.description.as_str()), (&written, "café  / é"));
        assert_eq!((page.cursor.0.as_str(), page.has_more), ("c2", true));
    }

    #[test]
    fn a_malformed_entry_is_reported_and_affects_no_other() {
        let bad_title = post("8").replace("\"T\"", "5");
        let page = page(&format!(
            r#"{},{bad_title},null,{{"id":9}},{}"#,
            post("7"),
            post("10")
        ));
        let entries: Vec<_> = page
            .entries
            .iter()
            .map(|entry| match entry {
                FeedEntry::Job { post, .. } => format!("job {}", post.id),
                FeedEntry::Malformed { id, fault } => format!("{id:?} {fault}"),
            })
            .collect();
        assert_eq!(entries[0], "job 7");
        assert!(entries[1].starts_with("Some(\"8\") title: "), "{}", entries[1]);
        assert!(entries[2].starts_with("None "), "{}", entries[2]);
        assert!(entries[3].starts_with("None id: "), "{}", entries[3]);
        assert_eq!(entries[4], "job 10");
    }

    #[test]
    fn bytes_that_are_not_utf8_affect_only_their_entry() {
        let mut body = format!(r#"{{"jobs":[{},"#, post("7")).into_bytes();
        body.extend(
            post("8")
                .replace("\"T\"", "\"#\"")
                .into_bytes()
                .iter()
                .map(|b| if *b == b'#' { 0xFF } else { *b }),
        );
        body.extend_from_slice(br#"],"cursor":"c","hasMore":false}"#);
        let page = feed_page(&body, None).unwrap();
        assert!(matches!(&page.entries[0], FeedEntry::Job { .. }));
        let FeedEntry::Malformed { id, fault } = &page.entries[1] else {
            panic!("{page:?}")
        };
        assert_eq!(
            (id.as_deref(), fault.as_str()),
            (Some("8"), "contains bytes that are not UTF-8")
        );
    }

    #[test]
    fn a_page_without_its_members_is_malformed() {
        for (body, problem) in [
            (r#"{"jobs":[],"hasMore":false}"#, "missing field `cursor`"),
            (r#"{"jobs":[],"cursor":"c"}"#, "missing field `hasMore`"),
            (r#"{"cursor":"c","hasMore":false}"#, "missing field `jobs`"),
            (
                r#"{"jobs":[],"cursor":null,"hasMore":false}"#,
                "invalid type: null",
            ),
            (r#"{"jobs":{},"cursor":"c","hasMore":false}"#, "invalid type: map"),
            (
                r#"{"jobs":[{]},"cursor":"c","hasMore":false}"#,
                "key must be a string",
            ),
            ("<html>", "expected value"),
            ("", "EOF"),
            (
                r#"{"jobs":[],"cursor":"c1","hasMore":true}"#,
                "the cursor does not move",
            ),
        ] {
            let error = feed_page(body.as_bytes(), Some(&FeedCursor("c1".to_owned()))).unwrap_err();
            let MarketplaceError::Malformed(message) = error else {
                panic!("{error:?}")
            };
            assert!(message.contains(problem), "{body}: {message}");
        }
        assert!(
            feed_page(
                br#"{"jobs":[],"cursor":"c1","hasMore":false}"#,
                Some(&FeedCursor("c1".to_owned()))
            )
            .is_ok(),
            "drained"
        );
    }

    #[test]
    fn integers_may_be_written_as_floats_but_not_be_fractions() {
        let account = |balance: &str| {
            live_account(
                format!(r#"{{"id":"a","name":"A","connectsBalance":{balance},"profileHourlyRate":null}}"#)
                    .as_bytes(),
            )
        };
        assert_eq!(account("12.0").unwrap().connects_balance, Connects::new(12));
        assert_eq!(account("-3").unwrap().connects_balance, Connects::ZERO);
        for odd in ["12.5", "1e300", "\"12\"", "null"] {
            assert!(
                matches!(account(odd), Err(MarketplaceError::Malformed(_))),
                "{odd}"
            );
        }
    }

    #[test]
    fn a_refusal_that_is_not_json_has_no_code() {
        let refusal = RefusalBody::read(b"<html>");
        assert_eq!(
            (
                refusal.code.as_str(),
                refusal.message.as_str(),
                refusal.proposal_id
            ),
            ("", "", None)
        );
        let refusal = RefusalBody::read(br#"{"code": 5, "message": "no", "proposalId": "p"}"#);
        assert_eq!((refusal.code.as_str(), refusal.message.as_str()), ("", "no"));
        assert_eq!(refusal.proposal_id.as_deref(), Some("p"));
    }
}
