//! Conditions that tokens cannot express, such as bounds and phrases.
//!
//! Each distinct condition is stored once, however many filters have it, and judged by [`Condition::judge`], the same code
//! that evaluates a filter by itself. The most common ones have a bit: they are judged once for each job, and every entry
//! is compared with the outcome.

use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::token::IndexFull;
use crate::{Bound, Condition, PreparedJob, Verdict};

/// A condition gets a bit, if one is free, once this many filters have it.
const COMMON: u32 = 8;
const BITS: usize = 32;

/// The distinct conditions of all filters, by number.
#[derive(Debug, Clone, Default)]
pub(super) struct Conditions {
    shared: Vec<Option<Shared>>,
    free: Vec<u32>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The condition with each bit.
    bits: [Option<u32>; BITS],
}

#[derive(Debug, Clone)]
struct Shared {
    condition: Condition,
    unknown_holds: bool,
    /// How many filters have it.
    filters: u32,
    bit: Option<usize>,
}

impl Conditions {
    /// The number of the condition, which one more filter has.
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
        // To judge an expression for each job would cost more than the bit saves.
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

    /// One filter less has the condition. The last one frees its number and its bit.
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

    /// The bit of the condition, if it has one, as a mask.
    pub(super) fn bit(&self, number: u32) -> Option<u32> {
        let bit = self.shared[number as usize].as_ref()?.bit?;
        Some(1 << bit)
    }

    /// Whether the condition lets its filters match the job.
    pub(super) fn holds(&self, number: u32, job: &PreparedJob) -> bool {
        let shared = self.shared[number as usize].as_ref();
        shared.is_some_and(|shared| match shared.condition.judge(job) {
            Verdict::Held => true,
            Verdict::Failed => false,
            Verdict::Unknown => shared.unknown_holds,
        })
    }

    /// The bits of the conditions that the job fails.
    pub(super) fn failed_bits(&self, job: &PreparedJob) -> u32 {
        let failed = |number: &Option<u32>| number.is_some_and(|number| !self.holds(number, job));
        let bits = self.bits.iter().enumerate();
        bits.fold(0, |bits, (bit, number)| bits | u32::from(failed(number)) << bit)
    }
}

/// Floating-point numbers have no hash of their own.
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
        // There are a few of these only.
        Condition::Is { .. } | Condition::PaymentTypes(_) => {}
        other => format!("{other:?}").hash(&mut hasher),
    }
    hasher.finish()
}
