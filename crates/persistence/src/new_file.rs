//! Files that appear whole, on the disk, and never replace others: until then they are drafts beside their places.

use std::fs::File;
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// Makes a draft, readable by its owner alone. Unless a signal ends the process, its file goes with this value.
pub(crate) fn draft_beside(file: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".bidloop-draft-")
        .tempfile_in(folder_of(file))
}

/// Gives the draft its name, unless a file has it already. Returns whether it did.
pub(crate) fn put(draft: NamedTempFile, file: &Path) -> io::Result<bool> {
    draft.as_file().sync_all()?;
    // It is closed before others can find it: closing any handle of a file drops the locks that this process's SQLite
    // connections hold on it.
    match draft.into_temp_path().persist_noclobber(file) {
        Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        put => put?,
    }
    if cfg!(unix) {
        // The name is on the disk once the folder is.
        File::open(folder_of(file))?.sync_all()?;
    }
    Ok(true)
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
