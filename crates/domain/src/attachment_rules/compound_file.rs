//! What the directory of an OLE2 compound file (a binary Office document) says about it.
//!
//! The directory's entries are 128 bytes long and start at multiples of 128, each with a name in UTF-16LE; they
//! are recognized where they lie, without following the file's allocation tables.

/// How a compound file begins.
pub(super) const SIGNATURE: [u8; 8] = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/// Length of a directory entry, and what its offset is a multiple of.
pub(super) const ENTRY: usize = 128;

/// Class ids of Windows Installer packages, patches and transforms, from their second byte.
const INSTALLER_CLASS_ID: [u8; 15] = [0x10, 0x0c, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0x46];

/// `_VBA_PROJECT` in UTF-16LE: no document's text is likely to hold it, and no macro does without.
const VBA_PROJECT: &[u8] = b"_\0V\0B\0A\0_\0P\0R\0O\0J\0E\0C\0T\0";

/// How the compressed source of a macro begins.
const VBA_SOURCE: &[u8] = b"Attribut\0e VB_Nam";

/// Collects directory entries while a file passes by.
#[derive(Debug, Default)]
pub(super) struct CompoundFile {
    code: Option<&'static str>,
    is_word: bool,
    other: Option<&'static str>,
}

impl CompoundFile {
    /// Looks at `bytes`, up to [`ENTRY`] of them, from a multiple of [`ENTRY`] in the file.
    pub(super) fn visit_entry(&mut self, bytes: &[u8]) {
        let units = bytes
            .chunks_exact(2)
            .take(32)
            .map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        let name: String = char::decode_utf16(units.take_while(|unit| *unit != 0))
            .map(|decoded| decoded.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        match name.to_ascii_lowercase().as_str() {
            "worddocument" => self.is_word = true,
            "macros" | "vba" | "_vba_project" | "_vba_project_cur" => self.note_macros(),
            "workbook" | "book" => self.other = Some("an Excel workbook"),
            "powerpoint document" => self.other = Some("a PowerPoint presentation"),
            "visiodocument" => self.other = Some("a Visio drawing"),
            "encryptedpackage" => self.other = Some("an encrypted document"),
            "__properties_version1.0" => self.other = Some("an Outlook message"),
            "root entry" if bytes.get(81..96) == Some(&INSTALLER_CLASS_ID) => {
                self.code = Some("a Windows Installer package");
            }
            _ => {}
        }
    }

    /// Looks at `bytes` from any place in the file.
    pub(super) fn visit(&mut self, bytes: &[u8]) {
        if bytes.starts_with(VBA_PROJECT) || bytes.starts_with(VBA_SOURCE) {
            self.note_macros();
        }
    }

    fn note_macros(&mut self) {
        self.code = Some("an Office document with macros");
    }

    /// What is executable in the file, with an article.
    pub(super) fn code(&self) -> Option<&'static str> {
        self.code
    }

    /// What the file is other than a Word document, if that can be told. A document may embed a workbook.
    pub(super) fn other_than_word(&self) -> Option<&'static str> {
        if self.is_word { None } else { self.other }
    }
}
