//! Words and expressions as the reference understands them, and generated texts and expressions.

use caseless::Caseless;
use proptest::prelude::*;
use proptest::sample::select;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

pub(super) fn folded(text: &str) -> String {
    let once: String = text.nfkc().default_case_fold().nfkc().collect();
    once.chars().default_case_fold().nfkc().collect()
}

fn letter_or_digit(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Letter
        || c.general_category() == GeneralCategory::DecimalNumber
}

fn in_word(c: char) -> bool {
    letter_or_digit(c) || c.general_category_group() == GeneralCategoryGroup::Mark
}

/// Of the scripts that the generated texts use.
fn alone(c: char) -> bool {
    matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{3041}'..='\u{30FF}' | '\u{0E00}'..='\u{0E7F}')
}

pub(super) fn reference_words(text: &str) -> Vec<String> {
    let chars: Vec<char> = folded(text).chars().collect();
    let mut words = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        let mut end = i;
        while end < chars.len() && in_word(chars[end]) && !alone(chars[end]) {
            end += 1;
        }
        let after_dot = i > 0 && chars[i - 1] == '.';
        if in_word(chars[i]) && alone(chars[i]) {
            words.push(chars[i].to_string());
            i += 1;
        } else if end == i {
            i += 1;
        } else if after_dot
            && chars[i..].starts_with(&['n', 'e', 't'])
            && !chars.get(i + 3).is_some_and(|c| letter_or_digit(*c))
        {
            words.push(".net".to_owned());
            i += 3;
        } else {
            while end < chars.len() && matches!(chars[end], '+' | '#') {
                end += 1;
            }
            words.push(chars[i..end].iter().collect());
            i = end;
        }
    }
    words
}

#[derive(Debug, Clone)]
pub(in crate::tests) enum Asked {
    All(Vec<Asked>, bool),
    Any(Vec<Asked>),
    No(Box<Asked>, bool),
    In(&'static str, Box<Asked>),
    Word(String),
    Phrase(String),
    Prefix(String),
}

impl Asked {
    pub(super) fn text(&self) -> String {
        let each = |parts: &[Asked], joint: &str, bare_all: bool| {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| {
                    if matches!(part, Asked::All(..)) && bare_all {
                        part.text()
                    } else {
                        part.operand()
                    }
                })
                .collect();
            parts.join(joint)
        };
        match self {
            Self::All(parts, spelled) => each(parts, if *spelled { " AND " } else { " " }, false),
            Self::Any(parts) => each(parts, " OR ", true),
            Self::No(inner, spelled) => format!("{}{}", if *spelled { "NOT " } else { "-" }, inner.operand()),
            Self::In(field, inner) => match inner.as_ref() {
                Self::Word(_) | Self::Phrase(_) | Self::Prefix(_) => format!("{field}:{}", inner.text()),
                _ => format!("{field}:({})", inner.text()),
            },
            Self::Word(text) => text.clone(),
            Self::Phrase(text) => format!("\"{text}\""),
            Self::Prefix(text) => format!("{text}*"),
        }
    }

    fn operand(&self) -> String {
        match self {
            Self::All(..) | Self::Any(_) => format!("({})", self.text()),
            _ => self.text(),
        }
    }

    pub(super) fn holds(&self, texts: &[(&str, Vec<String>)], field: Option<&str>) -> bool {
        let stands = |words: &[String], prefix: bool| {
            texts
                .iter()
                .filter(|(name, _)| field.is_none_or(|field| field == *name))
                .any(|(_, text)| {
                    text.windows(words.len()).any(|window| {
                        window.iter().zip(words).enumerate().all(|(i, (found, asked))| {
                            if prefix && i + 1 == words.len() {
                                found.starts_with(asked.as_str())
                            } else {
                                found == asked
                            }
                        })
                    })
                })
        };
        match self {
            Self::All(parts, _) => parts.iter().all(|part| part.holds(texts, field)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(texts, field)),
            Self::No(inner, _) => !inner.holds(texts, field),
            Self::In(field, inner) => inner.holds(texts, Some(field)),
            Self::Word(text) | Self::Phrase(text) => stands(&reference_words(text), false),
            Self::Prefix(text) => stands(&reference_words(text), true),
        }
    }
}

pub(super) const WORDS: [&str; 26] = [
    "rust",
    "Rust",
    "RUST",
    "rusty",
    "c++",
    "C#",
    "c",
    "net",
    ".NET",
    "asp.net",
    "node.js",
    "Node",
    "js",
    "東京",
    "京",
    "straße",
    "STRASSE",
    "ﬁt",
    "fit",
    "café",
    "cafe\u{301}",
    "งาน",
    "a",
    "ab",
    "don't",
    "İx",
];

pub(super) fn expressions() -> impl Strategy<Value = Asked> {
    let word = select(WORDS.to_vec()).prop_map(str::to_owned);
    let leaf = prop_oneof![
        4 => word.clone().prop_map(Asked::Word),
        2 => (word.clone(), select(vec![" ", "-", ", "]), word.clone())
            .prop_map(|(first, joint, second)| Asked::Phrase(format!("{first}{joint}{second}"))),
        1 => select(vec!["r", "ru", "c+", "node.j", "st", "東京", "caf", "n"]).prop_map(|s| Asked::Prefix(s.to_owned())),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 2..4), any::<bool>())
                .prop_map(|(parts, spelled)| Asked::All(parts, spelled)),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Asked::Any),
            (inner.clone(), any::<bool>()).prop_map(|(part, spelled)| Asked::No(Box::new(part), spelled)),
            (select(vec!["title", "description", "skill"]), inner)
                .prop_map(|(field, part)| Asked::In(field, Box::new(part))),
        ]
    })
}

pub(super) fn texts() -> impl Strategy<Value = String> {
    let joint = select(vec![
        " ", " ", " ", "-", "/", ".", ", ", "\n", "+", "…", "🚀", "\u{FE0F}", "\u{301}", "",
    ]);
    prop::collection::vec((select(WORDS.to_vec()), joint), 0..10).prop_map(|parts| {
        parts
            .into_iter()
            .flat_map(|(word, joint)| [word, joint])
            .collect()
    })
}
