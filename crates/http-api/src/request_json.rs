//! Reads the JSON object in a request body strictly, and reports all its faults at once (decision A2).
//!
//! A body is read as it streams past, in memory that its accepted content bounds. Known members that may be texts,
//! numbers or flags are kept as such; a list or object in their place is passed over. Of unknown members the first few
//! names are kept. So neither names nor nesting nor repetition make a body dearer than its length.

use std::borrow::Cow;
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
        let found = members.found.into_iter();
        Value::Object(found.map(|(name, value)| (name.into_owned(), value)).collect())
    }
}

/// The members of one object: the known ones, and the first unknown ones by name.
#[derive(Default)]
pub(crate) struct Members {
    found: Vec<(Cow<'static, str>, Value)>,
    unknown: usize,
    repeated: Vec<&'static str>,
}

impl Members {
    /// Reads an object's members. `read` reads the value of a known one; of members that occur twice, the first counts.
    pub(crate) fn read<'de, A: MapAccess<'de>>(
        known: &'static [&'static str],
        mut members: A,
        mut read: impl FnMut(&'static str, &mut A) -> Result<Value, A::Error>,
    ) -> Result<Self, A::Error> {
        let mut kept = Self::default();
        while let Some(name) = members.next_key_seed(Name(known))? {
            match name {
                Cow::Borrowed(name) if !kept.holds(name) => {
                    let value = read(name, &mut members)?;
                    kept.found.push((Cow::Borrowed(name), value));
                    continue;
                }
                Cow::Borrowed(name) if kept.repeated.contains(&name) => {}
                Cow::Borrowed(name) => kept.repeated.push(name),
                Cow::Owned(name) => {
                    kept.unknown += 1;
                    if kept.unknown <= MOST_FAULTS {
                        kept.found.push((Cow::Owned(name), Value::Null));
                    }
                }
            }
            members.next_value::<IgnoredAny>()?;
        }
        Ok(kept)
    }

    /// The values of the members `names`, if the object has these members, each once, and no others.
    pub(crate) fn exactly<const N: usize>(&mut self, names: [&str; N]) -> Option<[&mut Value; N]> {
        let is_plain = self.unknown == 0 && self.repeated.is_empty() && self.found.len() == N;
        if !is_plain || !names.iter().all(|name| self.holds(name)) {
            return None;
        }
        self.found
            .sort_by_key(|(known, _)| names.iter().position(|name| name == known));
        let found: &mut [_; N] = self.found.as_mut_slice().try_into().ok()?;
        Some(found.each_mut().map(|(_, value)| value))
    }

    fn holds(&self, name: &str) -> bool {
        self.found.iter().any(|(known, _)| known == name)
    }
}

/// A member's name: one of the known ones, or the start of another one.
struct Name(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'static, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Cow<'static, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let known = self.0.iter().find(|known| **known == name);
        Ok(known.map_or_else(|| Cow::Owned(shortened_name(name)), |known| Cow::Borrowed(*known)))
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
    fn members_are_handed_out_in_the_order_asked_for() {
        let Outline::Object(mut members) = outline(r#"{"b": 2, "a": 1}"#) else {
            panic!("an object")
        };
        assert_eq!(
            members.exactly(["a", "b"]).unwrap().map(|value| value.clone()),
            [1, 2].map(Value::from)
        );
        assert!(members.exactly(["a", "c"]).is_none());
        assert!(members.exactly(["a"]).is_none());
    }
}
