//! The shapes of the protocol's answers, field by field. A test compares them with `docs/marketplace.yaml`.

use serde_json::Value;

/// The most faults of one value that a report names.
const MOST_FAULTS: usize = 3;

/// A field of an object.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) presence: Presence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The field must be there and is never null.
    Always,
    /// The field must be there, and may be null.
    OrNull,
    /// The field may be left out or null.
    Maybe,
}

/// What a field holds.
#[derive(Debug)]
pub(crate) enum Kind {
    Text,
    /// A text that is not empty.
    Id,
    /// One of these texts.
    Word(&'static [&'static str]),
    /// A whole number.
    Integer,
    /// A whole number from 0.
    Count,
    Number,
    Flag,
    Any,
    Object(&'static [Field]),
    List(&'static Kind),
}

const fn always(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        presence: Presence::Always,
    }
}

const fn or_null(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        presence: Presence::OrNull,
    }
}

const fn maybe(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        presence: Presence::Maybe,
    }
}

pub(crate) const FEED_PAGE: &[Field] = &[
    // Each job is judged by itself.
    always("jobs", Kind::List(&Kind::Any)),
    always("cursor", Kind::Id),
    always("hasMore", Kind::Flag),
];

pub(crate) const JOB_POST: &[Field] = &[
    always("id", Kind::Id),
    always("ciphertext", Kind::Text),
    always("title", Kind::Text),
    always("description", Kind::Text),
    always("url", Kind::Text),
    always("postedAt", Kind::Integer),
    maybe("category", Kind::Text),
    maybe("occupation", Kind::Text),
    maybe("skills", Kind::List(&Kind::Object(&[always("name", Kind::Text)]))),
    maybe("questions", Kind::List(&Kind::Text)),
    maybe("projectType", Kind::Text),
    maybe("projectDuration", Kind::Text),
    maybe("isFeatured", Kind::Flag),
    maybe("region", Kind::Word(&["Worldwide", "USOnly", "UKOnly"])),
    maybe("metadata", Kind::Object(METADATA)),
    maybe("clientInfo", Kind::Object(CLIENT_INFO)),
    maybe("attachments", Kind::List(&Kind::Object(ATTACHMENT))),
    maybe("vendorQualifications", Kind::Object(VENDOR_QUALIFICATIONS)),
    maybe("clientReviews", Kind::List(&Kind::Any)),
    maybe("openJobs", Kind::List(&Kind::Object(OPEN_JOB))),
];

const METADATA: &[Field] = &[
    maybe("experienceLevel", Kind::Text),
    maybe("paymentType", Kind::Text),
    maybe(
        "hourlyRate",
        Kind::Object(&[maybe("min", Kind::Number), maybe("max", Kind::Number)]),
    ),
    maybe("fixedPrice", Kind::Number),
    maybe("duration", Kind::Text),
    maybe("hours", Kind::Text),
];

const CLIENT_INFO: &[Field] = &[
    maybe("isPaymentVerified", Kind::Flag),
    maybe("isPhoneVerified", Kind::Flag),
    maybe("rating", Kind::Number),
    maybe("numberOfReviews", Kind::Integer),
    maybe("country", Kind::Text),
    maybe("region", Kind::Text),
    maybe("totalSpent", Kind::Number),
    maybe("numberOfHires", Kind::Integer),
    maybe("jobsPosted", Kind::Integer),
    maybe("hireRate", Kind::Number),
    maybe("memberSince", Kind::Text),
    maybe("activeEngagements", Kind::Integer),
    maybe("openJobs", Kind::Integer),
    maybe("companyIndustry", Kind::Text),
    maybe("companySize", Kind::Text),
    maybe("enterpriseClient", Kind::Flag),
    maybe("avgHourlyRatePaid", Kind::Number),
    maybe("companyId", Kind::Text),
];

const ATTACHMENT: &[Field] = &[
    always("fileName", Kind::Text),
    maybe("length", Kind::Integer),
    always("uri", Kind::Text),
];

const VENDOR_QUALIFICATIONS: &[Field] = &[
    maybe("location", Kind::Any),
    maybe("talentType", Kind::Word(&["Agency", "Independent", "ANY"])),
    maybe(
        "englishLevel",
        Kind::Word(&["BASIC", "CONVERSATIONAL", "FLUENT", "NATIVE_OR_BILINGUAL"]),
    ),
    maybe("minimumEarnings", Kind::Number),
    maybe("jobSuccessScore", Kind::Number),
    maybe("includeRisingTalent", Kind::Flag),
];

const OPEN_JOB: &[Field] = &[
    always("id", Kind::Id),
    always("ciphertext", Kind::Text),
    always("title", Kind::Text),
    maybe("type", Kind::Word(&["HOURLY", "FIXED"])),
    maybe("isPtcPrivate", Kind::Flag),
];

pub(crate) const JOB_STATE: &[Field] = &[
    always("status", Kind::Word(&["open", "closed"])),
    always("alreadyHired", Kind::Flag),
    always("warnings", Kind::List(&Kind::Object(WARNING))),
    always("boosts", Kind::List(&Kind::Count)),
    always("requiredConnects", Kind::Count),
];

const WARNING: &[Field] = &[always("code", Kind::Text), always("message", Kind::Text)];

pub(crate) const ACCOUNT: &[Field] = &[
    always("id", Kind::Id),
    always("name", Kind::Text),
    always("connectsBalance", Kind::Integer),
    or_null("profileHourlyRate", Kind::Number),
];

pub(crate) const UPLOADED_FILE: &[Field] = &[always("id", Kind::Id)];

pub(crate) const SUBMITTED_PROPOSAL: &[Field] = &[
    always("proposalId", Kind::Id),
    always("connectsSpent", Kind::Count),
    always("submittedAt", Kind::Integer),
];

/// Where an object departs from its fields; empty if it does not. Other fields than these are ignored.
pub(crate) fn faults(value: &Value, fields: &[Field]) -> Vec<String> {
    let mut faults = Vec::new();
    check_object("", value, fields, &mut faults);
    faults.truncate(MOST_FAULTS);
    faults
}

fn check_object(path: &str, value: &Value, fields: &[Field], faults: &mut Vec<String>) {
    let Some(object) = value.as_object() else {
        let place = if path.is_empty() { "the value" } else { path };
        return faults.push(format!("{place} is {}, expected an object", described(value)));
    };
    for field in fields {
        let place = if path.is_empty() {
            field.name.to_owned()
        } else {
            format!("{path}.{}", field.name)
        };
        match (object.get(field.name), field.presence) {
            (None, Presence::Maybe) | (Some(Value::Null), Presence::Maybe | Presence::OrNull) => {}
            (None, _) => faults.push(format!("{place} is missing")),
            (Some(value), _) => check(&place, value, &field.kind, faults),
        }
    }
}

fn check(place: &str, value: &Value, kind: &Kind, faults: &mut Vec<String>) {
    let (holds, expected) = match kind {
        Kind::Any => return,
        Kind::Object(fields) => return check_object(place, value, fields, faults),
        Kind::List(kind) => match value.as_array() {
            Some(items) => {
                for (index, item) in items.iter().enumerate() {
                    check(&format!("{place}[{index}]"), item, kind, faults);
                }
                return;
            }
            None => (false, "an array".to_owned()),
        },
        Kind::Text => (value.is_string(), "a string".to_owned()),
        Kind::Id => (
            value.as_str().is_some_and(|text| !text.is_empty()),
            "a string that is not empty".to_owned(),
        ),
        Kind::Word(words) => (
            value.as_str().is_some_and(|text| words.contains(&text)),
            format!("one of {}", words.join(", ")),
        ),
        Kind::Integer => (whole(value).is_some(), "a whole number".to_owned()),
        Kind::Count => (
            whole(value).is_some_and(|number| number >= 0),
            "a whole number from 0".to_owned(),
        ),
        Kind::Number => (value.is_number(), "a number".to_owned()),
        Kind::Flag => (value.is_boolean(), "true or false".to_owned()),
    };
    if !holds {
        faults.push(format!("{place} is {}, expected {expected}", described(value)));
    }
}

/// The whole number, which may be written as `12.0`.
pub(crate) fn whole(value: &Value) -> Option<i64> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0);
    #[expect(clippy::cast_possible_truncation, reason = "beyond 64 bits it saturates")]
    value.as_i64().or(number.map(|number| number as i64))
}

/// A value for a message.
fn described(value: &Value) -> String {
    const MOST_CHARS: usize = 60;
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.chars().count() > MOST_CHARS => {
            format!(
                "the string {:?}…",
                text.chars().take(MOST_CHARS).collect::<String>()
            )
        }
        Value::String(text) => format!("the string {text:?}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::json;

    use super::*;

    #[test]
    fn a_fault_names_the_place_the_value_and_what_is_expected() {
        let post = json!({
            "id": 7, "ciphertext": "~7", "title": "T", "description": null, "url": "/7",
            "skills": [{"name": "Rust"}, {}], "region": "Mars",
        });
        assert_eq!(
            faults(&post, JOB_POST),
            [
                "id is 7, expected a string that is not empty",
                "description is null, expected a string",
                "postedAt is missing",
            ]
        );
        assert_eq!(
            faults(&json!([]), ACCOUNT),
            ["the value is an array, expected an object"]
        );
        assert_eq!(
            faults(
                &json!({"status": "open", "alreadyHired": false, "warnings": [{"code": "c"}], "boosts": [3, -1], "requiredConnects": 12.5}),
                JOB_STATE
            ),
            [
                "warnings[0].message is missing",
                "boosts[1] is -1, expected a whole number from 0",
                "requiredConnects is 12.5, expected a whole number from 0",
            ]
        );
    }

    #[test]
    fn fields_that_may_be_missing_may_be_null_and_unknown_ones_are_ignored() {
        let post = json!({
            "id": "7", "ciphertext": "~7", "title": "T", "description": "", "url": "/7", "postedAt": 1.0,
            "metadata": null, "clientInfo": {"rating": null}, "new": {},
        });
        assert!(faults(&post, JOB_POST).is_empty());
        assert_eq!(
            faults(&json!({"id": "a", "name": "A", "connectsBalance": 0}), ACCOUNT),
            ["profileHourlyRate is missing"]
        );
    }

    /// A schema's fields in the terms of this file.
    fn described_fields(schemas: &Value, schema: &Value, path: &str, into: &mut BTreeMap<String, String>) {
        let schema = resolved(schemas, schema);
        let required: BTreeSet<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for (name, property) in schema["properties"].as_object().unwrap() {
            let place = format!("{path}.{name}");
            let (property, nullable) = without_null(property);
            let property = resolved(schemas, &property).clone();
            let presence = match (required.contains(name.as_str()), nullable) {
                (true, false) => "always",
                (true, true) => "or null",
                (false, true) => "maybe",
                (false, false) => panic!("{place} may be missing but not null"),
            };
            let kind = described_kind(schemas, &property, &place, into);
            into.insert(place, format!("{presence} {kind}"));
        }
    }

    fn described_kind(
        schemas: &Value,
        schema: &Value,
        place: &str,
        into: &mut BTreeMap<String, String>,
    ) -> String {
        let schema = resolved(schemas, schema);
        if let Some(words) = schema["enum"].as_array() {
            return format!(
                "{:?}",
                words
                    .iter()
                    .map(|word| word.as_str().unwrap())
                    .collect::<Vec<_>>()
            );
        }
        match schema["type"].as_str() {
            Some("object") if schema["properties"].is_object() => {
                described_fields(schemas, schema, place, into);
                "object".to_owned()
            }
            None | Some("object") => "any".to_owned(),
            Some("array") => format!(
                "list of {}",
                described_kind(schemas, &schema["items"], &format!("{place}[]"), into)
            ),
            Some("string") if schema["minLength"] == 1 => "id".to_owned(),
            Some("integer") if schema["minimum"] == 0 => "count".to_owned(),
            Some(kind) => kind.to_owned(),
        }
    }

    fn resolved<'a>(schemas: &'a Value, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(reference) => &schemas[reference.rsplit('/').next().unwrap()],
            None => schema,
        }
    }

    /// A schema without the possibility of null, and whether it had it.
    fn without_null(schema: &Value) -> (Value, bool) {
        if let Some(alternatives) = schema["oneOf"].as_array() {
            assert_eq!(alternatives[1], json!({"type": "null"}));
            return (alternatives[0].clone(), true);
        }
        let mut schema = schema.clone();
        // A schema without a type allows everything, null included.
        if schema["type"].is_null() && schema["$ref"].is_null() {
            return (schema, true);
        }
        let Some(kinds) = schema["type"].as_array().cloned() else {
            return (schema, false);
        };
        assert_eq!(kinds[1], "null");
        schema["type"] = kinds[0].clone();
        if let Some(words) = schema["enum"].as_array_mut() {
            words.retain(|word| !word.is_null());
        }
        (schema, true)
    }

    fn own_fields(fields: &[Field], path: &str, into: &mut BTreeMap<String, String>) {
        for field in fields {
            let place = format!("{path}.{}", field.name);
            let presence = match field.presence {
                Presence::Always => "always",
                Presence::OrNull => "or null",
                Presence::Maybe => "maybe",
            };
            let kind = own_kind(&field.kind, &place, into);
            into.insert(place, format!("{presence} {kind}"));
        }
    }

    fn own_kind(kind: &Kind, place: &str, into: &mut BTreeMap<String, String>) -> String {
        match kind {
            Kind::Text => "string".to_owned(),
            Kind::Id => "id".to_owned(),
            Kind::Word(words) => format!("{words:?}"),
            Kind::Integer => "integer".to_owned(),
            Kind::Count => "count".to_owned(),
            Kind::Number => "number".to_owned(),
            Kind::Flag => "boolean".to_owned(),
            Kind::Any => "any".to_owned(),
            Kind::Object(fields) => {
                own_fields(fields, place, into);
                "object".to_owned()
            }
            Kind::List(kind) => format!("list of {}", own_kind(kind, &format!("{place}[]"), into)),
        }
    }

    #[test]
    fn the_description_has_the_same_fields() {
        let text = include_str!("../../../docs/marketplace.yaml");
        let document: Value = serde_saphyr::from_str(text).unwrap();
        let schemas = &document["components"]["schemas"];
        for (name, fields) in [
            ("JobPost", JOB_POST),
            ("JobState", JOB_STATE),
            ("Account", ACCOUNT),
            ("UploadedFile", UPLOADED_FILE),
            ("SubmittedProposal", SUBMITTED_PROPOSAL),
        ] {
            let (mut described, mut own) = (BTreeMap::new(), BTreeMap::new());
            described_fields(schemas, &schemas[name], "", &mut described);
            own_fields(fields, "", &mut own);
            assert_eq!(own, described, "{name}");
        }
        let page: BTreeSet<&String> = schemas["FeedPage"]["properties"]
            .as_object()
            .unwrap()
            .keys()
            .collect();
        assert_eq!(
            page,
            FEED_PAGE
                .iter()
                .map(|field| field.name.to_owned())
                .collect::<BTreeSet<_>>()
                .iter()
                .collect()
        );
    }
}
