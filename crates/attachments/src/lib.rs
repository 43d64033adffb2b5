//! Attachment storage in a local folder or in S3: the adapters of the domain's
//! [`BlobStore`](bidloop_domain::port::BlobStore).
//!
//! Both storages write content to a local staging file first. So an upload that breaks off, or is refused at its last
//! byte, never reaches the attachments. Memory use does not depend on a file's size, and no file operation blocks the
//! threads of the async runtime.

mod bucket_fault;
mod file_io;
mod folder_walk;
mod hyper_connector;
mod local_folder;
mod s3_bucket;
mod storage_settings;
mod storage_url;
mod upload_turns;

pub use local_folder::OpenFolderError;
pub use storage_settings::{StorageSettings, StorageSettingsError};
pub use storage_url::{StorageUrl, StorageUrlError};
