//! A filter's conditions as a row of 32-bit words: small, in one piece, and naming texts by their numbers.
//!
//! ```text
//! body       = (length << 1 | unknown_holds)  condition*  (KEYWORDS node | END)  token*  count of tokens
//! condition  = (operation << 24 | operand)  further words, as the operation says
//! node       = (kind << 29 | fields << 26 | operand)  further words, as the kind says
//! ```
//!
//! The keywords come last because they cost most. The tokens are those under which the filter is registered. What the
//! filter's entry settles by itself is left out: flags, payment kinds, most categories and rates, the group under whose
//! tokens it stands, and most others.

use std::ops::Range;

use super::IndexFull;
use super::posting::{is_own_category, settles_hourly};
use super::required::Groups;
use super::terms::Terms;
use super::token::{Token, TokenKind};
use crate::condition::{Attribute, Bound, Condition};
use crate::job_values::{Attributed, JobValue};
use crate::{CompiledFilter, Expression, FieldSet};

pub(super) const OPERATION_SHIFT: u32 = 24;
/// How far an attribute's number stands above the count of values.
pub(super) const ATTRIBUTE_SHIFT: u32 = 16;
pub(super) const KIND_SHIFT: u32 = 29;
pub(super) const FIELDS_SHIFT: u32 = 26;
pub(super) const OPERAND: u32 = (1 << FIELDS_SHIFT) - 1;
/// On a phrase's count of words: the last is a prefix.
pub(super) const PHRASE_PREFIX: u32 = 1 << 16;
/// Words before the conditions.
pub(super) const HEADER: usize = 1;

/// What a condition's first word says.
pub(super) mod operation {
    pub(in super::super) const END: u32 = 0;
    /// A node follows.
    pub(in super::super) const KEYWORDS: u32 = 1;
    /// Attribute and count, then values in ascending order.
    pub(in super::super) const ONE_OF: u32 = 2;
    pub(in super::super) const NONE_OF: u32 = 3;
    /// Count, then values in ascending order.
    pub(in super::super) const ANY_SKILL: u32 = 4;
    pub(in super::super) const ALL_SKILLS: u32 = 5;
    pub(in super::super) const NO_SKILL: u32 = 6;
    /// Two numbers, two words each.
    pub(in super::super) const HOURLY_RATE: u32 = 8;
    pub(in super::super) const FIXED_PRICE: u32 = 9;
    /// The figure, then a number.
    pub(in super::super) const AT_LEAST: u32 = 10;
    pub(in super::super) const AT_MOST: u32 = 11;
    /// Two whole numbers of dollars below 4096 in the operand, 4095 for no upper end.
    pub(in super::super) const HOURLY_DOLLARS: u32 = 14;
}

/// What a node's first word says.
pub(super) mod node {
    /// A word's number.
    pub(in super::super) const WORD: u32 = 0;
    /// A prefix's number.
    pub(in super::super) const PREFIX: u32 = 1;
    /// Count, then numbers.
    pub(in super::super) const PHRASE: u32 = 2;
    /// Length of the parts together, then the parts.
    pub(in super::super) const AND: u32 = 3;
    pub(in super::super) const OR: u32 = 4;
    /// A node follows.
    pub(in super::super) const NOT: u32 = 5;
}

/// In place of an upper end in [`operation::HOURLY_DOLLARS`].
pub(super) const NO_UPPER_DOLLARS: u32 = 4_095;

/// Writes length and conditions of `filter` and tells `groups` what they require; the tokens are still to be
/// added, by [`finish`].
pub(super) fn encode(
    filter: &CompiledFilter,
    terms: &mut Terms,
    groups: &mut Groups,
    body: &mut Vec<u32>,
) -> Result<(), IndexFull> {
    body.clear();
    body.push(u32::from(filter.unknown_holds()));
    let mut keywords = None;
    for condition in filter.conditions() {
        match condition {
            Condition::Keywords(expression) => keywords = Some(expression),
            other => encode_condition(other, filter.unknown_holds(), terms, groups, body)?,
        }
    }
    match keywords {
        None => body.push(operation::END << OPERATION_SHIFT),
        Some(expression) => {
            body.push(operation::KEYWORDS << OPERATION_SHIFT);
            let from = body.len();
            encode_expression(expression, FieldSet::ALL, terms, body)?;
            groups.of_keywords(body, from, terms);
        }
    }
    Ok(())
}

/// Takes a part of the keywords out that is all of the expression at `root` or stands directly in its outermost AND.
pub(super) fn leave_keywords_out(root: usize, part: Range<usize>, body: &mut Vec<u32>) {
    if part.start == root {
        body.truncate(root - 1);
        body.push(operation::END << OPERATION_SHIFT);
    } else {
        // The outermost node's operand is the length of its parts, this one among them.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "less than the operand, which has the type"
        )]
        let length = part.len() as u32;
        body[root] -= length;
        body.drain(part);
        if body[root] & OPERAND == 0 {
            body.truncate(root - 1);
            body.push(operation::END << OPERATION_SHIFT);
        }
    }
}

/// Whether every job meets the conditions; asked before the tokens are added.
pub(super) fn is_settled(body: &[u32]) -> bool {
    body[HEADER] >> OPERATION_SHIFT == operation::END
}

/// Adds the tokens, given as bits, and the length.
pub(super) fn finish(tokens: impl Iterator<Item = u32>, body: &mut Vec<u32>) -> Result<(), IndexFull> {
    let from = body.len();
    body.extend(tokens);
    body.push(operand(body.len() - from)?);
    body[0] |= operand(body.len())? << 1;
    Ok(())
}

/// The body's length, told from its first word.
pub(super) const fn length(first: u32) -> usize {
    (first >> 1) as usize
}

/// The tokens, as bits, of a complete body.
pub(super) fn tokens(body: &[u32]) -> &[u32] {
    let Some((count, rest)) = body.split_last() else {
        return &[];
    };
    &rest[rest.len() - *count as usize..]
}

fn operand(value: usize) -> Result<u32, IndexFull> {
    match u32::try_from(value) {
        Ok(value) if value <= OPERAND >> 2 => Ok(value),
        _ => Err(IndexFull),
    }
}

fn encode_condition(
    condition: &Condition,
    unknown_holds: bool,
    terms: &mut Terms,
    groups: &mut Groups,
    body: &mut Vec<u32>,
) -> Result<(), IndexFull> {
    let head = |operation: u32, operand: u32| operation << OPERATION_SHIFT | operand;
    let from = body.len();
    match condition {
        Condition::Keywords(_) => {}
        Condition::AnySkill(skills) => {
            list(operation::ANY_SKILL, None, skills, terms, body)?;
            groups.any_value(Attributed::Skill, from, body, unknown_holds, terms)?;
        }
        Condition::AllSkills(skills) => {
            list(operation::ALL_SKILLS, None, skills, terms, body)?;
            groups.every_skill(&body[from + 1..], unknown_holds, terms)?;
        }
        Condition::NoSkill(skills) => {
            list(operation::NO_SKILL, None, skills, terms, body)?;
            groups.no_value(Attributed::Skill, from, body, unknown_holds, terms)?;
        }
        Condition::OneOf {
            attribute, values, ..
        } => {
            list(operation::ONE_OF, Some(*attribute), values, terms, body)?;
            groups.any_value(Attributed::Text(*attribute), from, body, unknown_holds, terms)?;
            if *attribute == Attribute::Category {
                groups.settled_inline();
                let mut is_settled = true;
                for value in &body[from + 1..] {
                    let position = terms.intern_category(*value)?;
                    groups.categories.push(position);
                    is_settled &= is_own_category(position);
                }
                if is_settled {
                    body.truncate(from);
                }
            }
        }
        Condition::NoneOf {
            attribute, values, ..
        } => {
            list(operation::NONE_OF, Some(*attribute), values, terms, body)?;
            groups.no_value(Attributed::Text(*attribute), from, body, unknown_holds, terms)?;
        }
        Condition::PaymentTypes(kinds) => {
            let values: Vec<u32> = kinds
                .iter()
                .map(|kind| terms.value(JobValue::of_payment_kind(*kind)))
                .collect();
            groups.inline_values(Attributed::PaymentKind, &values, unknown_holds, terms)?;
        }
        Condition::HourlyRate { min, max } => {
            if !settles_hourly(*min, *max, unknown_holds) {
                match (dollars(*min), dollars(*max)) {
                    (Some(min), Some(max)) => body.push(head(operation::HOURLY_DOLLARS, min << 12 | max)),
                    _ => numbers(head(operation::HOURLY_RATE, 0), &[*min, *max], body),
                }
            }
        }
        Condition::FixedPrice { min, max } => {
            numbers(head(operation::FIXED_PRICE, 0), &[*min, *max], body);
        }
        Condition::Within { figure, bound, .. } => {
            let (operation, number) = match bound {
                Bound::AtLeast(least) => (operation::AT_LEAST, *least),
                Bound::AtMost(most) => (operation::AT_MOST, *most),
            };
            numbers(head(operation, *figure as u32), &[number], body);
        }
        Condition::Is { flag, wanted, .. } => {
            let wanted = terms.value(JobValue::of_flag(*wanted));
            groups.inline_values(Attributed::Flag(*flag), &[wanted], unknown_holds, terms)?;
        }
    }
    Ok(())
}

/// An end of an interval that is a small whole number, or the open upper end.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "compared back exactly"
)]
fn dollars(end: f64) -> Option<u32> {
    if end == f64::INFINITY {
        return Some(NO_UPPER_DOLLARS);
    }
    let whole = end as u32;
    (whole < NO_UPPER_DOLLARS && f64::from(whole) == end).then_some(whole)
}

#[expect(clippy::cast_possible_truncation, reason = "cut into two halves")]
fn numbers(head: u32, numbers: &[f64], body: &mut Vec<u32>) {
    body.push(head);
    for number in numbers {
        let bits = number.to_bits();
        body.extend([bits as u32, (bits >> 32) as u32]);
    }
}

fn list(
    operation: u32,
    attribute: Option<Attribute>,
    values: &[String],
    terms: &mut Terms,
    body: &mut Vec<u32>,
) -> Result<(), IndexFull> {
    let count = operand(values.len())?;
    if count >= 1 << ATTRIBUTE_SHIFT {
        return Err(IndexFull);
    }
    let attribute = attribute.map_or(0, |attribute| attribute as u32);
    body.push(operation << OPERATION_SHIFT | attribute << ATTRIBUTE_SHIFT | count);
    let from = body.len();
    for value in values {
        body.push(terms.intern_value(value)?);
    }
    body[from..].sort_unstable();
    Ok(())
}

fn encode_expression(
    expression: &Expression,
    fields: FieldSet,
    terms: &mut Terms,
    body: &mut Vec<u32>,
) -> Result<(), IndexFull> {
    let head = |kind: u32, operand: u32| kind << KIND_SHIFT | fields.bits() << FIELDS_SHIFT | operand;
    match expression {
        Expression::And(parts) | Expression::Or(parts) => {
            let from = body.len();
            body.push(0);
            for part in parts {
                encode_expression(part, fields, terms, body)?;
            }
            let kind = match expression {
                Expression::And(_) => node::AND,
                _ => node::OR,
            };
            let words = &mut body[from + 1..];
            if kind == node::OR && words.iter().all(|node| *node >> KIND_SHIFT == node::WORD) {
                // The likelier a word is, the sooner it is asked, since one of them is enough.
                words.sort_by_key(|node| {
                    let word = Token::new(TokenKind::Word, *node & OPERAND);
                    std::cmp::Reverse(terms.jobs_with(word))
                });
            }
            body[from] = head(kind, operand(body.len() - from - 1)?);
        }
        Expression::Not(inner) => {
            body.push(head(node::NOT, 0));
            encode_expression(inner, fields, terms, body)?;
        }
        Expression::Within(field, inner) => {
            encode_expression(inner, FieldSet::of(*field), terms, body)?;
        }
        Expression::Term(term) => match (term.words(), term.is_prefix()) {
            ([word], false) => body.push(head(node::WORD, terms.intern_word(word)?)),
            ([prefix], true) => body.push(head(node::PREFIX, terms.intern_prefix(prefix)?)),
            (words, is_prefix) => {
                let count = operand(words.len())?;
                if count >= PHRASE_PREFIX {
                    return Err(IndexFull);
                }
                let prefix = if is_prefix { PHRASE_PREFIX } else { 0 };
                body.push(head(node::PHRASE, count | prefix));
                for (at, word) in words.iter().enumerate() {
                    body.push(if is_prefix && at + 1 == words.len() {
                        terms.intern_prefix(word)?
                    } else {
                        terms.intern_word(word)?
                    });
                }
            }
        },
    }
    Ok(())
}
