//! Reads the JSON object in a request body strictly, and reports all its faults at once (decision A2).

use bidloop_domain::matching::json::{Faults, Fields, Path};
use bidloop_domain::model::read_json;
use bidloop_domain::use_case::LeadError;

/// The most faults in one answer. It keeps answers from being many times as large as their requests.
const MOST_FAULTS: usize = 50;

/// Reads the object with `read`, which may return `None` only after reporting a fault.
pub(crate) fn read_object<T>(
    bytes: &[u8],
    read: impl FnOnce(&mut Fields<'_, '_>) -> Option<T>,
) -> Result<T, LeadError> {
    let value = read_json(bytes).map_err(LeadError::Malformed)?;
    let mut faults = Faults::with_limit(MOST_FAULTS);
    let object = Fields::read(&value, Path::Document, &mut faults, read).flatten();
    match object {
        Some(object) if faults.is_empty() => Ok(object),
        _ => Err(LeadError::Malformed(faults.into_errors())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_lists_a_limited_number_of_faults() {
        let fields: Vec<String> = (0..1_000).map(|n| format!("\"b{n}\": 1")).collect();
        let body = format!("{{{}}}", fields.join(","));
        let Err(LeadError::Malformed(faults)) = read_object(body.as_bytes(), |_| Some(())) else {
            panic!("unknown fields are refused")
        };
        assert_eq!(faults.len(), MOST_FAULTS);
    }
}
