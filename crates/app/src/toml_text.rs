//! Reads TOML. A syntax error is reported in one line with its place, like errors in JSON.

use serde::de::DeserializeOwned;

/// Reads a TOML text. The error is one line such as `… at line 3 column 8`, without the file's name.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let message: Vec<&str> = error.message().lines().map(str::trim).collect();
        let message = message.join(", ");
        let before = error.span().and_then(|span| text.get(..span.start));
        match before {
            Some(before) => {
                let line_start = before.rfind('\n').map_or(0, |end| end + 1);
                let line = 1 + before.matches('\n').count();
                let column = 1 + before[line_start..].chars().count();
                format!("{message} at line {line} column {column}")
            }
            None => message,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_syntax_is_one_line_with_its_place() {
        for (text, place) in [
            ("a = 1\n\n[[b] ]\nc = 2\n", "line 3 column "),
            ("a = 1\nb = \"open\n", "line 2 column "),
            ("a = 1\nname = ü\n", "line 2 column 8"),
            ("a = 1\na = 2\n", "line 2 column 1"),
            ("a = [1,\n", "line "),
        ] {
            let fault = read::<toml::Table>(text).unwrap_err();
            assert!(!fault.contains('\n'), "{fault:?}");
            assert!(fault.contains(&format!(" at {place}")), "{text:?}: {fault:?}");
        }
    }

    #[test]
    fn a_good_text_is_read() {
        assert_eq!(read::<toml::Table>("a = 1").unwrap()["a"].as_integer(), Some(1));
    }
}
