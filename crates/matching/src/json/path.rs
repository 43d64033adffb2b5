//! The path of a value in a document.

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
    /// The names and indexes (as decimal digits), outermost first.
    pub fn to_vec(&self) -> Vec<String> {
        let (parent, last) = match self {
            Self::Document => return Vec::new(),
            Self::At(path) => return path.to_vec(),
            Self::Member(parent, name) => (parent, (*name).to_owned()),
            Self::Item(parent, index) => (parent, index.to_string()),
        };
        let mut path = parent.to_vec();
        path.push(last);
        path
    }
}
