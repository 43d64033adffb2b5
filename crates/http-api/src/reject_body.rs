//! The optional body of a rejection (specification, `RejectLeadRequest`).

use bidloop_domain::model::read_json;
use bidloop_domain::use_case::LeadError;
use validator::Validate;

use crate::bid_body::storable;
use crate::fault_list::{FaultList, Members};

#[derive(Debug, Default, Validate)]
struct RejectLeadRequest {
    #[validate(
        length(max = 500, message = "must be at most 500 characters long"),
        custom(function = "storable")
    )]
    reason: Option<String>,
}

/// Reads a rejection's reason; no body at all is none.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<String>, LeadError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let value = read_json(bytes).map_err(LeadError::Malformed)?;
    let mut faults = FaultList::default();
    let mut request = RejectLeadRequest::default();
    if let Some(mut members) = Members::of(value, &[], &mut faults) {
        request.reason = members.optional_string("reason");
        members.refuse_others();
    }
    if let Err(errors) = request.validate() {
        faults.extend_validated(&errors, &[]);
    }
    if faults.is_empty() {
        Ok(request.reason)
    } else {
        Err(LeadError::Malformed(faults.into_faults()))
    }
}

#[cfg(test)]
mod tests {
    use bidloop_domain::use_case::MAX_REASON_CHARS;
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
