//! Files as parts of a `multipart/form-data` body, read while they are sent.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use http::HeaderValue;

use crate::attachment::Upload;

/// Why a file could not be sent whole. The request is aborted, so the service does not have all of it either.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {fault}")]
pub(crate) struct FileFault {
    name: String,
    fault: io::Error,
}

/// The body of an upload.
pub(crate) struct Multipart {
    /// `multipart/form-data` with its boundary.
    pub(crate) content_type: String,
    /// The body's length, if the size of each file is known.
    pub(crate) length: Option<u64>,
    pub(crate) pieces: BoxStream<'static, Result<Bytes, FileFault>>,
    /// Turns true when the end of the body is taken to be sent: until then the service cannot have all of it.
    pub(crate) taken_whole: Arc<AtomicBool>,
}

impl Multipart {
    /// All files in parts named `files`. `boundary` is unpredictable, so that no file can contain it on purpose.
    pub(crate) fn of(files: &mut [Upload], boundary: &str) -> Self {
        let tail = format!("--{boundary}--\r\n");
        let mut length = Some(tail.len() as u64);
        let mut parts = Vec::with_capacity(files.len());
        for file in files {
            let head = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"files\"; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
                escaped_file_name(&file.name),
                header_safe(&file.content_type),
            );
            let framing = (head.len() + "\r\n".len()) as u64;
            length = length.zip(file.size()).map(|(sum, size)| sum + framing + size);
            parts.push(
                stream::iter([Ok(Bytes::from(head))])
                    .chain(content(file))
                    .chain(stream::iter([Ok(Bytes::from_static(b"\r\n"))])),
            );
        }
        let taken_whole = Arc::new(AtomicBool::new(false));
        let taken = Arc::clone(&taken_whole);
        let tail = stream::once(async move {
            taken.store(true, Ordering::Relaxed);
            Ok(Bytes::from(tail))
        });
        Self {
            content_type: format!("multipart/form-data; boundary={boundary}"),
            length,
            pieces: stream::iter(parts).flatten().chain(tail).boxed(),
            taken_whole,
        }
    }
}

/// A file's content. One of another length than known would contradict the declared length of the request.
fn content(file: &mut Upload) -> BoxStream<'static, Result<Bytes, FileFault>> {
    let (name, size) = (file.name.clone(), file.size());
    let pieces = stream::try_unfold((file.pieces(), 0_u64), move |(mut pieces, before)| async move {
        let piece = pieces.try_next().await?;
        let read = before + piece.as_ref().map_or(0, Bytes::len) as u64;
        let wrong = size.is_some_and(|size| read > size || (piece.is_none() && read < size));
        if wrong {
            return Err(io::Error::other("the file is longer or shorter than it was"));
        }
        Ok(piece.map(|piece| (piece, (pieces, read))))
    });
    let named = move |fault| FileFault {
        name: name.clone(),
        fault,
    };
    pieces.map_err(named).boxed()
}

/// The file name as browsers write it: UTF-8 with `"`, CR and LF percent-encoded, so that no name can end the parameter or the
/// header.
fn escaped_file_name(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

fn header_safe(content_type: &str) -> &str {
    if HeaderValue::from_str(content_type).is_ok() {
        content_type
    } else {
        "application/octet-stream"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    fn body(mut files: Vec<Upload>) -> (Result<String, FileFault>, Option<u64>, bool) {
        let multipart = Multipart::of(&mut files, "XYZ");
        let pieces: Result<Vec<Bytes>, FileFault> = multipart.pieces.try_collect().now_or_never().unwrap();
        let text = pieces.map(|pieces| String::from_utf8(pieces.concat()).unwrap());
        (
            text,
            multipart.length,
            multipart.taken_whole.load(Ordering::Relaxed),
        )
    }

    #[test]
    fn each_file_is_a_part_named_files_and_the_length_is_declared() {
        let files = vec![
            Upload::from_bytes("a.txt", "text/plain", "one"),
            Upload::from_reader("b.png", "image/png", &b"two"[..]).with_size(3),
        ];
        let (text, length, taken_whole) = body(files);
        let text = text.unwrap();
        assert_eq!(length, Some(text.len() as u64));
        assert!(taken_whole);
        assert_eq!(
            text,
            "--XYZ\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\none\r\n\
             --XYZ\r\nContent-Disposition: form-data; name=\"files\"; filename=\"b.png\"\r\nContent-Type: image/png\r\n\r\ntwo\r\n\
             --XYZ--\r\n"
        );
    }

    #[test]
    fn without_one_size_there_is_no_length() {
        let files = vec![
            Upload::from_bytes("a.txt", "text/plain", "one"),
            Upload::from_reader("b.txt", "text/plain", &b"two"[..]),
        ];
        let (text, length, _) = body(files);
        assert_eq!((text.unwrap().contains("two"), length), (true, None));
    }

    #[test]
    fn a_file_of_another_size_than_declared_is_a_fault_and_the_body_has_no_end() {
        for size in [2, 4] {
            let file = Upload::from_reader("b.txt", "text/plain", &b"two"[..]).with_size(size);
            let (text, _, taken_whole) = body(vec![file]);
            assert!(text.unwrap_err().to_string().starts_with("b.txt: "));
            assert!(!taken_whole);
        }
    }

    #[test]
    fn neither_name_nor_type_ends_its_header() {
        assert_eq!(
            escaped_file_name("a\"; x=\"b\r\nEvil: 1.pdf"),
            "a%22; x=%22b%0D%0AEvil: 1.pdf"
        );
        assert_eq!(header_safe("image/png\r\nEvil: 1"), "application/octet-stream");
    }
}
