//! Reads parts of a file before it is planned. Skips faulty parts: planning reports them.

use bidloop_matching::json::Path;
use serde_json::Value;

use crate::model::{InvalidId, OrganizationId};

/// The objects in a list; nothing if there is no list.
pub(super) fn objects<'v>(owner: &'v Value, list: &str) -> impl Iterator<Item = &'v Value> {
    objects_with_paths(owner, &[], list).map(|(_, object)| object)
}

/// As [`objects`], with the path of each; `path` is the owner's.
pub(super) fn objects_with_paths<'v>(
    owner: &'v Value,
    path: &[String],
    list: &str,
) -> impl Iterator<Item = (Vec<String>, &'v Value)> {
    let path = path_to(path, list);
    let entries = owner.get(list).and_then(Value::as_array).into_iter().flatten();
    let entries = entries.enumerate().filter(|(_, entry)| entry.is_object());
    entries.map(move |(index, entry)| (Path::Item(&Path::At(&path), index).to_vec(), entry))
}

/// The path of an organization's entry in the file; of their list if it has none.
pub(crate) fn path_of_organization(file: &Value, id: &OrganizationId) -> Vec<String> {
    objects_with_paths(file, &[], "organizations")
        .find(|(_, entry)| text_of(entry, "id") == Some(id.as_str()))
        .map_or_else(|| path_to(&[], "organizations"), |(path, _)| path)
}

/// The path of the field `name` of the object at `path`.
pub(super) fn path_to(path: &[String], name: &str) -> Vec<String> {
    Path::Member(&Path::At(path), name).to_vec()
}

/// The id of an entry, if it has a usable one.
pub(super) fn id_of<T>(entry: &Value, parse: fn(&str) -> Result<T, InvalidId>) -> Option<T> {
    parse(text_of(entry, "id")?).ok()
}

/// A field of an entry, if it is a text.
pub(super) fn text_of<'v>(entry: &'v Value, field: &str) -> Option<&'v str> {
    entry.get(field)?.as_str()
}

/// Whether an entry with this `state` removes its entity.
pub(super) fn is_absent(state: Option<&Value>) -> bool {
    state.and_then(Value::as_str) == Some("absent")
}
