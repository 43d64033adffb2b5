//! Parses tokens into an expression by recursive descent of bounded depth.

use super::lexer::{Lexer, Token, TokenKind};
use super::{Expression, KeywordFault, MAX_DEPTH, MAX_EXPRESSION_CHARS, MAX_TERMS};

pub(super) fn parse(text: &str) -> Result<Expression, KeywordFault> {
    if text.len() > MAX_EXPRESSION_CHARS && text.chars().nth(MAX_EXPRESSION_CHARS).is_some() {
        return Err(KeywordFault::new(
            MAX_EXPRESSION_CHARS + 1,
            format!("an expression has at most {MAX_EXPRESSION_CHARS} characters"),
        ));
    }
    let mut lexer = Lexer::new(text);
    let first = lexer.next_token()?;
    if first.kind == TokenKind::End {
        return Err(KeywordFault::new(first.position, "the expression is empty")
            .suggesting("leave `keywords` out to match every text"));
    }
    let mut parser = Parser {
        lexer,
        next: first,
        depth: 0,
        terms: 0,
    };
    let expression = parser.alternatives()?;
    match parser.next.kind {
        TokenKind::End => Ok(expression),
        _ => Err(KeywordFault::new(parser.next.position, "`)` without its `(`")),
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    next: Token,
    depth: usize,
    terms: usize,
}

impl Parser<'_> {
    /// Returns the next token and reads the one after it.
    fn advance(&mut self) -> Result<TokenKind, KeywordFault> {
        let next = self.lexer.next_token()?;
        Ok(std::mem::replace(&mut self.next, next).kind)
    }

    fn alternatives(&mut self) -> Result<Expression, KeywordFault> {
        let first = self.conjunction()?;
        let mut parts = Vec::new();
        while self.next.kind == TokenKind::Or {
            self.advance()?;
            parts.push(self.conjunction()?);
        }
        Ok(joined(first, parts, Expression::Or))
    }

    fn conjunction(&mut self) -> Result<Expression, KeywordFault> {
        let first = self.unary()?;
        let mut parts = Vec::new();
        while !self.ends_conjunction() {
            if self.next.kind == TokenKind::And {
                self.advance()?;
            }
            parts.push(self.unary()?);
        }
        Ok(joined(first, parts, Expression::And))
    }

    const fn ends_conjunction(&self) -> bool {
        matches!(self.next.kind, TokenKind::Or | TokenKind::Close | TokenKind::End)
    }

    fn unary(&mut self) -> Result<Expression, KeywordFault> {
        match self.next.kind {
            TokenKind::Not | TokenKind::Minus => {
                self.descend()?;
                self.advance()?;
                let inner = self.unary()?;
                self.depth -= 1;
                Ok(Expression::Not(Box::new(inner)))
            }
            TokenKind::Field(field) => {
                self.advance()?;
                if matches!(
                    self.next.kind,
                    TokenKind::Not | TokenKind::Minus | TokenKind::Field(_)
                ) {
                    return Err(self.misplaced_behind_field(field.name()));
                }
                Ok(Expression::Within(field, Box::new(self.operand()?)))
            }
            _ => self.operand(),
        }
    }

    fn operand(&mut self) -> Result<Expression, KeywordFault> {
        match self.next.kind {
            TokenKind::Term(_) => {
                self.terms += 1;
                if self.terms > MAX_TERMS {
                    let message = format!("an expression has at most {MAX_TERMS} terms");
                    return Err(KeywordFault::new(self.next.position, message));
                }
                match self.advance()? {
                    TokenKind::Term(term) => Ok(Expression::Term(term)),
                    _ => Err(self.missing_operand()),
                }
            }
            TokenKind::Open => {
                let opened = self.next.position;
                self.descend()?;
                self.advance()?;
                let inner = self.alternatives()?;
                if self.next.kind != TokenKind::Close {
                    let message = format!("the parenthesis opened at character {opened} is not closed");
                    return Err(KeywordFault::new(self.next.position, message));
                }
                self.advance()?;
                self.depth -= 1;
                Ok(inner)
            }
            _ => Err(self.missing_operand()),
        }
    }

    fn descend(&mut self) -> Result<(), KeywordFault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("parentheses and negations nest at most {MAX_DEPTH} deep");
            return Err(KeywordFault::new(self.next.position, message));
        }
        Ok(())
    }

    fn missing_operand(&self) -> KeywordFault {
        let position = self.next.position;
        match self.next.kind {
            TokenKind::End => KeywordFault::new(position, "the expression ends where a term is expected"),
            TokenKind::And => KeywordFault::new(position, "`AND` where a term is expected")
                .suggesting("to find the word itself, write `and`"),
            TokenKind::Or => KeywordFault::new(position, "`OR` where a term is expected")
                .suggesting("to find the word itself, write `or`"),
            _ => KeywordFault::new(position, "`)` where a term is expected"),
        }
    }

    fn misplaced_behind_field(&self, field: &str) -> KeywordFault {
        let position = self.next.position;
        let fault = KeywordFault::new(
            position,
            format!("`{field}:` stands directly before a term or a parenthesis"),
        );
        match self.next.kind {
            TokenKind::Field(_) => fault,
            _ => fault.suggesting(format!("to exclude, write `-{field}:…`")),
        }
    }
}

/// Joins an expression and the others after it. Alone it stays as it is.
fn joined(
    first: Expression,
    mut others: Vec<Expression>,
    join: impl FnOnce(Vec<Expression>) -> Expression,
) -> Expression {
    if others.is_empty() {
        return first;
    }
    others.insert(0, first);
    join(others)
}
