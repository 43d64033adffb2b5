//! What an entry leaves open of its filter, as a row of 32-bit words; and the verification of candidates by it.
//!
//! ```text
//! record      = counts of anchors and conditions (16 bits each), anchors, conditions, { requirement }
//! requirement = kind (2 bits) and count of tokens (30 bits), tokens
//! ```
//!
//! The anchors are the tokens under which the filter is listed: those of the clause that fewest jobs meet. A job that
//! meets an entry meets this clause, so that the clause is not written again. The conditions are numbers in
//! [`Conditions`]; all of the filter's conditions are listed. The requirements are those that the entry does not say
//! exactly. There are three kinds:
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

/// Writes the clauses of a filter into its entry, as far as there is room, and the others into its record.
///
/// `record` is memory for that, used again for the next filter.
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
    let mut anchors = clauses.rarest().to_vec();
    anchors.sort_unstable();
    anchors.dedup();
    let short = |length: usize| u16::try_from(length).map(u32::from).map_err(|_| IndexFull);
    record.clear();
    record.push(short(anchors.len())? | short(clauses.conditions.len())? << 16);
    record.extend(anchors.iter().map(|token| token.0));
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
    // What follows from a phrase or a condition need not be verified, but dismisses most jobs before it is.
    for tokens in clauses.others(Strength::Implied) {
        entry.require(tokens);
    }
    if anchors.len() > 1 {
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

/// The numbers of the filter's conditions.
pub(super) fn conditions(record: &[u32]) -> &[u32] {
    parts(record).1
}

/// Anchors, conditions, and requirements.
fn parts(record: &[u32]) -> (&[u32], &[u32], &[u32]) {
    let (anchors, rest) = record[1..].split_at((record[0] & 0xFFFF) as usize);
    let (conditions, requirements) = rest.split_at((record[0] >> 16) as usize);
    (anchors, conditions, requirements)
}

/// Whether a job that the entry lets pass matches the filter.
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
