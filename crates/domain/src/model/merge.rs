//! Merging a partial JSON object into a stored one, as provisioning does.

use serde_json::{Map, Value};

/// `existing` with `patch` merged into it, by the rules of RFC 7386 (JSON Merge Patch).
///
/// Objects merge field by field at every depth, a null removes the field, and any other value (lists too) replaces
/// the stored one. So fields that a provisioning file does not mention stay, and an explicit null unsets a field.
///
/// ```
/// use bidloop_domain::model::merge_patch;
/// use serde_json::json;
///
/// let stored = json!({"keywords": "rust", "client": {"minRating": 4.5, "countries": {"exclude": ["A", "B"]}}});
/// let file = json!({"keywords": null, "client": {"minHires": 1, "countries": {"exclude": ["C"]}}});
/// assert_eq!(
///     merge_patch(&stored, &file),
///     json!({"client": {"minRating": 4.5, "minHires": 1, "countries": {"exclude": ["C"]}}}),
/// );
/// ```
#[must_use]
pub fn merge_patch(existing: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else {
        return patch.clone();
    };
    let mut merged = existing.as_object().cloned().unwrap_or_else(Map::new);
    for (name, change) in changes {
        if change.is_null() {
            merged.remove(name);
        } else {
            let before = merged.get(name).unwrap_or(&Value::Null);
            let after = merge_patch(before, change);
            merged.insert(name.clone(), after);
        }
    }
    Value::Object(merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_examples_of_rfc_7386_hold() {
        for (existing, patch, expected) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a": "b"}), json!(["c"]), json!(["c"])),
            (json!({"a": "foo"}), json!(null), json!(null)),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
        ] {
            assert_eq!(merge_patch(&existing, &patch), expected, "{existing} + {patch}");
        }
    }

    #[test]
    fn a_patch_merged_twice_changes_nothing_more() {
        let patch = json!({"skills": {"any": ["x"], "none": null}, "keywords": null});
        let once = merge_patch(&json!({"skills": {"none": ["y"]}}), &patch);
        assert_eq!(merge_patch(&once, &patch), once);
    }
}
