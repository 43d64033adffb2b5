//! Reads job posts from a file of JSON lines and reports faults with their line.

use bidloop_domain::model::read_json;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::market::post;

/// Why a file of job posts cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JobFileError {
    /// The file cannot be opened or read, or is not UTF-8.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A line is not a job post.
    #[error("{}:{line}: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The fault.
        message: String,
    },
}

/// Reads the lines of a file, each a job post. Skips blank lines.
pub(crate) fn read(path: &Path) -> Result<Vec<Box<str>>, JobFileError> {
    let failed = |source| JobFileError::Read {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    let mut posts = Vec::new();
    for (index, line) in BufReader::with_capacity(1 << 16, file).lines().enumerate() {
        let line = line.map_err(failed)?;
        // Some editors begin a file with a byte order mark.
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() {
            continue;
        }
        let fault = |message| JobFileError::Line {
            path: path.to_owned(),
            line: index + 1,
            message,
        };
        let value = read_json(line.as_bytes()).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            fault(faults.join("; "))
        })?;
        post::check(&value).map_err(fault)?;
        posts.push(Box::from(line));
    }
    Ok(posts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read_text(text: &str) -> Result<usize, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let name = file.path().display().to_string();
        read(file.path())
            .map(|posts| posts.len())
            .map_err(|error| error.to_string().replace(&name, "jobs"))
    }

    #[test]
    fn blank_lines_are_skipped_and_faults_name_their_line() {
        assert_eq!(
            read_text("\u{feff}{\"title\": \"a\"}\r\n\n {\"title\": \"b\"}"),
            Ok(2)
        );
        assert_eq!(
            read_text("{\"title\": \"a\"}\n\n{\"id\": \"x\"}\n"),
            Err("jobs:3: title: missing".to_owned())
        );
        let broken = read_text("{\"title\": \"a\"}\n{\"title\"").unwrap_err();
        assert!(broken.starts_with("jobs:2: is not valid JSON: "), "{broken}");
    }

    #[test]
    fn a_missing_file_is_reported_by_name() {
        let error = read(Path::new("no/such/file.jsonl")).unwrap_err().to_string();
        assert!(error.starts_with("no/such/file.jsonl: "), "{error}");
    }
}
