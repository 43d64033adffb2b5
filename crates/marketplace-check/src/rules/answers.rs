//! What holds for every answer, and for connections.

use http::Version;
use http::header::{CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};

use super::{Flaw, Judgement, broken, not_tried};
use crate::answer::{Answer, Asked, NoAnswer};
use crate::observed::Observed;

/// Every call that was made.
fn calls(seen: &Observed) -> Result<impl Iterator<Item = &Asked>, Flaw> {
    if seen.calls.is_empty() {
        return Err(not_tried("no call was made"));
    }
    Ok(seen
        .calls
        .iter()
        .filter(|asked| !matches!(asked.outcome, Err(NoAnswer::NotAsked))))
}

/// Every answer.
fn answers(seen: &Observed) -> Result<Vec<(&Asked, &Answer)>, Flaw> {
    let answers: Vec<_> = calls(seen)?
        .filter_map(|asked| Some((asked, asked.outcome.as_ref().ok()?)))
        .collect();
    if answers.is_empty() {
        return Err(not_tried(
            "no call was answered: see answers.complete and answers.in-time",
        ));
    }
    Ok(answers)
}

pub(super) fn complete(seen: &Observed) -> Judgement {
    let mut faulty = calls(seen)?.filter(|asked| !matches!(asked.outcome, Ok(_) | Err(NoAnswer::Late(_))));
    match faulty.next() {
        Some(asked) => broken("a whole answer", asked.shown()),
        None => Ok(()),
    }
}

pub(super) fn in_time(seen: &Observed) -> Judgement {
    let mut late = calls(seen)?.filter(|asked| matches!(asked.outcome, Err(NoAnswer::Late(_))));
    match late.next() {
        Some(asked) => broken("an answer", asked.shown()),
        None => Ok(()),
    }
}

pub(super) fn content_type(seen: &Observed) -> Judgement {
    // What is not JSON at all breaks the rule of its call, or `answers.errors`.
    let mut json = answers(seen)?.into_iter().filter(|(_, answer)| answer.is_json);
    match json.find(|(_, answer)| !answer.is_declared_json()) {
        Some((asked, answer)) => broken(
            "Content-Type: application/json, and no Content-Encoding",
            format!(
                "{} → {} with the Content-Type {:?} and the Content-Encoding {:?}",
                asked.call,
                answer.status.as_u16(),
                answer.header(CONTENT_TYPE.as_str()),
                answer.header(CONTENT_ENCODING.as_str())
            ),
        ),
        None => Ok(()),
    }
}

pub(super) fn errors(seen: &Observed) -> Judgement {
    let mut errors = answers(seen)?
        .into_iter()
        .filter(|(_, answer)| answer.status.is_client_error() || answer.status.is_server_error());
    match errors.find(|(_, answer)| answer.error_body().is_none()) {
        Some((asked, _)) => broken("{\"code\": text, \"message\": text}", asked.shown()),
        None => Ok(()),
    }
}

pub(super) fn retry_after(seen: &Observed) -> Judgement {
    let limited: Vec<_> = answers(seen)?
        .into_iter()
        .filter(|(_, answer)| answer.status == 429)
        .collect();
    if limited.is_empty() {
        return Err(not_tried("no call was answered with 429"));
    }
    let says_when = |answer: &Answer| {
        let value = answer.header(RETRY_AFTER.as_str()).trim();
        value.parse::<u64>().is_ok() || httpdate::parse_http_date(value).is_ok()
    };
    match limited.iter().find(|(_, answer)| !says_when(answer)) {
        Some((asked, answer)) => broken(
            "Retry-After: seconds, or a date",
            format!(
                "{} → 429 with the Retry-After {:?}",
                asked.call,
                answer.header(RETRY_AFTER.as_str())
            ),
        ),
        None => Ok(()),
    }
}

pub(super) fn connections_kept(seen: &Observed) -> Judgement {
    let calls = &seen.connections.kept;
    let Some(Ok(first)) = calls.first().map(|asked| &asked.outcome) else {
        return Err(not_tried("the first call was not answered"));
    };
    let expected = "three calls on one connection";
    if first.version == Version::HTTP_10 {
        return broken(
            expected,
            "HTTP/1.0, which closes the connection after each answer",
        );
    }
    for (number, asked) in (1..).zip(calls) {
        match &asked.outcome {
            Ok(answer) if answer.header(CONNECTION.as_str()).eq_ignore_ascii_case("close") => {
                return broken(expected, format!("Connection: close after call {number}"));
            }
            Ok(_) => {}
            Err(NoAnswer::Late(_) | NoAnswer::NotAsked) => return Err(not_tried(asked.shown())),
            Err(_) => return broken(expected, format!("call {number}: {}", asked.shown())),
        }
    }
    Ok(())
}

pub(super) fn connections_after_refusal(seen: &Observed) -> Judgement {
    let expected = "401, and then 200 on the same connection";
    match seen.connections.after_refusal.as_slice() {
        [] => Err(not_tried("no upload was refused")),
        [refused, rest @ ..] => match &refused.outcome {
            Err(NoAnswer::Late(_) | NoAnswer::NotAsked) => Err(not_tried(refused.shown())),
            Err(_) => broken(expected, refused.shown()),
            Ok(_) => match rest.first().map(|next| (next, &next.outcome)) {
                None | Some((_, Ok(Answer { is_json: true, .. }))) => Ok(()),
                Some((next, Err(NoAnswer::Late(_) | NoAnswer::NotAsked))) => Err(not_tried(next.shown())),
                Some((next, _)) => broken(expected, format!("{}, then {}", refused.shown(), next.shown())),
            },
        },
    }
}
