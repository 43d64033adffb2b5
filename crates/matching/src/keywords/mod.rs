//! The keyword language of saved filters: its expressions, how they are written and read.
//!
//! ```text
//! expression = and { "OR" and }
//! and        = unary { ["AND"] unary }
//! unary      = ("NOT" | "-") unary | [field] operand
//! field      = "title:" | "description:" | "skill:"
//! operand    = "(" expression ")" | term
//! term       = word | word "*" | '"' text '"'
//! ```
//!
//! The guide is `docs/saved-filters.md`. Its corners are settled so:
//!
//! - Operators and field names are written exactly so; `and` is a word, `Title:` is refused with a suggestion.
//! - A bare term ends at white space, a parenthesis or a double quote, so `rust(axum OR actix)` and `a"b c"` are
//!   two terms each, joined by AND. Typographic double quotes (`“ ” „ ‟ ＂`) are double quotes.
//! - A bare term or quoted text with several words is the phrase of them: `node.js`, `node-js` and `"node js"` are
//!   one expression. One with none, such as `&&` or `""`, is refused.
//! - `-` excludes where a term, a parenthesis or a field directly follows it; within a term it separates; alone it is
//!   refused. `NOT NOT a` and `--a` are a double negation. Another dash (`–`, `—`, `−`, `－` …) or `!` in front of a term
//!   would read as an exclusion and mean none, so it is refused.
//! - Full-width `ＯＲ`, `title：`, `dev＊`, `（a OR b）`, `-（a b）` plainly mean the operators and are none: refused too. In
//!   any other place full-width signs separate, as the punctuation of Chinese and Japanese text that they are.
//! - `*` stands directly behind the last letter, digit or sign of a bare term and nowhere else: `c+*` and `node.j*`
//!   (the phrase of `node` and a word beginning with `j`) are good, `*`, `*script`, `ru*t`, `rust-*` and `"a b"*` are
//!   refused. Within quotes it separates like any other sign.
//! - A bare term with a colon begins with a name, which must be a field's. Only a name without any letter is none, so
//!   that `10:30` is a phrase. Text such as `http://x` goes into quotes.
//! - A field stands before a term or a parenthesis, white space in between is allowed. An exclusion goes before the
//!   field (`-title:x`), or into the parenthesis. A field within another field's parenthesis is the one that counts.
//!
//! A fault's position counts characters (Unicode scalar values) of the expression as written, from 1, and names the
//! beginning of the first token that cannot stand where it stands; where the end comes too soon (an operand, a closing
//! parenthesis or quote is missing), it is the length plus one.

mod lexer;
mod lookalike;
mod parser;
#[cfg(test)]
mod tests;

use std::fmt;

use super::text;

/// The most characters an expression may have.
pub const MAX_EXPRESSION_CHARS: usize = 10_000;
/// The most terms an expression may have.
pub const MAX_TERMS: usize = 1_000;
/// The most words a phrase may have.
pub const MAX_PHRASE_WORDS: usize = 100;
/// How deep parentheses and negations may nest.
pub const MAX_DEPTH: usize = 64;

/// A keyword expression, parsed.
///
/// Its text form ([`fmt::Display`]) is canonical: it parses to the same expression again.
///
/// ```
/// use bidloop_matching::Expression;
///
/// let expression = Expression::parse(r#"rust (axum OR "Actix  Web") -title:junior"#)?;
/// assert_eq!(expression.to_string(), r#"rust AND (axum OR "actix web") AND NOT title:junior"#);
///
/// let fault = Expression::parse("rust AND").unwrap_err();
/// assert_eq!(fault.position, 9);
/// # Ok::<(), bidloop_matching::KeywordFault>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Expression {
    /// All hold; two or more.
    And(Vec<Expression>),
    /// At least one holds; two or more.
    Or(Vec<Expression>),
    /// The inner one does not hold.
    Not(Box<Expression>),
    /// The inner one holds over this field alone.
    Within(Field, Box<Expression>),
    /// The job has it.
    Term(Term),
}

/// A part of the job that an expression can be limited to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    Title,
    Description,
    Skill,
}

impl Field {
    /// Every field, in the order in which a job's text is read.
    pub const ALL: [Self; 3] = [Self::Title, Self::Description, Self::Skill];

    /// The name as written before the colon.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Description => "description",
            Self::Skill => "skill",
        }
    }
}

/// A word, a phrase, or either with a prefix at its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Term {
    /// The folded words, separated by a space each: small, and in one place.
    words: Box<str>,
    ends_with_prefix: bool,
}

impl Term {
    /// The term with the words of `text`; none if it has no word, or if the word to be a prefix is not its end.
    fn new(text: &str, prefix: bool) -> Option<Self> {
        let folded = text::fold(text);
        let mut words = String::with_capacity(folded.len());
        let mut last = None;
        for word in text::words(&folded) {
            if last.is_some() {
                words.push(' ');
            }
            words.push_str(word);
            last = Some(word);
        }
        let last = last?;
        (!prefix || folded.ends_with(last)).then_some(Self {
            words: words.into_boxed_str(),
            ends_with_prefix: prefix,
        })
    }

    /// The folded words that must be adjacent, without the one that may be a prefix only.
    pub fn whole_words(&self) -> impl Iterator<Item = &str> {
        let whole = match (self.ends_with_prefix, self.words.rsplit_once(' ')) {
            (false, _) => Some(&*self.words),
            (true, Some((whole, _))) => Some(whole),
            (true, None) => None,
        };
        whole.into_iter().flat_map(|whole| whole.split(' '))
    }

    /// What the last word begins with, if any word that begins so will do.
    pub fn prefix(&self) -> Option<&str> {
        self.ends_with_prefix
            .then(|| self.words.rsplit_once(' ').map_or(&*self.words, |(_, last)| last))
    }

    /// Whether there are several words, the prefix among them.
    pub fn is_phrase(&self) -> bool {
        self.words.contains(' ')
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_phrase(), self.ends_with_prefix) {
            (false, false) => f.write_str(&self.words),
            // A slash separates words and means nothing else, so it can stand between them outside quotes.
            (_, true) => write!(f, "{}*", self.words.replace(' ', "/")),
            (true, false) => write!(f, "\"{}\"", self.words),
        }
    }
}

impl Expression {
    /// Reads an expression; a fault says where it stands and what could be meant.
    pub fn parse(text: &str) -> Result<Self, KeywordFault> {
        parser::parse(text)
    }

    fn write_operand(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(_) | Self::Or(_) => write!(f, "({self})"),
            Self::Not(_) | Self::Within(..) | Self::Term(_) => write!(f, "{self}"),
        }
    }

    fn write_joined(parts: &[Self], operator: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                f.write_str(operator)?;
            }
            part.write_operand(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(parts) => Self::write_joined(parts, " AND ", f),
            Self::Or(parts) => Self::write_joined(parts, " OR ", f),
            Self::Not(inner) => {
                f.write_str("NOT ")?;
                inner.write_operand(f)
            }
            Self::Within(field, inner) => match inner.as_ref() {
                Self::Term(term) => write!(f, "{}:{term}", field.name()),
                other => write!(f, "{}:({other})", field.name()),
            },
            Self::Term(term) => write!(f, "{term}"),
        }
    }
}

/// Why a text is no keyword expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct KeywordFault {
    /// The character, from 1, at which the first offending token begins; the length plus one for a missing end.
    pub position: usize,
    /// What is wrong.
    pub message: String,
    /// What could be meant, where that is clear.
    pub suggestion: Option<String>,
}

impl fmt::Display for KeywordFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "character {}: {}", self.position, self.message)?;
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; {suggestion}")?;
        }
        Ok(())
    }
}

impl KeywordFault {
    fn new(position: usize, message: impl Into<String>) -> Self {
        Self {
            position,
            message: message.into(),
            suggestion: None,
        }
    }

    fn suggesting(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }
}
