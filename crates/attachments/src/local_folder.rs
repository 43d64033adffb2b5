//! Attachments in a local folder, which several machines may mount.
//!
//! Content is staged in a hidden folder inside, which no [`BlobPath`] can name and which is on the same file system. So
//! publishing is one atomic rename, which is made durable before it is reported as done.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::port::{BlobError, BlobPath, BlobStore, StagedBlob};
use bytes::{Bytes, BytesMut};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use tempfile::TempPath;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufWriter};

use crate::file_io::{off_the_runtime, staging_writer, unavailable};
use crate::folder_walk::FolderWalk;

const STAGING: &str = ".staging";

/// The age of a staging file that a crash must have left: no upload goes so long without a write.
const LEFT_BEHIND_AFTER: Duration = Duration::from_secs(60 * 60);

/// The size of the pieces in which a blob is read, in bytes.
const READ_PIECE: usize = 64 * 1024;

/// The folder cannot be created or written.
#[derive(Debug, thiserror::Error)]
#[error("the folder {folder}: {error}")]
pub struct OpenFolderError {
    /// The folder in the setting.
    pub folder: String,
    /// The system's error.
    pub error: io::Error,
}

#[derive(Debug)]
pub(crate) struct LocalFolder {
    root: PathBuf,
}

impl LocalFolder {
    pub(crate) async fn open(folder: PathBuf) -> Result<Self, OpenFolderError> {
        let shown = folder.display().to_string();
        let opened = off_the_runtime(move || {
            // The working directory may change later.
            let root = std::path::absolute(&folder)?;
            prepare(&root)?;
            Ok(Self { root })
        });
        opened
            .await
            .map_err(|error| OpenFolderError { folder: shown, error })
    }

    fn file_of(&self, path: &BlobPath) -> PathBuf {
        path.as_str()
            .split('/')
            .fold(self.root.clone(), |file, segment| file.join(segment))
    }
}

/// Creates the folder and its staging folder, and removes staging files that a crash left.
fn prepare(root: &Path) -> io::Result<()> {
    let staging = root.join(STAGING);
    let missing: Vec<&Path> = staging
        .ancestors()
        .take_while(|folder| !folder.exists())
        .collect();
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&staging)?;
    warn_of_other_readers(root)?;
    // A published file is only as durable as the folders above it.
    missing
        .into_iter()
        .filter_map(Path::parent)
        .try_for_each(sync_folder)?;
    for entry in fs::read_dir(&staging)? {
        let entry = entry?;
        let age = entry
            .metadata()
            .and_then(|metadata| metadata.modified())
            .map(|modified| modified.elapsed());
        // A time in the future has no age. Another process may have removed the file first.
        if matches!(age, Ok(Ok(age)) if age > LEFT_BEHIND_AFTER)
            && let Err(error) = fs::remove_file(entry.path())
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(file = %entry.path().display(), %error, "cannot remove a staging file that a crash left");
        }
    }
    Ok(())
}

/// A folder that exists keeps its mode: the operator may share it on purpose.
fn warn_of_other_readers(root: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if fs::metadata(root)?.permissions().mode() & 0o077 != 0 {
            tracing::warn!(
                folder = %root.display(),
                "other users of this machine have rights on the folder of attachments: \
                 remove them with `chmod 700`, unless they share it on purpose"
            );
        }
    }
    Ok(())
}

#[async_trait]
impl BlobStore for LocalFolder {
    async fn stage(&self) -> Result<Box<dyn StagedBlob>, BlobError> {
        let staging = self.root.join(STAGING);
        let staged = off_the_runtime(move || tempfile::Builder::new().prefix("upload-").tempfile_in(staging));
        let (file, staging_path) = staged.await.map_err(unavailable)?.into_parts();
        Ok(Box::new(StagedFile {
            root: self.root.clone(),
            staging_path,
            file: staging_writer(file),
        }))
    }

    async fn read(&self, path: &BlobPath) -> Result<BoxStream<'static, Result<Bytes, BlobError>>, BlobError> {
        let file = File::open(self.file_of(path)).await.map_err(unreadable)?;
        Ok(pieces_of(file).boxed())
    }

    async fn delete(&self, path: &BlobPath) -> Result<(), BlobError> {
        let file = self.file_of(path);
        let root = self.root.clone();
        let deleted = off_the_runtime(move || {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            // Empty folders are removed. Publishing creates them again.
            let mut folder = file.parent();
            while let Some(empty) = folder.filter(|folder| *folder != root && fs::remove_dir(folder).is_ok())
            {
                folder = empty.parent();
            }
            Ok(())
        });
        deleted.await.map_err(unavailable)
    }

    fn list(&self, folder: &BlobPath) -> BoxStream<'static, Result<BlobPath, BlobError>> {
        listed(FolderWalk::new(self.root.clone(), folder))
    }
}

/// A staging file. Its path removes the file when it is dropped before publishing.
#[derive(Debug)]
struct StagedFile {
    root: PathBuf,
    staging_path: TempPath,
    file: BufWriter<File>,
}

#[async_trait]
impl StagedBlob for StagedFile {
    async fn write(&mut self, piece: Bytes) -> Result<(), BlobError> {
        self.file.write_all(&piece).await.map_err(unavailable)
    }

    async fn publish(self: Box<Self>, path: &BlobPath) -> Result<(), BlobError> {
        let Self {
            root,
            staging_path,
            mut file,
        } = *self;
        file.flush().await.map_err(unavailable)?;
        let file = file.into_inner().into_std().await;
        let segments: Vec<String> = path.as_str().split('/').map(str::to_owned).collect();
        let published = off_the_runtime(move || {
            file.sync_all()?;
            publish_file(&root, staging_path, &segments)
        });
        published.await.map_err(unavailable)
    }
}

fn publish_file(root: &Path, staging_path: TempPath, segments: &[String]) -> io::Result<()> {
    /// Another process may remove an empty folder just before the file is moved there.
    const RETRIES: usize = 5;
    let (name, folders) = segments.split_last().ok_or(io::ErrorKind::InvalidInput)?;
    let enter = || {
        let folder = durable_folder(root, folders)?;
        fs::rename(&staging_path, folder.join(name))?;
        sync_folder(&folder)
    };
    let mut entered = enter();
    for _ in 0..RETRIES {
        match &entered {
            Err(error) if error.kind() == io::ErrorKind::NotFound && staging_path.exists() => {
                entered = enter();
            }
            _ => break,
        }
    }
    entered?;
    // The file has been moved, so there is no staging file to remove.
    staging_path.keep().map(|_| ()).map_err(|failed| failed.error)
}

/// Creates the folder. Each level is durable in the one above.
fn durable_folder(root: &Path, folders: &[String]) -> io::Result<PathBuf> {
    let mut folder = root.to_path_buf();
    for name in folders {
        let parent = folder.clone();
        folder.push(name);
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&folder) {
            Ok(()) => sync_folder(&parent)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(folder)
}

/// Makes a folder's entries durable. Systems other than Unix do not open folders as files, and do this themselves.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        fs::File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}

/// The rest of a file in pieces.
fn pieces_of(file: File) -> impl futures::Stream<Item = Result<Bytes, BlobError>> + Send + 'static {
    stream::try_unfold(file, |mut file| async move {
        let mut piece = BytesMut::with_capacity(READ_PIECE);
        let length = file.read_buf(&mut piece).await.map_err(unavailable)?;
        Ok((length > 0).then(|| (piece.freeze(), file)))
    })
}

/// What the walk finds, looked for on blocking threads.
fn listed(walk: FolderWalk) -> BoxStream<'static, Result<BlobPath, BlobError>> {
    let parts = stream::try_unfold(walk, |mut walk| async move {
        let part = off_the_runtime(move || Ok((walk.next_some()?, walk)));
        let (found, walk) = part.await.map_err(unavailable)?;
        Ok((!found.is_empty()).then(|| (stream::iter(found.into_iter().map(Ok)), walk)))
    });
    parts.try_flatten().boxed()
}

fn unreadable(error: io::Error) -> BlobError {
    match error.kind() {
        io::ErrorKind::NotFound => BlobError::NotFound,
        _ => unavailable(error),
    }
}
