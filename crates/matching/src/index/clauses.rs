//! Reads a filter as clauses over tokens.
//!
//! A clause is a set of tokens of which a job must have at least one. `rust (axum OR actix) -php` has the clauses
//! `{rust}` and `{axum, actix}` and forbids `php`; a list of countries is a clause, too. A phrase is kept as the tokens of
//! its words in order, with a clause for each word. What tokens do not say exactly (fields, bounds, nested alternatives)
//! stays a condition, and the clauses that follow from it are required beside it.

use std::ops::Range;

use super::conditions::Conditions;
use super::dictionary::Dictionary;
use super::token::{IndexFull, Token};
use crate::job_values::{JobValue, ValueField};
use crate::{Condition, Expression, SavedFilter, Term};

/// The clauses of one filter. Its memory is reused for the next filter.
#[derive(Debug, Clone, Default)]
pub(super) struct RequiredClauses {
    tokens: Vec<Token>,
    clauses: Vec<Clause>,
    /// The tokens of each phrase.
    phrases: Vec<Range<usize>>,
    /// Tokens that the job must not have.
    pub(super) forbidden: Vec<Token>,
    /// The numbers of the conditions that are left.
    pub(super) conditions: Vec<u32>,
}

#[derive(Debug, Clone)]
struct Clause {
    tokens: Range<usize>,
    strength: Strength,
    /// Set by [`RequiredClauses::rank`].
    cost: f64,
}

/// How much of its part of the filter a clause expresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// The whole part.
    Exact,
    /// A consequence of the part, which is also kept as a phrase or a condition.
    Implied,
}

impl RequiredClauses {
    /// Reads the clauses of `filter`.
    pub(super) fn read(
        &mut self,
        filter: &SavedFilter,
        dictionary: &mut Dictionary,
        conditions: &mut Conditions,
    ) -> Result<(), IndexFull> {
        self.tokens.clear();
        self.clauses.clear();
        self.phrases.clear();
        self.forbidden.clear();
        self.conditions.clear();
        let mut reader = Reader {
            into: self,
            dictionary,
            conditions,
            unknown_holds: filter.unknown_holds(),
        };
        for condition in filter.conditions() {
            reader.condition(condition)?;
        }
        self.forbidden.sort_unstable();
        self.forbidden.dedup();
        Ok(())
    }

    /// Sorts the clauses from rare to frequent. `entries` returns the length of a token's posting list.
    pub(super) fn rank(&mut self, dictionary: &Dictionary, entries: impl Fn(Token) -> usize) {
        for clause in &mut self.clauses {
            clause.cost = cost(&self.tokens[clause.tokens.clone()], dictionary, &entries);
        }
        self.clauses.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    }

    /// The clause that fewest jobs meet. If there is no clause, the token that every job has.
    pub(super) fn rarest(&self) -> &[Token] {
        let rarest = self.clauses.first();
        rarest.map_or(&[Token::ANY], |clause| &self.tokens[clause.tokens.clone()])
    }

    /// The clauses of this strength, except the rarest clause.
    pub(super) fn others(&self, strength: Strength) -> impl Iterator<Item = &[Token]> {
        let others = self.clauses.iter().skip(1);
        others
            .filter(move |clause| clause.strength == strength)
            .map(|clause| &self.tokens[clause.tokens.clone()])
    }

    /// The tokens of each phrase that the job must contain, in the order of its words.
    pub(super) fn phrases(&self) -> impl Iterator<Item = &[Token]> {
        self.phrases.iter().map(|phrase| &self.tokens[phrase.clone()])
    }

    fn push_clause(&mut self, tokens: Range<usize>, strength: Strength) {
        self.clauses.push(Clause {
            tokens,
            strength,
            cost: 0.0,
        });
    }
}

/// Reads one filter.
struct Reader<'a> {
    into: &'a mut RequiredClauses,
    dictionary: &'a mut Dictionary,
    conditions: &'a mut Conditions,
    unknown_holds: bool,
}

impl Reader<'_> {
    fn condition(&mut self, condition: &Condition) -> Result<(), IndexFull> {
        match condition {
            Condition::Keywords(expression) => return self.keywords(expression),
            Condition::SkillsAtLeast { count: 1, names, .. } => {
                return self.require_value(ValueField::Skill, names, Strength::Exact);
            }
            Condition::SkillsAtLeast { count, names, .. } if *count == names.len() => {
                let mut names = names.chunks(1);
                return names
                    .try_for_each(|name| self.require_value(ValueField::Skill, name, Strength::Exact));
            }
            Condition::SkillsAtLeast { names, .. } => {
                self.require_value(ValueField::Skill, names, Strength::Implied)?;
            }
            Condition::NoSkill(skills) => return self.forbid_values(ValueField::Skill, skills),
            Condition::OneOf { field, values, .. } => {
                return self.require_value(ValueField::Text(*field), values, Strength::Exact);
            }
            Condition::NoneOf { field, values, .. } => {
                return self.forbid_values(ValueField::Text(*field), values);
            }
            // Most jobs meet these. The bit of a common condition dismisses jobs at less cost than a clause.
            Condition::PaymentTypes(kinds) => {
                let kinds = kinds.iter().map(|kind| JobValue::of_payment_kind(*kind));
                let kinds: Vec<&str> = kinds.filter_map(JobValue::text).collect();
                self.require_value(ValueField::PaymentKind, &kinds, Strength::Implied)?;
            }
            Condition::Is { flag, wanted, .. } => {
                let wanted = JobValue::of_flag(*wanted).text();
                self.require_value(ValueField::Flag(*flag), wanted.as_slice(), Strength::Implied)?;
            }
            _ => {}
        }
        self.leave(condition, self.unknown_holds)
    }

    /// Leaves a condition to verification.
    fn leave(&mut self, condition: &Condition, unknown_holds: bool) -> Result<(), IndexFull> {
        let number = self.conditions.add(condition, unknown_holds)?;
        self.into.conditions.push(number);
        Ok(())
    }

    /// Requires one of the values. If unknown conditions hold, the absence of a value will do, too.
    fn require_value(
        &mut self,
        field: ValueField,
        values: &[impl AsRef<str>],
        strength: Strength,
    ) -> Result<(), IndexFull> {
        let start = self.into.tokens.len();
        for value in values {
            let token = self.dictionary.intern_value(field, value.as_ref())?;
            self.into.tokens.push(token);
        }
        if self.unknown_holds {
            self.into.tokens.push(Token::unknown(field));
        }
        self.into.push_clause(start..self.into.tokens.len(), strength);
        Ok(())
    }

    fn forbid_values(&mut self, field: ValueField, values: &[String]) -> Result<(), IndexFull> {
        for value in values {
            let token = self.dictionary.intern_value(field, value)?;
            self.into.forbidden.push(token);
        }
        if !self.unknown_holds {
            self.into.forbidden.push(Token::unknown(field));
        }
        Ok(())
    }

    /// Reads a part of the keywords that must hold.
    fn keywords(&mut self, part: &Expression) -> Result<(), IndexFull> {
        let start = self.into.tokens.len();
        let (negated, alternatives) = match part {
            Expression::And(parts) => return parts.iter().try_for_each(|part| self.keywords(part)),
            Expression::Term(term) if term.is_phrase() && term.prefix().is_none() => {
                self.implied(part, true)?;
                self.into.phrases.push(start..self.into.tokens.len());
                return Ok(());
            }
            Expression::Not(inner) => (true, alternatives(inner)),
            other => (false, alternatives(other)),
        };
        let Some(alternatives) = alternatives else {
            self.implied(part, true)?;
            return self.leave(&Condition::Keywords(part.clone()), false);
        };
        for alternative in alternatives {
            if let Expression::Term(term) = alternative {
                self.push_tokens(term)?;
            }
        }
        if negated {
            let tokens = self.into.tokens.drain(start..);
            self.into.forbidden.extend(tokens);
        } else {
            self.into
                .push_clause(start..self.into.tokens.len(), Strength::Exact);
        }
        Ok(())
    }

    /// Adds the clauses that follow if the expression holds, or, with `holds` false, if it does not hold.
    fn implied(&mut self, expression: &Expression, holds: bool) -> Result<(), IndexFull> {
        match expression {
            Expression::Not(inner) => self.implied(inner, !holds),
            Expression::Within(_, inner) => self.implied(inner, holds),
            Expression::Term(_) if !holds => Ok(()),
            Expression::Term(term) => {
                let start = self.into.tokens.len();
                self.push_tokens(term)?;
                for token in start..self.into.tokens.len() {
                    self.into.push_clause(token..token + 1, Strength::Implied);
                }
                Ok(())
            }
            Expression::And(parts) if holds => parts.iter().try_for_each(|part| self.implied(part, true)),
            Expression::Or(parts) if !holds => parts.iter().try_for_each(|part| self.implied(part, false)),
            Expression::And(parts) | Expression::Or(parts) => self.implied_by_any(parts, holds),
        }
    }

    /// Adds one clause: the union of the rarest clause of each part. Adds none if nothing follows from one of the parts.
    fn implied_by_any(&mut self, parts: &[Expression], holds: bool) -> Result<(), IndexFull> {
        let (known, start) = (self.into.clauses.len(), self.into.tokens.len());
        let mut end = start;
        for part in parts {
            self.implied(part, holds)?;
            let RequiredClauses { tokens, clauses, .. } = &mut *self.into;
            let cost = |clause: &Range<usize>| cost(&tokens[clause.clone()], self.dictionary, &|_| 0);
            let implied = clauses.drain(known..).map(|clause| clause.tokens);
            let Some(rarest) = implied.min_by(|a, b| cost(a).total_cmp(&cost(b))) else {
                tokens.truncate(start);
                return Ok(());
            };
            let length = rarest.len();
            tokens.copy_within(rarest, end);
            end += length;
            tokens.truncate(end);
        }
        self.into.push_clause(start..end, Strength::Implied);
        Ok(())
    }

    fn push_tokens(&mut self, term: &Term) -> Result<(), IndexFull> {
        for word in term.whole_words() {
            let token = self.dictionary.intern_word(word)?;
            self.into.tokens.push(token);
        }
        if let Some(prefix) = term.prefix() {
            let token = self.dictionary.intern_prefix(prefix)?;
            self.into.tokens.push(token);
        }
        Ok(())
    }
}

/// The alternatives of an expression, or the expression alone, if all of them are words or prefixes.
fn alternatives(expression: &Expression) -> Option<&[Expression]> {
    let parts = match expression {
        Expression::Or(parts) => parts.as_slice(),
        other => std::slice::from_ref(other),
    };
    let is_word = |part: &Expression| matches!(part, Expression::Term(term) if !term.is_phrase());
    parts.iter().all(is_word).then_some(parts)
}

/// Estimates how many jobs have one of the tokens, from the observed jobs. Between tokens that are equally rare in jobs,
/// the shorter posting lists are cheaper.
fn cost(tokens: &[Token], dictionary: &Dictionary, entries: &impl Fn(Token) -> usize) -> f64 {
    const UNSEEN: f64 = 0.1;
    const ENTRY: f64 = 1e-6;
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let cost =
        |token: &Token| f64::from(dictionary.jobs_with(*token)) + UNSEEN + entries(*token) as f64 * ENTRY;
    tokens.iter().map(cost).sum()
}
