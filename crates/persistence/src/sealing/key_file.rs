//! The file that holds the keys, and how the one beside a SQLite database comes to be.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use super::keys::SecretKeys;
use crate::new_file;

/// What a new key file begins with.
const HEAD: &str = "# Bidloop seals marketplace tokens and webhook secrets in its database with the first of these keys,\n\
    # and opens them with all. Keep a copy, but not with the backups of the database.\n";

/// Reads a key file. The error names the file, and does not repeat its content.
pub(super) fn read(file: &Path) -> Result<SecretKeys, String> {
    let named = |problem: String| format!("the file {} {problem}", file.display());
    let text = fs::read_to_string(file).map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => "; `openssl rand -hex 32` makes a key",
            _ => "",
        };
        named(format!("cannot be read: {error}{hint}"))
    })?;
    SecretKeys::parse(&text).map_err(named)
}

/// Reads the key file beside a database, and makes it first if it is missing. Processes that start at once agree on one
/// file.
pub(super) fn made_or_read(file: &Path) -> Result<SecretKeys, String> {
    if !file.exists() {
        make(file).map_err(|error| format!("the file {} cannot be made: {error}", file.display()))?;
    }
    read(file)
}

/// Makes the file with a new key, unless another process is faster.
fn make(file: &Path) -> io::Result<()> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    let mut draft = new_file::draft_beside(file)?;
    writeln!(draft, "{HEAD}{}", hex::encode(key))?;
    new_file::put(draft, file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_start_at_once_agree_on_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bidloop.db.key");
        let mut ids: Vec<String> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..16)
                .map(|_| scope.spawn(|| made_or_read(&file).map(|keys| keys.first().id().to_owned())))
                .collect();
            starts
                .into_iter()
                .map(|start| start.join().unwrap().unwrap())
                .collect()
        });
        ids.dedup();
        assert_eq!(ids.len(), 1, "{ids:?}");
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "only the key file is left");
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_its_owners() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bidloop.db.key");
        made_or_read(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_exists_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys");
        fs::write(&file, "not a key").unwrap();
        assert!(made_or_read(&file).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "not a key");
    }
}
