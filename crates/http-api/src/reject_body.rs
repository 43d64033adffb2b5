//! The optional body of a rejection (specification, `RejectLeadRequest`).

use bidloop_domain::matching::json::{Null, storable_text};
use bidloop_domain::use_case::{LeadError, MAX_REASON_CHARS};
use serde_json::Value;
use validator::ValidateLength;

use crate::request_json::{Object, read_object, read_outline};

/// Reads the reason of a rejection. The body may be empty.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<String>, LeadError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    read_object(read_outline(bytes, Object(&["reason"]))?, |fields| {
        Some(fields.field("reason", Null::Refused, reason).given())
    })
}

fn reason(value: &Value) -> Result<String, String> {
    let reason = storable_text(value)?;
    if reason.validate_length(None, Some(MAX_REASON_CHARS as u64), None) {
        Ok(reason)
    } else {
        Err(format!("must be at most {MAX_REASON_CHARS} characters long"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(body: &[u8]) -> Vec<String> {
        match parse(body) {
            Err(LeadError::Malformed(faults)) => faults.iter().map(|fault| fault.path.join(".")).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_body_and_the_reason_may_be_left_out() {
        assert_eq!(parse(b""), Ok(None));
        assert_eq!(parse(b"{}"), Ok(None));
        assert_eq!(parse(br#"{"reason": ""}"#), Ok(Some(String::new())));
    }

    #[test]
    fn a_reason_of_500_unicode_characters_passes_and_one_more_does_not() {
        let longest = "é".repeat(MAX_REASON_CHARS);
        let body = json!({"reason": longest}).to_string();
        assert_eq!(parse(body.as_bytes()), Ok(Some(longest.clone())));
        let body = json!({"reason": format!("{longest}x")}).to_string();
        assert_eq!(faults(body.as_bytes()), ["reason"]);
    }

    #[test]
    fn null_wrong_types_unknown_fields_and_nul_are_refused() {
        assert_eq!(faults(br#"{"reason": null}"#), ["reason"]);
        assert_eq!(faults(br#"{"reason": 5, "why": 1}"#), ["reason", "why"]);
        assert_eq!(faults(br#"{"reason": "a\u0000"}"#), ["reason"]);
        assert_eq!(faults(b"null"), [""]);
        assert_eq!(faults(b"{"), [""]);
    }
}
