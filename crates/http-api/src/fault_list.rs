//! Collecting shape faults: all at once as far as feasible (decision A2), and no flood of them.

use std::collections::HashSet;

use bidloop_domain::model::ShapeFault;
use serde_json::{Map, Value};
use validator::{ValidationErrors, ValidationErrorsKind};

/// Most faults told in one answer: a body of nothing but faults must not make an answer many times its size.
const MOST_FAULTS: usize = 50;

/// Faults found so far.
#[derive(Debug, Default)]
pub(crate) struct FaultList {
    faults: Vec<ShapeFault>,
    truncated: bool,
}

impl FaultList {
    pub(crate) fn add<S: AsRef<str>>(&mut self, path: &[S], message: impl Into<String>) {
        self.push(ShapeFault::new(path, message));
    }

    pub(crate) fn push(&mut self, fault: ShapeFault) {
        if self.faults.len() < MOST_FAULTS {
            self.faults.push(fault);
        } else {
            self.truncated = true;
        }
    }

    pub(crate) fn extend(&mut self, faults: impl IntoIterator<Item = ShapeFault>) {
        faults.into_iter().for_each(|fault| self.push(fault));
    }

    /// Whether no more are kept, so that no more need be looked for.
    pub(crate) fn is_full(&self) -> bool {
        self.truncated
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    pub(crate) fn into_faults(self) -> Vec<ShapeFault> {
        self.faults
    }

    /// What a DTO's `Validate` found, under `prefix`; in the order of names, so that it is the same every time.
    pub(crate) fn extend_validated(&mut self, errors: &ValidationErrors, prefix: &[String]) {
        let mut fields: Vec<_> = errors.errors().iter().collect();
        fields.sort_by_key(|(name, _)| *name);
        for (field, kind) in fields {
            let mut path = prefix.to_vec();
            path.push(camel_case(field));
            match kind {
                ValidationErrorsKind::Field(faults) => {
                    for fault in faults {
                        self.add(&path, fault.message.as_deref().unwrap_or("is not valid"));
                    }
                }
                ValidationErrorsKind::Struct(nested) => self.extend_validated(nested, &path),
                ValidationErrorsKind::List(items) => {
                    for (index, nested) in items {
                        let mut path = path.clone();
                        path.push(index.to_string());
                        self.extend_validated(nested, &path);
                    }
                }
            }
        }
    }
}

/// A field's name in JSON.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

/// An object's members, taken out one by one; those that nobody takes are unknown.
pub(crate) struct Members<'a> {
    object: Map<String, Value>,
    path: &'a [String],
    faults: &'a mut FaultList,
    known: HashSet<&'static str>,
}

impl<'a> Members<'a> {
    /// `None`, with a fault, if `value` is no object.
    pub(crate) fn of(value: Value, path: &'a [String], faults: &'a mut FaultList) -> Option<Self> {
        let Value::Object(object) = value else {
            faults.add(path, "must be an object");
            return None;
        };
        Some(Self {
            object,
            path,
            faults,
            known: HashSet::new(),
        })
    }

    /// The member, of whatever type.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.insert(name);
        self.object.remove(name)
    }

    /// The member, with a fault if it is missing.
    pub(crate) fn require(&mut self, name: &'static str) -> Option<Value> {
        let value = self.take(name);
        if value.is_none() {
            self.fault(name, "is required");
        }
        value
    }

    /// A string that must be there.
    pub(crate) fn required_string(&mut self, name: &'static str) -> Option<String> {
        let value = self.require(name)?;
        self.string(name, value)
    }

    /// A string that may be left out.
    pub(crate) fn optional_string(&mut self, name: &'static str) -> Option<String> {
        let value = self.take(name)?;
        self.string(name, value)
    }

    fn string(&mut self, name: &str, value: Value) -> Option<String> {
        if let Value::String(text) = value {
            return Some(text);
        }
        self.fault(name, "must be a string");
        None
    }

    /// True or false, which may be left out.
    pub(crate) fn optional_boolean(&mut self, name: &'static str) -> Option<bool> {
        let value = self.take(name)?;
        if value.as_bool().is_none() {
            self.fault(name, "must be true or false");
        }
        value.as_bool()
    }

    /// Whatever nobody took is unknown.
    pub(crate) fn refuse_others(self) {
        let mut known: Vec<&str> = self.known.into_iter().collect();
        known.sort_unstable();
        for name in self.object.keys() {
            let mut path = self.path.to_vec();
            path.push(name.clone());
            self.faults.add(
                &path,
                format!("is not a known field; known are {}", known.join(", ")),
            );
        }
    }

    fn fault(&mut self, name: &str, message: &str) {
        let mut path = self.path.to_vec();
        path.push(name.to_owned());
        self.faults.add(&path, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_faults_is_told_in_part() {
        let mut faults = FaultList::default();
        for _ in 0..1000 {
            faults.add(&["a"], "no");
        }
        assert!(faults.is_full());
        assert_eq!(faults.into_faults().len(), MOST_FAULTS);
    }

    #[test]
    fn a_dtos_field_is_told_by_its_name_in_json() {
        assert_eq!(camel_case("question_answer_pairs"), "questionAnswerPairs");
        assert_eq!(camel_case("reason"), "reason");
    }
}
