//! The rules of files: names, declared types, content and sizes, for a lead's uploads and for a campaign's own
//! attachments alike (specification, "POST …/attachments"; decision A9; `docs/rules.md`).
//!
//! Everything here is pure and reads a file as a stream of pieces. Memory use does not grow with the file, and each byte
//! is examined a fixed number of times. The bytes are stored by [`BlobStore`](crate::port::BlobStore); use cases assign
//! files to leads.
//!
//! A file passes four checks, in this order:
//!
//! 1. [`FileName::parse`]: a name that can be stored and compared;
//! 2. [`FileAdmission::admit`]: room for one more file, and no other file of that name;
//! 3. [`ContentType::declared`]: an accepted type, and an extension that goes with it;
//! 4. [`ContentInspector`]: the size, and content that has the declared type and holds no program or script.

mod compound_scan;
mod content_type;
mod file_admission;
mod file_fault;
mod file_name;
mod inspector;
mod text_scan;
mod zip_scan;

pub use content_type::ContentType;
pub use file_admission::FileAdmission;
pub use file_fault::FileFault;
pub(crate) use file_fault::shown;
pub use file_name::{FileName, MAX_NAME_BYTES, MAX_SAFE_NAME_BYTES};
pub use inspector::{ContentInspector, InspectedFile};

/// Most files of one request, and of one lead over all requests (specification, "Limits").
pub const MAX_FILES: usize = 5;

/// Largest size of one file in bytes: 25 MB of 1,048,576 bytes each (decision A9).
pub const MAX_FILE_BYTES: u64 = 25 * 1_048_576;
