//! The path of a value in a document, and the length of the names in it.

/// The most characters of a name in a path. A document's own names are shorter. The name of an unknown field may have any
/// length, and is repeated in a fault, an answer and the Activity record.
pub const MAX_NAME_CHARS: usize = 64;

/// Returns a name as faults repeat it: cut after [`MAX_NAME_CHARS`] characters, the last of which is then `…`.
///
/// ```
/// use bidloop_matching::json::{MAX_NAME_CHARS, shortened_name};
///
/// assert_eq!(shortened_name("minBoost"), "minBoost");
/// assert_eq!(shortened_name(&"é".repeat(1_000)), format!("{}…", "é".repeat(MAX_NAME_CHARS - 1)));
/// ```
pub fn shortened_name(name: &str) -> String {
    let mut starts = name.char_indices().map(|(start, _)| start);
    let (Some(end), Some(_)) = (starts.nth(MAX_NAME_CHARS - 1), starts.next()) else {
        return name.to_owned();
    };
    format!("{}…", &name[..end])
}

/// The names and indexes from the document to a value. It allocates nothing.
#[derive(Debug, Clone, Copy)]
pub enum Path<'a> {
    /// The whole document.
    Document,
    /// A place in a larger document.
    At(&'a [String]),
    /// A member of an object.
    Member(&'a Path<'a>, &'a str),
    /// An entry of a list.
    Item(&'a Path<'a>, usize),
}

impl Path<'_> {
    /// The names, [shortened](shortened_name), and the indexes as decimal digits, outermost first.
    pub fn to_vec(&self) -> Vec<String> {
        let (parent, last) = match self {
            Self::Document => return Vec::new(),
            Self::At(path) => return path.to_vec(),
            Self::Member(parent, name) => (parent, shortened_name(name)),
            Self::Item(parent, index) => (parent, index.to_string()),
        };
        let mut path = parent.to_vec();
        path.push(last);
        path
    }
}
