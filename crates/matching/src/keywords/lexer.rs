//! Splits a keyword expression into tokens. They are read one at a time, so that the first fault in reading order is
//! reported.

use super::{Field, KeywordFault, MAX_PHRASE_WORDS, Term, lookalike};
use crate::json::closest;

/// A token and the position of its first character, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) position: usize,
    pub(super) kind: TokenKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind {
    And,
    Or,
    Not,
    /// `-` directly before what it excludes.
    Minus,
    Open,
    Close,
    /// A field's name with its colon.
    Field(Field),
    Term(Term),
    End,
}

#[derive(Debug)]
pub(super) struct Lexer<'a> {
    /// The text after the last token.
    rest: &'a str,
    /// The number of characters before `rest`.
    read: usize,
    /// Whether the last token was an exclusion or a field, so that its operand comes next.
    expects_operand: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            read: 0,
            expects_operand: false,
        }
    }

    pub(super) fn next_token(&mut self) -> Result<Token, KeywordFault> {
        let spaces = self.rest.len() - self.rest.trim_start().len();
        self.pass(spaces);
        let position = self.read + 1;
        let Some(first) = self.rest.chars().next() else {
            return Ok(Token {
                position,
                kind: TokenKind::End,
            });
        };
        let kind = match first {
            '(' => self.passing(1, TokenKind::Open),
            ')' => self.passing(1, TokenKind::Close),
            '-' => self.minus()?,
            quote if is_quote(quote) => self.quoted(quote)?,
            _ => self.bare()?,
        };
        self.expects_operand = matches!(kind, TokenKind::Not | TokenKind::Minus | TokenKind::Field(_));
        Ok(Token { position, kind })
    }

    /// Skips `bytes`.
    fn pass(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.read += passed.chars().count();
    }

    fn passing(&mut self, bytes: usize, kind: TokenKind) -> TokenKind {
        self.pass(bytes);
        kind
    }

    fn minus(&mut self) -> Result<TokenKind, KeywordFault> {
        let behind = &self.rest[1..];
        let stands_alone = behind.starts_with(char::is_whitespace) && !behind.trim_start().is_empty();
        if stands_alone {
            return Err(KeywordFault::new(self.read + 1, "`-` stands alone")
                .suggesting("write it directly before what it excludes, or `NOT`"));
        }
        // If nothing follows, the parser reports the missing operand, as for every operator.
        Ok(self.passing(1, TokenKind::Minus))
    }

    fn quoted(&mut self, opening: char) -> Result<TokenKind, KeywordFault> {
        let position = self.read + 1;
        let behind = &self.rest[opening.len_utf8()..];
        let Some((end, closing)) = behind.char_indices().find(|(_, c)| is_quote(*c)) else {
            self.pass(self.rest.len());
            return Err(KeywordFault::new(
                self.read + 1,
                format!("the quote opened at character {position} is not closed"),
            ));
        };
        let term = Term::new(&behind[..end], false)
            .ok_or_else(|| KeywordFault::new(position, "the quotes hold no word (letters or digits)"))?;
        self.pass(opening.len_utf8() + end + closing.len_utf8());
        Self::checked(term, position)
    }

    fn bare(&mut self) -> Result<TokenKind, KeywordFault> {
        let position = self.read + 1;
        let length = bare_length(self.rest);
        let text = &self.rest[..length];
        match text {
            "AND" => return Ok(self.passing(length, TokenKind::And)),
            "OR" => return Ok(self.passing(length, TokenKind::Or)),
            "NOT" => return Ok(self.passing(length, TokenKind::Not)),
            _ => {}
        }
        if let Some(field) = field_name(text, position)? {
            return Ok(self.passing(field.name().len() + 1, TokenKind::Field(field)));
        }
        if let Some(fault) = lookalike::fault(text, self.rest, self.expects_operand, position) {
            return Err(fault);
        }
        self.pass(length);
        Self::checked(bare_term(text, position)?, position)
    }

    fn checked(term: Term, position: usize) -> Result<TokenKind, KeywordFault> {
        if term.words.bytes().filter(|byte| *byte == b' ').count() >= MAX_PHRASE_WORDS {
            return Err(KeywordFault::new(
                position,
                format!("a phrase has at most {MAX_PHRASE_WORDS} words"),
            ));
        }
        Ok(TokenKind::Term(term))
    }
}

/// The length in bytes of the bare text with which `rest` begins.
fn bare_length(rest: &str) -> usize {
    let ends = |c: char| c.is_whitespace() || matches!(c, '(' | ')') || is_quote(c);
    // Most terms are ASCII, which need not be decoded.
    let ascii = rest
        .bytes()
        .take_while(|byte| byte.is_ascii() && !ends(char::from(*byte)))
        .count();
    rest[ascii..].find(ends).map_or(rest.len(), |more| ascii + more)
}

/// Returns the field with which the bare text begins, if any. The name of no field is a fault.
fn field_name(text: &str, position: usize) -> Result<Option<Field>, KeywordFault> {
    // Shorter than `split_once`, which searches for long texts.
    let Some(colon) = text.bytes().position(|byte| byte == b':') else {
        return Ok(None);
    };
    let (name, after) = (&text[..colon], &text[colon + 1..]);
    if let Some(field) = Field::ALL.into_iter().find(|field| field.name() == name) {
        return Ok(Some(field));
    }
    if !name.chars().any(char::is_alphabetic) {
        return Ok(None);
    }
    let shown: String = name.chars().take(40).collect();
    let fault = KeywordFault::new(position, format!("`{shown}:` is no field"));
    Err(match closest(name, &Field::ALL.map(Field::name)) {
        Some(meant) => fault.suggesting(format!("did you mean `{meant}:`?")),
        None if after.is_empty() => fault.suggesting("the fields are `title:`, `description:` and `skill:`"),
        None => fault.suggesting(
            "the fields are `title:`, `description:` and `skill:`; to find the text itself, put it in double quotes",
        ),
    })
}

fn bare_term(text: &str, position: usize) -> Result<Term, KeywordFault> {
    let (stem, prefix) = match text.strip_suffix('*') {
        Some(stem) => (stem, true),
        None => (text, false),
    };
    if stem.contains('*') || (prefix && stem.is_empty()) {
        return Err(
            KeywordFault::new(position, "`*` stands only at the end of a word")
                .suggesting("a prefix is written `rust*`"),
        );
    }
    if let Some(term) = Term::new(stem, prefix) {
        return Ok(term);
    }
    if prefix && Term::new(stem, false).is_some() {
        return Err(KeywordFault::new(
            position,
            "`*` stands only directly behind a letter, a digit, or their `+` or `#`",
        ));
    }
    let fault = KeywordFault::new(position, "holds no word (letters or digits)");
    Err(match stem {
        "&" | "&&" => fault.suggesting("for both, write `AND` or a space"),
        "|" | "||" => fault.suggesting("for either, write `OR`"),
        _ => fault,
    })
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„' | '‟' | '＂')
}
