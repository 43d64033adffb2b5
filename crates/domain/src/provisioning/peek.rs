//! Looks into a file before it is planned. What is faulty is skipped: planning reports it.

use serde_json::{Map, Value};

use super::faults::{Path, path_to};
use crate::model::InvalidId;

/// A JSON object of the file.
pub(super) type Object = Map<String, Value>;

/// The objects in a list; nothing if there is no list.
pub(super) fn objects<'v>(owner: &'v Object, list: &str) -> impl Iterator<Item = &'v Object> {
    objects_with_paths(owner, &[], list).map(|(_, object)| object)
}

/// As [`objects`], with the path of each; `path` is the owner's.
pub(super) fn objects_with_paths<'v>(
    owner: &'v Object,
    path: &[String],
    list: &str,
) -> impl Iterator<Item = (Path, &'v Object)> {
    let path = path_to(path, list);
    let entries = owner.get(list).and_then(Value::as_array).into_iter().flatten();
    let paths = (0..).map(move |index: usize| path_to(&path, &index.to_string()));
    paths
        .zip(entries)
        .filter_map(|(path, entry)| Some((path, entry.as_object()?)))
}

/// The id of an entry, if it has a usable one.
pub(super) fn id_of<T>(entry: &Object, parse: fn(&str) -> Result<T, InvalidId>) -> Option<T> {
    parse(text_of(entry, "id")?).ok()
}

/// A field of an entry, if it is a text.
pub(super) fn text_of<'v>(entry: &'v Object, field: &str) -> Option<&'v str> {
    entry.get(field)?.as_str()
}

/// Whether an entry calls its entity absent.
pub(super) fn is_absent(entry: &Object) -> bool {
    text_of(entry, "state") == Some("absent")
}
