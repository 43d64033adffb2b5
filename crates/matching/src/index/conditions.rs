//! Conditions that tokens cannot express, such as bounds and text fields.
//!
//! Each distinct condition is stored once for all filters that have it. [`Condition::judge`] evaluates it, the same code
//! that evaluates a filter by itself. The most common conditions have a bit: they are evaluated once for each job, and
//! entries are compared with the result.

use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::token::IndexFull;
use crate::{Bound, Condition, PreparedJob, Verdict};

/// A condition of this many filters gets a bit, if one is free.
const COMMON: u32 = 8;
const BITS: usize = 32;

/// The distinct conditions of all filters, by number.
#[derive(Debug, Clone, Default)]
pub(super) struct Conditions {
    shared: Vec<Option<Shared>>,
    free: Vec<u32>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The number of the condition with each bit.
    bits: [Option<u32>; BITS],
}

#[derive(Debug, Clone)]
struct Shared {
    condition: Condition,
    unknown_holds: bool,
    /// The number of filters that have it.
    filters: u32,
    bit: Option<usize>,
}

impl Conditions {
    /// Adds the condition of one more filter, and returns its number.
    pub(super) fn add(&mut self, condition: &Condition, unknown_holds: bool) -> Result<u32, IndexFull> {
        let Self { shared, hasher, .. } = self;
        let same = |number: &u32| {
            let known = shared[*number as usize].as_ref();
            known.is_some_and(|known| known.unknown_holds == unknown_holds && known.condition == *condition)
        };
        let hash_of = |condition: &Condition| hash(condition, hasher);
        if let Some(number) = self.numbers.find(hash_of(condition), same).copied() {
            self.count_one_more(number);
            return Ok(number);
        }
        let number = match self.free.pop() {
            Some(number) => number,
            None => u32::try_from(shared.len()).map_err(|_| IndexFull)?,
        };
        if number as usize == shared.len() {
            shared.push(None);
        }
        self.numbers.insert_unique(hash_of(condition), number, |number| {
            let known = shared[*number as usize].as_ref();
            known.map_or(0, |known| hash_of(&known.condition))
        });
        shared[number as usize] = Some(Shared {
            condition: condition.clone(),
            unknown_holds,
            filters: 1,
            bit: None,
        });
        Ok(number)
    }

    fn count_one_more(&mut self, number: u32) {
        let Some(shared) = &mut self.shared[number as usize] else {
            return;
        };
        shared.filters += 1;
        // Evaluating an expression for each job would cost more than the bit saves.
        let is_cheap = !matches!(shared.condition, Condition::Keywords(_));
        if shared.filters >= COMMON
            && shared.bit.is_none()
            && is_cheap
            && let Some(bit) = self.bits.iter().position(Option::is_none)
        {
            shared.bit = Some(bit);
            self.bits[bit] = Some(number);
        }
    }

    /// Removes the condition of one filter. The last one frees its number and its bit.
    pub(super) fn release(&mut self, number: u32) {
        let Some(shared) = &mut self.shared[number as usize] else {
            return;
        };
        shared.filters -= 1;
        if shared.filters > 0 {
            return;
        }
        if let Some(bit) = shared.bit {
            self.bits[bit] = None;
        }
        let hash = hash(&shared.condition, &self.hasher);
        if let Ok(entry) = self.numbers.find_entry(hash, |known| *known == number) {
            entry.remove();
        }
        self.shared[number as usize] = None;
        self.free.push(number);
    }

    /// The bit of the condition as a mask, if it has one.
    pub(super) fn bit(&self, number: u32) -> Option<u32> {
        let bit = self.shared[number as usize].as_ref()?.bit?;
        Some(1 << bit)
    }

    /// Whether the condition holds on the job, or is unknown and counts as held.
    pub(super) fn holds(&self, number: u32, job: &PreparedJob) -> bool {
        let shared = self.shared[number as usize].as_ref();
        shared.is_some_and(|shared| match shared.condition.judge(job) {
            Verdict::Held => true,
            Verdict::Failed => false,
            Verdict::Unknown => shared.unknown_holds,
        })
    }

    /// The bits of the conditions that do not hold on the job.
    pub(super) fn failed_bits(&self, job: &PreparedJob) -> u32 {
        let failed = |number: &Option<u32>| number.is_some_and(|number| !self.holds(number, job));
        let bits = self.bits.iter().enumerate();
        bits.fold(0, |bits, (bit, number)| bits | u32::from(failed(number)) << bit)
    }
}

/// Hashes a condition. It cannot be derived, since floating-point numbers have no hash.
fn hash(condition: &Condition, hasher: &DefaultHashBuilder) -> u64 {
    let mut hasher = hasher.build_hasher();
    condition.path().hash(&mut hasher);
    match condition {
        Condition::Keywords(expression) => expression.hash(&mut hasher),
        Condition::HourlyRate { min, max } | Condition::FixedPrice { min, max } => {
            [min.to_bits(), max.to_bits()].hash(&mut hasher);
        }
        Condition::Within {
            bound: Bound::AtLeast(bound) | Bound::AtMost(bound),
            ..
        } => bound.to_bits().hash(&mut hasher),
        Condition::SkillsAtLeast { count, names, .. } => (count, names).hash(&mut hasher),
        // The others are clauses, or there are only a few of them.
        _ => {}
    }
    hasher.finish()
}
