//! A file's name: as given, as compared, and as stored. [`ContentType`](super::ContentType) says what an extension means.

use std::fmt;

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::FileFault;

/// The longest name in bytes of UTF-8. No file system has longer names.
pub const MAX_NAME_BYTES: usize = 1024;

/// The longest safe name in bytes of UTF-8. File systems usually allow 255, which leaves room for a prefix.
pub const MAX_SAFE_NAME_BYTES: usize = 120;

/// A file's name, exactly as given.
///
/// It may hold a path (some browsers send one) or characters that no file system accepts, so it is only stored as text
/// and shown. Everything else uses [`FileName::safe_name`].
///
/// ```
/// use bidloop_domain::attachment_rules::FileName;
///
/// let name = FileName::parse("C:\\Offers\\Rate: 90?.PDF")?;
/// assert_eq!(name.extension(), Some("PDF"));
/// assert_eq!(name.safe_name(), "Rate_90.PDF");
/// assert_eq!(name.comparison_key(), "c:\\offers\\rate: 90?.pdf");
/// # Ok::<(), bidloop_domain::attachment_rules::FileFault>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileName(String);

impl FileName {
    /// Takes a name as it was given.
    ///
    /// # Errors
    ///
    /// [`FileFault::BadName`] if it is blank, longer than [`MAX_NAME_BYTES`], or holds a NUL, at which some programs cut a
    /// name.
    pub fn parse(name: &str) -> Result<Self, FileFault> {
        let refuse = |reason| {
            Err(FileFault::BadName {
                name: name.to_owned(),
                reason,
            })
        };
        if name.trim().is_empty() {
            return refuse("is empty");
        }
        if name.len() > MAX_NAME_BYTES {
            return refuse("is longer than 1024 bytes");
        }
        if name.contains('\0') {
            return refuse("holds a NUL character");
        }
        Ok(Self(name.to_owned()))
    }

    /// The name as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What follows the last dot of the name's last path segment, in the case given. A name that only starts with a
    /// dot (`.pdf`) has no extension.
    pub fn extension(&self) -> Option<&str> {
        let (stem, extension) = self.last_segment().rsplit_once('.')?;
        (!stem.is_empty() && !extension.is_empty()).then_some(extension)
    }

    /// The name after NFC and full case folding. Two names are the same if their keys are equal (decision A9).
    pub fn comparison_key(&self) -> String {
        self.0.nfc().default_case_fold().nfc().collect()
    }

    /// The name without path, control and reserved characters (decision A9): letters and digits of any script,
    /// `-`, `_` and single inner dots, in NFC. It keeps the extension, is at most [`MAX_SAFE_NAME_BYTES`] long, and is
    /// never empty, hidden or a device name of Windows.
    pub fn safe_name(&self) -> String {
        self.reduced(|c| {
            let is_letter_like =
                c.is_alphanumeric() || c.general_category_group() == GeneralCategoryGroup::Mark;
            is_letter_like && !is_invisible(c)
        })
    }

    /// The safe name reduced to ASCII, which is always a valid segment of a [`BlobPath`](crate::port::BlobPath).
    pub fn blob_segment(&self) -> String {
        self.reduced(|c| c.is_ascii_alphanumeric())
    }

    fn last_segment(&self) -> &str {
        self.0.rsplit(['/', '\\']).next().unwrap_or_default()
    }

    fn reduced(&self, keeps: impl Fn(char) -> bool) -> String {
        let (stem, extension) = match self.extension() {
            Some(extension) => (
                &self.last_segment()[..self.last_segment().len() - extension.len() - 1],
                reduce(extension, &keeps),
            ),
            None => (self.last_segment(), String::new()),
        };
        let extension = bounded(&extension, MAX_SAFE_NAME_BYTES / 4).trim_matches(['_', '.']);
        let stem = reduce(stem, &keeps);
        let room = MAX_SAFE_NAME_BYTES - extension.len() - ".".len() - "_".len();
        let stem = bounded(&stem, room).trim_matches(['_', '.', '-']);
        let stem = if stem.is_empty() { "file" } else { stem };
        let guard = if is_device_name(stem) { "_" } else { "" };
        let dot = if extension.is_empty() { "" } else { "." };
        format!("{guard}{stem}{dot}{extension}")
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a character is invisible or changes the order of others: format characters, line separators and the like.
fn is_invisible(c: char) -> bool {
    matches!(c.general_category_group(), GeneralCategoryGroup::Other) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Replaces every run of characters that are not kept by one `_`, and every run of dots by one dot.
fn reduce(text: &str, keeps: &impl Fn(char) -> bool) -> String {
    let mut reduced = String::with_capacity(text.len());
    for c in text.nfc() {
        let c = if keeps(c) || matches!(c, '-' | '.') {
            c
        } else {
            '_'
        };
        if !(matches!(c, '_' | '.') && reduced.ends_with(c)) {
            reduced.push(c);
        }
    }
    reduced
}

/// The longest start of `text` of at most `max_bytes`.
fn bounded(text: &str, max_bytes: usize) -> &str {
    let mut end = text.len().min(max_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Whether Windows opens a device instead of a file of this name. The part after the first dot does not matter.
fn is_device_name(stem: &str) -> bool {
    let base = stem.split('.').next().unwrap_or_default().to_ascii_uppercase();
    if matches!(base.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN" | "CONOUT") {
        return true;
    }
    let number = base.strip_prefix("COM").or_else(|| base.strip_prefix("LPT"));
    number.is_some_and(|number| {
        let mut digits = number.chars();
        matches!(
            (digits.next(), digits.next()),
            (Some('0'..='9' | '¹' | '²' | '³'), None)
        )
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::port::BlobPath;

    fn name(text: &str) -> FileName {
        FileName::parse(text).unwrap()
    }

    #[test]
    fn a_name_that_is_blank_too_long_or_holds_a_nul_is_refused() {
        for bad in [
            String::new(),
            "  ".to_owned(),
            "a\0.pdf".to_owned(),
            format!("{}.pdf", "a".repeat(1021)),
        ] {
            assert!(
                matches!(FileName::parse(&bad), Err(FileFault::BadName { .. })),
                "{bad:?}"
            );
        }
        assert!(FileName::parse(&format!("{}.pdf", "a".repeat(1020))).is_ok());
    }

    #[test]
    fn names_are_compared_after_nfc_and_full_case_folding() {
        for (one, other) in [
            ("Résumé.PDF", "re\u{301}sume\u{301}.pdf"),
            ("STRASSE.txt", "straße.TXT"),
            ("\u{1e9e}.txt", "SS.txt"),
            ("ΟΔΟΣ.png", "οδος.png"),
            ("ﬁn.doc", "FIN.doc"),
        ] {
            assert_eq!(
                name(one).comparison_key(),
                name(other).comparison_key(),
                "{one} {other}"
            );
        }
        for (one, other) in [
            ("resume.pdf", "résumé.pdf"),
            ("a.pdf", "a .pdf"),
            ("a.jpg", "a.jpeg"),
        ] {
            assert_ne!(
                name(one).comparison_key(),
                name(other).comparison_key(),
                "{one} {other}"
            );
        }
    }

    #[test]
    fn a_safe_name_holds_no_path_control_or_reserved_character() {
        for (given, safe, segment) in [
            ("offer.pdf", "offer.pdf", "offer.pdf"),
            ("My Offer (final).PDF", "My_Offer_final.PDF", "My_Offer_final.PDF"),
            ("../../etc/passwd.txt", "passwd.txt", "passwd.txt"),
            ("C:\\Users\\me\\cv.docx", "cv.docx", "cv.docx"),
            (
                "a<b>c:d\"e|f?g*h.png",
                "a_b_c_d_e_f_g_h.png",
                "a_b_c_d_e_f_g_h.png",
            ),
            ("re\u{301}sumé.pdf", "résumé.pdf", "r_sum.pdf"),
            ("Ставка 5.txt", "Ставка_5.txt", "5.txt"),
            ("提案.zip", "提案.zip", "file.zip"),
            ("...hidden..name...txt", "hidden.name.txt", "hidden.name.txt"),
            ("con.txt", "_con.txt", "_con.txt"),
            ("LPT¹.pdf", "_LPT¹.pdf", "LPT.pdf"),
            ("nul.tar.zip", "_nul.tar.zip", "_nul.tar.zip"),
            ("a\u{202e}fdp\r\n\u{7}.txt", "a_fdp.txt", "a_fdp.txt"),
            ("???.gif", "file.gif", "file.gif"),
            ("\u{1f4c4}.gif", "file.gif", "file.gif"),
            ("con", "_con", "_con"),
        ] {
            assert_eq!(name(given).safe_name(), safe, "{given:?}");
            assert_eq!(name(given).blob_segment(), segment, "{given:?}");
        }
    }

    #[test]
    fn a_long_safe_name_is_cut_before_its_extension() {
        let safe = name(&format!("{}.docx", "é".repeat(400))).safe_name();
        assert!(
            safe.len() <= MAX_SAFE_NAME_BYTES && safe.len() > MAX_SAFE_NAME_BYTES - 4,
            "{safe}"
        );
        assert!(safe.ends_with("é.docx"));
    }

    proptest! {
        #[test]
        fn any_safe_name_can_be_stored_anywhere(text in "\\PC{0,40}[ ./\\\\a-z\u{0}-\u{1f}]{0,20}\\.?\\PC{0,12}") {
            let Ok(name) = FileName::parse(&text) else { return Ok(()) };
            let safe = name.safe_name();
            prop_assert!(!safe.is_empty() && safe.len() <= MAX_SAFE_NAME_BYTES);
            prop_assert!(!safe.starts_with('.') && !safe.ends_with(['.', ' ']));
            let reserved = |c: char| c.is_control() || c.is_whitespace() || is_invisible(c) || "/\\<>:\"|?*".contains(c);
            prop_assert!(!safe.contains(reserved), "{:?}", safe);
            prop_assert!(BlobPath::parse(&name.blob_segment()).is_some(), "{:?}", name.blob_segment());
        }

        #[test]
        fn a_name_and_its_decomposed_spelling_are_the_same_name(text in "\\PC{1,40}") {
            let Ok(given) = FileName::parse(&text) else { return Ok(()) };
            let decomposed: String = text.nfd().collect();
            let Ok(decomposed) = FileName::parse(&decomposed) else { return Ok(()) };
            prop_assert_eq!(given.comparison_key(), decomposed.comparison_key());
        }

        #[test]
        fn a_safe_name_keeps_an_accepted_extension(stem in "\\PC{0,200}[a-z]", extension in "pdf|JPG|docx|txt") {
            let name = FileName::parse(&format!("{stem}.{extension}")).unwrap();
            let suffix = format!(".{extension}");
            prop_assert!(name.safe_name().ends_with(&suffix));
            prop_assert!(name.blob_segment().ends_with(&suffix));
        }
    }
}
