//! A filter's body against a job: the full evaluation, for those whose entries let the job pass.

use super::body::{
    FIELDS_SHIFT, HEADER, KIND_SHIFT, NO_UPPER_DOLLARS, OPERAND, OPERATION_SHIFT, PHRASE_PREFIX,
};
use super::body::{node, operation};
use super::job_view::JobView;
use super::terms::{Terms, UNKNOWN};
use crate::PaymentKind;
use crate::condition::Figure;
use crate::keywords::MAX_PHRASE_WORDS;
use crate::{FieldSet, PreparedJob};

/// A job, as survivors see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) job: &'a PreparedJob,
    pub(super) view: &'a JobView,
    pub(super) terms: &'a Terms,
}

impl Asked<'_> {
    /// Whether everything holds that the entry left open; `words` begins with the body and may go on behind it.
    pub(super) fn matches(self, words: &[u32]) -> bool {
        let unknown_holds = words[0] & 1 == 1;
        let mut rest = &words[HEADER..];
        loop {
            let (operation, operand) = (rest[0] >> OPERATION_SHIFT, rest[0] & 0x00FF_FFFF);
            let (holds, length) = match operation {
                operation::KEYWORDS => return self.holds(&rest[1..]),
                operation::END => return true,
                operation::ONE_OF | operation::NONE_OF => {
                    let count = (operand & 0xFFFF) as usize;
                    let value = self.view.attributes[(operand >> 16) as usize];
                    let is_listed = contains(&rest[1..=count], value);
                    let holds = (value != UNKNOWN).then_some(is_listed == (operation == operation::ONE_OF));
                    (holds, 1 + count)
                }
                operation::ANY_SKILL | operation::ALL_SKILLS | operation::NO_SKILL => {
                    let count = operand as usize;
                    (self.skills(operation, &rest[1..=count]), 1 + count)
                }
                operation::HOURLY_DOLLARS => {
                    let max = match operand & 0xFFF {
                        NO_UPPER_DOLLARS => f64::INFINITY,
                        max => f64::from(max),
                    };
                    (self.hourly(f64::from(operand >> 12), max), 1)
                }
                operation::HOURLY_RATE => (self.hourly(number(rest, 1), number(rest, 3)), 5),
                operation::FIXED_PRICE => (self.fixed(number(rest, 1), number(rest, 3)), 5),
                operation::AT_LEAST => {
                    let figure = self.job.figure(Figure::ALL[operand as usize]);
                    (figure.map(|figure| figure >= number(rest, 1)), 3)
                }
                _ => {
                    let figure = self.job.figure(Figure::ALL[operand as usize]);
                    (figure.map(|figure| figure <= number(rest, 1)), 3)
                }
            };
            if !holds.unwrap_or(unknown_holds) {
                return false;
            }
            rest = &rest[length..];
        }
    }

    fn hourly(self, min: f64, max: f64) -> Option<bool> {
        if self.job.payment_kind() == Some(PaymentKind::Fixed) {
            return Some(true);
        }
        let (low, high) = self.job.hourly_range()?;
        Some(low <= max && min <= high)
    }

    fn fixed(self, min: f64, max: f64) -> Option<bool> {
        if self.job.payment_kind() == Some(PaymentKind::Hourly) {
            return Some(true);
        }
        let price = self.job.fixed_price()?;
        Some(min <= price && price <= max)
    }

    fn skills(self, operation: u32, listed: &[u32]) -> Option<bool> {
        self.job.skills()?;
        let named = &self.view.skills;
        Some(match operation {
            operation::ALL_SKILLS => listed.iter().all(|skill| named.contains(skill)),
            operation::ANY_SKILL => named.iter().any(|skill| contains(listed, *skill)),
            _ => !named.iter().any(|skill| contains(listed, *skill)),
        })
    }

    fn holds(self, nodes: &[u32]) -> bool {
        let (kind, fields, operand) = parts(nodes[0]);
        match kind {
            node::WORD | node::PREFIX => self.has(kind, operand, fields),
            node::PHRASE => {
                let count = (operand & (PHRASE_PREFIX - 1)) as usize;
                self.has_phrase(&nodes[1..=count], operand & PHRASE_PREFIX != 0, fields)
            }
            node::NOT => !self.holds(&nodes[1..]),
            _ => {
                // All parts hold unless one does not; none holds unless one does.
                let all = kind == node::AND;
                let mut rest = &nodes[1..=operand as usize];
                while let Some(first) = rest.first() {
                    let (kind, fields, operand) = parts(*first);
                    let (holds, length) = if kind <= node::PREFIX {
                        (self.has(kind, operand, fields), 1)
                    } else {
                        (self.holds(rest), length(rest))
                    };
                    if holds != all {
                        return !all;
                    }
                    rest = &rest[length..];
                }
                all
            }
        }
    }

    #[inline]
    fn has(self, kind: u32, operand: u32, fields: u32) -> bool {
        if kind == node::WORD {
            self.view.has_word(operand, fields)
        } else {
            self.view.has_prefix(operand, fields)
        }
    }

    fn has_phrase(self, words: &[u32], ends_with_prefix: bool, fields: u32) -> bool {
        let (words, prefix) = match words.split_last() {
            Some((prefix, words)) if ends_with_prefix => (words, Some(self.terms.prefixes.spelling(*prefix))),
            _ => (words, None),
        };
        let mut numbers = [0; MAX_PHRASE_WORDS];
        let Some(numbers) = numbers.get_mut(..words.len()) else {
            return false;
        };
        for (number, word) in numbers.iter_mut().zip(words) {
            match self.view.place_in_text(*word) {
                Some(found) => *number = found,
                None => return false,
            }
        }
        let fields = FieldSet::from_bits(fields);
        self.job.text().contains_sequence(numbers, prefix, fields)
    }
}

const fn parts(node: u32) -> (u32, u32, u32) {
    (node >> KIND_SHIFT, node >> FIELDS_SHIFT & 0b111, node & OPERAND)
}

/// The words that the first node takes up.
fn length(nodes: &[u32]) -> usize {
    let (kind, _, operand) = parts(nodes[0]);
    match kind {
        node::WORD | node::PREFIX => 1,
        node::PHRASE => 1 + (operand & (PHRASE_PREFIX - 1)) as usize,
        node::NOT => 1 + length(&nodes[1..]),
        _ => 1 + operand as usize,
    }
}

/// Whether the ascending `list` has `value`.
fn contains(list: &[u32], value: u32) -> bool {
    if list.len() <= 8 {
        list.contains(&value)
    } else {
        list.binary_search(&value).is_ok()
    }
}

fn number(words: &[u32], at: usize) -> f64 {
    f64::from_bits(u64::from(words[at]) | u64::from(words[at + 1]) << 32)
}
