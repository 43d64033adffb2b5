//! The entry names of a ZIP archive. Nothing is unpacked.
//!
//! Entries are found by their signatures at any offset, not only through the archive's directory. So a program is found
//! in an archive that is hidden behind another format, and in one that can be read in two ways. The cost of a name does
//! not depend on its length, so overlapping entries cost no more than others.

use crate::model::sanitize_for_log;

/// The largest distance from an entry's signature to the end of its name: the longer header and the longest name.
const REACH: usize = DIRECTORY_HEADER + u16::MAX as usize;

const LOCAL_HEADER: usize = 30;
const DIRECTORY_HEADER: usize = 46;
const END_RECORD: u64 = 22;

/// Extensions of programs, of scripts that a double click runs, and of shortcuts (decision A9). Source code such as
/// `.js`, `.py` and `.sh` is accepted, since developers attach it.
const PROGRAMS: [&[u8; 3]; 17] = [
    b"exe", b"com", b"scr", b"pif", b"msi", b"dll", b"cpl", b"bat", b"cmd", b"ps1", b"vbs", b"vbe", b"jse",
    b"wsf", b"hta", b"lnk", b"jar",
];

/// Examines entries while a file streams past.
#[derive(Debug, Default)]
pub(super) struct ZipScan {
    /// Bytes that are not searched yet, since an entry that starts there may be incomplete.
    pub(super) window: Vec<u8>,
    window_offset: u64,
    program: Option<String>,
    /// The directory being read.
    directory: Directory,
    /// The last end record seen, with the directory that it ends.
    end: Option<End>,
}

/// Directory entries that follow each other without a gap.
#[derive(Debug, Default, Clone, Copy)]
struct Directory {
    start: u64,
    /// Where the next entry starts.
    next: u64,
    lists_content_types: bool,
    lists_word_folder: bool,
}

#[derive(Debug, Clone, Copy)]
struct End {
    /// Where the archive ends.
    at: u64,
    /// `None` if the record does not fit the directory before it.
    directory: Option<Directory>,
}

impl ZipScan {
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.window.extend_from_slice(piece);
        if self.window.len() >= 2 * REACH {
            self.search(self.window.len() - REACH);
        }
    }

    /// Searches what is left once the file has ended.
    pub(super) fn finish(&mut self) {
        self.search(self.window.len());
    }

    fn search(&mut self, end: usize) {
        let mut window = std::mem::take(&mut self.window);
        let mut at = 0;
        while let Some(next) = window[at..end].iter().position(|byte| *byte == b'P') {
            at += next;
            // `None`: the file ends within a record.
            let _ = self.visit(&window[at..], self.window_offset + at as u64);
            at += 1;
        }
        window.drain(..end);
        self.window = window;
        self.window_offset += end as u64;
    }

    /// Examines `bytes`, which start with `P` at the file's offset `at`. `None` if they hold only a part of a record.
    fn visit(&mut self, bytes: &[u8], at: u64) -> Option<()> {
        match bytes.get(1..4)? {
            [b'K', 3, 4] => self.judge(name(bytes, 26, LOCAL_HEADER)?),
            [b'K', 1, 2] => {
                let name = name(bytes, 28, DIRECTORY_HEADER)?;
                self.judge(name);
                if self.directory.next != at {
                    self.directory = Directory {
                        start: at,
                        ..Directory::default()
                    };
                }
                let (extra, comment) = (u16_at(bytes, 30)?, u16_at(bytes, 32)?);
                let directory = &mut self.directory;
                directory.next =
                    at + (DIRECTORY_HEADER + name.len()) as u64 + u64::from(extra) + u64::from(comment);
                directory.lists_content_types |= name.eq_ignore_ascii_case(b"[Content_Types].xml");
                directory.lists_word_folder |= name.len() > 5 && is_same_path(&name[..5], b"word/");
            }
            // Archives in the ZIP64 format have two more records between directory and end.
            [b'K', 6, 6] if self.directory.next == at => {
                let rest = u64::from_le_bytes(bytes.get(4..12)?.try_into().ok()?);
                self.directory.next = at.saturating_add(12).saturating_add(rest);
            }
            [b'K', 6, 7] if self.directory.next == at => self.directory.next = at + 20,
            [b'K', 5, 6] => {
                let start = u32::from_le_bytes(bytes.get(16..20)?.try_into().ok()?);
                let is_at_start = start == u32::MAX || u64::from(start) == self.directory.start;
                let fits = self.directory.next == at && is_at_start;
                self.end = Some(End {
                    at: at + END_RECORD + u64::from(u16_at(bytes, 20)?),
                    directory: fits.then_some(self.directory),
                });
            }
            _ => {}
        }
        Some(())
    }

    fn judge(&mut self, name: &[u8]) {
        if self.program.is_none() && is_program(name) {
            let shown = sanitize_for_log(&String::from_utf8_lossy(name), 120);
            self.program = Some(format!("the archive entry \"{shown}\""));
        }
    }

    /// The entry for which an archive is refused.
    pub(super) fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// Whether a file of this size ends as an archive does, so that every archiver opens it as one.
    pub(super) fn ends_at(&self, size: u64) -> bool {
        self.end.is_some_and(|end| end.at == size)
    }

    /// Whether the archive of this size is a Word document; `None` if its directory is damaged.
    pub(super) fn is_word(&self, size: u64) -> Option<bool> {
        let directory = self.end.filter(|end| end.at == size)?.directory?;
        Some(directory.lists_content_types && directory.lists_word_folder)
    }
}

/// Whether an entry of this name makes its archive a program's, or a document with macros.
fn is_program(name: &[u8]) -> bool {
    const MACROS: &[u8] = b"/vbaProject.bin";
    let is_macros = is_same_path(name, &MACROS[1..])
        || (name.len() > MACROS.len() && is_same_path(&name[name.len() - MACROS.len()..], MACROS));
    let has_program_extension = matches!(name, [.., b'.', a, b, c]
        if PROGRAMS.contains(&&[*a, *b, *c].map(|byte| byte.to_ascii_lowercase())));
    has_program_extension || is_macros || is_same_path(name, b"META-INF/MANIFEST.MF")
}

/// Whether two paths are the same, without regard to case and the kind of slash.
fn is_same_path(path: &[u8], expected: &[u8]) -> bool {
    let slashed = |byte: &u8| {
        if *byte == b'\\' {
            b'/'
        } else {
            byte.to_ascii_lowercase()
        }
    };
    path.len() == expected.len() && path.iter().map(slashed).eq(expected.iter().map(slashed))
}

/// The name of an entry whose header starts `bytes`; its length stands at `length_at`.
fn name(bytes: &[u8], length_at: usize, header: usize) -> Option<&[u8]> {
    bytes.get(header..header + usize::from(u16_at(bytes, length_at)?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}
