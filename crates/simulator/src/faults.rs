//! Faults that tests request: which calls fail, how, and how often. `server` applies them.

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One fault of `PUT /sim/faults`.
///
/// Effects combine. `delayMs` passes before the call is executed. With `dropAfterCommit` the call is executed, and then the
/// connection is closed without an answer; with `hang` it stays open without one, and with `status` the answer is a gateway's
/// page with that status, or `body`. Without `dropAfterCommit`, `hang` and `status` prevent the call. `malformed` truncates the JSON of the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Fault {
    /// `METHOD path`; a segment in angle brackets matches any: `GET /api/jobs/<id>`.
    pub(crate) call: String,
    /// How many calls get the fault; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) times: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    /// The header `Retry-After` of a `status` answer: seconds, or a date as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after: Option<RetryAfter>,
    /// The body of a `status` answer instead of `{"code", "message"}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delay_ms: Option<u64>,
    #[serde(default)]
    pub(crate) hang: bool,
    #[serde(default)]
    pub(crate) drop_after_commit: bool,
    #[serde(default)]
    pub(crate) malformed: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum RetryAfter {
    Seconds(u64),
    Text(String),
}

impl std::fmt::Display for RetryAfter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Seconds(seconds) => seconds.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Fault {
    fn check(&self) -> Result<(), String> {
        let (method, path) = self
            .call
            .split_once(' ')
            .ok_or("call: expected METHOD and path")?;
        if !["GET", "POST"].contains(&method) || !path.starts_with("/api/") {
            return Err(format!("call: {} is not a call of the protocol", self.call));
        }
        if self.status.is_some_and(|status| !(200..600).contains(&status)) {
            return Err("status: expected 200 to 599".to_owned());
        }
        let effect = self.status.is_some()
            || self.delay_ms.is_some()
            || self.hang
            || self.drop_after_commit
            || self.malformed;
        if effect {
            Ok(())
        } else {
            Err("names no effect".to_owned())
        }
    }

    fn matches(&self, method: &Method, segments: &[String]) -> bool {
        let Some((wanted, path)) = self.call.split_once(' ') else {
            return false;
        };
        let mut pattern = path.split('/').skip(1);
        wanted == method.as_str()
            && segments.iter().all(|segment| {
                pattern
                    .next()
                    .is_some_and(|part| part == segment || (part.starts_with('<') && part.ends_with('>')))
            })
            && pattern.next().is_none()
    }
}

/// The active faults, in the order of the request.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    active: Vec<Fault>,
    applied: u64,
}

impl Faults {
    /// Reads a list of faults. An error starts with the index of the faulty one.
    pub(crate) fn parse(body: &Value) -> Result<Vec<Fault>, String> {
        let Value::Array(items) = body else {
            return Err("expected an array of faults".to_owned());
        };
        items
            .iter()
            .enumerate()
            .map(|(index, item)| {
                if !item.is_object() {
                    return Err(format!("[{index}]: expected an object"));
                }
                let fault = Fault::deserialize(item).map_err(|error| format!("[{index}]: {error}"))?;
                fault.check().map_err(|error| format!("[{index}]: {error}"))?;
                Ok(fault)
            })
            .collect()
    }

    /// Replaces the active faults.
    pub(crate) fn put(&mut self, faults: Vec<Fault>) {
        self.active = faults;
    }

    pub(crate) fn active(&self) -> &[Fault] {
        &self.active
    }

    /// How many calls have got a fault.
    pub(crate) fn applied(&self) -> u64 {
        self.applied
    }

    /// Returns the first active fault of this call and counts it down.
    pub(crate) fn take(&mut self, method: &Method, segments: &[String]) -> Option<Fault> {
        let index = self
            .active
            .iter()
            .position(|fault| fault.times != Some(0) && fault.matches(method, segments))?;
        let fault = self.active[index].clone();
        if let Some(times) = &mut self.active[index].times {
            *times -= 1;
            if *times == 0 {
                self.active.remove(index);
            }
        }
        self.applied += 1;
        Some(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn segments(path: &str) -> Vec<String> {
        path.split('/').skip(1).map(str::to_owned).collect()
    }

    fn faults(body: &Value) -> Faults {
        let mut faults = Faults::default();
        faults.put(Faults::parse(body).unwrap());
        faults
    }

    #[test]
    fn faults_of_one_call_apply_in_order_and_run_out() {
        let mut faults = faults(&json!([
            {"call": "POST /api/proposals", "times": 2, "status": 503},
            {"call": "POST /api/proposals", "times": 1, "dropAfterCommit": true},
        ]));
        let path = segments("/api/proposals");
        let mut next = || faults.take(&Method::POST, &path).map(|fault| fault.status);
        assert_eq!(
            [next(), next(), next(), next()],
            [Some(Some(503)), Some(Some(503)), Some(None), None]
        );
        assert_eq!(faults.applied(), 3);
    }

    #[test]
    fn a_segment_in_brackets_matches_any_one_segment() {
        let mut faults = faults(&json!([{"call": "GET /api/jobs/<id>", "hang": true}]));
        assert!(faults.take(&Method::GET, &segments("/api/jobs/17")).is_some());
        for (method, path) in [
            (Method::GET, "/api/jobs"),
            (Method::GET, "/api/jobs/17/x"),
            (Method::POST, "/api/jobs/17"),
        ] {
            assert!(faults.take(&method, &segments(path)).is_none(), "{method} {path}");
        }
    }

    #[test]
    fn faulty_faults_are_refused_by_index() {
        for (body, message) in [
            (json!({}), "expected an array of faults"),
            (json!([{"call": "GET /api/jobs"}]), "[0]: names no effect"),
            (
                json!([{"call": "GET /sim/jobs", "hang": true}]),
                "[0]: call: GET /sim/jobs is not a call of the protocol",
            ),
            (
                json!([{"call": "GET /api/jobs", "status": 99}]),
                "[0]: status: expected 200 to 599",
            ),
        ] {
            assert_eq!(Faults::parse(&body).unwrap_err(), message);
        }
        assert!(
            Faults::parse(&json!([{"call": "GET /api/jobs", "hangs": true}]))
                .unwrap_err()
                .contains("hangs")
        );
    }
}
