//! Parses a document and refuses objects in which a member occurs twice: JSON readers disagree on which one counts.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{Faults, FieldError, Path};

/// The maximum number of reported members that occur twice, so that the answer is not many times larger than the document.
const MAX_FAULTS: usize = 50;

/// Parses one document: the body of a request or a file.
///
/// ```
/// use bidloop_matching::json::read_json;
///
/// assert_eq!(read_json(br#"{"a": [1]}"#).unwrap()["a"][0], 1);
/// let faults = read_json(br#"{"a": {"b": 1, "b": 2}}"#).unwrap_err();
/// assert_eq!(faults[0].to_string(), "a.b: occurs more than once");
/// ```
///
/// # Errors
/// Malformed JSON (nesting beyond 128 levels included) is one fault with an empty path; members that occur more than
/// once are a fault each (decision A2, `docs/rules.md#a2`).
pub fn read_json(bytes: &[u8]) -> Result<Value, Vec<FieldError>> {
    let faults = RefCell::new(Faults::with_limit(MAX_FAULTS));
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let strict = Strict {
        path: &Path::Document,
        faults: &faults,
    };
    let value = strict
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value));
    match value {
        Err(error) => Err(vec![FieldError::new::<&str>(
            &[],
            format!("is not valid JSON: {error}"),
        )]),
        Ok(value) => faults.into_inner().into_result(value),
    }
}

struct Strict<'a> {
    path: &'a Path<'a>,
    faults: &'a RefCell<Faults>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict {
            path: &Path::Item(self.path, list.len()),
            faults: self.faults,
        })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let path = Path::Member(self.path, &name);
            let value = members.next_value_seed(Strict {
                path: &path,
                faults: self.faults,
            })?;
            if object.contains_key(&name) {
                self.faults.borrow_mut().add(&path, "occurs more than once");
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(text: &str) -> Vec<String> {
        read_json(text.as_bytes())
            .unwrap_err()
            .iter()
            .map(|fault| fault.path.join("."))
            .collect()
    }

    #[test]
    fn every_kind_of_value_is_read_as_it_stands() {
        let text = r#"{"a": [1, -2, 2.5, true, null, "x\u00e9"], "b": {}}"#;
        assert_eq!(
            read_json(text.as_bytes()),
            Ok(json!({"a": [1, -2, 2.5, true, null, "xé"], "b": {}}))
        );
    }

    #[test]
    fn a_member_that_occurs_twice_is_told_with_its_path() {
        assert_eq!(
            paths(r#"{"a": 1, "a": 1, "b": [{"c": 1}, {"c": 1, "c": 2}]}"#),
            ["a", "b.1.c"]
        );
    }

    #[test]
    fn a_flood_of_repeated_members_is_told_in_part() {
        let text = format!("{{{}\"a\": 1}}", "\"a\": 1,".repeat(1_000));
        assert_eq!(paths(&text).len(), MAX_FAULTS);
    }

    #[test]
    fn malformed_json_is_one_fault_without_a_path() {
        let deep = "[".repeat(100_000);
        for text in [
            "",
            "{",
            "{} {}",
            "{'a': 1}",
            r#"{"a": "\ud800"}"#,
            "[1e999]",
            "nul",
            &deep,
        ] {
            assert_eq!(paths(text), [""], "{}", &text[..text.len().min(20)]);
        }
        assert!(read_json(b"{\"a\": \"\xff\"}").is_err());
    }
}
