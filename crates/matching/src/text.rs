//! Splits text into words. Job posts and keyword expressions are split by the same rules.
//!
//! The rules apply in this order; `docs/saved-filters.md` explains them to users.
//!
//! 1. Text is normalized to NFKC and case-folded ([`fold`]) until nothing changes. So `ﬁ`, `FI` and `fi` are the same
//!    word, and so are `STRASSE` and `straße`, `ｒｕｓｔ` and `Rust`.
//! 2. A word is a maximal run of letters (L), decimal digits (Nd) and marks (M), and the `+` and `#` signs directly after
//!    it: `c++`, `c#`, `f#`. So `a+b` is `a+` and `b`. `++` alone is not a word. A run may begin with a mark.
//! 3. `net` after a dot is the word `.net` if no letter or digit follows. `asp.net` is `asp` and `.net`, `.net's` is
//!    `.net` and `s`. But `.netcore` is `netcore`, and `.net5` is `net5`. Signs are not added: `.net+` is `.net`.
//! 4. Han, Hiragana, Katakana, Thai, Lao, Khmer and Myanmar do not separate words. Each letter, digit or mark of these
//!    scripts is a word of its own, without the signs after it.
//! 5. All other characters separate words: `don't` is `don` and `t`, `node.js` and `node-js` are `node` and `js`,
//!    `snake_case` is `snake` and `case`. Numbers such as `❶`, which are not decimal even after NFKC, separate, too.

use std::borrow::Cow;

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// Returns `text` after NFKC and full case folding. Texts are compared in this form.
///
/// ```
/// use bidloop_matching::fold;
///
/// assert_eq!(fold("Straße ＡＢＣ"), "strasse abc");
/// assert_eq!(fold("already folded"), "already folded");
/// ```
pub fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() && !text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Borrowed(text);
    }
    let mut folded = String::with_capacity(text.len() + 8);
    fold_onto(text, &mut folded);
    Cow::Owned(folded)
}

/// Returns `text` folded and without outer white space. Values of lists, such as countries and skills, are compared in
/// this form.
///
/// ```
/// assert_eq!(bidloop_matching::list_key(" ÖSTERREICH "), "österreich");
/// ```
pub fn list_key(text: &str) -> Cow<'_, str> {
    match fold(text) {
        Cow::Borrowed(folded) => Cow::Borrowed(folded.trim()),
        Cow::Owned(folded) => Cow::Owned(folded.trim().to_owned()),
    }
}

/// Returns the words of `text` in order, folded.
///
/// ```
/// use bidloop_matching::split_words;
///
/// assert_eq!(split_words("C++/C# on ASP.NET, Node.js"), ["c++", "c#", "on", "asp", ".net", "node", "js"]);
/// assert_eq!(split_words("東京 Tower"), ["東", "京", "tower"]);
/// ```
pub fn split_words(text: &str) -> Vec<String> {
    words(&fold(text)).map(str::to_owned).collect()
}

/// Appends the folded `text` to `folded`.
///
/// Posts are mostly ASCII. So stretches of ASCII are copied and lowered, and only the others go through the full rules.
/// A cut before an ASCII character is safe, since it does not compose with the character before it and is not reordered.
/// But a mark may compose with the ASCII character before it, so each other stretch begins with that character.
pub(super) fn fold_onto(text: &str, folded: &mut String) {
    let mut rest = text;
    loop {
        let Some(other) = rest.bytes().position(|byte| !byte.is_ascii()) else {
            push_lowered(rest, folded);
            return;
        };
        let start = other.saturating_sub(1);
        let end = rest.as_bytes()[other..]
            .iter()
            .position(u8::is_ascii)
            .map_or(rest.len(), |length| other + length);
        push_lowered(&rest[..start], folded);
        let stretch = &rest[start..end];
        if rest[other..end].chars().all(folds_to_itself) {
            push_lowered(stretch, folded);
        } else {
            fold_fully(stretch, folded);
        }
        rest = &rest[end..];
    }
}

fn push_lowered(text: &str, folded: &mut String) {
    let from = folded.len();
    folded.push_str(text);
    folded[from..].make_ascii_lowercase();
}

fn fold_fully(stretch: &str, folded: &mut String) {
    let mut current: String = stretch.nfkc().collect();
    loop {
        let next: String = current.chars().default_case_fold().nfkc().collect();
        if next == current {
            break;
        }
        current = next;
    }
    folded.push_str(&current);
}

/// Whether `c` is one of the frequent characters of posts that normalization and folding do not change and that do not
/// compose.
fn folds_to_itself(c: char) -> bool {
    matches!(c,
        '–' | '—' | '‘' | '’' | '“' | '”' | '•' | '●' | '✅' | '✔' | '→' | '\u{FE0F}'
        | '\u{1F300}'..='\u{1F64F}' | '\u{1F680}'..='\u{1F6FF}' | '\u{1F900}'..='\u{1F9FF}')
}

/// Returns the words of a folded text, in order, as parts of the text.
pub(super) fn words(folded: &str) -> Words<'_> {
    Words { folded, at: 0 }
}

/// Iterator of [`words`].
#[derive(Debug, Clone)]
pub(super) struct Words<'a> {
    folded: &'a str,
    at: usize,
}

impl Words<'_> {
    /// The byte offset of the end of the last word.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    fn character(&self, at: usize) -> Option<(CharacterClass, usize)> {
        let byte = *self.folded.as_bytes().get(at)?;
        if byte.is_ascii() {
            return Some((ASCII[usize::from(byte)], 1));
        }
        let c = self.folded[at..].chars().next()?;
        Some((class_beyond_ascii(c), c.len_utf8()))
    }

    /// Whether the word `.net` begins at the byte before `start`.
    fn is_dot_net(&self, start: usize) -> bool {
        let before = start.checked_sub(1).map(|dot| self.folded.as_bytes()[dot]);
        before == Some(b'.')
            && self.folded.as_bytes()[start..].starts_with(b"net")
            && !self.folded[start + 3..]
                .chars()
                .next()
                .is_some_and(is_letter_or_digit)
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let start = loop {
            let (class, length) = self.character(self.at)?;
            match class {
                CharacterClass::InWord => break self.at,
                CharacterClass::Word => {
                    let start = self.at;
                    self.at += length;
                    return Some(&self.folded[start..self.at]);
                }
                CharacterClass::Sign | CharacterClass::Separator => self.at += length,
            }
        };
        if self.is_dot_net(start) {
            self.at = start + 3;
            return Some(&self.folded[start - 1..self.at]);
        }
        while let Some((CharacterClass::InWord, length)) = self.character(self.at) {
            self.at += length;
        }
        while let Some((CharacterClass::Sign, length)) = self.character(self.at) {
            self.at += length;
        }
        Some(&self.folded[start..self.at])
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharacterClass {
    /// Part of a word: a letter, digit or mark of a script that separates words.
    InWord,
    /// A word by itself: a letter, digit or mark of another script.
    Word,
    /// `+` or `#`.
    Sign,
    Separator,
}

const ASCII: [CharacterClass; 128] = {
    let mut classes = [CharacterClass::Separator; 128];
    let mut byte = 0;
    while byte < 128 {
        #[expect(clippy::cast_possible_truncation, reason = "below 128")]
        if (byte as u8).is_ascii_alphanumeric() {
            classes[byte] = CharacterClass::InWord;
        }
        byte += 1;
    }
    classes[b'+' as usize] = CharacterClass::Sign;
    classes[b'#' as usize] = CharacterClass::Sign;
    classes
};

fn class_beyond_ascii(c: char) -> CharacterClass {
    let is_word = is_letter_or_digit(c) || c.general_category_group() == GeneralCategoryGroup::Mark;
    match is_undivided_script(c) {
        true if is_word || c.general_category() == GeneralCategory::LetterNumber => CharacterClass::Word,
        false if is_word => CharacterClass::InWord,
        _ => CharacterClass::Separator,
    }
}

fn is_letter_or_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    c.general_category_group() == GeneralCategoryGroup::Letter
        || c.general_category() == GeneralCategory::DecimalNumber
}

/// Whether `c` belongs to a script that does not separate words. These are Han, Hiragana, Katakana, Thai, Lao, Khmer and
/// Myanmar by the Unicode property Script, and the voicing, repeat and length marks that both kana use.
fn is_undivided_script(c: char) -> bool {
    matches!(c,
        '\u{0E01}'..='\u{0EFF}' // Thai and Lao
        | '\u{1000}'..='\u{109F}' | '\u{A9E0}'..='\u{A9FE}' | '\u{AA60}'..='\u{AA7F}' | '\u{116D0}'..='\u{116E3}' // Myanmar
        | '\u{1780}'..='\u{17F9}' | '\u{19E0}'..='\u{19FF}' // Khmer
        | '\u{2E80}'..='\u{2FD5}' | '\u{3005}' | '\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3038}'..='\u{303B}' // Han
        | '\u{3031}'..='\u{3035}' | '\u{3041}'..='\u{3096}' | '\u{3099}'..='\u{309F}' // Hiragana
        | '\u{30A1}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' | '\u{FF66}'..='\u{FF9F}' // Katakana
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' // Han
        | '\u{16FE2}'..='\u{16FE3}' | '\u{16FF0}'..='\u{16FF1}' | '\u{20000}'..='\u{3FFFF}' // Han
        | '\u{1AFF0}'..='\u{1AFFF}' | '\u{1B000}'..='\u{1B16F}' // kana supplements
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All assigned characters except most ideographs and Hangul syllables, which behave alike.
    fn distinctive_characters() -> impl Iterator<Item = char> {
        ('\u{0}'..='\u{1FFFF}')
            .chain('\u{2F800}'..='\u{2FA1F}')
            .chain('\u{E0100}'..='\u{E01EF}')
            .filter(|c| {
                !matches!(c, '\u{3500}'..='\u{9F00}' | '\u{AD00}'..='\u{D700}' | '\u{17000}'..='\u{18CFF}')
                    && !matches!(
                        c.general_category(),
                        GeneralCategory::Unassigned | GeneralCategory::PrivateUse
                    )
            })
    }

    #[test]
    fn words_are_runs_of_letters_digits_and_marks() {
        for (text, expected) in [
            ("", vec![]),
            (
                "Rust, Actix-web & tokio_util!",
                vec!["rust", "actix", "web", "tokio", "util"],
            ),
            ("don't", vec!["don", "t"]),
            ("web3 365days 2024", vec!["web3", "365days", "2024"]),
            ("Cafe\u{301} CAFÉ", vec!["café", "café"]),
            ("STRASSE straße", vec!["strasse", "strasse"]),
            ("ﬁnance ＲＵＳＴ ½ x²", vec!["finance", "rust", "1", "2", "x2"]),
            ("ΣΊΣΥΦΟΣ σίσυφος", vec!["σίσυφοσ", "σίσυφοσ"]),
            ("İstanbul", vec!["i\u{307}stanbul"]),
            ("हिन्दी काम", vec!["हिन्दी", "काम"]),
            ("٣ arabic", vec!["٣", "arabic"]),
            ("a\u{a0}b\u{200b}c", vec!["a", "b", "c"]),
            ("❶ one", vec!["one"]),
            ("🚀Rust🚀", vec!["rust"]),
        ] {
            assert_eq!(split_words(text), expected, "{text:?}");
        }
    }

    #[test]
    fn plus_and_hash_signs_belong_to_the_word_they_directly_follow() {
        for (text, expected) in [
            ("C++ c# F#-dev", vec!["c++", "c#", "f#", "dev"]),
            ("a+b", vec!["a+", "b"]),
            ("c++11", vec!["c++", "11"]),
            ("++ # +1 #tag", vec!["1", "tag"]),
            ("c +", vec!["c"]),
            ("Ｃ＃ C＋＋", vec!["c#", "c++"]),
            ("c+#+", vec!["c+#+"]),
        ] {
            assert_eq!(split_words(text), expected, "{text:?}");
        }
    }

    #[test]
    fn dot_net_is_a_word_of_its_own() {
        for (text, expected) in [
            (".NET", vec![".net"]),
            ("ASP.NET Core", vec!["asp", ".net", "core"]),
            (".net's ..net", vec![".net", "s", ".net"]),
            ("C#/.NET+Azure", vec!["c#", ".net", "azure"]),
            (".netcore .net5 .networks", vec!["netcore", "net5", "networks"]),
            (".net_x .net.", vec![".net", "x", ".net"]),
            ("net . net", vec!["net", "net"]),
            ("a.net.b", vec!["a", ".net", "b"]),
            ("and…net", vec!["and", ".net"]),
            ("．ＮＥＴ", vec![".net"]),
            (".neté", vec!["neté"]),
            (".net开", vec!["net", "开"]),
        ] {
            assert_eq!(split_words(text), expected, "{text:?}");
        }
    }

    #[test]
    fn in_undivided_scripts_each_character_is_a_word() {
        for (text, expected) in [
            ("東京tower", vec!["東", "京", "tower"]),
            ("サーバー", vec!["サ", "ー", "バ", "ー"]),
            ("ﾊﾞ", vec!["バ"]),
            ("ひらがな", vec!["ひ", "ら", "が", "な"]),
            ("งาน", vec!["ง", "า", "น"]),
            ("ລາວ", vec!["ລ", "າ", "ວ"]),
            ("ខ្មែរ", vec!["ខ", "្", "ម", "ែ", "រ"]),
            ("မြန်", vec!["မ", "ြ", "န", "်"]),
            ("中+", vec!["中"]),
            ("日々、〇。", vec!["日", "々", "〇"]),
            ("한국어 개발", vec!["한국어", "개발"]),
        ] {
            assert_eq!(split_words(text), expected, "{text:?}");
        }
    }

    #[test]
    fn folding_a_folded_text_changes_nothing() {
        for c in distinctive_characters() {
            let mut text = String::from("aN");
            text.push(c);
            text.push_str("\u{301}Z");
            let once = fold(&text).into_owned();
            assert_eq!(fold(&once), once, "{:x}", u32::from(c));
        }
    }

    #[test]
    fn folding_in_stretches_equals_folding_the_whole() {
        for c in distinctive_characters() {
            let text = format!("E{c}\u{301}e{c}A");
            let mut whole = String::new();
            fold_fully(&text, &mut whole);
            assert_eq!(fold(&text), whole, "{:x}", u32::from(c));
        }
    }

    #[test]
    fn a_word_is_the_only_word_of_itself() {
        for c in distinctive_characters() {
            for word in split_words(&format!("x {c}+ {c}x .net{c}")) {
                assert_eq!(split_words(&word), [word.as_str()], "{:x}", u32::from(c));
            }
        }
    }

    #[test]
    fn list_values_are_compared_folded_and_trimmed() {
        assert_eq!(list_key(" ÖSTERREICH "), "österreich");
        assert_eq!(list_key("usa"), "usa");
    }
}
