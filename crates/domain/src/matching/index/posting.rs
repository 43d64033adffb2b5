//! A filter's entry under a token: enough of its conditions to pass nearly every job without touching the filter.
//!
//! What an entry says is necessary for a match but not sufficient: tokens are hashed, categories may share a bit, rates
//! are rounded. So whatever passes is checked against the filter itself. Of flags and payment kinds, of the first
//! categories and of small whole hourly rates the entry says all there is to say, and the filter need not repeat it
//! ([`is_own_category`], [`settles_hourly`]).

use super::terms::{FOREIGN, UNKNOWN};
use super::token::Token;
use crate::matching::condition::Flag;
use crate::matching::{CompiledFilter, Condition, PreparedJob};
use crate::model::PaymentKind;

/// A bit a hashed token.
pub(super) type TokenBits = [u64; 1 << 10];

/// A hashed token that every job has.
pub(super) const ALWAYS: u16 = u16::MAX;

/// Bits for categories: the first that filters name have one each, the others share one; one is for those that no
/// filter names and one for unknown.
const CATEGORY_BITS: u32 = 16;
const SHARED_CATEGORY: u32 = CATEGORY_BITS - 3;
const FOREIGN_CATEGORY: u32 = CATEGORY_BITS - 2;
const UNKNOWN_CATEGORY: u32 = CATEGORY_BITS - 1;
/// Three bits, no, yes and unknown, for each flag and for the payment kind.
const FLAG_BITS: u32 = CATEGORY_BITS;
const KIND_BITS: u32 = FLAG_BITS + 3 * (Flag::Featured as u32 + 1);
/// Set in entries of filters that stand under several tokens; no job has this bit.
const SEVERAL: u32 = 1 << 31;

/// The top bit of each of four bytes.
const TOPS: u32 = 0x8080_8080;
/// The highest rounded rate.
const MOST: u8 = 127;

/// An entry of 32 bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Posting {
    /// At least one of them is a token of the job.
    pub(super) second: [u16; 4],
    /// Likewise.
    pub(super) third: [u16; 4],
    /// Likewise.
    pub(super) fourth: [u16; 2],
    /// What the job must not be; see [`Outline::bits`].
    rejected: u32,
    /// Four rounded rates that the job's must reach; see [`Outline::rates`].
    rates: u32,
    /// Where the filter is.
    pub(super) body: u32,
}

/// A job's categorical values and rates, as compared with those of entries.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outline {
    /// One bit for the category, each flag, and the payment kind.
    bits: u32,
    /// Bytes, the top bit set in each: the highest hourly rate, the lowest turned round, the same of the fixed price.
    rates: u32,
}

impl Posting {
    /// The entry of a filter that lists the categories with these positions.
    pub(super) fn new(filter: &CompiledFilter, categories: &[u32], several: bool) -> Self {
        let mut this = Self {
            second: [ALWAYS; 4],
            third: [ALWAYS; 4],
            fourth: [ALWAYS; 2],
            rejected: if several { SEVERAL } else { 0 },
            rates: 0,
            body: 0,
        };
        let unknown_holds = filter.unknown_holds();
        if !categories.is_empty() {
            let listed = categories
                .iter()
                .fold(0_u32, |bits, position| bits | 1 << category_bit(*position));
            let unknown = u32::from(unknown_holds) << UNKNOWN_CATEGORY;
            this.rejected |= !(listed | unknown) & ((1 << CATEGORY_BITS) - 1);
        }
        let mut rates = [0_u8; 4];
        for condition in filter.conditions() {
            match condition {
                Condition::Is { flag, wanted, .. } => {
                    let at = FLAG_BITS + 3 * *flag as u32;
                    this.rejected |= three(!wanted, *wanted, unknown_holds) << at;
                }
                Condition::PaymentTypes(kinds) => {
                    let hourly = kinds.contains(&PaymentKind::Hourly);
                    let fixed = kinds.contains(&PaymentKind::Fixed);
                    this.rejected |= three(hourly, fixed, unknown_holds) << KIND_BITS;
                }
                // A job without a rate is at 0, which a filter with a lower end that refuses the unknown lets not pass.
                Condition::HourlyRate { min, max } if !unknown_holds => {
                    rates[0] = if *min >= 0.0 { rounded_hourly(*min) } else { 0 };
                    rates[1] = MOST - rounded_hourly(max.ceil());
                }
                Condition::FixedPrice { min, max } if !unknown_holds => {
                    rates[2] = rounded_price(*min);
                    rates[3] = MOST - rounded_price(*max);
                }
                _ => {}
            }
        }
        this.rates = u32::from_le_bytes(rates);
        this
    }

    /// Whether the job passes.
    #[inline]
    pub(super) fn lets_pass(&self, job: Outline, tokens: &TokenBits) -> bool {
        let has = |token: u16| tokens[usize::from(token >> 6)] >> (token & 63);
        let has_any =
            |group: &[u16; 4]| (has(group[0]) | has(group[1]) | has(group[2]) | has(group[3])) & 1 == 1;
        has_any(&self.second)
            // Both in one: a rate that is not reached takes the top bit of its byte away.
            && (self.rejected & job.bits) | (!(job.rates - self.rates) & TOPS) == 0
            && has_any(&self.third)
            && (has(self.fourth[0]) | has(self.fourth[1])) & 1 == 1
    }

    /// Whether the filter stands under several tokens, so that one job may come upon it more than once.
    #[inline]
    pub(super) const fn is_one_of_several(&self) -> bool {
        self.rejected & SEVERAL != 0
    }

    /// Requires one of the tokens, as long as there is room for such a group; tells whether there was.
    pub(super) fn require(&mut self, group: &[Token]) -> bool {
        fn fill(room: &mut [u16], group: &[Token]) -> bool {
            let Some(first) = group.first() else { return false };
            if room[0] != ALWAYS || group.len() > room.len() {
                return false;
            }
            room.fill(hashed(*first));
            for (place, token) in room.iter_mut().zip(group) {
                *place = hashed(*token);
            }
            true
        }
        fill(&mut self.second, group) || fill(&mut self.third, group) || fill(&mut self.fourth, group)
    }
}

impl Outline {
    /// Of a job whose category has this position among those that filters name.
    pub(super) fn new(job: &PreparedJob, category_value: u32, category: Option<u32>) -> Self {
        let category = match (category_value, category) {
            (UNKNOWN, _) => UNKNOWN_CATEGORY,
            (FOREIGN, _) | (_, None) => FOREIGN_CATEGORY,
            (_, Some(position)) => category_bit(position),
        };
        let mut bits = 1 << category;
        for flag in Flag::ALL {
            bits |= one_of_three(job.flag(flag)) << (FLAG_BITS + 3 * flag as u32);
        }
        bits |= one_of_three(job.payment_kind().map(|kind| kind == PaymentKind::Fixed)) << KIND_BITS;
        let hourly = match (job.payment_kind(), job.hourly_range()) {
            (Some(PaymentKind::Fixed), _) => [MOST, MOST],
            (_, None) => [0, MOST],
            (_, Some((low, high))) => {
                let highest = if high >= 0.0 { rounded_hourly(high) } else { 0 };
                [highest, MOST - rounded_hourly(low.ceil())]
            }
        };
        let fixed = match (job.payment_kind(), job.fixed_price()) {
            (Some(PaymentKind::Hourly), _) => [MOST, MOST],
            (_, None) => [0, MOST],
            (_, Some(price)) => [rounded_price(price), MOST - rounded_price(price)],
        };
        Self {
            bits,
            rates: u32::from_le_bytes([hourly[0], hourly[1], fixed[0], fixed[1]]) | TOPS,
        }
    }
}

/// Whether the entry tells this category from all others.
pub(super) const fn is_own_category(position: u32) -> bool {
    position < SHARED_CATEGORY
}

/// Whether the entry says all there is to say about these ends of an hourly rate: lower ends that are whole dollars are
/// reached by what is rounded down exactly if reached at all, upper ends by what is rounded up.
pub(super) fn settles_hourly(min: f64, max: f64, unknown_holds: bool) -> bool {
    let is_whole = |end: f64, most: u8| end.fract() == 0.0 && (0.0..=f64::from(most)).contains(&end);
    !unknown_holds && is_whole(min, MOST - 1) && (max == f64::INFINITY || is_whole(max, MOST - 2))
}

fn category_bit(position: u32) -> u32 {
    position.min(SHARED_CATEGORY)
}

/// The bits of what is rejected, given what is accepted.
fn three(no: bool, yes: bool, unknown: bool) -> u32 {
    u32::from(!no) | u32::from(!yes) << 1 | u32::from(!unknown) << 2
}

fn one_of_three(value: Option<bool>) -> u32 {
    match value {
        Some(false) => 1,
        Some(true) => 2,
        None => 4,
    }
}

/// To whole dollars. Never falling, and at least 1, so that 0 is free for unknown.
fn rounded_hourly(rate: f64) -> u8 {
    clamped(1.0 + rate)
}

/// To about a tenth.
fn rounded_price(price: f64) -> u8 {
    clamped(1.0 + 8.0 * (1.0 + price.max(0.0)).log2())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "within 1 to 127, whole part wanted"
)]
fn clamped(value: f64) -> u8 {
    value.clamp(1.0, f64::from(MOST)) as u8
}

/// Where the token stands in [`TokenBits`].
pub(super) const fn hashed(token: Token) -> u16 {
    let hash = (token.bits().wrapping_mul(0x9E37_79B1) >> 16) as u16;
    // Another token's place, so that entries can tell a group from room for one.
    if hash == ALWAYS { 0 } else { hash }
}
