//! Reads one JSON object of a provisioning file field by field, so that one faulty field does not hide the next.

use serde_json::{Map, Value};

use super::faults::{Faults, Path, path_to};
use crate::model::closest;

/// What a file says of one field.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Field<T> {
    /// Nothing: the current value stays.
    Unmentioned,
    /// An explicit null: the current value is removed.
    Unset,
    /// A value.
    Given(T),
    /// Something wrong, which has been reported.
    Faulty,
}

impl<T> Field<T> {
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Field<U> {
        match self {
            Self::Unmentioned => Field::Unmentioned,
            Self::Unset => Field::Unset,
            Self::Given(value) => Field::Given(change(value)),
            Self::Faulty => Field::Faulty,
        }
    }
}

/// What null means for a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Null {
    /// Unsets it: the field is optional.
    Unsets,
    /// Is a fault: the field is required.
    Refused,
}

/// The fields of one JSON object while they are read. Fields that nobody asked for are refused.
#[derive(Debug)]
pub(super) struct Fields<'v, 'f> {
    pub(super) object: &'v Map<String, Value>,
    pub(super) path: Path,
    pub(super) faults: &'f mut Faults,
    known: Vec<&'static str>,
    others_are_taken: bool,
}

impl<'v, 'f> Fields<'v, 'f> {
    /// Starts on the object at `path`; `None`, with a fault, if there is something else.
    pub(super) fn of(value: &'v Value, path: Path, faults: &'f mut Faults) -> Option<Self> {
        let Value::Object(object) = value else {
            faults.push(&path, wrong_type("an object", value));
            return None;
        };
        Some(Self::new(object, path, faults))
    }

    pub(super) fn new(object: &'v Map<String, Value>, path: Path, faults: &'f mut Faults) -> Self {
        Self {
            object,
            path,
            faults,
            known: Vec::new(),
            others_are_taken: false,
        }
    }

    /// The field as it stands in the file, null included; it counts as known from now on.
    pub(super) fn raw(&mut self, name: &'static str) -> Option<&'v Value> {
        self.known.push(name);
        self.object.get(name)
    }

    pub(super) fn fault(&mut self, name: &str, message: impl AsRef<str>) {
        self.faults.push(&path_to(&self.path, name), message);
    }

    /// The field through `parse`, whose error is the fault's message.
    pub(super) fn field<T>(
        &mut self,
        name: &'static str,
        null: Null,
        parse: impl FnOnce(&'v Value) -> Result<T, String>,
    ) -> Field<T> {
        let message = match self.raw(name) {
            None => return Field::Unmentioned,
            Some(Value::Null) if null == Null::Unsets => return Field::Unset,
            Some(value) => match parse(value) {
                Ok(value) => return Field::Given(value),
                Err(message) => message,
            },
        };
        self.fault(name, message);
        Field::Faulty
    }

    /// A field without which the entry means nothing, such as its id.
    pub(super) fn indispensable<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&'v Value) -> Result<T, String>,
    ) -> Option<T> {
        match self.field(name, Null::Refused, parse) {
            Field::Given(value) => Some(value),
            Field::Unmentioned => {
                self.fault(name, "is required");
                None
            }
            Field::Unset | Field::Faulty => None,
        }
    }

    /// An object that merges field by field.
    pub(super) fn object<T>(
        &mut self,
        name: &'static str,
        null: Null,
        read: impl FnOnce(&mut Fields<'v, '_>) -> T,
    ) -> Field<T> {
        let value = match self.raw(name) {
            None => return Field::Unmentioned,
            Some(Value::Null) if null == Null::Unsets => return Field::Unset,
            Some(value) => value,
        };
        let path = path_to(&self.path, name);
        match Fields::of(value, path, self.faults) {
            Some(mut fields) => Field::Given(fields.read_all(read)),
            None => Field::Faulty,
        }
    }

    /// A list whose entries `read` reads, each with its path. An entry without a result is faulty.
    pub(super) fn list<T>(
        &mut self,
        name: &'static str,
        null: Null,
        mut read: impl FnMut(&'v Value, Path, &mut Faults) -> Option<T>,
    ) -> Field<Vec<Option<T>>> {
        let entries = self.field(name, null, |value| {
            value.as_array().ok_or_else(|| wrong_type("a list", value))
        });
        let path = path_to(&self.path, name);
        entries.map(|entries| {
            let paths = (0..).map(|index: usize| path_to(&path, &index.to_string()));
            let entries = entries.iter().zip(paths);
            entries
                .map(|(entry, path)| read(entry, path, self.faults))
                .collect()
        })
    }

    /// A list of objects.
    pub(super) fn objects<T>(
        &mut self,
        name: &'static str,
        null: Null,
        mut read: impl FnMut(&mut Fields<'v, '_>) -> T,
    ) -> Field<Vec<Option<T>>> {
        self.list(name, null, |entry, path, faults| {
            Fields::of(entry, path, faults).map(|mut fields| fields.read_all(&mut read))
        })
    }

    /// Reads the object with `read` and refuses the fields that it did not ask for.
    pub(super) fn read_all<T>(&mut self, read: impl FnOnce(&mut Fields<'v, '_>) -> T) -> T {
        let mut fields = Fields::new(self.object, self.path.clone(), self.faults);
        let result = read(&mut fields);
        fields.refuse_others();
        result
    }

    /// Takes every field that was not asked for.
    pub(super) fn take_others(&mut self) -> Map<String, Value> {
        self.others_are_taken = true;
        self.object
            .iter()
            .filter(|(name, _)| !self.known.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    fn refuse_others(&mut self) {
        if self.others_are_taken {
            return;
        }
        let unknown: Vec<&String> = self
            .object
            .keys()
            .filter(|name| !self.known.contains(&name.as_str()))
            .collect();
        for name in unknown {
            let message = match closest(name, &self.known) {
                Some(meant) => format!("unknown field; did you mean `{meant}`?"),
                None => format!("unknown field; the fields here are {}", self.known.join(", ")),
            };
            self.fault(name, message);
        }
    }
}

/// The fault of a value of another type.
pub(super) fn wrong_type(wanted: &str, found: &Value) -> String {
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
