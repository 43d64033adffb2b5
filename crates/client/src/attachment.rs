//! Files for a lead's proposal: those to upload, and those that the lead has.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use serde::{Deserialize, Serialize};
use tokio::fs::File;
use tokio::io::AsyncRead;
use tokio_util::io::ReaderStream;

/// The size of the pieces in which a file is read.
const PIECE_BYTES: usize = 64 * 1_024;

/// A file to upload. It is read while it is sent, never as a whole.
#[derive(Debug)]
pub struct Upload {
    pub(crate) name: String,
    pub(crate) content_type: String,
    content: Content,
}

enum Content {
    Bytes(Bytes),
    File {
        path: PathBuf,
        size: u64,
    },
    Reader {
        reader: Option<Box<dyn AsyncRead + Send + Unpin>>,
        size: Option<u64>,
    },
}

impl fmt::Debug for Content {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(formatter, "{} bytes", bytes.len()),
            Self::File { path, size } => write!(formatter, "{size} bytes of {}", path.display()),
            Self::Reader { size: Some(size), .. } => write!(formatter, "{size} bytes of a reader"),
            Self::Reader { size: None, .. } => formatter.write_str("a reader"),
        }
    }
}

impl Upload {
    /// A file that is in memory.
    pub fn from_bytes(
        name: impl Into<String>,
        content_type: impl Into<String>,
        content: impl Into<Bytes>,
    ) -> Self {
        Self::new(name.into(), content_type.into(), Content::Bytes(content.into()))
    }

    /// A file on disk, under its own name. It must not change until it is uploaded.
    pub async fn from_path(path: impl AsRef<Path>, content_type: impl Into<String>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        let size = tokio::fs::metadata(&path).await?.len();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok(Self::new(name, content_type.into(), Content::File { path, size }))
    }

    /// What a reader yields. It can be read once, so such an upload is never repeated.
    pub fn from_reader(
        name: impl Into<String>,
        content_type: impl Into<String>,
        reader: impl AsyncRead + Send + Unpin + 'static,
    ) -> Self {
        let reader: Box<dyn AsyncRead + Send + Unpin> = Box::new(reader);
        let content = Content::Reader {
            reader: Some(reader),
            size: None,
        };
        Self::new(name.into(), content_type.into(), content)
    }

    /// Declares how many bytes a reader yields. If the size of each file is known, the service learns the length of the
    /// request before its body.
    #[must_use]
    pub fn with_size(mut self, bytes: u64) -> Self {
        if let Content::Reader { size, .. } = &mut self.content {
            *size = Some(bytes);
        }
        self
    }

    fn new(name: String, content_type: String, content: Content) -> Self {
        Self {
            name,
            content_type,
            content,
        }
    }

    /// The size, if it is known.
    pub(crate) fn size(&self) -> Option<u64> {
        match self.content {
            Content::Bytes(ref bytes) => Some(bytes.len() as u64),
            Content::File { size, .. } => Some(size),
            Content::Reader { size, .. } => size,
        }
    }

    /// Whether the content can be read again.
    pub(crate) fn is_repeatable(&self) -> bool {
        !matches!(self.content, Content::Reader { .. })
    }

    /// The content from its beginning. A reader's is empty the second time.
    pub(crate) fn pieces(&mut self) -> BoxStream<'static, io::Result<Bytes>> {
        match &mut self.content {
            Content::Bytes(bytes) => stream::iter([Ok(bytes.clone())]).boxed(),
            Content::File { path, .. } => stream::once(File::open(path.clone()))
                .map_ok(|file| ReaderStream::with_capacity(file, PIECE_BYTES))
                .try_flatten()
                .boxed(),
            Content::Reader { reader, .. } => match reader.take() {
                Some(reader) => ReaderStream::with_capacity(reader, PIECE_BYTES).boxed(),
                None => stream::empty().boxed(),
            },
        }
    }
}

/// A file that was uploaded for a lead's proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LeadAttachment {
    /// Its id.
    pub id: String,
    /// Its name as uploaded.
    pub original_name: String,
    /// Its name without path, control and reserved characters.
    #[serde(default)]
    pub safe_name: Option<String>,
    /// Its media type.
    pub content_type: String,
    /// Its size.
    pub size_bytes: u64,
    /// Where the service keeps it.
    #[serde(default)]
    pub storage_path: Option<String>,
    /// The SHA-256 of its content, in hexadecimal.
    #[serde(default)]
    pub sha256: Option<String>,
    /// When it was uploaded, in UNIX milliseconds.
    #[serde(default)]
    pub created_at: Option<i64>,
}
