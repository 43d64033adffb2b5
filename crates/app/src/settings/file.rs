//! Finds the settings file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::source::SettingsFault;

/// Names the file instead of `--config`.
const VARIABLE: &str = "BIDLOOP_CONFIG";
/// Where a file is looked for that nobody names.
const PLACES: [&str; 2] = ["bidloop.toml", "/etc/bidloop/bidloop.toml"];

/// A settings file's path and content.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SettingsFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// The file that `--config` or the variable names, which must be there, or else the first one that is there.
pub(super) fn find(
    option: Option<&Path>,
    environment: &[(String, String)],
) -> Result<Option<SettingsFile>, SettingsFault> {
    find_in(option, environment, &PLACES.map(Path::new))
}

fn find_in(
    option: Option<&Path>,
    environment: &[(String, String)],
    places: &[&Path],
) -> Result<Option<SettingsFile>, SettingsFault> {
    let variable = environment
        .iter()
        .find(|(name, value)| name == VARIABLE && !value.is_empty());
    if let Some(path) = option {
        return read(path, "").map(Some);
    }
    if let Some((_, path)) = variable {
        return read(Path::new(path), " (from BIDLOOP_CONFIG)").map(Some);
    }
    for place in places {
        match std::fs::read_to_string(place) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            // Another user's working directory, as under `sudo -u`: what is in it is not meant.
            Err(_) if place.is_relative() && place.symlink_metadata().is_err() => {}
            Ok(text) => {
                let path = (*place).to_owned();
                return Ok(Some(SettingsFile { path, text }));
            }
            Err(error) => return Err(unreadable(place, "", &error)),
        }
    }
    Ok(None)
}

fn read(path: &Path, named: &str) -> Result<SettingsFile, SettingsFault> {
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, named, &error))?;
    Ok(SettingsFile {
        path: path.to_owned(),
        text,
    })
}

fn unreadable(path: &Path, named: &str, error: &std::io::Error) -> SettingsFault {
    SettingsFault::new(
        &format!("{}{named}", path.display()),
        &format!("cannot be read: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_comes_before_the_variable_and_both_before_the_places() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, name).unwrap();
            path
        };
        let (option, variable, first, second) =
            (file("option"), file("variable"), file("first"), file("second"));
        let environment = [(VARIABLE.to_owned(), variable.display().to_string())];
        let places = [first.as_path(), second.as_path()];
        let found = |option: Option<&Path>, environment: &[(String, String)]| {
            find_in(option, environment, &places)
                .unwrap()
                .map(|file| file.text)
        };
        assert_eq!(found(Some(&option), &environment).as_deref(), Some("option"));
        assert_eq!(found(None, &environment).as_deref(), Some("variable"));
        let empty = [(VARIABLE.to_owned(), String::new())];
        assert_eq!(found(None, &empty).as_deref(), Some("first"));
        std::fs::remove_file(&first).unwrap();
        assert_eq!(found(None, &[]).as_deref(), Some("second"));
        std::fs::remove_file(&second).unwrap();
        assert_eq!(found(None, &[]), None);
    }

    #[test]
    fn a_file_that_is_named_must_be_there() {
        let absent = Path::new("/absent/bidloop.toml");
        let fault = find_in(Some(absent), &[], &[]).unwrap_err().to_string();
        assert!(
            fault.starts_with("/absent/bidloop.toml: cannot be read: "),
            "{fault}"
        );
        let environment = [(VARIABLE.to_owned(), absent.display().to_string())];
        let fault = find_in(None, &environment, &[]).unwrap_err().to_string();
        assert!(
            fault.starts_with("/absent/bidloop.toml (from BIDLOOP_CONFIG): cannot be read: "),
            "{fault}"
        );
    }

    #[test]
    fn a_file_that_is_there_and_cannot_be_read_is_not_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let fault = find_in(None, &[], &[folder.path()]).unwrap_err().to_string();
        assert!(fault.contains("cannot be read"), "{fault}");
    }
}
