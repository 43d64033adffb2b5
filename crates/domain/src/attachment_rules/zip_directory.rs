//! What the entry names of a ZIP archive say about it, wherever in a file the archive lies. Nothing is unpacked.

/// Longest part of an entry's name that is looked at.
const MAX_ENTRY_NAME: usize = 4096;

/// How many bytes from an entry's signature must be at hand to judge it.
pub(super) const LOOKAHEAD: usize = 46 + MAX_ENTRY_NAME;

/// Names that make an archive what it is.
#[derive(Debug, Clone, Copy, Default)]
struct Parts {
    has_entry: bool,
    content_types: bool,
    word: bool,
}

impl Parts {
    fn note(&mut self, name: &str) {
        self.has_entry = true;
        self.content_types |= name == "[content_types].xml";
        self.word |= name.starts_with("word/");
    }

    fn are_a_word_document(self) -> bool {
        self.content_types && self.word
    }
}

/// Collects entries while a file passes by.
///
/// Entries are found by their signature at any offset, not by walking the archive: so code is seen in an archive
/// hidden behind another format, and in one that is built to be read in two ways.
#[derive(Debug, Default)]
pub(super) struct ZipDirectory {
    /// What is executable among all entries seen.
    code: Option<&'static str>,
    any: Parts,
    /// The central directory being read, and where its next entry would start.
    run: Parts,
    run_continues_at: u64,
    /// End records whose comment may yet turn out to end the file, with the directory before each.
    ends: Vec<(u64, Parts)>,
}

impl ZipDirectory {
    /// Looks at `bytes`, which start with `PK` at the file's offset `at`.
    pub(super) fn visit(&mut self, bytes: &[u8], at: u64) {
        match bytes {
            [b'P', b'K', 3, 4, ..] => self.visit_local_header(bytes),
            [b'P', b'K', 1, 2, ..] => self.visit_directory_entry(bytes, at),
            [b'P', b'K', 5, 6, ..] => self.visit_end(bytes, at),
            _ => {}
        }
    }

    fn visit_local_header(&mut self, bytes: &[u8]) {
        if let (Some(length), Some(rest)) = (u16_at(bytes, 26), bytes.get(30..)) {
            let name = entry_name(rest, length);
            self.any.note(&name);
            self.code = self.code.or_else(|| code_in(&name));
        }
    }

    fn visit_directory_entry(&mut self, bytes: &[u8], at: u64) {
        let (Some(length), Some(extra), Some(comment), Some(rest)) = (
            u16_at(bytes, 28),
            u16_at(bytes, 30),
            u16_at(bytes, 32),
            bytes.get(46..),
        ) else {
            return;
        };
        let name = entry_name(rest, length);
        if self.run_continues_at != at {
            self.run = Parts::default();
        }
        self.run_continues_at = at + 46 + u64::from(length) + u64::from(extra) + u64::from(comment);
        self.run.note(&name);
        self.any.note(&name);
        self.code = self.code.or_else(|| code_in(&name));
    }

    fn visit_end(&mut self, bytes: &[u8], at: u64) {
        /// An archive has one; more stand in nested archives, and end before the file does.
        const MAX_PENDING: usize = 16;
        let Some(comment) = u16_at(bytes, 20) else { return };
        self.ends.retain(|(end, _)| *end > at);
        if self.ends.len() < MAX_PENDING {
            self.ends.push((at + 22 + u64::from(comment), self.run));
        }
    }

    /// What is executable among the entries, with an article.
    pub(super) fn code(&self) -> Option<&'static str> {
        self.code
    }

    /// Whether a file of this size ends as an archive does, so that every archiver opens it as one.
    pub(super) fn ends_at(&self, size: u64) -> bool {
        self.ends.iter().any(|(end, _)| *end == size)
    }

    /// Whether the archive is a Word document: by the directory that ends the file where there is one, so that an
    /// archive that merely holds a document is none; else by all entries.
    pub(super) fn is_word_document(&self, size: u64) -> bool {
        let outermost = self
            .ends
            .iter()
            .find(|(end, parts)| *end == size && parts.has_entry);
        outermost
            .map_or(self.any, |(_, parts)| *parts)
            .are_a_word_document()
    }
}

/// What an entry of this name makes of its archive.
fn code_in(name: &str) -> Option<&'static str> {
    if name.rsplit('/').next() == Some("vbaproject.bin") {
        return Some("an Office document with macros");
    }
    let is_class = name
        .rsplit_once('.')
        .is_some_and(|(_, extension)| extension == "class");
    if is_class || name == "meta-inf/manifest.mf" {
        return Some("a Java archive");
    }
    (name == "androidmanifest.xml" || name == "classes.dex").then_some("an Android program")
}

/// The name in one spelling: lower case, `/` between segments, no leading `/` or `./`.
fn entry_name(bytes: &[u8], length: u16) -> String {
    let length = usize::from(length).min(MAX_ENTRY_NAME).min(bytes.len());
    let name = String::from_utf8_lossy(&bytes[..length])
        .replace('\\', "/")
        .to_ascii_lowercase();
    let mut name = name.as_str();
    while let Some(shorter) = name.strip_prefix('/').or_else(|| name.strip_prefix("./")) {
        name = shorter;
    }
    name.to_owned()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at + 2)?;
    Some(u16::from_le_bytes([pair[0], pair[1]]))
}
