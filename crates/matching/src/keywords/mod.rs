//! The keyword language of saved filters.
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
//! `docs/saved-filters.md` is the guide for users. The details:
//!
//! - Operators and field names are case-sensitive. `and` is a word. `Title:` is refused with a suggestion.
//! - White space, a parenthesis or a double quote ends a bare term. So `rust(axum OR actix)` and `a"b c"` are two operands,
//!   joined by AND. Typographic double quotes (`“ ” „ ‟ ＂`) are double quotes.
//! - A bare term or a quoted text with several words is a phrase: `node.js`, `node-js` and `"node js"` are the same
//!   expression. A term without a word, such as `&&` or `""`, is refused.
//! - `-` directly before a term, a parenthesis or a field excludes. Within a term it separates words. Alone it is refused.
//!   `NOT NOT a` and `--a` are double negations.
//! - Other dashes (`–`, `—`, `−`, `－` …) and `!` before a term are refused, since they look like exclusions.
//! - Full-width signs that look like operators are refused, too: `ＯＲ`, `title：`, `dev＊`, `（a OR b）`, `-（a b）`. In other
//!   places they are ordinary punctuation of Chinese and Japanese text and separate words.
//! - `*` is allowed directly after the last letter, digit or sign of a bare term: `c+*`, and `node.j*` for the phrase of
//!   `node` and a word that begins with `j`. `*`, `*script`, `ru*t`, `rust-*` and `"a b"*` are refused. Within quotes `*`
//!   separates words.
//! - The text before a colon in a bare term must be the name of a field, unless it has no letter: `10:30` is a phrase.
//!   `http://x` needs quotes.
//! - A field is followed by a term or a parenthesis, with or without white space in between. To exclude, write the `-`
//!   before the field (`-title:x`) or within the parenthesis. Of nested fields the innermost applies.
//!
//! The position of a fault counts characters (Unicode scalar values) from 1. It is the first character of the first token
//! that is not allowed at its place. If the expression ends too soon, for example without a closing parenthesis, it is
//! the length plus one.

mod lexer;
mod lookalike;
mod parser;
#[cfg(test)]
mod tests;

use std::fmt;

use super::text;

/// The maximum number of characters of an expression.
pub const MAX_EXPRESSION_CHARS: usize = 10_000;
/// The maximum number of terms of an expression.
pub const MAX_TERMS: usize = 1_000;
/// The maximum number of words of a phrase.
pub const MAX_PHRASE_WORDS: usize = 100;
/// The maximum depth of nested parentheses and negations.
pub const MAX_DEPTH: usize = 64;

/// A parsed keyword expression.
///
/// [`fmt::Display`] writes it in a canonical form, which parses to the same expression. This form groups what binds tighter
/// and writes out every operator. So the form of an expression at a limit may be too deep or too long to be parsed.
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
    /// All parts hold. There are at least two.
    And(Vec<Expression>),
    /// At least one part holds. There are at least two.
    Or(Vec<Expression>),
    /// The inner expression does not hold.
    Not(Box<Expression>),
    /// The inner expression holds on this field alone.
    Within(Field, Box<Expression>),
    /// The job contains the term.
    Term(Term),
}

/// A part of the job's text to which an expression can be limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u64)] // In one byte it would share a word with the tags of `Expression`, which are then copied in pieces.
pub enum Field {
    /// The job's title.
    Title,
    /// The job's description.
    Description,
    /// The names of the job's skills.
    Skill,
}

impl Field {
    /// All fields.
    pub const ALL: [Self; 3] = [Self::Title, Self::Description, Self::Skill];

    /// The name as it is written before the colon.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Description => "description",
            Self::Skill => "skill",
        }
    }
}

/// A word or a phrase. Its last word may be a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Term {
    /// The folded words with a space between them, and `*` after a prefix.
    words: Box<str>,
}

impl Term {
    /// Makes a term of the words of `text`. Returns `None` if there is no word, or if `text` goes on after a prefix.
    fn new(text: &str, prefix: bool) -> Option<Self> {
        let folded = text::fold(text);
        let mut words = String::with_capacity(folded.len() + usize::from(prefix));
        let mut last = None;
        for word in text::words(&folded) {
            if last.is_some() {
                words.push(' ');
            }
            words.push_str(word);
            last = Some(word);
        }
        let last = last?;
        if prefix {
            words.push('*');
        }
        (!prefix || folded.ends_with(last)).then_some(Self {
            words: words.into_boxed_str(),
        })
    }

    /// The folded words without the prefix, in order.
    pub fn whole_words(&self) -> impl Iterator<Item = &str> {
        let whole = match self.prefix() {
            Some(prefix) => &self.words[..self.words.len() - prefix.len() - 1],
            None => &self.words,
        };
        // The space before a prefix ends the last whole word.
        whole.split_terminator(' ')
    }

    /// The folded prefix at the term's end, if there is one.
    pub fn prefix(&self) -> Option<&str> {
        self.words.strip_suffix('*')?.rsplit(' ').next()
    }

    /// Whether the term has several words, including the prefix.
    pub fn is_phrase(&self) -> bool {
        self.words.contains(' ')
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_phrase(), self.prefix()) {
            (false, _) => f.write_str(&self.words),
            (true, None) => write!(f, "\"{}\"", self.words),
            // Within quotes `*` would not be a prefix. A slash separates words and has no other meaning.
            (true, Some(_)) => f.write_str(&self.words.replace(' ', "/")),
        }
    }
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// The first fault in reading order.
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

/// A fault in a keyword expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct KeywordFault {
    /// The position of the offending token in characters, from 1. The length plus one if something is missing at the end.
    pub position: usize,
    /// What is wrong.
    pub message: String,
    /// How to correct it, where that is clear.
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
