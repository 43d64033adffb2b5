//! Which tokens a job must have for a filter to match it: groups, of each of which it has at least one token.

use std::ops::Range;

use super::IndexFull;
use super::body::{self, FIELDS_SHIFT, KIND_SHIFT, OPERAND, PHRASE_PREFIX, node};
use super::posting::Posting;
use super::terms::{Terms, UNKNOWN};
use super::token::{Token, TokenKind};
use crate::FieldSet;
use crate::job_values::Attributed;

/// Lists of more values that the job must not have are left to the body.
const MAX_FORBIDDEN: usize = 6;

/// The required groups of one filter, and what else its entry is made of. Kept between filters for its memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Groups {
    tokens: Vec<Token>,
    required: Vec<Group>,
    /// Positions of the categories that the filter lists.
    pub(super) categories: Vec<u32>,
    /// Where the expression begins in the body.
    root: usize,
    /// Tokens of which the job has none, and the parts of the body that say so.
    forbidden: Vec<(Range<usize>, Range<usize>)>,
    /// Parts of the body that the entry makes superfluous.
    settled: Vec<Range<usize>>,
}

#[derive(Debug, Clone)]
struct Group {
    tokens: Range<usize>,
    cost: f64,
    origin: Origin,
}

/// What in the body a group says.
#[derive(Debug, Clone)]
enum Origin {
    /// Less than something in the body does.
    Weaker,
    /// Exactly what this condition, or part of the outermost AND of the keywords, does.
    Exactly(Range<usize>),
    /// What the entry checks by itself.
    Entry,
}

impl Groups {
    pub(super) fn clear(&mut self) {
        self.tokens.clear();
        self.required.clear();
        self.categories.clear();
        self.forbidden.clear();
        self.root = usize::MAX;
    }

    /// Orders the groups by how often jobs meet them, the rarest first.
    pub(super) fn rank(&mut self, terms: &Terms, load: impl Fn(Token) -> usize) {
        for group in &mut self.required {
            let tokens = &self.tokens[group.tokens.clone()];
            group.cost = tokens.iter().map(|token| cost(*token, terms, &load)).sum();
        }
        self.required.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    }

    /// The rarest group, each token once; what every job has where nothing is required.
    pub(super) fn rarest(&self) -> Vec<Token> {
        let Some(group) = self.required.first() else {
            return vec![Token::ANY];
        };
        let mut tokens = self.tokens[group.tokens.clone()].to_vec();
        tokens.sort_unstable();
        tokens.dedup();
        tokens
    }

    /// Enters what is required and forbidden into the entry, the rarer first, and takes out of the body what the entry
    /// says as exactly. Of the rarest group it says it by its place: who comes by way of its tokens has one of them.
    pub(super) fn enter(&mut self, posting: &mut Posting, body: &mut Vec<u32>) {
        self.settled.clear();
        for (place, group) in self.required.iter().enumerate() {
            let part = match &group.origin {
                Origin::Entry => continue,
                Origin::Exactly(part) => Some(part),
                Origin::Weaker => None,
            };
            let is_said = place == 0 || posting.require(&self.tokens[group.tokens.clone()]);
            self.settled.extend(part.filter(|_| is_said).cloned());
        }
        for (tokens, part) in &self.forbidden {
            if posting.forbid(&self.tokens[tokens.clone()]) {
                self.settled.push(part.clone());
            }
        }
        // From behind, so that the places of the others stay what they are.
        self.settled
            .sort_unstable_by_key(|part| std::cmp::Reverse(part.start));
        for part in self.settled.drain(..) {
            if part.start >= self.root {
                body::leave_keywords_out(self.root, part, body);
            } else {
                body.drain(part);
            }
        }
    }

    fn require(&mut self, tokens: Range<usize>, origin: Origin) {
        self.required.push(Group {
            tokens,
            cost: 0.0,
            origin,
        });
    }

    fn require_token(&mut self, token: Token, origin: Origin) {
        let start = self.tokens.len();
        self.tokens.push(token);
        self.require(start..start + 1, origin);
    }

    /// The job has one of the values of the condition that lies from `from` to the body's end.
    pub(super) fn any_value(
        &mut self,
        attributed: Attributed,
        from: usize,
        body: &[u32],
        unknown_holds: bool,
        terms: &mut Terms,
    ) -> Result<(), IndexFull> {
        let origin = Origin::Exactly(from..body.len());
        self.values(attributed, &body[from + 1..], unknown_holds, terms, origin)
    }

    /// The group added last is checked by the entry.
    pub(super) fn settled_inline(&mut self) {
        if let Some(group) = self.required.last_mut() {
            group.origin = Origin::Entry;
        }
    }

    /// The job has each of the skills.
    pub(super) fn every_skill(
        &mut self,
        skills: &[u32],
        unknown_holds: bool,
        terms: &mut Terms,
    ) -> Result<(), IndexFull> {
        for skill in skills {
            let skill = std::slice::from_ref(skill);
            self.values(Attributed::Skill, skill, unknown_holds, terms, Origin::Weaker)?;
        }
        Ok(())
    }

    /// The job has one of the values, which the entry checks.
    pub(super) fn inline_values(
        &mut self,
        attributed: Attributed,
        values: &[u32],
        unknown_holds: bool,
        terms: &mut Terms,
    ) -> Result<(), IndexFull> {
        self.values(attributed, values, unknown_holds, terms, Origin::Entry)
    }

    /// The job has none of the values of the condition that lies from `from` to the body's end.
    pub(super) fn no_value(
        &mut self,
        attributed: Attributed,
        from: usize,
        body: &[u32],
        unknown_holds: bool,
        terms: &mut Terms,
    ) -> Result<(), IndexFull> {
        let values = &body[from + 1..];
        if values.len() > MAX_FORBIDDEN {
            return Ok(());
        }
        let tokens = self.value_tokens(attributed, values, !unknown_holds, terms)?;
        self.forbidden.push((tokens, from..body.len()));
        Ok(())
    }

    fn values(
        &mut self,
        attributed: Attributed,
        values: &[u32],
        unknown_holds: bool,
        terms: &mut Terms,
        origin: Origin,
    ) -> Result<(), IndexFull> {
        let tokens = self.value_tokens(attributed, values, unknown_holds, terms)?;
        self.require(tokens, origin);
        Ok(())
    }

    /// The tokens of the values, and of carrying none where that counts as one of them.
    fn value_tokens(
        &mut self,
        attributed: Attributed,
        values: &[u32],
        or_unknown: bool,
        terms: &mut Terms,
    ) -> Result<Range<usize>, IndexFull> {
        let start = self.tokens.len();
        let unknown = or_unknown.then_some(&UNKNOWN);
        for value in values.iter().chain(unknown) {
            self.tokens.push(terms.intern_token(attributed, *value)?);
        }
        Ok(start..self.tokens.len())
    }

    /// The expression holds that begins at `root`.
    pub(super) fn of_keywords(&mut self, body: &[u32], root: usize, terms: &Terms) {
        self.root = root;
        let (kind, operand) = (body[root] >> KIND_SHIFT, body[root] & OPERAND);
        if kind != node::AND {
            self.of_part(body, root, terms);
            return;
        }
        let mut at = root + 1;
        while at <= root + operand as usize {
            at = self.of_part(body, at, terms);
        }
    }

    /// A part of the keywords must hold as a whole. Tells where the next begins.
    fn of_part(&mut self, body: &[u32], at: usize, terms: &Terms) -> usize {
        if let [not, word, ..] = body[at..]
            && not >> KIND_SHIFT == node::NOT
            && word >> KIND_SHIFT == node::WORD
            && is_everywhere(word)
        {
            let start = self.tokens.len();
            self.tokens.push(Token::new(TokenKind::Word, word & OPERAND));
            self.forbidden.push((start..start + 1, at..at + 2));
            return at + 2;
        }
        self.of_node(body, at, true, true, terms)
    }

    /// The groups that a node or its negation requires, and where the next node begins. A node that must hold as a
    /// `whole` is one whose part of the body may be left out.
    fn of_node(&mut self, body: &[u32], at: usize, holds: bool, whole: bool, terms: &Terms) -> usize {
        let (kind, operand) = (body[at] >> KIND_SHIFT, body[at] & OPERAND);
        match kind {
            node::WORD | node::PREFIX => {
                if holds {
                    let origin = if whole && is_everywhere(body[at]) {
                        Origin::Exactly(at..at + 1)
                    } else {
                        Origin::Weaker
                    };
                    self.require_token(Token::new(token_kind(kind == node::PREFIX), operand), origin);
                }
                at + 1
            }
            node::PHRASE => {
                let last = at + (operand & (PHRASE_PREFIX - 1)) as usize;
                if holds {
                    for (place, number) in (at + 1..).zip(&body[at + 1..=last]) {
                        let kind = token_kind(operand & PHRASE_PREFIX != 0 && place == last);
                        self.require_token(Token::new(kind, *number), Origin::Weaker);
                    }
                }
                last + 1
            }
            node::NOT => self.of_node(body, at + 1, !holds, false, terms),
            _ => {
                let end = at + 1 + operand as usize;
                if (kind == node::AND) == holds {
                    let mut part = at + 1;
                    while part < end {
                        part = self.of_node(body, part, holds, false, terms);
                    }
                } else {
                    self.of_alternatives(body, at..end, holds, whole, terms);
                }
                end
            }
        }
    }

    /// One group out of the rarest of each part; none if a part requires nothing.
    fn of_alternatives(
        &mut self,
        body: &[u32],
        nodes: Range<usize>,
        holds: bool,
        whole: bool,
        terms: &Terms,
    ) {
        let (known, start) = (self.required.len(), self.tokens.len());
        let mut end = start;
        let mut is_exact = whole && holds;
        let mut part = nodes.start + 1;
        while part < nodes.end {
            let is_term = matches!(body[part] >> KIND_SHIFT, node::WORD | node::PREFIX);
            is_exact &= is_term && is_everywhere(body[part]);
            part = self.of_node(body, part, holds, false, terms);
            let costs = self.required[known..].iter().map(|group| {
                let tokens = &self.tokens[group.tokens.clone()];
                let cost: f64 = tokens.iter().map(|token| cost(*token, terms, |_| 0)).sum();
                (cost, group.tokens.clone())
            });
            let Some((_, rarest)) = costs.min_by(|(a, _), (b, _)| a.total_cmp(b)) else {
                self.tokens.truncate(start);
                return;
            };
            let length = rarest.len();
            self.tokens.copy_within(rarest, end);
            end += length;
            self.tokens.truncate(end);
            self.required.truncate(known);
        }
        let origin = if is_exact {
            Origin::Exactly(nodes)
        } else {
            Origin::Weaker
        };
        self.require(start..end, origin);
    }
}

const fn token_kind(is_prefix: bool) -> TokenKind {
    if is_prefix {
        TokenKind::Prefix
    } else {
        TokenKind::Word
    }
}

/// Whether the term is asked of all fields, as tokens are.
const fn is_everywhere(node: u32) -> bool {
    node >> FIELDS_SHIFT & FieldSet::ALL.bits() == FieldSet::ALL.bits()
}

/// How often an entry under the token will be met: by the jobs seen, and where they say nothing, by how many filters
/// stand there already, so that they spread.
fn cost(token: Token, terms: &Terms, load: impl Fn(Token) -> usize) -> f64 {
    const UNSEEN: f64 = 0.1;
    const A_FILTER: f64 = 1e-6;
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let load = load(token) as f64;
    f64::from(terms.jobs_with(token)) + UNSEEN + load * A_FILTER
}
