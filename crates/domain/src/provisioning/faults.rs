//! The faults of a provisioning file: collected as they are found, reported by path, a line each.

use std::cmp::Ordering;

use crate::model::FieldError;

/// Names and indexes (as decimal digits) from the document down to a value.
pub(crate) type Path = Vec<String>;

/// The path to `name` below `path`.
pub(crate) fn path_to(path: &[String], name: &str) -> Path {
    let mut longer = path.to_vec();
    longer.push(name.to_owned());
    longer
}

/// Stands where a path would, for a fault of the document as a whole: every line is `path: message`.
const WHOLE_DOCUMENT: &str = "document";

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Faults(Vec<FieldError>);

impl Faults {
    /// Adds a fault at `path`; an empty one stands for the whole document.
    pub(crate) fn push(&mut self, path: &[String], message: impl AsRef<str>) {
        let path = if path.is_empty() {
            vec![WHOLE_DOCUMENT.to_owned()]
        } else {
            path.to_vec()
        };
        let message = message.as_ref().to_owned();
        self.0.push(FieldError { path, message });
    }

    /// Adds faults whose paths start at the document.
    pub(crate) fn push_all(&mut self, faults: impl IntoIterator<Item = FieldError>) {
        for fault in faults {
            self.push(&fault.path, fault.message);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All faults: by path, entries of a list in their order, and faults of one value in the order found.
    pub(crate) fn into_sorted(mut self) -> Vec<FieldError> {
        self.0.sort_by(|one, other| by_path(&one.path, &other.path));
        self.0
    }
}

fn by_path(one: &[String], other: &[String]) -> Ordering {
    one.iter()
        .zip(other)
        .map(|(one, other)| by_name(one, other))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| one.len().cmp(&other.len()))
}

/// Indexes by their number, names by their letters.
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

    fn at(path: &[&str]) -> Path {
        path.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn faults_are_reported_by_path_a_line_each() {
        let mut faults = Faults::default();
        faults.push(&at(&["organizations", "10", "name"]), "tenth");
        faults.push(&at(&["organizations", "9", "name"]), "of\ntwo lines\u{7}");
        faults.push(&at(&["organizations", "9"]), "the whole");
        faults.push(&[], "must be an object");
        let lines: Vec<String> = faults.into_sorted().iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "document: must be an object",
                "organizations[9]: the whole",
                "organizations[9].name: of two lines\\u{7}",
                "organizations[10].name: tenth",
            ]
        );
    }
}
