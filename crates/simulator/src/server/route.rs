//! Maps a request line to a call: path, method and query string.

use http::{Method, StatusCode};

use percent_encoding::percent_decode_str;

use crate::answer::{Answer, Refusal};

/// A call that the simulator answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    Feed,
    Job(String),
    Account,
    Attach,
    Propose,
    JobPage(String),
    SimPublish,
    SimJobs,
    SimPatchJob(String),
    SimPutAccount(String),
    SimAccount(String),
    SimRevokeToken(String),
    SimProposals,
    SimAttachments,
    SimPutFaults,
    SimFaults,
    SimStats,
}

impl Call {
    /// The call's name in the statistics.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Feed => "GET /api/jobs",
            Self::Job(_) => "GET /api/jobs/<id>",
            Self::Account => "GET /api/account",
            Self::Attach => "POST /api/attachments",
            Self::Propose => "POST /api/proposals",
            _ => "other",
        }
    }

    /// Whether the call belongs to the protocol. Only such calls are counted and can get a fault.
    pub(super) fn is_protocol(&self) -> bool {
        matches!(
            self,
            Self::Feed | Self::Job(_) | Self::Account | Self::Attach | Self::Propose
        )
    }
}

/// The decoded segments of a path.
pub(super) fn segments(path: &str) -> Vec<String> {
    let decode = |segment| percent_decode_str(segment).decode_utf8_lossy().into_owned();
    path.split('/').skip(1).map(decode).collect()
}

/// Returns the call, or 404 for an unknown path and 405 for a wrong method.
pub(super) fn route(method: &Method, segments: &[String]) -> Result<Call, Answer> {
    let path: Vec<&str> = segments.iter().map(String::as_str).collect();
    call(method.as_str(), &path).ok_or_else(|| refusal(&path))
}

fn call(method: &str, path: &[&str]) -> Option<Call> {
    Some(match (method, path) {
        ("GET", ["api", "jobs"]) => Call::Feed,
        ("GET", ["api", "jobs", id]) => Call::Job((*id).to_owned()),
        ("GET", ["api", "account"]) => Call::Account,
        ("POST", ["api", "attachments"]) => Call::Attach,
        ("POST", ["api", "proposals"]) => Call::Propose,
        ("GET", ["jobs", ciphertext]) => Call::JobPage((*ciphertext).to_owned()),
        ("POST", ["sim", "jobs"]) => Call::SimPublish,
        ("GET", ["sim", "jobs"]) => Call::SimJobs,
        ("PATCH", ["sim", "jobs", id]) => Call::SimPatchJob((*id).to_owned()),
        ("PUT", ["sim", "accounts", token]) => Call::SimPutAccount((*token).to_owned()),
        ("GET", ["sim", "accounts", token]) => Call::SimAccount((*token).to_owned()),
        ("DELETE", ["sim", "accounts", token]) => Call::SimRevokeToken((*token).to_owned()),
        ("GET", ["sim", "proposals"]) => Call::SimProposals,
        ("GET", ["sim", "attachments"]) => Call::SimAttachments,
        ("PUT", ["sim", "faults"]) => Call::SimPutFaults,
        ("GET", ["sim", "faults"]) => Call::SimFaults,
        ("GET", ["sim", "stats"]) => Call::SimStats,
        _ => return None,
    })
}

fn refusal(path: &[&str]) -> Answer {
    let mut allowed = vec!["GET", "POST", "PUT", "PATCH", "DELETE"];
    allowed.retain(|method| call(method, path).is_some());
    if allowed.is_empty() {
        return Refusal::new(StatusCode::NOT_FOUND, "not_found", "no such path").into();
    }
    let allow = allowed.join(", ");
    let refusal = Refusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        format!("allowed: {allow}"),
    );
    Answer {
        allow: Some(allow),
        ..refusal.into()
    }
}

/// The decoded value of a query parameter, the first one if it is repeated.
pub(super) fn query(query: Option<&str>, name: &str) -> Option<String> {
    form_urlencoded::parse(query?.as_bytes())
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routed(method: &Method, path: &str) -> Result<Call, (u16, Option<String>)> {
        route(method, &segments(path)).map_err(|answer| (answer.status.as_u16(), answer.allow))
    }

    #[test]
    fn ids_and_tokens_are_decoded() {
        assert_eq!(
            routed(&Method::GET, "/api/jobs/a%2Fb%20c%zz"),
            Ok(Call::Job("a/b c%zz".to_owned()))
        );
        assert_eq!(
            query(Some("limit=5&after=a%2bb+c"), "after").as_deref(),
            Some("a+b c")
        );
        assert_eq!(query(Some("limit"), "limit").as_deref(), Some(""));
        assert_eq!(query(Some("limit=5"), "after"), None);
    }

    #[test]
    fn a_wrong_method_is_405_and_an_unknown_path_404() {
        for (method, path, answer) in [
            (Method::POST, "/api/jobs", (405, Some("GET"))),
            (Method::PUT, "/api/jobs/1", (405, Some("GET"))),
            (Method::GET, "/api/proposals", (405, Some("POST"))),
            (Method::DELETE, "/sim/jobs", (405, Some("GET, POST"))),
            (Method::GET, "/sim/jobs/1", (405, Some("PATCH"))),
            (Method::GET, "/", (404, None)),
            (Method::GET, "/api/jobs/1/2", (404, None)),
        ] {
            let (status, allow): (u16, Option<&str>) = answer;
            let answer = (status, allow.map(str::to_owned));
            assert_eq!(routed(&method, path), Err(answer), "{method} {path}");
        }
    }
}
