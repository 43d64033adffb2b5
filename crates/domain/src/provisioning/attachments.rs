//! A campaign's attachments as the file describes them (decision A9). The use case reads their content.

use std::collections::HashSet;

use bidloop_matching::json::{Field, Fields, Null, storable_text};

use super::values;
use crate::attachment_rules::{ContentType, FileFault, FileName, MAX_FILES};

/// An entry of a campaign's `attachments`.
#[derive(Debug, Clone)]
pub(crate) struct AttachmentEntry {
    /// The path of the entry's `path` field.
    pub(crate) path: Vec<String>,
    pub(crate) name: FileName,
    pub(crate) content_type: ContentType,
    /// The file to read, as the entry names it.
    pub(crate) source: String,
}

/// Reads the list. A faulty list or entry gives no attachment.
pub(super) fn read_attachments(fields: &mut Fields<'_, '_>) -> Field<Vec<AttachmentEntry>> {
    let mut names = HashSet::new();
    let entries = fields.objects("attachments", Null::Allowed, |fields| {
        let name = fields.required("name", |value| {
            FileName::parse(&storable_text(value)?).map_err(|fault| fault.to_string())
        });
        if let Some(name) = &name
            && !names.insert(name.comparison_key())
        {
            fields.fault("name", "is the name of another file above: case is ignored");
        }
        let declared = fields.required("contentType", values::words);
        let source = fields.required("path", values::words);
        let (name, declared) = (name?, declared?);
        match ContentType::declared(&name, &declared) {
            Ok(content_type) => Some(AttachmentEntry {
                path: fields.path_to("path"),
                name,
                content_type,
                source: source?,
            }),
            Err(fault) => {
                let of_type = matches!(
                    fault,
                    FileFault::UnsupportedType { .. } | FileFault::ExtensionMismatch { .. }
                );
                fields.fault(if of_type { "contentType" } else { "name" }, fault.to_string());
                None
            }
        }
    });
    let attachments = entries.map(|entries| entries.into_iter().flatten().collect::<Vec<_>>());
    if let Field::Given(files) = &attachments
        && files.len() > MAX_FILES
    {
        fields.fault(
            "attachments",
            format!("has {} files: a campaign has at most {MAX_FILES}", files.len()),
        );
        return Field::Faulty;
    }
    attachments
}
