//! What the page shows of a schema: a phrase for its type, its bounds, and its fields.

use std::fmt::Write as _;

use serde_json::Value;

use super::markdown::to_html;

/// A property, parameter or header.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    /// HTML.
    pub(super) kind: String,
    pub(super) required: bool,
    pub(super) bounds: Vec<Bound>,
    /// HTML.
    pub(super) description: String,
    pub(super) examples: Vec<String>,
}

/// What a value has to fulfil beside its type.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) says: &'static str,
    pub(super) values: Vec<String>,
}

impl Field {
    /// `described` is what has the description: the schema, or the parameter around it.
    pub(super) fn new(name: &str, schema: &Value, described: &Value, required: bool) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind(schema),
            required,
            bounds: bounds(schema),
            description: to_html(described["description"].as_str().unwrap_or_default()),
            examples: list(&schema["examples"]).map(shown).collect(),
        }
    }
}

/// A named schema.
#[derive(Debug)]
pub(super) struct Schema {
    pub(super) name: String,
    /// HTML.
    pub(super) kind: String,
    /// HTML.
    pub(super) description: String,
    pub(super) bounds: Vec<Bound>,
    pub(super) fields: Vec<Field>,
    pub(super) is_closed: bool,
}

impl Schema {
    pub(super) fn new(name: &str, schema: &Value) -> Self {
        let mut found = Vec::new();
        add_fields("", schema, &mut found);
        Self {
            name: name.to_owned(),
            kind: kind(schema),
            description: to_html(schema["description"].as_str().unwrap_or_default()),
            bounds: bounds(schema),
            fields: found,
            is_closed: schema["additionalProperties"] == false,
        }
    }
}

/// Adds the properties of an object, and those of the objects within it that have no name: `client.minRating`.
fn add_fields(prefix: &str, schema: &Value, found: &mut Vec<Field>) {
    for part in list(&schema["allOf"]) {
        add_fields(prefix, part, found);
    }
    let required: Vec<&Value> = list(&schema["required"]).collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let is_required = required.iter().any(|required| *required == name);
        let name = format!("{prefix}{name}");
        found.push(Field::new(&name, property, property, is_required));
        add_fields(&format!("{name}."), property, found);
    }
}

/// The elements of an array; none of anything else.
pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The last part of a reference.
fn name_in(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}

/// The schema's type as a phrase in HTML, with links to named schemas.
pub(super) fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = name_in(reference);
        return format!("<a href=\"#schema-{name}\">{name}</a>");
    }
    for (keyword, word) in [("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")] {
        if schema[keyword].is_array() {
            let kinds: Vec<String> = list(&schema[keyword]).map(kind).collect();
            return kinds.join(word);
        }
    }
    let kinds = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        kinds => list(kinds).filter_map(Value::as_str).collect(),
    };
    let mut phrase = String::new();
    for kind in kinds {
        let separator = if phrase.is_empty() { "" } else { " or " };
        let _ = match kind {
            "array" => write!(phrase, "{separator}array of {}", self::kind(&schema["items"])),
            kind => write!(phrase, "{separator}{kind}"),
        };
    }
    if phrase.is_empty() {
        "any value".to_owned()
    } else {
        phrase
    }
}

/// The bounds that a caller cares about, in the order of this table.
const KEYWORDS: [(&str, &str); 13] = [
    ("const", "always"),
    ("enum", "one of"),
    ("default", "default"),
    ("minimum", "from"),
    ("exclusiveMinimum", "above"),
    ("maximum", "to"),
    ("minLength", "characters from"),
    ("maxLength", "characters to"),
    ("minItems", "entries from"),
    ("maxItems", "entries to"),
    ("format", "format"),
    ("pattern", "pattern"),
    ("contentMediaType", "type"),
];

/// Formats that say how a number is stored.
const FORMATS_OF_NUMBERS: [&str; 3] = ["int32", "int64", "double"];

fn bounds(schema: &Value) -> Vec<Bound> {
    let mut bounds = Vec::new();
    for (keyword, says) in KEYWORDS {
        let value = &schema[keyword];
        let is_of_numbers = FORMATS_OF_NUMBERS.iter().any(|format| value == format);
        if value.is_null() || is_of_numbers {
            continue;
        }
        let values = match value {
            Value::Array(values) => values.iter().map(shown).collect(),
            value => vec![shown(value)],
        };
        bounds.push(Bound { says, values });
    }
    bounds
}

/// A value in few characters: texts without quotation marks.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_type_is_a_phrase_with_links() {
        for (schema, phrase) in [
            (json!({"type": ["string", "null"]}), "string or null"),
            (
                json!({"$ref": "#/components/schemas/Lead"}),
                "<a href=\"#schema-Lead\">Lead</a>",
            ),
            (
                json!({"type": ["array", "null"], "items": {"$ref": "#/components/schemas/Skill"}}),
                "array of <a href=\"#schema-Skill\">Skill</a> or null",
            ),
            (
                json!({"oneOf": [{"$ref": "#/components/schemas/Terms"}, {"type": "null"}]}),
                "<a href=\"#schema-Terms\">Terms</a> or null",
            ),
            (json!({"description": "anything"}), "any value"),
        ] {
            assert_eq!(kind(&schema), phrase);
        }
    }

    #[test]
    fn fields_of_unnamed_objects_are_named_by_their_path() {
        let schema = json!({
            "type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {"a": {"type": "object", "properties": {"b": {"type": "integer", "minimum": 1, "format": "int64"}}}},
        });
        let schema = Schema::new("A", &schema);
        let names: Vec<(&str, bool)> = schema
            .fields
            .iter()
            .map(|field| (field.name.as_str(), field.required))
            .collect();
        assert_eq!(names, [("a", true), ("a.b", false)]);
        assert!(schema.is_closed);
        let bounds = &schema.fields[1].bounds;
        assert_eq!((bounds.len(), bounds[0].says), (1, "from"));
    }
}
