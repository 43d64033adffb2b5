//! Attachment storage in a local folder or in S3: the adapters of the domain's
//! [`BlobStore`](bidloop_domain::port::BlobStore).
//!
//! Content is written to a local staging file first, wherever it ends up. So an upload that breaks off, or is refused
//! for its last byte, never touches the place where attachments live. Memory use does not depend on a file's size,
//! and no file operation runs on the async runtime's own threads.

mod file_io;
mod hyper_connector;
mod local_folder;
mod s3_bucket;
mod storage_settings;
mod storage_url;

pub use local_folder::OpenFolderError;
pub use storage_settings::{StorageSettings, StorageSettingsError};
pub use storage_url::{StorageUrl, StorageUrlError};
