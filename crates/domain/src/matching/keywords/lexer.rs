//! Cuts a keyword expression into tokens, one at a time, so that the first fault in reading order is the one reported.

use super::{Field, KeywordFault, MAX_PHRASE_WORDS, Term};
use crate::model::closest;

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
pub(super) struct Lexer {
    characters: Vec<char>,
    at: usize,
}

impl Lexer {
    pub(super) fn new(text: &str) -> Self {
        Self {
            characters: text.chars().collect(),
            at: 0,
        }
    }

    pub(super) fn next_token(&mut self) -> Result<Token, KeywordFault> {
        while self.peek(0).is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        let position = self.at + 1;
        let Some(first) = self.peek(0) else {
            return Ok(Token {
                position,
                kind: TokenKind::End,
            });
        };
        let kind = match first {
            '(' => self.single(TokenKind::Open),
            ')' => self.single(TokenKind::Close),
            '-' => self.minus()?,
            quote if is_quote(quote) => self.quoted()?,
            _ => self.bare()?,
        };
        Ok(Token { position, kind })
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).copied()
    }

    fn single(&mut self, kind: TokenKind) -> TokenKind {
        self.at += 1;
        kind
    }

    fn minus(&mut self) -> Result<TokenKind, KeywordFault> {
        let position = self.at + 1;
        match self.characters[self.at + 1..]
            .iter()
            .position(|c| !c.is_whitespace())
        {
            // Nothing follows at all: the operand is missing, which the parser says of every operator.
            None | Some(0) => Ok(self.single(TokenKind::Minus)),
            Some(_) => Err(KeywordFault::new(position, "`-` stands alone")
                .suggesting("write it directly before what it excludes, or `NOT`")),
        }
    }

    fn quoted(&mut self) -> Result<TokenKind, KeywordFault> {
        let position = self.at + 1;
        let rest = &self.characters[self.at + 1..];
        let Some(length) = rest.iter().position(|c| is_quote(*c)) else {
            let end = self.characters.len() + 1;
            return Err(KeywordFault::new(
                end,
                format!("the quote opened at character {position} is not closed"),
            ));
        };
        let text: String = rest[..length].iter().collect();
        self.at += length + 2;
        let term = Term::new(&text, false)
            .ok_or_else(|| KeywordFault::new(position, "the quotes hold no word (letters or digits)"))?;
        Self::checked(term, position)
    }

    fn bare(&mut self) -> Result<TokenKind, KeywordFault> {
        let position = self.at + 1;
        let rest = &self.characters[self.at..];
        let length = rest
            .iter()
            .position(|c| c.is_whitespace() || matches!(c, '(' | ')') || is_quote(*c))
            .unwrap_or(rest.len());
        let text: String = rest[..length].iter().collect();
        match text.as_str() {
            "AND" => return Ok(self.passing(length, TokenKind::And)),
            "OR" => return Ok(self.passing(length, TokenKind::Or)),
            "NOT" => return Ok(self.passing(length, TokenKind::Not)),
            _ => {}
        }
        if let Some(field) = field_name(&text, position)? {
            return Ok(self.passing(field.name().len() + 1, TokenKind::Field(field)));
        }
        self.at += length;
        Self::checked(bare_term(&text, position)?, position)
    }

    fn passing(&mut self, characters: usize, kind: TokenKind) -> TokenKind {
        self.at += characters;
        kind
    }

    fn checked(term: Term, position: usize) -> Result<TokenKind, KeywordFault> {
        if term.words().len() > MAX_PHRASE_WORDS {
            return Err(KeywordFault::new(
                position,
                format!("a phrase has at most {MAX_PHRASE_WORDS} words"),
            ));
        }
        Ok(TokenKind::Term(term))
    }
}

/// The field that the bare text begins with; a name that is no field's is refused.
fn field_name(text: &str, position: usize) -> Result<Option<Field>, KeywordFault> {
    let Some((name, after)) = text.split_once(':') else {
        return Ok(None);
    };
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
    let mut characters = stem.chars();
    if let (Some(sign @ ('!' | '‐' | '–' | '—' | '−')), Some(_)) = (characters.next(), characters.next())
    {
        return Err(KeywordFault::new(position, format!("`{sign}` does not exclude"))
            .suggesting("to exclude, write `-` or `NOT`"));
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
