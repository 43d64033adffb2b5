//! Reads `multipart/form-data` as it arrives and keeps of each part its size and digest alone. Owns the framing of
//! RFC 2046 and the one-part rule of the upload call; memory use does not grow with the file.

use sha2::{Digest, Sha256};

use crate::answer::Refusal;
use http::StatusCode;

/// What the marketplace remembers of an uploaded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UploadedFile {
    pub(crate) name: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) size_bytes: u64,
    pub(crate) sha256: String,
}

const MAX_FILE_BYTES: u64 = 25 * 1_048_576;
const MAX_HEADER_BYTES: usize = 16 * 1024;

#[derive(Debug)]
enum Stage {
    /// Before the first boundary: anything may stand there and means nothing.
    Preamble,
    /// After a boundary: its line's end, or `--` for the last one.
    AfterBoundary,
    Headers,
    Content,
    /// After the last boundary.
    Epilogue,
}

/// The upload call's body, taken in chunk by chunk.
#[derive(Debug)]
pub(crate) struct Upload {
    /// `\r\n--boundary`: what ends a part's content.
    delimiter: Vec<u8>,
    stage: Stage,
    /// Bytes that cannot be judged yet, never more than a header block or a delimiter.
    pending: Vec<u8>,
    part: Option<Part>,
    file: Option<UploadedFile>,
}

#[derive(Debug)]
struct Part {
    name: Option<String>,
    content_type: Option<String>,
    size_bytes: u64,
    digest: Sha256,
}

impl Upload {
    /// `content_type` is the request's header, which names the boundary.
    pub(crate) fn new(content_type: Option<&str>) -> Result<Self, Refusal> {
        let refused = || {
            let message = "expected multipart/form-data with a boundary";
            Refusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                message,
            )
        };
        let content_type = content_type.ok_or_else(refused)?;
        let (kind, parameters) = content_type.split_once(';').ok_or_else(refused)?;
        if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
            return Err(refused());
        }
        let boundary = parameter(parameters, "boundary").filter(|text| (1..=70).contains(&text.len()));
        let boundary = boundary.ok_or_else(refused)?;
        Ok(Self {
            delimiter: [b"\r\n--", boundary.as_bytes()].concat(),
            stage: Stage::Preamble,
            // The first boundary may open the body; the line end that belongs to it is supplied here.
            pending: b"\r\n".to_vec(),
            part: None,
            file: None,
        })
    }

    /// Takes the next bytes of the body.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Result<(), Refusal> {
        if matches!(self.stage, Stage::Epilogue) {
            return Ok(());
        }
        self.pending.extend_from_slice(chunk);
        while self.step()? {}
        Ok(())
    }

    /// The one file of the body, once all of it has been taken.
    pub(crate) fn finish(self) -> Result<UploadedFile, Refusal> {
        match (self.stage, self.file) {
            (Stage::Epilogue, Some(file)) => Ok(file),
            (Stage::Epilogue, None) => Err(Refusal::invalid("the body holds no part named file")),
            _ => Err(Refusal::invalid("the multipart body is cut off")),
        }
    }

    /// Consumes what can be judged. False when more bytes are needed.
    fn step(&mut self) -> Result<bool, Refusal> {
        match self.stage {
            Stage::Preamble | Stage::Content => self.read_up_to_delimiter(),
            Stage::AfterBoundary => self.read_after_boundary(),
            Stage::Headers => self.read_headers(),
            Stage::Epilogue => {
                self.pending.clear();
                Ok(false)
            }
        }
    }

    fn read_up_to_delimiter(&mut self) -> Result<bool, Refusal> {
        let (end, found) = match find(&self.pending, &self.delimiter) {
            Found::Whole(at) => (at, true),
            Found::Perhaps(at) => (at, false),
        };
        if let Some(part) = &mut self.part {
            part.size_bytes += end as u64;
            if part.size_bytes > MAX_FILE_BYTES {
                let message = "the file is larger than 25 MB";
                return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message));
            }
            part.digest.update(&self.pending[..end]);
        }
        let consumed = if found { end + self.delimiter.len() } else { end };
        self.pending.drain(..consumed);
        if found {
            self.stage = Stage::AfterBoundary;
            if let Some(part) = self.part.take() {
                self.file = Some(UploadedFile {
                    name: part.name,
                    content_type: part.content_type,
                    size_bytes: part.size_bytes,
                    sha256: hex::encode(part.digest.finalize()),
                });
            }
        }
        Ok(found)
    }

    fn read_after_boundary(&mut self) -> Result<bool, Refusal> {
        // Spaces may follow a boundary on its line.
        let padding = self
            .pending
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        self.pending.drain(..padding);
        let Some(mark) = self.pending.first_chunk::<2>() else {
            return Ok(false);
        };
        self.stage = match mark {
            b"--" => Stage::Epilogue,
            b"\r\n" => Stage::Headers,
            _ => {
                return Err(Refusal::invalid(
                    "a multipart boundary is followed by something else than a line end",
                ));
            }
        };
        // The boundary's own line end stays, so that an empty header block ends in a blank line like any other.
        if matches!(self.stage, Stage::Epilogue) {
            self.pending.drain(..2);
        }
        Ok(true)
    }

    fn read_headers(&mut self) -> Result<bool, Refusal> {
        let Found::Whole(end) = find(&self.pending, b"\r\n\r\n") else {
            if self.pending.len() > MAX_HEADER_BYTES {
                return Err(Refusal::invalid("a part's headers are too long"));
            }
            return Ok(false);
        };
        let block = String::from_utf8_lossy(&self.pending[..end]).into_owned();
        self.pending.drain(..end + 4);
        let header = |name: &str| {
            block.split("\r\n").find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.trim()
                    .eq_ignore_ascii_case(name)
                    .then(|| value.trim().to_owned())
            })
        };
        let disposition = header("content-disposition").unwrap_or_default();
        let name = parameter(&disposition, "name");
        if name.as_deref() != Some("file") {
            return Err(Refusal::invalid("expected one part, named file"));
        }
        if self.file.is_some() {
            return Err(Refusal::invalid("expected one part named file, got several"));
        }
        self.part = Some(Part {
            name: parameter(&disposition, "filename"),
            content_type: header("content-type"),
            size_bytes: 0,
            digest: Sha256::new(),
        });
        self.stage = Stage::Content;
        Ok(true)
    }
}

enum Found {
    Whole(usize),
    /// Nothing before this index can be the needle's beginning.
    Perhaps(usize),
}

fn find(haystack: &[u8], needle: &[u8]) -> Found {
    let mut from = 0;
    while let Some(offset) = haystack[from..].iter().position(|byte| *byte == needle[0]) {
        let at = from + offset;
        let rest = &haystack[at..];
        if rest.len() < needle.len() {
            if needle.starts_with(rest) {
                return Found::Perhaps(at);
            }
        } else if rest.starts_with(needle) {
            return Found::Whole(at);
        }
        from = at + 1;
    }
    Found::Perhaps(haystack.len())
}

/// A parameter of a header value, quoted or not: `form-data; name="file"; filename="a \"b\".pdf"`.
fn parameter(value: &str, name: &str) -> Option<String> {
    let mut rest = value;
    while !rest.is_empty() {
        let (key, after) = match rest.find(['=', ';']) {
            Some(at) if rest.as_bytes()[at] == b'=' => (rest[..at].trim(), &rest[at + 1..]),
            Some(at) => {
                rest = &rest[at + 1..];
                continue;
            }
            None => return None,
        };
        let (text, following) = read_value(after);
        if key.eq_ignore_ascii_case(name) {
            return Some(text);
        }
        rest = following;
    }
    None
}

/// A parameter's value and what follows it.
fn read_value(text: &str) -> (String, &str) {
    let text = text.trim_start();
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        return (
            text[..end].trim().to_owned(),
            text.get(end + 1..).unwrap_or_default(),
        );
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => match characters.next() {
                Some((_, escaped @ ('"' | '\\'))) => value.push(escaped),
                Some((_, other)) => {
                    value.push('\\');
                    value.push(other);
                }
                None => value.push('\\'),
            },
            _ => value.push(character),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TYPE: &str = "multipart/form-data; boundary=\"x y\"";

    fn read(body: &[u8], chunk: usize) -> Result<UploadedFile, Refusal> {
        let mut upload = Upload::new(Some(TYPE))?;
        for part in body.chunks(chunk.max(1)) {
            upload.push(part)?;
        }
        upload.finish()
    }

    fn body_of(content: &[u8]) -> Vec<u8> {
        let head = "--x y\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a \\\"b\\\";.pdf\"\r\ncontent-type: application/pdf\r\n\r\n";
        [head.as_bytes(), content, b"\r\n--x y--\r\n"].concat()
    }

    proptest! {
        /// However the body is cut into chunks and whatever stands in it, near-delimiters included.
        #[test]
        fn a_file_is_measured_whole(content in "(\r|\n|-|x| |y|[a-z]|\r\n--x|\r\n--){0,60}", chunk in 1usize..40) {
            prop_assume!(!content.contains("\r\n--x y"));
            let file = read(&body_of(content.as_bytes()), chunk).unwrap();
            prop_assert_eq!(file.size_bytes, content.len() as u64);
            prop_assert_eq!(file.sha256, hex::encode(Sha256::digest(content.as_bytes())));
            prop_assert_eq!(file.name.as_deref(), Some("a \"b\";.pdf"));
            prop_assert_eq!(file.content_type.as_deref(), Some("application/pdf"));
        }
    }

    #[test]
    fn faulty_bodies_are_refused() {
        let whole = body_of(b"content");
        let cut = &whole[..whole.len() - 6];
        let renamed = String::from_utf8(whole.clone())
            .unwrap()
            .replace("\"file\"", "\"files\"");
        let two = [&whole[..whole.len() - 4], b"\r\n", &whole[7..]].concat();
        for body in [
            cut,
            renamed.as_bytes(),
            &two,
            b"--x y--",
            b"",
            b"no boundary at all",
        ] {
            let refusal = read(body, 5).unwrap_err();
            assert_eq!(refusal.code, "invalid", "{}", String::from_utf8_lossy(body));
        }
        assert!(Upload::new(Some("application/json")).is_err());
        assert!(Upload::new(Some("multipart/form-data; charset=x")).is_err());
    }

    #[test]
    fn a_file_above_25_mb_is_too_large_and_one_of_25_mb_is_not() {
        let mut upload = Upload::new(Some(TYPE)).unwrap();
        upload
            .push(b"--x y\r\ncontent-disposition: form-data; name=file\r\n\r\n")
            .unwrap();
        let megabyte = vec![b'z'; 1_048_576];
        for _ in 0..25 {
            upload.push(&megabyte).unwrap();
        }
        assert!(upload.pending.len() < 16, "the content is not kept");
        assert_eq!(upload.push(b"z").unwrap_err().code, "too_large");
    }
}
