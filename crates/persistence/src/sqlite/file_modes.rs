//! The files of a database are readable and writable by their owner alone, whatever the umask is.
//!
//! SQLite gives the write-ahead log and the shared memory the mode of the database file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Creates the folders above the file that do not exist, for their owner alone.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Creates the file with mode 0600 if it does not exist.
///
/// It never opens a file that exists: closing any handle of a file drops the locks that this process's SQLite
/// connections hold on it.
pub(super) fn create_file(file: &Path) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(file) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Takes the rights of other people from files that an earlier version created, and warns where it may not.
pub(super) fn tighten(file: &Path) {
    #[cfg(unix)]
    for file in ["", "-wal", "-shm"].map(|suffix| with_suffix(file, suffix)) {
        use std::os::unix::fs::PermissionsExt;
        let Ok(metadata) = fs::metadata(&file) else {
            continue;
        };
        let mode = metadata.permissions().mode() & 0o777;
        let owners = mode & 0o700;
        if mode == owners {
            continue;
        }
        let shown = file.display();
        if let Err(error) = fs::set_permissions(&file, fs::Permissions::from_mode(owners)) {
            tracing::warn!(
                file = %shown,
                %error,
                "other users of this machine may read this file: remove their rights with `chmod 600`"
            );
        } else {
            tracing::info!(file = %shown, "other users of this machine may no longer read this file");
        }
    }
}

/// The path with more at its end.
pub(super) fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> io::Result<u32> {
        Ok(fs::metadata(path)?.permissions().mode() & 0o777)
    }

    #[test]
    fn new_folders_and_files_are_their_owners() {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("a/b");
        create_folder(&made).unwrap();
        assert_eq!(mode(&made).unwrap(), 0o700);
        assert_eq!(mode(&folder.path().join("a")).unwrap(), 0o700);
        let file = made.join("bidloop.db");
        create_file(&file).unwrap();
        assert_eq!(mode(&file).unwrap(), 0o600);
    }

    #[test]
    fn a_file_that_exists_keeps_its_content_and_loses_other_peoples_rights() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["bidloop.db", "bidloop.db-wal", "bidloop.db-shm"].map(|name| folder.path().join(name));
        for (file, before) in files.iter().zip([0o644, 0o666, 0o640]) {
            fs::write(file, "content").unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(before)).unwrap();
        }
        create_file(&files[0]).unwrap();
        tighten(&files[0]);
        for file in &files {
            assert_eq!(mode(file).unwrap(), 0o600, "{}", file.display());
            assert_eq!(fs::read_to_string(file).unwrap(), "content");
        }
    }
}
