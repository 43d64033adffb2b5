//! Which tokens a job must have for a filter to match it: groups, of each of which it has at least one token.

use super::IndexFull;
use super::body::{
    FIELDS_SHIFT, HEADER, KIND_SHIFT, OPERAND, OPERATION_SHIFT, PHRASE_PREFIX, node, operation,
};
use super::terms::{Terms, UNKNOWN};
use super::token::{Attributed, Token, TokenKind, flag_value, kind_value};
use crate::matching::condition::{Attribute, Flag};
use crate::matching::{CompiledFilter, Condition};

/// The required groups of one filter, cheapest first once [ranked](Groups::rank). Kept between filters for its
/// memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Groups {
    tokens: Vec<Token>,
    groups: Vec<Group>,
}

#[derive(Debug, Clone, Copy)]
struct Group {
    start: usize,
    end: usize,
    cost: f64,
    /// The posting itself holds what the group does, and more.
    is_inline: bool,
}

impl Groups {
    /// Finds the groups of a filter whose conditions are in `body`.
    pub(super) fn find(
        &mut self,
        filter: &CompiledFilter,
        body: &[u32],
        terms: &mut Terms,
        load: impl Fn(Token) -> usize,
    ) -> Result<(), IndexFull> {
        self.tokens.clear();
        self.groups.clear();
        let expression = self.of_conditions(filter, body, terms)?;
        if let Some(expression) = expression {
            self.of_node(&body[expression..], true, terms, &load);
        }
        for group in &mut self.groups {
            let tokens = &mut self.tokens[group.start..group.end];
            tokens.sort_unstable();
            group.cost = tokens.iter().map(|token| cost(*token, terms, &load)).sum();
        }
        self.groups
            .sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.start.cmp(&b.start)));
        Ok(())
    }

    /// The rarest group; none where nothing is required.
    pub(super) fn rarest(&self) -> Option<&[Token]> {
        self.groups.first().map(|group| self.tokens_of(group))
    }

    /// All but the rarest, the rarer first, without those that the posting holds anyway.
    pub(super) fn others(&self) -> impl Iterator<Item = &[Token]> {
        self.groups
            .iter()
            .skip(1)
            .filter(|group| !group.is_inline)
            .map(|group| self.tokens_of(group))
    }

    fn tokens_of(&self, group: &Group) -> &[Token] {
        &self.tokens[group.start..group.end]
    }

    fn push(&mut self, tokens: impl Iterator<Item = Token>, is_inline: bool) {
        let start = self.tokens.len();
        self.tokens.extend(tokens);
        self.groups.push(Group {
            start,
            end: self.tokens.len(),
            cost: 0.0,
            is_inline,
        });
    }

    /// The groups of everything but the keywords, and where in the body their node is.
    fn of_conditions(
        &mut self,
        filter: &CompiledFilter,
        body: &[u32],
        terms: &mut Terms,
    ) -> Result<Option<usize>, IndexFull> {
        let unknown_holds = filter.unknown_holds();
        let mut at = HEADER;
        loop {
            let (operation, operand) = (body[at] >> OPERATION_SHIFT, body[at] & 0x00FF_FFFF);
            let count = (operand & 0xFFFF) as usize;
            let list = at + 1..at + 1 + count;
            match operation {
                operation::END => return Ok(None),
                operation::KEYWORDS => return Ok(Some(at + 1)),
                operation::ONE_OF => {
                    let attribute = Attribute::ALL[(operand >> 16) as usize];
                    let values = &body[list];
                    self.any_value(Attributed::Text(attribute), values, unknown_holds, terms)?;
                    at += 1 + count;
                }
                operation::ANY_SKILL => {
                    self.any_value(Attributed::Skill, &body[list], unknown_holds, terms)?;
                    at += 1 + count;
                }
                operation::ALL_SKILLS => {
                    for skill in list {
                        self.any_value(Attributed::Skill, &body[skill..=skill], unknown_holds, terms)?;
                    }
                    at += 1 + count;
                }
                operation::NONE_OF | operation::NO_SKILL => at += 1 + count,
                operation::YES | operation::NO => {
                    let attributed = Attributed::Flag(Flag::ALL[operand as usize]);
                    let value = terms.intern_value(flag_value(operation == operation::YES))?;
                    self.any_value(attributed, &[value], unknown_holds, terms)?;
                    at += 1;
                }
                operation::PAYMENT_TYPES => {
                    for condition in filter.conditions() {
                        if let Condition::PaymentTypes(kinds) = condition {
                            let values = kinds.iter().map(|kind| terms.intern_value(kind_value(*kind)));
                            let values = values.collect::<Result<Vec<u32>, IndexFull>>()?;
                            self.any_value(Attributed::PaymentKind, &values, unknown_holds, terms)?;
                        }
                    }
                    at += 1;
                }
                operation::HOURLY_DOLLARS => at += 1,
                operation::HOURLY_RATE | operation::FIXED_PRICE => at += 5,
                operation::AT_LEAST | operation::AT_MOST => at += 3,
                _ => return Err(IndexFull),
            }
        }
    }

    fn any_value(
        &mut self,
        attributed: Attributed,
        values: &[u32],
        unknown_holds: bool,
        terms: &mut Terms,
    ) -> Result<(), IndexFull> {
        let start = self.tokens.len();
        let unknown = unknown_holds.then_some(&UNKNOWN);
        for value in values.iter().chain(unknown) {
            self.tokens.push(terms.intern_token(attributed, *value)?);
        }
        let is_inline = match attributed {
            Attributed::Text(attribute) => Terms::is_inline(attribute),
            Attributed::Skill => false,
            Attributed::Flag(_) | Attributed::PaymentKind => true,
        };
        self.groups.push(Group {
            start,
            end: self.tokens.len(),
            cost: 0.0,
            is_inline,
        });
        Ok(())
    }

    /// The groups that a node requires, or its negation, and the words it takes up.
    fn of_node(
        &mut self,
        nodes: &[u32],
        holds: bool,
        terms: &Terms,
        load: &impl Fn(Token) -> usize,
    ) -> usize {
        let (kind, operand) = (nodes[0] >> KIND_SHIFT, nodes[0] & OPERAND);
        match kind {
            node::WORD | node::PREFIX => {
                if holds {
                    let kind = if kind == node::WORD {
                        TokenKind::Word
                    } else {
                        TokenKind::Prefix
                    };
                    self.push(std::iter::once(Token::new(kind, operand)), false);
                }
                1
            }
            node::PHRASE => {
                let count = (operand & (PHRASE_PREFIX - 1)) as usize;
                if holds {
                    for (at, number) in nodes[1..=count].iter().enumerate() {
                        let is_prefix = operand & PHRASE_PREFIX != 0 && at + 1 == count;
                        let kind = if is_prefix {
                            TokenKind::Prefix
                        } else {
                            TokenKind::Word
                        };
                        self.push(std::iter::once(Token::new(kind, *number)), false);
                    }
                }
                1 + count
            }
            node::NOT => 1 + self.of_node(&nodes[1..], !holds, terms, load),
            _ => {
                let parts = &nodes[1..=operand as usize];
                if (kind == node::AND) == holds {
                    let mut at = 0;
                    while at < parts.len() {
                        at += self.of_node(&parts[at..], holds, terms, load);
                    }
                } else {
                    self.of_alternatives(parts, holds, terms, load);
                }
                1 + operand as usize
            }
        }
    }

    /// One group out of the rarest of each part; none if a part requires nothing.
    fn of_alternatives(&mut self, parts: &[u32], holds: bool, terms: &Terms, load: &impl Fn(Token) -> usize) {
        let (known, start) = (self.groups.len(), self.tokens.len());
        let mut end = start;
        let mut at = 0;
        while at < parts.len() {
            at += self.of_node(&parts[at..], holds, terms, load);
            let costs = self.groups[known..].iter().map(|group| {
                let cost: f64 = self
                    .tokens_of(group)
                    .iter()
                    .map(|token| cost(*token, terms, load))
                    .sum();
                (cost, group.start..group.end)
            });
            let Some((_, rarest)) = costs.min_by(|(a, _), (b, _)| a.total_cmp(b)) else {
                self.tokens.truncate(start);
                return;
            };
            let length = rarest.len();
            self.tokens.copy_within(rarest, end);
            end += length;
            self.tokens.truncate(end);
            self.groups.truncate(known);
        }
        self.groups.push(Group {
            start,
            end,
            cost: 0.0,
            is_inline: false,
        });
    }
}

/// How often an entry under the token will be met: by the jobs seen, and where they say nothing, by how many filters
/// stand there already, so that they spread.
fn cost(token: Token, terms: &Terms, load: &impl Fn(Token) -> usize) -> f64 {
    const UNSEEN: f64 = 0.1;
    const A_FILTER: f64 = 1e-6;
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let load = load(token) as f64;
    f64::from(terms.jobs_with(token)) + UNSEEN + load * A_FILTER
}

const _: () = assert!(FIELDS_SHIFT < KIND_SHIFT);
