//! Reading the files that commands are given; `-` is standard input.

use std::fmt::Display;
use std::io::Read;
use std::path::Path;

use bidloop_domain::model::{JobPost, read_json};
use serde_json::Value;

use super::Failure;

/// The file's text.
pub(super) fn text(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        std::io::stdin().lock().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    read.map_err(|error| Failure::failed(format!("{}: cannot be read: {error}", file.display())))
}

/// The file's JSON. A syntax error is reported with the file's name, a repeated field with its path.
pub(super) fn json(file: &Path) -> Result<Value, Failure> {
    let faults = match read_json(text(file)?.as_bytes()) {
        Ok(value) => return Ok(value),
        Err(faults) => faults,
    };
    let lines = faults.iter().map(|fault| {
        if fault.path.is_empty() {
            format!("{}: {fault}", file.display())
        } else {
            fault.to_string()
        }
    });
    Err(Failure::Failed(lines.collect()))
}

/// One job post; `place` names the file and line in errors.
pub(super) fn job_post(text: &str, place: impl Display) -> Result<JobPost, Vec<String>> {
    read_json(text.as_bytes()).map_err(|faults| {
        let lines = faults.iter().map(|fault| format!("{place}: {fault}"));
        lines.collect::<Vec<_>>()
    })?;
    JobPost::parse(text).map_err(|fault| vec![format!("{place}: {fault}")])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(content: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        std::fs::write(&file, content).unwrap();
        let Err(Failure::Failed(lines)) = json(&file) else {
            panic!("{content} is read")
        };
        lines
    }

    #[test]
    fn a_repeated_field_is_reported_with_its_path() {
        assert_eq!(
            reported(r#"{"organizations": [{"id": "a", "name": "A", "name": "B"}], "organizations": []}"#),
            [
                "organizations[0].name: occurs more than once",
                "organizations: occurs more than once"
            ]
        );
    }

    #[test]
    fn malformed_json_is_reported_with_the_file_and_its_place_in_one_line() {
        let lines = reported("{\n  \"a\": }");
        assert!(
            matches!(&lines[..], [line] if line.contains("a.json: is not valid JSON: ") && line.ends_with("line 2 column 8")),
            "{lines:?}"
        );
    }

    #[test]
    fn a_job_post_with_a_repeated_field_is_refused() {
        let post = r#"{"id": "1", "ciphertext": "", "title": "", "description": "", "url": "", "postedAt": 1,
            "metadata": {"more": 1, "more": 2}}"#;
        assert_eq!(
            job_post(post, "posts.jsonl, line 3").unwrap_err(),
            ["posts.jsonl, line 3: metadata.more: occurs more than once"]
        );
    }
}
