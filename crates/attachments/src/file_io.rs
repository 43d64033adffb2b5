//! File operations for both storages: blocking ones off the async runtime, with the port's errors.

use std::io;

use bidloop_domain::port::BlobError;
use tokio::fs::File;
use tokio::io::BufWriter;

/// The buffer in front of each call to a blocking thread, in bytes.
pub(crate) const BUFFER: usize = 256 * 1024;

/// Runs file operations on a blocking thread.
pub(crate) async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(io::Error::other)?
}

/// A buffered writer to a staging file.
pub(crate) fn staging_writer(file: std::fs::File) -> BufWriter<File> {
    BufWriter::with_capacity(BUFFER, File::from_std(file))
}

/// An error of the storage as a whole, not of one blob.
#[expect(clippy::needless_pass_by_value, reason = "map_err hands the error over")]
pub(crate) fn unavailable(error: io::Error) -> BlobError {
    BlobError::Unavailable(error.to_string())
}
