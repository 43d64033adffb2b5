//! The directory of an OLE compound file, the container of old Office documents.
//!
//! Directory entries are 128 bytes long, start at multiples of 128, and begin with a name in UTF-16LE. The scan examines
//! every such place and does not follow the file's allocation tables.

/// The first bytes of a compound file.
pub(super) const SIGNATURE: [u8; 8] = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/// Length of a directory entry.
const ENTRY: usize = 128;

/// The storages and the stream that hold a document's macros.
const MACROS: [&str; 4] = ["Macros", "VBA", "_VBA_PROJECT", "_VBA_PROJECT_CUR"];

/// Examines directory entries while a file streams past.
#[derive(Debug, Default)]
pub(super) struct CompoundScan {
    /// The start of an entry that is not complete yet.
    open: Vec<u8>,
    is_word: bool,
    has_macros: bool,
}

impl CompoundScan {
    pub(super) fn push(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            let (now, later) = piece.split_at(piece.len().min(ENTRY - self.open.len()));
            self.open.extend_from_slice(now);
            piece = later;
            if self.open.len() == ENTRY {
                self.is_word |= is_named(&self.open, "WordDocument");
                self.has_macros |= MACROS.iter().any(|name| is_named(&self.open, name));
                self.open.clear();
            }
        }
    }

    /// Whether the file is a Word document. Embedded documents of other kinds do not matter.
    pub(super) fn is_word(&self) -> bool {
        self.is_word
    }

    /// Whether the file holds macros.
    pub(super) fn has_macros(&self) -> bool {
        self.has_macros
    }
}

/// Whether an entry has this name, in any case.
fn is_named(entry: &[u8], name: &str) -> bool {
    let terminated = name.bytes().chain([0]);
    terminated
        .zip(entry.chunks_exact(2))
        .all(|(expected, unit)| unit[0].eq_ignore_ascii_case(&expected) && unit[1] == 0)
}
