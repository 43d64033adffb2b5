//! The record of a filter: the requirements that are not in its entry, as an array of 32-bit words. Candidates are verified
//! by their records.
//!
//! ```text
//! record      = counts of anchors and conditions (16 bits each), anchors, conditions, { requirement }
//! requirement = kind (2 bits) and count of tokens (30 bits), tokens
//! ```
//!
//! - The **anchors** are the tokens under which the filter is listed: the tokens of its rarest clause. A job that meets an
//!   entry meets this clause, so it is not among the requirements.
//! - The **conditions** are the numbers of all conditions of the filter in [`Conditions`].
//! - The **requirements** are the clauses and phrases that the entry does not express exactly.
//!
//! There are three kinds of requirements:
//!
//! - [`ANY`]: the job has at least one of the tokens.
//! - [`NONE`]: the job has none of the tokens.
//! - [`PHRASE`]: the job has the words with these tokens directly after one another, in this order.

use super::clauses::{RequiredClauses, Strength};
use super::conditions::Conditions;
use super::entry::Entry;
use super::job_tokens::JobTokens;
use super::token::{IndexFull, Token};
use crate::PreparedJob;

const ANY: u32 = 0;
const NONE: u32 = 1 << 31;
const PHRASE: u32 = 1 << 30;
const COUNT: u32 = PHRASE - 1;

/// Writes the clauses of a filter into its entry as far as there is room, and the others into its record.
pub(super) fn write(
    clauses: &RequiredClauses,
    conditions: &Conditions,
    entry: &mut Entry,
    record: &mut Vec<u32>,
) -> Result<(), IndexFull> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "filters have some thousand words and values"
    )]
    let count = |length: usize| length as u32;
    let short = |length: usize| u16::try_from(length).map(u32::from).map_err(|_| IndexFull);
    record.clear();
    record.extend(clauses.rarest().iter().map(|token| token.0));
    record.sort_unstable();
    record.dedup();
    let anchors = record.len();
    record.insert(0, short(anchors)? | short(clauses.conditions.len())? << 16);
    record.extend(&clauses.conditions);
    let mut is_exact = clauses
        .conditions
        .iter()
        .all(|number| conditions.bit(*number).is_some());
    let mut push = |kind: u32, tokens: &[Token]| {
        is_exact = false;
        record.push(kind | count(tokens.len()));
        record.extend(tokens.iter().map(|token| token.0));
    };
    for tokens in clauses.others(Strength::Exact) {
        if !entry.require(tokens) {
            push(ANY, tokens);
        }
    }
    let forbidden = &clauses.forbidden;
    if !forbidden.is_empty() && !entry.forbid(forbidden) {
        push(NONE, forbidden);
    }
    for tokens in clauses.phrases() {
        push(PHRASE, tokens);
    }
    // Consequences of phrases and conditions need no verification. In the entry they dismiss most jobs before it.
    for tokens in clauses.others(Strength::Implied) {
        entry.require(tokens);
    }
    if anchors > 1 {
        entry.set_repeated();
    }
    if is_exact {
        entry.set_exact();
    }
    Ok(())
}

/// The tokens under which the filter is listed.
pub(super) fn anchors(record: &[u32]) -> impl Iterator<Item = Token> {
    parts(record).0.iter().map(|token| Token(*token))
}

/// The numbers of the conditions.
pub(super) fn conditions(record: &[u32]) -> &[u32] {
    parts(record).1
}

/// Anchors, conditions, and requirements.
fn parts(record: &[u32]) -> (&[u32], &[u32], &[u32]) {
    let (anchors, rest) = record[1..].split_at((record[0] & 0xFFFF) as usize);
    let (conditions, requirements) = rest.split_at((record[0] >> 16) as usize);
    (anchors, conditions, requirements)
}

/// Whether a job that meets the entry matches the filter.
pub(super) fn matches(
    record: &[u32],
    job: &PreparedJob,
    tokens: &JobTokens,
    conditions: &Conditions,
) -> bool {
    let (_, numbers, mut requirements) = parts(record);
    while let [head, rest @ ..] = requirements {
        let (required, rest) = rest.split_at((head & COUNT) as usize);
        let required = required.iter().map(|token| Token(*token));
        let is_met = match head & !COUNT {
            PHRASE => tokens.has_phrase(required, job.text()),
            NONE => !required.into_iter().any(|token| tokens.has(token)),
            _ => required.into_iter().any(|token| tokens.has(token)),
        };
        if !is_met {
            return false;
        }
        requirements = rest;
    }
    numbers.iter().all(|number| conditions.holds(*number, job))
}
