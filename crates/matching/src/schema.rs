//! The JSON Schema of a saved filter, derived from the table of fields.

use serde_json::{Value, json};

use crate::conditions::{FILTER_FIELDS, FieldKind, FilterField, Limits};
use crate::{MAX_LIST_VALUES, MAX_VALUE_CHARS};

/// Returns the JSON Schema of a saved filter (version 2020-12, which OpenAPI 3.1 uses).
///
/// ```
/// let schema = bidloop_matching::filter_schema();
/// assert_eq!(schema["properties"]["client"]["properties"]["minRating"]["maximum"], 5.0);
/// ```
pub fn filter_schema() -> Value {
    let mut schema = object(
        FILTER_FIELDS,
        "Conditions that must all hold. A filter without any matches every job.",
    );
    schema["properties"]["whenUnknown"] = json!({
        "type": ["string", "null"],
        "enum": ["match", "reject", null],
        "default": "reject",
        "description": "What a condition on a value that the job does not carry counts as.",
    });
    schema
}

fn object(fields: &[FilterField], description: &str) -> Value {
    let properties = fields
        .iter()
        .map(|field| (field.name.to_owned(), property(field)));
    json!({
        "type": ["object", "null"],
        "description": description,
        "properties": properties.collect::<serde_json::Map<_, _>>(),
        "additionalProperties": false,
    })
}

fn property(field: &FilterField) -> Value {
    let mut schema = match field.kind {
        FieldKind::Section(fields) => object(fields, ""),
        FieldKind::Keywords => json!({"type": ["string", "null"]}),
        FieldKind::AnySkill | FieldKind::OneOf(_) => list(1),
        FieldKind::SkillsAtLeast => json!({
            "type": ["object", "null"],
            "properties": {"count": {"type": "integer", "minimum": 1}, "of": list(1)},
            "required": ["count", "of"],
            "additionalProperties": false,
        }),
        FieldKind::AllSkills | FieldKind::NoSkill | FieldKind::NoneOf(_) => list(0),
        FieldKind::PaymentTypes => json!({
            "type": ["array", "null"],
            "items": {"type": "string", "enum": ["hourly", "fixed"]},
            "minItems": 1,
            "maxItems": MAX_LIST_VALUES,
        }),
        FieldKind::Pay(_) => json!({
            "type": ["object", "null"],
            "properties": {
                "min": {"type": ["number", "null"], "minimum": 0},
                "max": {"type": ["number", "null"], "minimum": 0},
            },
            "additionalProperties": false,
        }),
        FieldKind::AtLeast(_, limits) | FieldKind::AtMost(_, limits) => bounded(limits),
        FieldKind::Is(_) => json!({"type": ["boolean", "null"]}),
    };
    schema["description"] = field.description.into();
    schema
}

fn list(least: usize) -> Value {
    json!({
        "type": ["array", "null"],
        "items": {"type": "string", "minLength": 1, "maxLength": MAX_VALUE_CHARS},
        "minItems": least,
        "maxItems": MAX_LIST_VALUES,
    })
}

fn bounded(limits: Limits) -> Value {
    let kind = if limits.is_whole { "integer" } else { "number" };
    let mut schema = json!({"type": [kind, "null"], "minimum": 0});
    if let Some(max) = limits.max {
        schema["maximum"] = max.into();
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_has_every_field_with_its_bounds() {
        let schema = filter_schema();
        assert_eq!(
            schema["properties"].as_object().map(serde_json::Map::len),
            Some(18)
        );
        let client = &schema["properties"]["client"]["properties"];
        assert_eq!(client["minReviews"]["type"][0], "integer");
        assert_eq!(client["countries"]["properties"]["include"]["minItems"], 1);
        assert_eq!(client["countries"]["properties"]["exclude"]["minItems"], 0);
        assert_eq!(schema["properties"]["paymentTypes"]["items"]["enum"][1], "fixed");
    }
}
