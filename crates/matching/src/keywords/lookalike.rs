//! Refuses signs that look like the language's operators but are not: other dashes of Unicode and full-width forms.
//!
//! Without this, `－java` would require the word `java` instead of excluding it, since the dash would only separate words.
//! Such a sign is refused where it clearly stands for an operator. Full-width forms are also the ordinary punctuation of
//! Chinese and Japanese text. Where they may be that, they separate words.

use super::{Field, KeywordFault, Term};
use crate::text;

/// Returns the fault of a bare text that begins or ends with such a sign in the place of an operator.
///
/// `rest` is the bare text and everything after it. `is_operand` says that an exclusion or a field is directly before.
pub(super) fn fault(bare: &str, rest: &str, is_operand: bool, position: usize) -> Option<KeywordFault> {
    if bare.is_ascii() && !bare.starts_with('!') {
        return None;
    }
    operator(bare, position)
        .or_else(|| exclusion(bare, position))
        .or_else(|| field(bare, position))
        .or_else(|| parenthesis(bare, rest, is_operand, position))
        .or_else(|| prefix(bare, position))
}

/// `ＯＲ`, which would be the word `or`.
fn operator(bare: &str, position: usize) -> Option<KeywordFault> {
    let meant = match bare {
        "ＡＮＤ" => "AND",
        "ＯＲ" => "OR",
        "ＮＯＴ" => "NOT",
        _ => return None,
    };
    Some(
        KeywordFault::new(position, format!("`{bare}` is no operator"))
            .suggesting(format!("write `{meant}`")),
    )
}

/// `–java`, `－java`, `!java`.
fn exclusion(bare: &str, position: usize) -> Option<KeywordFault> {
    let mut characters = bare.chars();
    let sign = characters.next()?;
    characters.next()?;
    let looks_like_one = sign == '!' || is_dash(sign);
    looks_like_one.then(|| {
        KeywordFault::new(position, format!("`{sign}` does not exclude"))
            .suggesting("to exclude, write `-` or `NOT`")
    })
}

/// Hyphens, dashes and minus signs other than `-`.
const fn is_dash(c: char) -> bool {
    matches!(
        c,
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}'
    )
}

/// `title：rust`, with the name of a field.
fn field(bare: &str, position: usize) -> Option<KeywordFault> {
    let (name, _) = bare.split_once(['：', '﹕'])?;
    let meant = Field::ALL.into_iter().find(|field| field.name() == name)?.name();
    let colon = bare[name.len()..].chars().next()?;
    Some(
        KeywordFault::new(position, format!("`{colon}` does not limit to a field"))
            .suggesting(format!("write `{meant}:`")),
    )
}

/// `（java OR go）` and `-（java go）`, which would be read as separate terms. It is no fault if the parenthesis is closed
/// within the bare text, or if it holds terms that are all required: the meaning is the same.
fn parenthesis(bare: &str, rest: &str, is_operand: bool, position: usize) -> Option<KeywordFault> {
    let opening = bare.chars().next().filter(|c| matches!(c, '（' | '﹙'))?;
    if bare.contains(is_closing) {
        return None;
    }
    let group = rest.split(is_closing).next().unwrap_or(rest);
    let has_alternatives = group.split_whitespace().any(|word| word == "OR");
    (is_operand || has_alternatives).then(|| {
        KeywordFault::new(position, format!("`{opening}` does not group")).suggesting("write `(` and `)`")
    })
}

const fn is_closing(c: char) -> bool {
    matches!(c, '）' | '﹚' | ')')
}

/// `dev＊`. Stars around a text are decoration (`＊急募＊`), and scripts in which each character is a word have no prefixes.
fn prefix(bare: &str, position: usize) -> Option<KeywordFault> {
    let (at, star) = bare.char_indices().find(|(_, c)| matches!(c, '＊' | '﹡'))?;
    let stem = &bare[..at];
    let ends_there = at + star.len_utf8() == bare.len();
    let last = stem.chars().next_back()?;
    let is_word_by_itself = text::split_words(&format!("{last}a")).len() > 1;
    if !ends_there || is_word_by_itself || Term::new(stem, true).is_none() {
        return None;
    }
    Some(
        KeywordFault::new(position, format!("`{star}` makes no prefix"))
            .suggesting("a prefix is written `rust*`"),
    )
}
