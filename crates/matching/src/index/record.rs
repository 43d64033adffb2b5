//! What an entry leaves open of its filter, as a row of 32-bit words; and the verification of candidates by it.
//!
//! ```text
//! record = counts of anchors and conditions, anchors, conditions, { kind and count of tokens, tokens }
//! ```
//!
//! The anchors are the tokens under which the filter is listed: those of the clause that fewest jobs meet. A job that
//! meets an entry meets this clause. Records hold the other clauses that the entry does not say exactly, and the numbers
//! of all conditions.

use super::clauses::{RequiredClauses, Strength};
use super::conditions::Conditions;
use super::entry::Entry;
use super::job_tokens::JobTokens;
use super::token::{IndexFull, Token};
use crate::PreparedJob;

/// With a count: the job must not have the tokens.
const FORBIDDEN: u32 = 1 << 31;

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
            push(0, tokens);
        }
    }
    let forbidden = &clauses.forbidden;
    if !forbidden.is_empty() && !entry.forbid(forbidden) {
        push(FORBIDDEN, forbidden);
    }
    // What follows from a condition need not be verified, but saves judging the condition for most jobs.
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

/// Anchors, conditions, and clauses.
fn parts(record: &[u32]) -> (&[u32], &[u32], &[u32]) {
    let (anchors, rest) = record[1..].split_at((record[0] & 0xFFFF) as usize);
    let (conditions, clauses) = rest.split_at((record[0] >> 16) as usize);
    (anchors, conditions, clauses)
}

/// Whether a job that the entry lets pass matches the filter.
pub(super) fn matches(
    record: &[u32],
    job: &PreparedJob,
    tokens: &JobTokens,
    conditions: &Conditions,
) -> bool {
    let (_, numbers, mut clauses) = parts(record);
    while let [head, rest @ ..] = clauses {
        let (clause, rest) = rest.split_at((head & !FORBIDDEN) as usize);
        let has_any = clause.iter().any(|token| tokens.has(Token(*token)));
        if has_any == (head & FORBIDDEN != 0) {
            return false;
        }
        clauses = rest;
    }
    numbers.iter().all(|number| conditions.holds(*number, job))
}
