//! Reads a tool's arguments strictly, and reports all their faults at once (decision A2).

use bidloop_domain::matching::json::{Faults, Field, Fields, Null, Path, storable_text, wrong_type};
use bidloop_domain::model::{CampaignId, FieldError, LeadId, Timestamp};
use bidloop_domain::use_case::LeadError;
use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The most faults in one answer.
const MOST_FAULTS: usize = 50;

/// Reads the arguments with `read`, which may return `None` only after reporting a fault. Arguments that it does not read
/// are unknown, which is a fault.
pub(crate) fn read<T>(
    arguments: Map<String, Value>,
    read: impl FnOnce(&mut Fields<'_, '_>) -> Option<T>,
) -> Result<T, LeadError> {
    let arguments = Value::Object(arguments);
    let mut faults = Faults::with_limit(MOST_FAULTS);
    let object = Fields::read(&arguments, Path::Document, &mut faults, read).flatten();
    match object {
        Some(object) if faults.is_empty() => Ok(object),
        _ => Err(LeadError::Malformed(faults.into_errors())),
    }
}

/// The campaign. A text that is no id names an unknown one.
pub(crate) fn campaign(fields: &mut Fields<'_, '_>) -> Option<Result<CampaignId, LeadError>> {
    let id = fields.required("campaignId", storable_text)?;
    Some(CampaignId::parse(&id).map_err(|_| LeadError::CampaignUnknown))
}

/// The lead. A text that is no id names an unknown one.
pub(crate) fn lead(fields: &mut Fields<'_, '_>) -> Option<Result<LeadId, LeadError>> {
    let id = fields.required("leadId", storable_text)?;
    Some(LeadId::parse(&id).map_err(|_| LeadError::LeadUnknown))
}

/// A campaign and a lead, the arguments of most tools.
pub(crate) fn campaign_and_lead(arguments: Map<String, Value>) -> Result<(CampaignId, LeadId), LeadError> {
    let (campaign, lead) = read(arguments, |fields| {
        let (campaign, lead) = (campaign(fields), lead(fields));
        Some((campaign?, lead?))
    })?;
    Ok((campaign?, lead?))
}

/// No arguments.
pub(crate) fn none(arguments: &Map<String, Value>) -> Result<(), LeadError> {
    let unknown = arguments.keys().take(MOST_FAULTS);
    let faults: Vec<FieldError> = unknown
        .map(|name| FieldError::new(&[""; 0], "unknown field; the tool takes no arguments").at(name))
        .collect();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(LeadError::Malformed(faults))
    }
}

/// A whole number within bounds. One beyond them counts as the nearer bound, as in the API's List (decision A4).
pub(crate) fn whole(
    fields: &mut Fields<'_, '_>,
    name: &'static str,
    (least, most): (u64, u64),
    default: u64,
) -> Option<u64> {
    let read = |value: &Value| {
        if let Some(number) = value.as_u64() {
            Ok(number.clamp(least, most))
        } else if value.as_i64().is_some() {
            Ok(least)
        } else {
            Err(wrong_type("an integer", value))
        }
    };
    match fields.field(name, Null::Refused, read) {
        Field::Absent => Some(default),
        field => field.given(),
    }
}

/// One word of a list.
pub(crate) fn word<T: std::str::FromStr>(value: &Value, words: &[&str]) -> Result<T, String> {
    let text = value.as_str().ok_or_else(|| wrong_type("a string", value))?;
    text.parse()
        .map_err(|_| format!("must be one of {}", words.join(", ")))
}

/// A moment: RFC 3339, or UNIX milliseconds.
pub(crate) fn moment(value: &Value) -> Result<Timestamp, String> {
    if let Some(millis) = value.as_i64() {
        return Ok(Timestamp::from_millis(millis));
    }
    let text = value
        .as_str()
        .ok_or_else(|| wrong_type("a date and time", value))?;
    let moment = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| {
        "must be an RFC 3339 date and time such as 2027-01-31T12:00:00Z, or UNIX milliseconds".to_owned()
    })?;
    let millis = moment.unix_timestamp_nanos().div_euclid(1_000_000);
    Ok(Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults<T: std::fmt::Debug>(read: Result<T, LeadError>) -> Vec<String> {
        match read {
            Err(LeadError::Malformed(faults)) => faults.iter().map(ToString::to_string).collect(),
            other => panic!("{other:?}"),
        }
    }

    fn map(value: Value) -> Map<String, Value> {
        let Value::Object(map) = value else {
            panic!("{value}")
        };
        map
    }

    #[test]
    fn all_faults_of_arguments_are_reported_at_once() {
        let read = campaign_and_lead(map(json!({"campaignId": 5, "lead": "ld_1"})));
        assert_eq!(
            faults(read),
            [
                "campaignId: must be a string, not a number",
                "leadId: is required",
                "lead: unknown field; the fields here are campaignId, leadId"
            ]
        );
        assert_eq!(
            faults(none(&map(json!({"x": 1})))),
            ["x: unknown field; the tool takes no arguments"]
        );
    }

    #[test]
    fn a_text_that_is_no_id_names_nothing() {
        let read = |campaign: &str, lead: &str| {
            campaign_and_lead(map(json!({"campaignId": campaign, "leadId": lead}))).unwrap_err()
        };
        assert_eq!(read("a/b", "ld_1"), LeadError::CampaignUnknown);
        assert_eq!(read("camp", ""), LeadError::LeadUnknown);
    }

    #[test]
    fn numbers_beyond_their_bounds_count_as_the_nearer_one() {
        let limit = |arguments| super::read(map(arguments), |fields| whole(fields, "limit", (1, 100), 20));
        for (given, used) in [
            (json!({}), 20),
            (json!({"limit": 0}), 1),
            (json!({"limit": -5}), 1),
            (json!({"limit": 1000}), 100),
        ] {
            assert_eq!(limit(given), Ok(used));
        }
        for wrong in [json!("10"), json!(1.5), json!(null)] {
            assert_eq!(faults(limit(json!({"limit": wrong}))).len(), 1);
        }
    }

    #[test]
    fn a_moment_is_a_date_and_time_or_milliseconds() {
        let expected = Ok(Timestamp::from_millis(1_790_000_000_000));
        assert_eq!(moment(&json!(1_790_000_000_000_i64)), expected);
        assert_eq!(moment(&json!("2026-09-21T14:13:20Z")), expected);
        assert!(moment(&json!("tomorrow")).is_err() && moment(&json!(true)).is_err());
    }
}
