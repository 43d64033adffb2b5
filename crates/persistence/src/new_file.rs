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

/// Gives the draft its name, unless a file has it already. Returns whether it did. Either way the file with that name is found
/// after a power loss.
pub(crate) fn put(draft: NamedTempFile, file: &Path) -> io::Result<bool> {
    draft.as_file().sync_all()?;
    // It is closed before others can find it: closing any handle of a file drops the locks that this process's SQLite
    // connections hold on it.
    let is_put = match draft.into_temp_path().persist_noclobber(file) {
        Ok(()) => true,
        Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(refused) => return Err(refused.error),
    };
    if cfg!(unix) {
        // A name is on the disk once its folder is. The process that was faster may not have come to that.
        File::open(folder_of(file))?.sync_all()?;
    }
    Ok(is_put)
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
