//! The part of Jinja that templates may use.
//!
//! [`translate`] parses a template, refuses syntax that letters do not need, and writes the rest for the engine. The
//! engine's own operators are not bounded, and order null below all numbers. So those that matter are written as filters
//! of [`language`](crate::language): `a < b` becomes `a|_compare('<', b)`. The engine gets only this translation.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex_lite::Regex;

use crate::language::{is_filter, is_test};
use crate::limits::{MAX_DEPTH, MAX_STATEMENTS, MAX_TAG_TOKENS, MAX_TEMPLATE_BYTES};

/// A comment, a `raw` block, or the start of a tag.
#[expect(clippy::expect_used, reason = "a constant, which the tests compile")]
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xs)
        \{\#.*?\#\}
        | \{%[-+]?[\ \t\r\n]*raw[\ \t\r\n]*[-+]?%\} .*? \{%[-+]?[\ \t\r\n]*endraw[\ \t\r\n]*[-+]?%\}
        | \{[\{%\#][-+]?",
    )
    .expect("the pattern is valid")
});

/// The next token of a tag. Any other character is a token that no rule accepts.
#[expect(clippy::expect_used, reason = "a constant, which the tests compile")]
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?xs)
        [-+]?[%\}]\}
        | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*'
        | [A-Za-z_][A-Za-z_0-9]*
        | [0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?
        | \*\* | // | [=!<>]=
        | [^\ \t\r\n]"#,
    )
    .expect("the pattern is valid")
});

/// The words that are not names.
const KEYWORDS: &[&str] = &["and", "or", "not", "in", "is", "if", "else", "recursive"];

/// The precedence of comparisons.
const COMPARISON: u8 = 3;

/// The precedence of a binary operator; `not` is the first word of `not in`.
fn precedence(operator: &str) -> Option<u8> {
    match operator {
        "or" => Some(1),
        "and" => Some(2),
        "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not" => Some(COMPARISON),
        "+" | "-" => Some(4),
        "~" => Some(5),
        "*" | "/" | "//" | "%" => Some(6),
        "**" => Some(7),
        _ => None,
    }
}

/// A problem of a template after its line number.
pub(crate) fn at_line(line: usize, problem: &str) -> String {
    format!("line {line}: {problem}")
}

/// A template for the engine.
#[derive(Debug, Default)]
pub(crate) struct Translation<'source> {
    pub(crate) text: String,
    /// The fields that the lead must have, with their lines: names that the template does not bind, and does not check
    /// with `is defined` or `default`.
    pub(crate) names: Vec<(&'source str, usize)>,
}

/// Translates a template, or reports its first fault with the line.
pub(crate) fn translate(source: &str) -> Result<Translation<'_>, String> {
    if source.len() > MAX_TEMPLATE_BYTES {
        return Err(format!("the template is larger than {MAX_TEMPLATE_BYTES} bytes"));
    }
    let mut parser = Parser {
        source,
        at: 0,
        line: 1,
        ahead: None,
        tokens: 0,
        depth: 0,
        names: Vec::new(),
        bound: BTreeSet::from(["loop"]),
    };
    let mut text = String::new();
    let mut statements = 0;
    while let Some(tag) = TAG.find_at(source, parser.at) {
        text += &source[parser.at..tag.start()];
        parser.advance_to(tag.end());
        let line = parser.line;
        if tag.len() > "{%-".len() {
            text += tag.as_str();
            continue;
        }
        // Else each of many would be searched for its end, through the whole rest of the template.
        if tag.as_str().starts_with("{#") {
            return parser.fault("syntax error: a comment without an end");
        }
        parser.tokens = 0;
        parser.look_ahead();
        let (translated, closing) = if tag.as_str().starts_with("{%") {
            statements += 1;
            (parser.statement()?, "%}")
        } else {
            (parser.expression()?, "}}")
        };
        if statements > MAX_STATEMENTS {
            return parser.fault(&format!("a template has at most {MAX_STATEMENTS} statements"));
        }
        let end = parser.next()?;
        if end.trim_start_matches(['-', '+']) != closing {
            return parser.unexpected(end);
        }
        // The engine must count the same lines.
        let lines = parser.line - line - translated.matches('\n').count();
        text.extend([tag.as_str(), " ", &translated, " ", &"\n".repeat(lines), end]);
    }
    text += &source[parser.at..];
    let mut names = parser.names;
    names.retain(|(name, _)| !parser.bound.contains(name));
    Ok(Translation { text, names })
}

/// Reads the tokens of a tag and writes the tag for the engine.
struct Parser<'source> {
    source: &'source str,
    /// The end of what has been read, and its line.
    at: usize,
    line: usize,
    /// The next token and its end; none at the template's end.
    ahead: Option<(&'source str, usize)>,
    /// The number of tokens of this tag that have been read.
    tokens: usize,
    depth: usize,
    names: Vec<(&'source str, usize)>,
    bound: BTreeSet<&'source str>,
}

impl<'source> Parser<'source> {
    fn statement(&mut self) -> Result<String, String> {
        let keyword = self.next()?;
        match keyword {
            "if" | "elif" => Ok(format!("{keyword} {}", self.expression()?)),
            "else" | "endif" | "endfor" => Ok(keyword.to_owned()),
            "set" => Ok(format!(
                "set {} = {}|_keep",
                self.targets("=")?,
                self.expression()?
            )),
            "for" => {
                let items = format!("for {} in {}|_keep", self.targets("in")?, self.operation(0)?);
                if self.skip("if") {
                    Ok(format!("{items} if {}", self.expression()?))
                } else {
                    Ok(items)
                }
            }
            other => self.fault(&format!("`{{% {other} %}}` is not available in templates")),
        }
    }

    /// The names that `set` and `for` bind.
    fn targets(&mut self, end: &str) -> Result<String, String> {
        let mut targets = Vec::new();
        loop {
            let name = self.name()?;
            self.bound.insert(name);
            targets.push(name);
            if self.skip(end) {
                return Ok(targets.join(", "));
            }
            self.expect(",")?;
        }
    }

    fn expression(&mut self) -> Result<String, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fault("the expression is nested too deep");
        }
        let mut value = self.operation(0)?;
        if self.skip("if") {
            let condition = self.operation(0)?;
            let other = if self.skip("else") {
                self.expression()?
            } else {
                "none".to_owned()
            };
            value = format!("({value} if {condition} else {other})");
        }
        self.depth -= 1;
        Ok(value)
    }

    /// Binary operators with at least the precedence `weakest`, and `not`.
    fn operation(&mut self, weakest: u8) -> Result<String, String> {
        let negations = self.count("not");
        let mut left = if negations > 0 {
            format!("({}{})", "not ".repeat(negations), self.operation(COMPARISON)?)
        } else {
            self.operand()?
        };
        while let Some(precedence) = precedence(self.peek()).filter(|precedence| *precedence >= weakest) {
            let operator = self.next()?;
            if operator == "not" {
                self.expect("in")?;
            }
            let right = self.operation(precedence + 1)?;
            left = match operator {
                "and" | "or" | "-" | "/" | "//" | "%" | "**" => format!("({left} {operator} {right})"),
                "+" | "*" => {
                    format!("({left}|_operand('{operator}') {operator} {right}|_operand('{operator}'))|_keep")
                }
                "~" => format!("{left}|_concatenate({right})"),
                "in" => format!("{left}|_in({right})"),
                "not" => format!("(not {left}|_in({right}))"),
                _ => format!("{left}|_compare('{operator}', {right})"),
            };
            if precedence == COMPARISON && self::precedence(self.peek()) == Some(COMPARISON) {
                return self.fault("comparisons cannot be chained; join two with `and`");
            }
        }
        Ok(left)
    }

    /// A value with its filters and tests.
    fn operand(&mut self) -> Result<String, String> {
        let mut is_name = self.peek_is_name();
        let start = self.tokens;
        let mut value = self.value()?;
        loop {
            // A name that is checked before its use need not be a field of the lead.
            is_name &= self.tokens == start + 1;
            let filters = self.skip("|");
            if !filters && !self.skip("is") {
                return Ok(value);
            }
            let negation = if !filters && self.skip("not") { "not " } else { "" };
            let word = if self.peek() == "in" {
                self.next()?
            } else {
                self.name()?
            };
            if is_name && matches!(word, "default" | "d" | "defined" | "undefined") {
                self.names.pop();
            }
            let (kind, is_known) = if filters {
                ("filter", is_filter(word))
            } else {
                ("test", is_test(word))
            };
            if !is_known {
                return self.fault(&format!("there is no {kind} `{word}`"));
            }
            let arguments = if self.skip("(") {
                self.group(")")?
            } else if !filters && self.operand_follows() {
                self.value()?
            } else {
                String::new()
            };
            value = if filters {
                format!("{value}|_filter('{word}', {arguments})")
            } else {
                format!("({value} is {negation}{word}({arguments}))")
            };
        }
    }

    /// A value with its sign and members.
    fn value(&mut self) -> Result<String, String> {
        let sign = "-".repeat(self.count("-"));
        let token = self.next()?;
        let mut value = match token.as_bytes() {
            b"(" => format!("{sign}({})", self.group(")")?),
            b"[" => format!("{sign}[{}]", self.group("]")?),
            b"range" if self.skip("(") => format!("{sign}(none|_range({}))", self.group(")")?),
            b"true"
            | b"false"
            | b"none"
            | b"True"
            | b"False"
            | b"None"
            | [b'"' | b'\'' | b'0'..=b'9', ..] => {
                format!("{sign}{token}")
            }
            [b'A'..=b'Z' | b'a'..=b'z' | b'_', ..] if !KEYWORDS.contains(&token) => {
                if self.peek() == "(" {
                    return self.fault(&format!("there is no function `{token}`"));
                }
                self.names.push((token, self.line));
                format!("{sign}{token}")
            }
            _ => return self.unexpected(token),
        };
        loop {
            value = if self.skip(".") {
                let member = self.next()?;
                if self.peek() == "(" {
                    return self.fault(&format!("there is no method `{member}`; use a filter"));
                }
                format!("{value}.{member}")
            } else if self.skip("[") {
                format!("{value}[{}]", self.group("]")?)
            } else {
                return Ok(value);
            };
        }
    }

    /// Expressions up to `closing`, with their separators.
    fn group(&mut self, closing: &str) -> Result<String, String> {
        let mut group = String::new();
        while !self.skip(closing) {
            match self.peek() {
                separator @ ("," | ":" | "=") => {
                    self.next()?;
                    group += separator;
                    // The name of an argument is not a field of the lead.
                    if separator == "=" {
                        self.names.pop();
                    }
                }
                _ => group.extend([" ", &self.expression()?]),
            }
        }
        Ok(group)
    }

    fn name(&mut self) -> Result<&'source str, String> {
        let is_name = self.peek_is_name();
        let token = self.next()?;
        if is_name {
            Ok(token)
        } else {
            self.unexpected(token)
        }
    }

    fn peek_is_name(&self) -> bool {
        let token = self.peek();
        token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !KEYWORDS.contains(&token)
    }

    /// Whether a test's argument without parentheses begins here.
    fn operand_follows(&self) -> bool {
        self.peek_is_name()
            || self
                .peek()
                .starts_with(|c: char| c.is_ascii_digit() || "\"'[-".contains(c))
    }

    /// The next token, or nothing at the template's end.
    fn peek(&self) -> &'source str {
        self.ahead.map_or("", |(token, _)| token)
    }

    fn next(&mut self) -> Result<&'source str, String> {
        let Some((token, end)) = self.ahead else {
            self.advance_to(self.source.len());
            return self.fault("syntax error: the tag has no end");
        };
        self.advance_to(end);
        self.look_ahead();
        self.tokens += 1;
        if self.tokens > MAX_TAG_TOKENS {
            return self.fault("the expression is too long");
        }
        Ok(token)
    }

    fn advance_to(&mut self, end: usize) {
        self.line += self.source[self.at..end].matches('\n').count();
        self.at = end;
    }

    fn look_ahead(&mut self) {
        let token = TOKEN.find_at(self.source, self.at);
        self.ahead = token.map(|token| (token.as_str(), token.end()));
    }

    fn skip(&mut self, token: &str) -> bool {
        self.peek() == token && self.next().is_ok()
    }

    /// Skips repetitions of `token` and counts them.
    fn count(&mut self, token: &str) -> usize {
        std::iter::from_fn(|| self.skip(token).then_some(())).count()
    }

    fn expect(&mut self, expected: &str) -> Result<(), String> {
        match self.next()? {
            token if token == expected => Ok(()),
            token => self.fault(&format!(
                "syntax error: unexpected `{token}`, expected `{expected}`"
            )),
        }
    }

    fn unexpected<T>(&self, token: &str) -> Result<T, String> {
        self.fault(&format!("syntax error: unexpected `{token}`"))
    }

    /// A fault in the line of the last token.
    fn fault<T>(&self, problem: &str) -> Result<T, String> {
        Err(at_line(self.line, problem))
    }
}
