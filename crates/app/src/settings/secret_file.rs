//! Files that hold one secret, as service managers and orchestrators provide them.

use std::io::Read;
use std::path::Path;

/// No secret is longer, in bytes.
const LONGEST: u64 = 64 * 1024;

/// Reads a secret. A line break at its end is not part of it. The error says what is wrong, without the content.
pub(super) fn read(file: &Path) -> Result<String, String> {
    let named = |problem: &dyn std::fmt::Display| format!("the file {} {problem}", file.display());
    let mut content = Vec::new();
    std::fs::File::open(file)
        .and_then(|opened| opened.take(LONGEST + 1).read_to_end(&mut content))
        .map_err(|error| named(&format_args!("cannot be read: {error}")))?;
    if content.len() as u64 > LONGEST {
        return Err(named(&"is longer than 64 KiB, which no secret is"));
    }
    let text = String::from_utf8(content).map_err(|_| named(&"is not UTF-8"))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err(named(&"is empty"));
    }
    if text.contains('\0') {
        return Err(named(&"holds the character U+0000"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_content(content: &[u8]) -> Result<String, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        read(file.path())
    }

    #[test]
    fn one_line_break_at_the_end_is_not_part_of_the_secret() {
        for content in ["s3cret", "s3cret\n", "s3cret\r\n"] {
            assert_eq!(read_content(content.as_bytes()).unwrap(), "s3cret");
        }
        assert_eq!(read_content(b"s3cret\n\n").unwrap(), "s3cret\n");
    }

    #[test]
    fn a_file_that_holds_no_secret_is_refused_without_its_content() {
        let long = vec![b'x'; 64 * 1024 + 1];
        for (content, because) in [
            (&b""[..], "is empty"),
            (b"\n", "is empty"),
            (b"s3cret\xff", "is not UTF-8"),
            (b"s3cret\0", "U+0000"),
            (&long, "longer than 64 KiB"),
        ] {
            let error = read_content(content).unwrap_err();
            assert!(error.contains(because) && !error.contains("s3cret"), "{error}");
        }
        let error = read(Path::new("/absent/token")).unwrap_err();
        assert!(
            error.starts_with("the file /absent/token cannot be read"),
            "{error}"
        );
    }
}
