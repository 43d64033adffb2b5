//! One file's content, judged while it streams past: its size, its digest, whether it is what its type says, and
//! whether anything in it is executable. The judgement needs no second look and no more memory for a larger file.

use sha2::{Digest, Sha256};

use super::compound_file::{self, CompoundFile};
use super::zip_directory::{self, ZipDirectory};
use super::{ContentType, FileFault, FileName, MAX_FILE_BYTES, executable, markup, script};

/// How much of a file is looked at as text: from its first character that is no white space.
const TEXT_HEAD: usize = 16 * 1024;

/// How much of a file is kept for marks at its start.
const HEAD: usize = 1024;

/// How much of a file is searched at a time.
const BLOCK: usize = 32 * 1024;

/// What is known of a file that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectedFile {
    /// Size in bytes, from 1 to [`MAX_FILE_BYTES`].
    pub size_bytes: u64,
    /// SHA-256 of the content in lower-case hexadecimal digits.
    pub sha256: String,
}

/// Judges one file's content (decision A9). Feed it the pieces as they arrive, in order.
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
    text: TextHead,
    utf8: Utf8Check,
    block: Vec<u8>,
    block_offset: u64,
    zip: ZipDirectory,
    compound: Option<CompoundFile>,
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
            text: TextHead::default(),
            utf8: Utf8Check::default(),
            block: Vec::new(),
            block_offset: 0,
            zip: ZipDirectory::default(),
            compound: None,
        }
    }

    /// Takes the next piece.
    ///
    /// # Errors
    ///
    /// [`FileFault::TooLarge`] as soon as the file is; what follows need not be read.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), FileFault> {
        self.size = self.size.saturating_add(piece.len() as u64);
        if self.size > MAX_FILE_BYTES {
            return Err(FileFault::TooLarge { name: self.name() });
        }
        self.digest.update(piece);
        let missing = HEAD.saturating_sub(self.head.len()).min(piece.len());
        self.head.extend_from_slice(&piece[..missing]);
        self.text.push(piece);
        self.utf8.push(piece);
        self.search(piece);
        Ok(())
    }

    /// Judges the whole.
    ///
    /// # Errors
    ///
    /// [`FileFault::Empty`], [`FileFault::TooLarge`], [`FileFault::Executable`] and
    /// [`FileFault::ContentMismatch`].
    pub fn finish(mut self) -> Result<InspectedFile, FileFault> {
        if self.size == 0 {
            return Err(FileFault::Empty { name: self.name() });
        }
        if self.size > MAX_FILE_BYTES {
            return Err(FileFault::TooLarge { name: self.name() });
        }
        self.search_block(self.block.len());
        if let Some(what) = self.executable() {
            return Err(FileFault::Executable {
                name: self.name(),
                what,
            });
        }
        if let Some(found) = self.mismatch() {
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

    fn name(&self) -> String {
        self.file_name.as_str().to_owned()
    }

    /// Searches everything whose surroundings are at hand, and keeps the rest for the next piece.
    fn search(&mut self, mut piece: &[u8]) {
        const { assert!(BLOCK > 2 * zip_directory::LOOKAHEAD && zip_directory::LOOKAHEAD > compound_file::ENTRY) };
        while !piece.is_empty() {
            let (now, later) = piece.split_at(piece.len().min(BLOCK - self.block.len()));
            self.block.extend_from_slice(now);
            piece = later;
            if self.block.len() == BLOCK {
                let searched = BLOCK - zip_directory::LOOKAHEAD;
                self.search_block(searched);
                self.block.drain(..searched);
                self.block_offset += searched as u64;
            }
        }
    }

    /// Searches the block's places before `end`.
    fn search_block(&mut self, end: usize) {
        if self.block_offset == 0 && self.block.starts_with(&compound_file::SIGNATURE) {
            self.compound.get_or_insert_default();
        }
        let mut at = 0;
        while let Some(next) = self.block[at..end].iter().position(|byte| *byte == b'P') {
            at += next;
            self.zip.visit(&self.block[at..], self.block_offset + at as u64);
            at += 1;
        }
        let Some(compound) = &mut self.compound else {
            return;
        };
        for (at, byte) in self.block[..end].iter().enumerate() {
            if matches!(byte, b'_' | b'A') {
                compound.visit(&self.block[at..]);
            }
            if (self.block_offset + at as u64).is_multiple_of(compound_file::ENTRY as u64) {
                compound.visit_entry(&self.block[at..self.block.len().min(at + compound_file::ENTRY)]);
            }
        }
    }

    /// What is executable in the file, wherever it is and whatever its type.
    fn executable(&self) -> Option<&'static str> {
        let is_text = self.utf8.is_text();
        executable::by_content(&self.head, is_text)
            .or_else(|| self.zip.code())
            .or_else(|| self.compound.as_ref().and_then(CompoundFile::code))
            .or_else(|| match self.format() {
                Some(ContentType::Pdf | ContentType::Png | ContentType::Jpeg) => {
                    markup::in_binary(&self.head)
                }
                Some(ContentType::Gif) => script::in_image(&self.head, 6, is_text),
                Some(ContentType::Webp) => script::in_image(&self.head, 4, is_text),
                // What is stored in them is theirs: an archive may well begin with a page of a portfolio.
                Some(ContentType::Doc | ContentType::Docx | ContentType::Zip | ContentType::Text) => None,
                None => script::in_text(&self.text.head()),
            })
    }

    /// What the content is, if it is not what the type says.
    fn mismatch(&self) -> Option<&'static str> {
        let found = self.format();
        let Some(format) = found else {
            let is_fitting = self.content_type == ContentType::Text && self.utf8.is_text();
            return (!is_fitting).then(|| {
                if self.utf8.is_text() {
                    "plain text"
                } else {
                    self.unknown()
                }
            });
        };
        if format != self.content_type {
            // A Word document is a ZIP archive, and may be sent as one.
            let is_fitting = format == ContentType::Docx && self.content_type == ContentType::Zip;
            return (!is_fitting).then(|| in_words(format));
        }
        match format {
            ContentType::Doc => self.compound.as_ref().and_then(CompoundFile::other_than_word),
            ContentType::Docx | ContentType::Zip => None,
            _ => self.zip.ends_at(self.size).then_some("also a ZIP archive"),
        }
    }

    fn unknown(&self) -> &'static str {
        if self.content_type == ContentType::Text {
            "no UTF-8 text, or holds a NUL character"
        } else {
            "of another or a damaged format"
        }
    }

    /// The accepted binary format that the content has.
    fn format(&self) -> Option<ContentType> {
        let head = self.head.as_slice();
        let is_riff_webp = head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP");
        // Marks of plain letters: a note about "GIF89a" is a note, unless it says that it is an image.
        let may_be_image = |image| self.content_type == image || !self.utf8.is_text();
        if markup::without_leading_space(head).starts_with(b"%PDF-") {
            Some(ContentType::Pdf)
        } else if head.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(ContentType::Png)
        } else if head.starts_with(b"\xff\xd8\xff") {
            Some(ContentType::Jpeg)
        } else if (head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a"))
            && may_be_image(ContentType::Gif)
        {
            Some(ContentType::Gif)
        } else if is_riff_webp && may_be_image(ContentType::Webp) {
            Some(ContentType::Webp)
        } else if head.starts_with(&compound_file::SIGNATURE) {
            Some(ContentType::Doc)
        } else if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
            let is_docx = self.zip.is_word_document(self.size);
            Some(if is_docx {
                ContentType::Docx
            } else {
                ContentType::Zip
            })
        } else {
            None
        }
    }
}

fn in_words(format: ContentType) -> &'static str {
    match format {
        ContentType::Pdf => "a PDF document",
        ContentType::Png => "a PNG image",
        ContentType::Jpeg => "a JPEG image",
        ContentType::Gif => "a GIF image",
        ContentType::Webp => "a WebP image",
        ContentType::Doc => "a binary Office document",
        ContentType::Docx => "a Word document (docx)",
        ContentType::Zip => "a ZIP archive",
        ContentType::Text => "plain text",
    }
}

/// The start of a file as text: white space and byte order mark passed over, however long they are.
#[derive(Debug, Default)]
struct TextHead {
    bytes: Vec<u8>,
    has_begun: bool,
}

impl TextHead {
    fn push(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() && self.bytes.len() < TEXT_HEAD {
            let (now, later) = piece.split_at(piece.len().min(TEXT_HEAD - self.bytes.len()));
            self.bytes.extend_from_slice(now);
            piece = later;
            if !self.has_begun {
                let leading = self.bytes.len() - markup::without_leading_space(&self.bytes).len();
                self.bytes.drain(..leading);
                // Fewer bytes may be the beginning of a byte order mark.
                self.has_begun = self.bytes.len() >= "\u{feff}".len();
            }
        }
    }

    fn head(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Whether all bytes are UTF-8 without NUL, across the pieces' borders.
#[derive(Debug, Default)]
struct Utf8Check {
    is_broken: bool,
    /// A character's first bytes at the end of the last piece.
    open: Vec<u8>,
}

impl Utf8Check {
    fn push(&mut self, piece: &[u8]) {
        self.is_broken |= piece.contains(&0);
        let mut piece = piece;
        while !self.open.is_empty() && !piece.is_empty() && !self.is_broken {
            self.open.push(piece[0]);
            piece = &piece[1..];
            match std::str::from_utf8(&self.open) {
                Ok(_) => self.open.clear(),
                Err(error) => self.is_broken = error.error_len().is_some(),
            }
        }
        if self.is_broken {
            return;
        }
        if let Err(error) = std::str::from_utf8(piece) {
            self.is_broken = error.error_len().is_some();
            self.open.extend_from_slice(&piece[error.valid_up_to()..]);
        }
    }

    fn is_text(&self) -> bool {
        !self.is_broken && self.open.is_empty()
    }
}

#[cfg(test)]
#[path = "inspector_tests.rs"]
mod tests;
