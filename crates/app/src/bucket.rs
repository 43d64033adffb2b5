//! Whether a bucket can be used: tried on request, and looked at when a service starts.

use bidloop_domain::port::{BlobError, BlobPath, BlobStore, Entropy};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};

/// The first segment of other files is an organization's id, which has no dot, or `campaigns`.
const FOLDER: &str = "bidloop.doctor";
const CONTENT: &[u8] = b"bidloop doctor wrote this, and may have been kept from deleting it.";

/// Writes, reads, lists and deletes a small file. Says which of them failed, and why.
pub(crate) async fn try_out(blobs: &dyn BlobStore, entropy: &dyn Entropy) -> Result<(), String> {
    let path = path(&format!("{FOLDER}/{}", entropy.uuid()))?;
    write(blobs, &path)
        .await
        .map_err(|error| format!("no file can be written: {error}"))?;
    let read = read(blobs, &path).await;
    let listed = look(blobs).await;
    let deleted = blobs.delete(&path).await;
    let read = read.map_err(|error| format!("a file was written, but cannot be read: {error}"))?;
    if read != CONTENT {
        return Err("a file was written, but other bytes were read".to_owned());
    }
    listed.map_err(|error| format!("files can be written and read, but not listed: {error}"))?;
    deleted.map_err(|error| format!("files can be written, read and listed, but not deleted: {error}"))
}

/// Asks for one page of a list: the least that needs the bucket and its credentials.
pub(crate) async fn look(blobs: &dyn BlobStore) -> Result<(), BlobError> {
    let Ok(folder) = path(FOLDER) else { return Ok(()) };
    blobs.list(&folder).next().await.transpose().map(drop)
}

fn path(text: &str) -> Result<BlobPath, String> {
    BlobPath::parse(text).ok_or_else(|| format!("{text} is no path"))
}

async fn write(blobs: &dyn BlobStore, path: &BlobPath) -> Result<(), BlobError> {
    let mut staged = blobs.stage().await?;
    staged.write(Bytes::from_static(CONTENT)).await?;
    staged.publish(path).await
}

async fn read(blobs: &dyn BlobStore, path: &BlobPath) -> Result<Vec<u8>, BlobError> {
    let pieces: Vec<Bytes> = blobs.read(path).await?.try_collect().await?;
    Ok(pieces.concat())
}
