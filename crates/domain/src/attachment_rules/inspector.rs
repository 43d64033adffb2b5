//! The content of one file, checked while it streams past: its size, its digest, whether it has the declared type, and
//! whether it holds a program or a script. The file is read once, and memory use does not grow with its size.

use sha2::{Digest, Sha256};

use super::compound_scan::{self, CompoundScan};
use super::text_scan::TextScan;
use super::zip_scan::ZipScan;
use super::{ContentType, FileFault, FileName, MAX_FILE_BYTES};

/// How many bytes of a file are kept to recognize its format.
const HEAD: usize = 512;

/// How many bytes are checked at a time, so that a large piece takes no more memory than small ones.
const BLOCK: usize = 64 * 1024;

/// A file that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectedFile {
    /// Size in bytes, from 1 to [`MAX_FILE_BYTES`].
    pub size_bytes: u64,
    /// SHA-256 of the content in lower-case hexadecimal digits.
    pub sha256: String,
}

/// Checks one file's content (decision A9). Push the pieces in order as they arrive.
///
/// ```
/// use bidloop_domain::attachment_rules::{ContentInspector, ContentType, FileName};
///
/// let name = FileName::parse("note.txt")?;
/// let content_type = ContentType::declared(&name, "text/plain")?;
/// let mut inspector = ContentInspector::new(content_type, name);
/// inspector.push(b"Dear cl")?;
/// inspector.push(b"ient,")?;
/// let file = inspector.finish()?;
/// assert_eq!(file.size_bytes, 12);
/// # Ok::<(), bidloop_domain::attachment_rules::FileFault>(())
/// ```
#[derive(Debug)]
pub struct ContentInspector {
    content_type: ContentType,
    file_name: FileName,
    size: u64,
    digest: Sha256,
    head: Vec<u8>,
    text: TextScan,
    zip: ZipScan,
    compound: CompoundScan,
}

impl ContentInspector {
    /// Starts on a file whose name and type agree, as [`ContentType::declared`] finds.
    pub fn new(content_type: ContentType, file_name: FileName) -> Self {
        Self {
            content_type,
            file_name,
            size: 0,
            digest: Sha256::new(),
            head: Vec::new(),
            text: TextScan::default(),
            zip: ZipScan::default(),
            compound: CompoundScan::default(),
        }
    }

    /// Takes the next piece.
    ///
    /// # Errors
    ///
    /// [`FileFault::TooLarge`] as soon as the limit is exceeded; the rest need not be read.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), FileFault> {
        self.size = self.size.saturating_add(piece.len() as u64);
        self.check_size()?;
        self.digest.update(piece);
        let missing = HEAD.saturating_sub(self.head.len()).min(piece.len());
        self.head.extend_from_slice(&piece[..missing]);
        for block in piece.chunks(BLOCK) {
            self.text.push(block);
            self.zip.push(block);
            self.compound.push(block);
        }
        Ok(())
    }

    /// Checks the whole file.
    ///
    /// # Errors
    ///
    /// [`FileFault::Empty`], [`FileFault::TooLarge`], [`FileFault::Executable`] and
    /// [`FileFault::ContentMismatch`].
    pub fn finish(mut self) -> Result<InspectedFile, FileFault> {
        if self.size == 0 {
            return Err(FileFault::Empty { name: self.name() });
        }
        self.check_size()?;
        self.zip.finish();
        let format = self.format();
        if let Some(what) = self.executable(format) {
            return Err(FileFault::Executable {
                name: self.name(),
                what,
            });
        }
        if let Some(found) = self.mismatch(format) {
            return Err(FileFault::ContentMismatch {
                name: self.name(),
                declared: self.content_type,
                found,
            });
        }
        Ok(InspectedFile {
            size_bytes: self.size,
            sha256: hex::encode(self.digest.finalize()),
        })
    }

    fn check_size(&self) -> Result<(), FileFault> {
        if self.size > MAX_FILE_BYTES {
            return Err(FileFault::TooLarge { name: self.name() });
        }
        Ok(())
    }

    fn name(&self) -> String {
        self.file_name.as_str().to_owned()
    }

    /// The accepted binary format that the content has.
    fn format(&self) -> Option<ContentType> {
        // White space is tolerated before a PDF's mark.
        if self.text.start().starts_with(b"%PDF-") {
            Some(ContentType::Pdf)
        } else if self.head.starts_with(&compound_scan::SIGNATURE) {
            Some(ContentType::Doc)
        } else if self.head.starts_with(b"PK\x03\x04") || self.head.starts_with(b"PK\x05\x06") {
            let is_word = self.zip.is_word(self.size) == Some(true);
            Some(if is_word {
                ContentType::Docx
            } else {
                ContentType::Zip
            })
        } else if self.text.is_text() {
            // "GIF89a is a format" is not an image.
            None
        } else {
            infer::get(&self.head)
                .filter(|found| found.matcher_type() == infer::MatcherType::Image)
                .and_then(|found| ContentType::parse(found.mime_type()))
        }
    }

    /// The program, script or macros that the file is or holds, with any declared type.
    fn executable(&self, format: Option<ContentType>) -> Option<String> {
        if let Some(entry) = self.zip.program() {
            return Some(entry.to_owned());
        }
        if self.compound.has_macros() {
            return Some("macros".to_owned());
        }
        let script = self.text.script().filter(|_| format.is_none());
        script.map(str::to_owned)
    }

    /// What the content is, if it does not have the declared type.
    fn mismatch(&self, format: Option<ContentType>) -> Option<&'static str> {
        match (self.content_type, format) {
            (ContentType::Text, None) if self.text.is_text() => None,
            (_, None) if self.text.is_text() => Some("plain text"),
            (_, None) => Some(match infer::get(&self.head) {
                Some(found) if found.mime_type() != self.content_type.as_str() => found.mime_type(),
                _ if self.content_type == ContentType::Text => "not UTF-8 text, or holds a NUL character",
                _ => "of another or a damaged format",
            }),
            (ContentType::Zip | ContentType::Docx, Some(ContentType::Zip | ContentType::Docx))
                if self.zip.is_word(self.size).is_none() =>
            {
                Some("a damaged ZIP archive")
            }
            // A Word document is a ZIP archive, and may be sent as one.
            (ContentType::Zip, Some(ContentType::Docx)) => None,
            (declared, Some(found)) if declared != found => Some(found.as_str()),
            (ContentType::Doc, _) => (!self.compound.is_word()).then_some("not a Word document"),
            (ContentType::Docx | ContentType::Zip, _) => None,
            _ => self.zip.ends_at(self.size).then_some("also a ZIP archive"),
        }
    }
}

#[cfg(test)]
mod tests;
