//! Reads one JSON object field by field, so that one faulty field does not hide the next.

use serde_json::{Map, Value};

use super::{Faults, FieldError, Path, closest};

/// The value of one field of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Field<T> {
    /// The document does not have the field.
    Absent,
    /// The field is `null`, and this is allowed.
    Null,
    /// The field has this value.
    Given(T),
    /// The field is faulty. The fault has been reported.
    Faulty,
}

impl<T> Field<T> {
    /// The value, if there is one.
    pub fn given(self) -> Option<T> {
        match self {
            Self::Given(value) => Some(value),
            Self::Absent | Self::Null | Self::Faulty => None,
        }
    }

    /// Applies the field as a patch: a value replaces `current`, `null` removes it.
    pub fn over(self, current: Option<T>) -> Option<T> {
        match self {
            Self::Given(value) => Some(value),
            Self::Null => None,
            Self::Absent | Self::Faulty => current,
        }
    }

    /// Changes the value by `change`.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Field<U> {
        match self {
            Self::Absent => Field::Absent,
            Self::Null => Field::Null,
            Self::Given(value) => Field::Given(change(value)),
            Self::Faulty => Field::Faulty,
        }
    }
}

/// The meaning of `null` for a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Null {
    /// `null` means that the field is not set.
    Allowed,
    /// `null` is a fault.
    Refused,
}

/// Reads the fields of one JSON object. Fields that are not read are unknown, which is a fault.
///
/// ```
/// use bidloop_matching::json::{Faults, Fields, Null, Path, flag, text};
/// use serde_json::json;
///
/// let document = json!({"name": "Rust", "client": {"verified": "yes"}, "nam": 1});
/// let mut faults = Faults::new();
/// let read = Fields::read(&document, Path::Document, &mut faults, |fields| {
///     let name = fields.required("name", text);
///     let verified = fields.object("client", Null::Allowed, |client| client.optional("verified", flag));
///     (name, verified)
/// });
/// assert_eq!(read.unwrap().0.as_deref(), Some("Rust"));
/// let messages: Vec<String> = faults.into_errors().iter().map(ToString::to_string).collect();
/// assert_eq!(messages, [
///     "client.verified: must be true or false, not a string",
///     "nam: unknown field; did you mean `name`?",
/// ]);
/// ```
#[derive(Debug)]
pub struct Fields<'v, 'f> {
    object: &'v Map<String, Value>,
    path: Path<'f>,
    faults: &'f mut Faults,
    known: Vec<&'static str>,
    /// The number of the object's fields that are known.
    found: usize,
    others_are_taken: bool,
}

impl<'v> Fields<'v, '_> {
    /// Reads the object at `path` with `read`, then reports the fields that `read` did not read. If `value` is not an
    /// object, reports that and returns `None`.
    pub fn read<T>(
        value: &'v Value,
        path: Path<'_>,
        faults: &mut Faults,
        read: impl FnOnce(&mut Fields<'v, '_>) -> T,
    ) -> Option<T> {
        let Value::Object(object) = value else {
            faults.add(&path, wrong_type("an object", value));
            return None;
        };
        let mut fields = Fields {
            object,
            path,
            faults,
            // Most objects have fewer fields: it does not grow.
            known: Vec::with_capacity(16),
            found: 0,
            others_are_taken: false,
        };
        let result = read(&mut fields);
        fields.refuse_others();
        Some(result)
    }

    /// The path of the object.
    pub fn path(&self) -> Path<'_> {
        self.path
    }

    /// The names and indexes from the document to the field `name`.
    pub fn path_to(&self, name: &str) -> Vec<String> {
        Path::Member(&self.path, name).to_vec()
    }

    /// The faults of the document.
    pub fn faults(&mut self) -> &mut Faults {
        self.faults
    }

    /// Reports a fault of the field `name`.
    pub fn fault(&mut self, name: &str, message: impl Into<String>) {
        self.faults.add(&Path::Member(&self.path, name), message);
    }

    /// Reports faults with paths relative to this object.
    pub fn report(&mut self, errors: impl IntoIterator<Item = FieldError>) {
        let path = self.path.to_vec();
        let errors = errors.into_iter().map(|error| error.under(&path));
        self.faults.extend(errors);
    }

    /// The field's JSON, including `null`. The field does not count as read.
    pub fn peek(&self, name: &str) -> Option<&'v Value> {
        self.object.get(name)
    }

    /// The field's JSON, including `null`.
    pub fn raw(&mut self, name: &'static str) -> Option<&'v Value> {
        let value = match self.object.len() {
            // Comparing with each of few names, which mostly differ in length, takes less time than a search.
            0..=8 => self
                .object
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value),
            _ => self.object.get(name),
        };
        if self.known.last() != Some(&name) {
            self.found += usize::from(value.is_some() && !self.known.contains(&name));
            self.known.push(name);
        }
        value
    }

    /// Whether every field of the object has been read.
    pub fn are_all_read(&self) -> bool {
        self.found == self.object.len()
    }

    /// Reads a field with `parse`, whose error is the message of the fault.
    pub fn field<T>(
        &mut self,
        name: &'static str,
        null: Null,
        parse: impl FnOnce(&'v Value) -> Result<T, String>,
    ) -> Field<T> {
        self.field_at(name, null, |value, path, faults| {
            parse(value).map_err(|message| faults.add(path, message)).ok()
        })
    }

    /// Reads a field that may be absent. `null` means the same.
    pub fn optional<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&'v Value) -> Result<T, String>,
    ) -> Option<T> {
        self.field(name, Null::Allowed, parse).given()
    }

    /// Reads a field that must have a value.
    pub fn required<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&'v Value) -> Result<T, String>,
    ) -> Option<T> {
        let field = self.field(name, Null::Refused, parse);
        if matches!(field, Field::Absent) {
            self.fault(name, "is required");
        }
        field.given()
    }

    /// Reads an object field by field.
    pub fn object<T>(
        &mut self,
        name: &'static str,
        null: Null,
        read: impl FnOnce(&mut Fields<'v, '_>) -> T,
    ) -> Field<T> {
        self.field_at(name, null, |value, path, faults| {
            Fields::read(value, *path, faults, read)
        })
    }

    /// Reads a list with `parse` for each entry. The list is faulty if one of the entries is.
    pub fn list<T>(
        &mut self,
        name: &'static str,
        null: Null,
        mut parse: impl FnMut(&'v Value) -> Result<T, String>,
    ) -> Field<Vec<T>> {
        self.field_at(name, null, |value, path, faults| {
            let Value::Array(entries) = value else {
                faults.add(path, wrong_type("a list", value));
                return None;
            };
            let mut read = Vec::with_capacity(entries.len());
            for (index, entry) in entries.iter().enumerate() {
                match parse(entry) {
                    Ok(entry) => read.push(entry),
                    Err(message) => faults.add(&Path::Item(path, index), message),
                }
            }
            (read.len() == entries.len()).then_some(read)
        })
    }

    /// Reads a list of objects until the limit of faults is reached. An entry is `None` if it is not an object or `read`
    /// returns `None`.
    pub fn objects<T>(
        &mut self,
        name: &'static str,
        null: Null,
        mut read: impl FnMut(&mut Fields<'v, '_>) -> Option<T>,
    ) -> Field<Vec<Option<T>>> {
        self.field_at(name, null, |value, path, faults| {
            let Value::Array(entries) = value else {
                faults.add(path, wrong_type("a list", value));
                return None;
            };
            let mut objects = Vec::with_capacity(entries.len());
            for (index, entry) in entries.iter().enumerate() {
                objects.push(Fields::read(entry, Path::Item(path, index), faults, &mut read).flatten());
                if faults.is_full() {
                    break;
                }
            }
            Some(objects)
        })
    }

    /// Returns the fields that have not been read. They do not count as unknown.
    pub fn take_others(&mut self) -> Map<String, Value> {
        self.others_are_taken = true;
        self.others()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    fn field_at<T>(
        &mut self,
        name: &'static str,
        null: Null,
        read: impl FnOnce(&'v Value, &Path<'_>, &mut Faults) -> Option<T>,
    ) -> Field<T> {
        match self.raw(name) {
            None => Field::Absent,
            Some(Value::Null) if null == Null::Allowed => Field::Null,
            Some(value) => {
                let path = Path::Member(&self.path, name);
                read(value, &path, self.faults).map_or(Field::Faulty, Field::Given)
            }
        }
    }

    fn others(&self) -> impl Iterator<Item = (&'v String, &'v Value)> {
        self.object
            .iter()
            .filter(|(name, _)| !self.known.contains(&name.as_str()))
    }

    fn refuse_others(&mut self) {
        if self.others_are_taken || self.are_all_read() {
            return;
        }
        let names: Vec<&String> = self.others().map(|(name, _)| name).collect();
        for name in names {
            if self.faults.is_full() {
                return;
            }
            let message = match closest(name, &self.known) {
                Some(meant) => format!("unknown field; did you mean `{meant}`?"),
                None => format!("unknown field; the fields here are {}", self.known.join(", ")),
            };
            self.fault(name, message);
        }
    }
}

/// Parses a string.
pub fn text(value: &Value) -> Result<String, String> {
    str(value).map(str::to_owned)
}

/// Parses a string without the NUL character, which databases cannot store.
pub fn storable_text(value: &Value) -> Result<String, String> {
    let text = text(value)?;
    if text.contains('\0') {
        return Err("must not contain the NUL character".to_owned());
    }
    Ok(text)
}

/// Parses a string without copying it.
pub fn str(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| wrong_type("a string", value))
}

/// Parses `true` or `false`.
pub fn flag(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| wrong_type("true or false", value))
}

/// Parses a number.
pub fn number(value: &Value) -> Result<f64, String> {
    value.as_f64().ok_or_else(|| wrong_type("a number", value))
}

/// Returns the message for a value of the wrong type.
pub fn wrong_type(wanted: &str, found: &Value) -> String {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    format!("must be {wanted}, not {found}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults<T>(document: &Value, read: impl FnOnce(&mut Fields<'_, '_>) -> T) -> Vec<String> {
        let mut faults = Faults::new();
        Fields::read(document, Path::Document, &mut faults, read);
        faults.into_errors().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn null_is_what_the_field_says() {
        let read = |null| faults(&json!({"a": null}), |fields| fields.field("a", null, text));
        assert_eq!(read(Null::Refused), ["a: must be a string, not null"]);
        assert!(read(Null::Allowed).is_empty());
        assert_eq!(
            faults(&json!({"a": null}), |fields| {
                (fields.required("a", text), fields.required("b", text))
            }),
            ["a: must be a string, not null", "b: is required"]
        );
    }

    #[test]
    fn a_patch_sets_unsets_and_leaves() {
        let patch = json!({"set": 1, "unset": null, "faulty": "x"});
        let mut values = [Some(5.0); 4];
        faults(&patch, |fields| {
            for (name, value) in ["set", "unset", "faulty", "absent"].into_iter().zip(&mut values) {
                *value = fields.field(name, Null::Allowed, number).over(*value);
            }
        });
        assert_eq!(values, [Some(1.0), None, Some(5.0), Some(5.0)]);
    }

    #[test]
    fn every_faulty_entry_is_reported_with_its_index() {
        let document = json!({"texts": ["a", 5, null], "objects": [{"id": "x"}, 7, {"id": 1}]});
        let mut ids = Field::Absent;
        let found = faults(&document, |fields| {
            assert_eq!(fields.list("texts", Null::Allowed, text), Field::Faulty);
            ids = fields.objects("objects", Null::Refused, |fields| fields.required("id", text));
        });
        assert_eq!(
            found,
            [
                "texts[1]: must be a string, not a number",
                "texts[2]: must be a string, not null",
                "objects[1]: must be an object, not a number",
                "objects[2].id: must be a string, not a number",
            ]
        );
        assert_eq!(ids, Field::Given(vec![Some("x".to_owned()), None, None]));
    }

    #[test]
    fn a_field_that_is_asked_for_twice_hides_no_unknown_one() {
        let found = faults(&json!({"a": 1, "unknown": 2}), |fields| {
            for name in ["a", "b", "a"] {
                fields.raw(name);
            }
        });
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn unknown_fields_are_refused_unless_they_are_taken() {
        let document = json!({"name": "x", "nam": 1, "other": 2});
        assert_eq!(
            faults(&document, |fields| fields.optional("name", text)),
            [
                "nam: unknown field; did you mean `name`?",
                "other: unknown field; the fields here are name"
            ]
        );
        let mut others = Map::new();
        let found = faults(&document, |fields| {
            fields.optional("name", text);
            others = fields.take_others();
        });
        assert!(found.is_empty());
        assert_eq!(Value::Object(others), json!({"nam": 1, "other": 2}));
    }

    #[test]
    fn reading_a_list_of_objects_ends_when_no_more_faults_are_kept() {
        let document = json!({"objects": [1, 2, 3, 4]});
        let mut faults = Faults::with_limit(2);
        Fields::read(&document, Path::Document, &mut faults, |fields| {
            fields.objects("objects", Null::Refused, |_| Some(()))
        });
        assert!(faults.is_full());
        assert_eq!(faults.into_errors().len(), 2);
    }
}
