//! The faults of a provisioning file: collected as they are found, reported by path, a line each.

use std::cmp::Ordering;

use crate::model::ShapeFault;

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

/// The longest name shown in a path; an unknown field may have one of any length.
const MAX_NAME_CHARS: usize = 80;

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Faults(Vec<ShapeFault>);

impl Faults {
    /// Adds a fault at `path`; an empty one stands for the whole document.
    pub(crate) fn push(&mut self, path: &[String], message: impl AsRef<str>) {
        let mut path: Path = path
            .iter()
            .map(|name| in_one_line(name, MAX_NAME_CHARS))
            .collect();
        if path.is_empty() {
            path.push(WHOLE_DOCUMENT.to_owned());
        }
        let message = in_one_line(message.as_ref(), usize::MAX);
        self.0.push(ShapeFault { path, message });
    }

    /// Adds all of another collection.
    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Adds faults whose paths start at the document.
    pub(crate) fn push_all(&mut self, faults: impl IntoIterator<Item = ShapeFault>) {
        for fault in faults {
            self.push(&fault.path, fault.message);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All faults: by path, entries of a list in their order, and faults of one value in the order found.
    pub(crate) fn into_sorted(mut self) -> Vec<ShapeFault> {
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

/// `text` with line breaks as spaces and other control characters escaped, cut after `max_chars`.
pub(super) fn in_one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::with_capacity(text.len().min(256));
    for (count, c) in text.chars().enumerate() {
        match c {
            _ if count == max_chars => {
                line.push('…');
                break;
            }
            '\n' | '\t' | '\u{2028}' | '\u{2029}' => line.push(' '),
            '\r' => {}
            _ if c.is_control() => line.extend(c.escape_default()),
            _ => line.push(c),
        }
    }
    line
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

    #[test]
    fn a_name_from_the_file_cannot_break_a_line_or_flood_it() {
        let mut faults = Faults::default();
        faults.push(&at(&[&format!("a\n{}", "x".repeat(500))]), "unknown field");
        let line = faults.into_sorted()[0].to_string();
        assert!(
            line.starts_with("a xxx") && line.ends_with("x…: unknown field"),
            "{line}"
        );
        assert!(line.chars().count() < 110, "{line}");
    }
}
