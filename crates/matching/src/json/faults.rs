//! The faults of one document.

use std::cmp::Ordering;

use super::{FieldError, Path};

/// Collects the faults of a document while it is read, up to a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    errors: Vec<FieldError>,
    limit: usize,
    is_full: bool,
}

impl Default for Faults {
    fn default() -> Self {
        Self::new()
    }
}

impl Faults {
    /// No faults, without a limit. For files of the operator.
    pub const fn new() -> Self {
        Self::with_limit(usize::MAX)
    }

    /// No faults, with a limit. For requests, whose answer must not be many times larger than they are.
    pub const fn with_limit(limit: usize) -> Self {
        Self {
            errors: Vec::new(),
            limit,
            is_full: false,
        }
    }

    /// Adds a fault at `path`, unless the limit is reached.
    pub fn add(&mut self, path: &Path<'_>, message: impl Into<String>) {
        if self.has_room() {
            self.errors.push(FieldError {
                path: path.to_vec(),
                message: message.into(),
            });
        }
    }

    /// Adds a fault, unless the limit is reached.
    pub fn push(&mut self, error: FieldError) {
        if self.has_room() {
            self.errors.push(error);
        }
    }

    /// Whether a fault was dropped because the limit was reached.
    pub const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether no fault was found.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Returns `value` if there are no faults, and the faults otherwise.
    pub fn into_result<T>(self, value: T) -> Result<T, Vec<FieldError>> {
        if self.errors.is_empty() {
            Ok(value)
        } else {
            Err(self.errors)
        }
    }

    /// The faults in the order in which they were found.
    pub fn into_errors(self) -> Vec<FieldError> {
        self.errors
    }

    /// The faults sorted by path: names alphabetically, entries of a list by index. Faults of one value keep their order.
    pub fn into_sorted(mut self) -> Vec<FieldError> {
        self.errors.sort_by(|one, other| by_path(&one.path, &other.path));
        self.errors
    }

    fn has_room(&mut self) -> bool {
        self.is_full |= self.errors.len() >= self.limit;
        !self.is_full
    }
}

impl Extend<FieldError> for Faults {
    fn extend<I: IntoIterator<Item = FieldError>>(&mut self, errors: I) {
        errors.into_iter().for_each(|error| self.push(error));
    }
}

fn by_path(one: &[String], other: &[String]) -> Ordering {
    one.iter()
        .zip(other)
        .map(|(one, other)| by_name(one, other))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| one.len().cmp(&other.len()))
}

fn by_name(one: &str, other: &str) -> Ordering {
    let is_index = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    if is_index(one) && is_index(other) {
        return one.len().cmp(&other.len()).then_with(|| one.cmp(other));
    }
    one.cmp(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_beyond_the_limit_are_dropped() {
        let mut faults = Faults::with_limit(2);
        for _ in 0..2 {
            faults.add(&Path::Document, "no");
        }
        assert!(!faults.is_full());
        faults.add(&Path::Document, "no");
        assert!(faults.is_full());
        assert_eq!(faults.into_errors().len(), 2);
    }

    #[test]
    fn faults_are_sorted_by_path_and_entries_by_number() {
        let mut faults = Faults::new();
        let list = Path::Member(&Path::Document, "list");
        faults.add(&Path::Member(&Path::Item(&list, 10), "a"), "tenth");
        faults.add(&Path::Member(&Path::Item(&list, 9), "b"), "ninth");
        faults.add(&Path::Item(&list, 9), "whole");
        let messages: Vec<String> = faults
            .into_sorted()
            .into_iter()
            .map(|fault| fault.message)
            .collect();
        assert_eq!(messages, ["whole", "ninth", "tenth"]);
    }
}
