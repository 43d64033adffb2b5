//! JSON of callers, read strictly: an object that names a member twice is faulty, since readers disagree about which
//! counts, and whoever wrote it meant both.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::field_error::FieldError;

/// Most repeated members told of: a document of nothing else must not make an answer many times its size.
const MOST_FAULTS: usize = 50;

/// Reads one document: a request's body or a file.
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
    let faults = RefCell::new(Vec::new());
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let strict = Strict {
        place: &Place::Document,
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
        Ok(value) => {
            let faults = faults.into_inner();
            if faults.is_empty() { Ok(value) } else { Err(faults) }
        }
    }
}

/// Where in the document: a path that costs nothing until it is needed.
enum Place<'a> {
    Document,
    Member(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn path(&self) -> Vec<String> {
        match self {
            Self::Document => Vec::new(),
            Self::Member(parent, name) => {
                let mut path = parent.path();
                path.push((*name).to_owned());
                path
            }
            Self::Item(parent, index) => {
                let mut path = parent.path();
                path.push(index.to_string());
                path
            }
        }
    }
}

struct Strict<'a> {
    place: &'a Place<'a>,
    faults: &'a RefCell<Vec<FieldError>>,
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
            place: &Place::Item(self.place, list.len()),
            faults: self.faults,
        })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let place = Place::Member(self.place, &name);
            let value = members.next_value_seed(Strict {
                place: &place,
                faults: self.faults,
            })?;
            if object.contains_key(&name) {
                let mut faults = self.faults.borrow_mut();
                if faults.len() < MOST_FAULTS {
                    faults.push(FieldError::new(&place.path(), "occurs more than once"));
                }
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
        assert_eq!(paths(&text).len(), MOST_FAULTS);
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
