//! Files: ZIP archives, Word documents, images and texts.

use bidloop_domain::attachment_rules::{ContentInspector, ContentType, FileFault, FileName, InspectedFile};

use crate::case::Case;
use crate::cost::bounded;

const TYPES: [(&str, &str); 8] = [
    ("a.zip", "application/zip"),
    (
        "a.docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    ("a.doc", "application/msword"),
    ("a.pdf", "application/pdf"),
    ("a.txt", "text/plain"),
    ("a.png", "image/png"),
    ("a.gif", "image/gif"),
    ("a.webp", "image/webp"),
];

/// Inspects the input as a file. The verdict does not depend on the pieces in which a file arrives, and a fault names the
/// file and is short.
pub fn files(data: &[u8]) {
    let Some(case) = Case::of(data) else { return };
    let (name, content_type) = TYPES[usize::from(case.choice) % TYPES.len()];
    let pieces = [1_usize, 7, 64, 511][usize::from(case.choice) / TYPES.len() % 4];
    let whole = bounded(case.content.len(), || {
        inspect(name, content_type, &case.content, usize::MAX)
    });
    if case.content.len() < 4096 {
        let pieced = inspect(name, content_type, &case.content, pieces);
        assert_eq!(whole, pieced, "in pieces of {pieces} bytes");
    }
    match whole {
        Ok(file) => assert_eq!(file.size_bytes, case.content.len() as u64),
        Err(fault) => {
            let message = fault.to_string();
            assert!(message.contains(name) && message.len() < 1024, "{message}");
        }
    }
}

fn inspect(name: &str, content_type: &str, content: &[u8], piece: usize) -> Result<InspectedFile, FileFault> {
    let name = FileName::parse(name)?;
    let content_type = ContentType::declared(&name, content_type)?;
    let mut inspector = ContentInspector::new(content_type, name);
    for piece in content.chunks(piece) {
        inspector.push(piece)?;
    }
    inspector.finish()
}
