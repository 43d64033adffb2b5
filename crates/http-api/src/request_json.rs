//! Reads the JSON object in a request body strictly, and reports all its faults at once (decision A2).
//!
//! A body is read as it streams past, in memory that its accepted content bounds. Known members that may be texts,
//! numbers or flags are kept as such; a list or object in their place is passed over. Of unknown members the first few
//! names are kept. So neither names nor nesting nor repetition make a body dearer than its length.

use std::fmt;

use bidloop_domain::matching::json::{Faults, Fields, Path, shortened_name};
use bidloop_domain::use_case::LeadError;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::request_body::malformed;

/// The most faults in one answer. It keeps answers from being many times as large as their requests.
pub(crate) const MOST_FAULTS: usize = 50;

/// Reads a body of one value as `shape`.
pub(crate) fn read_outline<'de, S: Shape<'de>>(bytes: &'de [u8], shape: S) -> Result<S::Output, LeadError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let outline = Seed(shape)
        .deserialize(&mut reader)
        .and_then(|outline| reader.end().map(|()| outline));
    outline.map_err(|error| malformed(&format!("is not valid JSON: {error}")))
}

/// Reads a body's object with `read`, which may return `None` only after reporting a fault.
pub(crate) fn read_object<T>(
    outline: Outline,
    read: impl FnOnce(&mut Fields<'_, '_>) -> Option<T>,
) -> Result<T, LeadError> {
    let mut faults = Faults::with_limit(MOST_FAULTS);
    let object = outline.read(Path::Document, &mut faults, read);
    match object {
        Some(object) if faults.is_empty() => Ok(object),
        _ => Err(LeadError::Malformed(faults.into_errors())),
    }
}

/// What becomes of a JSON value as it streams past. A list or object that is not wanted is passed over.
pub(crate) trait Shape<'de>: Sized {
    type Output;

    /// Takes a value of any type. A list or an object stands as an empty one.
    fn value(self, value: Value) -> Self::Output;

    /// Reads a list.
    fn list<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Output, A::Error> {
        while entries.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self.value(Value::Array(Vec::new())))
    }

    /// Reads an object.
    fn object<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Output, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(self.value(Value::Object(Map::new())))
    }
}

/// A text, a number, a flag or null.
pub(crate) struct Leaf;

impl Shape<'_> for Leaf {
    type Output = Value;

    fn value(self, value: Value) -> Value {
        value
    }
}

/// An object whose members are all leaves.
pub(crate) struct Object(pub(crate) &'static [&'static str]);

impl<'de> Shape<'de> for Object {
    type Output = Outline;

    fn value(self, value: Value) -> Outline {
        Outline::NoObject(value)
    }

    fn object<A: MapAccess<'de>>(self, members: A) -> Result<Outline, A::Error> {
        Members::read(self.0, members, |_, members| members.next_value_seed(Seed(Leaf))).map(Outline::Object)
    }
}

/// What is kept of a value that should be an object.
pub(crate) enum Outline {
    Object(Members),
    NoObject(Value),
}

impl Outline {
    /// Reads the object field by field, after reporting the members that occur more than once.
    pub(crate) fn read<T>(
        self,
        path: Path<'_>,
        faults: &mut Faults,
        read: impl FnOnce(&mut Fields<'_, '_>) -> Option<T>,
    ) -> Option<T> {
        let value = self.into_value(path, faults);
        Fields::read(&value, path, faults, read).flatten()
    }

    /// The object with its leaves, after reporting the members that occur more than once.
    pub(crate) fn into_value(self, path: Path<'_>, faults: &mut Faults) -> Value {
        let members = match self {
            Self::Object(members) => members,
            Self::NoObject(value) => return value,
        };
        for name in &members.repeated {
            faults.add(&Path::Member(&path, name), "occurs more than once");
        }
        let known = members.known.iter().zip(members.values);
        let known = known.filter_map(|(name, value)| Some(((*name).to_owned(), value?)));
        let unknown = members.unknown.into_iter().map(|name| (name, Value::Null));
        Value::Object(known.chain(unknown).collect())
    }
}

/// The members of one object: the known ones, and the first unknown ones by name.
pub(crate) struct Members {
    known: &'static [&'static str],
    /// Of each known member, in the order of `known`.
    values: Vec<Option<Value>>,
    unknown: Vec<String>,
    repeated: Vec<&'static str>,
}

impl Members {
    /// Reads an object's members. `read` reads the value of a known one; of members that occur twice, the first counts.
    pub(crate) fn read<'de, A: MapAccess<'de>>(
        known: &'static [&'static str],
        mut members: A,
        mut read: impl FnMut(&'static str, &mut A) -> Result<Value, A::Error>,
    ) -> Result<Self, A::Error> {
        let mut kept = Self {
            known,
            values: known.iter().map(|_| None).collect(),
            unknown: Vec::new(),
            repeated: Vec::new(),
        };
        while let Some(name) = members.next_key_seed(Names(known))? {
            match name {
                Name::Known(index) if kept.values[index].is_none() => {
                    kept.values[index] = Some(read(known[index], &mut members)?);
                    continue;
                }
                Name::Known(index) => {
                    if !kept.repeated.contains(&known[index]) {
                        kept.repeated.push(known[index]);
                    }
                }
                Name::Unknown(name) => {
                    if kept.unknown.len() < MOST_FAULTS {
                        kept.unknown.push(name);
                    }
                }
            }
            members.next_value::<IgnoredAny>()?;
        }
        Ok(kept)
    }

    /// The value of each known member, if none occurs twice and there are no others.
    pub(crate) fn plain(&mut self) -> Option<&mut [Option<Value>]> {
        let is_plain = self.unknown.is_empty() && self.repeated.is_empty();
        is_plain.then_some(&mut self.values)
    }
}

/// A member's name: the index of a known one, or the start of another one.
enum Name {
    Known(usize),
    Unknown(String),
}

/// The known names.
struct Names(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Names {
    type Value = Name;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Name, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Names {
    type Value = Name;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Name, E> {
        let known = self.0.iter().position(|known| *known == name);
        Ok(known.map_or_else(|| Name::Unknown(shortened_name(name)), Name::Known))
    }
}

/// Reads a value as its shape.
pub(crate) struct Seed<S>(pub(crate) S);

impl<'de, S: Shape<'de>> DeserializeSeed<'de> for Seed<S> {
    type Value = S::Output;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Output, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: Shape<'de>> Visitor<'de> for Seed<S> {
    type Value = S::Output;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<S::Output, E> {
        Ok(self.0.value(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<S::Output, E> {
        Ok(self.0.value(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<S::Output, E> {
        Ok(self.0.value(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<S::Output, E> {
        Ok(self.0.value(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<S::Output, E> {
        Ok(self
            .0
            .value(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<S::Output, E> {
        Ok(self.0.value(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, entries: A) -> Result<S::Output, A::Error> {
        self.0.list(entries)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<S::Output, A::Error> {
        self.0.object(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &["a", "b"];

    fn outline(body: &str) -> Outline {
        read_outline(body.as_bytes(), Object(NAMES)).unwrap()
    }

    fn faults(body: &str) -> Vec<String> {
        let read = read_object(outline(body), |fields| {
            fields.raw("a");
            fields.raw("b");
            Some(())
        });
        match read {
            Err(LeadError::Malformed(faults)) => faults.iter().map(ToString::to_string).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_answer_lists_a_limited_number_of_faults() {
        let fields: Vec<String> = (0..1_000).map(|n| format!("\"b{n}\": 1")).collect();
        assert_eq!(faults(&format!("{{{}}}", fields.join(","))).len(), MOST_FAULTS);
    }

    #[test]
    fn a_known_member_that_occurs_twice_is_told_once_and_an_unknown_one_is_unknown() {
        assert_eq!(
            faults(r#"{"a": 1, "c": {"d": 1, "d": 1}, "a": [], "c": 1, "a": {}}"#),
            ["a: occurs more than once", "c: unknown field; did you mean `a`?"]
        );
    }

    #[test]
    fn values_that_are_not_wanted_are_passed_over_at_any_depth() {
        let deep = format!(
            "{{\"a\": 1, \"c\": {}1{}}}",
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert_eq!(faults(&deep), ["c: unknown field; did you mean `a`?"]);
        let wrong = outline(r#"{"a": [[1, {"x": 2}]], "b": {"y": []}}"#);
        let read = read_object(wrong, |fields| {
            Some([fields.raw("a")?.clone(), fields.raw("b")?.clone()])
        });
        assert_eq!(read, Ok([Value::Array(Vec::new()), Value::Object(Map::new())]));
    }

    #[test]
    fn values_are_handed_out_in_the_order_of_the_known_names_if_no_member_is_faulty() {
        let plain = |body: &str| match outline(body) {
            Outline::Object(mut members) => members.plain().map(|values| values.to_vec()),
            Outline::NoObject(_) => None,
        };
        let [one, two] = [1, 2].map(|number| Some(Value::from(number)));
        assert_eq!(plain(r#"{"b": 2, "a": 1}"#), Some(vec![one, two.clone()]));
        assert_eq!(plain(r#"{"b": 2}"#), Some(vec![None, two]));
        assert_eq!(plain(r#"{"a": 1, "b": 2, "a": 1}"#), None);
        assert_eq!(plain(r#"{"a": 1, "b": 2, "c": 3}"#), None);
    }
}
