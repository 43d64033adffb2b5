//! A filter's entry under a token: enough of its conditions to pass nearly every job without touching the filter.
//!
//! What an entry says is necessary for a match, but not always sufficient: the rarer tokens share places, categories
//! may share a bit, rates are rounded, and there is room for three more groups, or for one and six tokens that the job
//! must not have. Who passes is checked against what the entry leaves open. Where that is nothing, the filter matches,
//! and the entry says so. Of flags and payment kinds, of the first categories and of small whole hourly rates the entry
//! says all there is to say ([`is_own_category`], [`settles_hourly`]), and of groups whose tokens have places of their
//! own ([`Posting::require`], [`Posting::forbid`]).

use super::terms::{FOREIGN, UNKNOWN};
use super::token::{Token, TokenKind};
use crate::PaymentKind;
use crate::condition::Flag;
use crate::{CompiledFilter, Condition, PreparedJob};

/// Places of tokens are below.
const SIEVE: usize = 1 << 15;
/// So many words that filters name, the first ones, have a place of their own.
const OWN_WORDS: usize = 3 << 12;
/// And so many values.
const OWN_VALUES: usize = 1 << 12;
/// The place of what every job has.
#[expect(clippy::cast_possible_truncation, reason = "15 bits")]
const ALWAYS: u16 = SIEVE as u16 - 1;
/// The place of what no job has.
const NEVER: u16 = ALWAYS - 1;
/// In [`Rest::filter`]: the filter stands under several tokens.
const SEVERAL: u32 = 1 << 31;
/// In [`Rest::filter`]: the entry says all there is to say.
const SETTLED: u32 = 1 << 30;
/// In [`Rest::filter`]: the third group names what the job must not have.
const FORBIDS_THIRD: u32 = 1 << 29;
/// In [`Rest::filter`]: the fourth group does.
const FORBIDS_FOURTH: u32 = 1 << 28;
/// Numbers of filters are below.
pub(super) const MAX_FILTERS: usize = 1 << 28;

/// Bits for categories: the first that filters name have one each, the others share one; one is for those that no
/// filter names and one for unknown.
const CATEGORY_BITS: u32 = 16;
const SHARED_CATEGORY: u32 = CATEGORY_BITS - 3;
const FOREIGN_CATEGORY: u32 = CATEGORY_BITS - 2;
const UNKNOWN_CATEGORY: u32 = CATEGORY_BITS - 1;
/// Three bits, no, yes and unknown, for each flag and for the payment kind.
const FLAG_BITS: u32 = CATEGORY_BITS;
const KIND_BITS: u32 = FLAG_BITS + 3 * (Flag::Featured as u32 + 1);

/// The top bit of each of four bytes.
const TOPS: u32 = 0x8080_8080;
/// The highest rounded rate.
const MOST: u8 = 127;

/// An entry of 32 bytes, in two halves that lie apart: hardly a job needs the second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting {
    pub(super) gate: Gate,
    pub(super) rest: Rest,
}

/// What is asked of every job that has the token.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gate {
    /// At least one of them is a token of the job.
    second: [u16; 4],
    /// What the job must not be; see [`Outline::bits`].
    rejected: u32,
    /// Four rounded rates that the job's must reach; see [`Outline::rates`].
    rates: u32,
}

/// What is asked of jobs that the gate lets pass.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rest {
    /// At least one of them is a token of the job, or none is.
    third: [u16; 4],
    /// Likewise.
    fourth: [u16; 2],
    /// The filter's number, and above it four bits.
    filter: u32,
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
    /// The entry of the filter with this number, which lists the categories with these positions.
    pub(super) fn new(number: u32, filter: &CompiledFilter, categories: &[u32]) -> Self {
        let mut gate = Gate {
            second: [ALWAYS; 4],
            rejected: 0,
            rates: 0,
        };
        let rest = Rest {
            third: [ALWAYS; 4],
            fourth: [ALWAYS; 2],
            filter: number,
        };
        let unknown_holds = filter.unknown_holds();
        if !categories.is_empty() {
            let listed = categories
                .iter()
                .fold(0_u32, |bits, position| bits | 1 << category_bit(*position));
            let unknown = u32::from(unknown_holds) << UNKNOWN_CATEGORY;
            gate.rejected |= !(listed | unknown) & ((1 << CATEGORY_BITS) - 1);
        }
        let mut rates = [0_u8; 4];
        for condition in filter.conditions() {
            match condition {
                Condition::Is { flag, wanted, .. } => {
                    let at = FLAG_BITS + 3 * *flag as u32;
                    gate.rejected |= three(!wanted, *wanted, unknown_holds) << at;
                }
                Condition::PaymentTypes(kinds) => {
                    let hourly = kinds.contains(&PaymentKind::Hourly);
                    let fixed = kinds.contains(&PaymentKind::Fixed);
                    gate.rejected |= three(hourly, fixed, unknown_holds) << KIND_BITS;
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
        gate.rates = u32::from_le_bytes(rates);
        Self { gate, rest }
    }

    /// Notes that the filter stands under several tokens, so that one job may come upon it more than once.
    pub(super) const fn set_one_of_several(&mut self) {
        self.rest.filter |= SEVERAL;
    }

    /// Notes that who passes matches.
    pub(super) const fn set_settled(&mut self) {
        self.rest.filter |= SETTLED;
    }

    /// Requires one of the tokens, as long as there is room for such a group; tells whether the entry now says this and
    /// nothing less.
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
        let is_in = fill(&mut self.gate.second, group)
            || fill(&mut self.rest.third, group)
            || fill(&mut self.rest.fourth, group);
        is_in && group.iter().all(|token| has_own_place(*token))
    }

    /// Forbids the tokens, if there is room for all of them; tells whether there was.
    pub(super) fn forbid(&mut self, tokens: &[Token]) -> bool {
        let Rest {
            third,
            fourth,
            filter,
        } = &mut self.rest;
        let mut rooms = [
            (fourth.as_mut_slice(), FORBIDS_FOURTH),
            (third.as_mut_slice(), FORBIDS_THIRD),
        ];
        let free = |(room, forbids): &(&mut [u16], u32)| {
            if *filter & forbids != 0 {
                room.iter().filter(|place| **place == NEVER).count()
            } else if room[0] == ALWAYS {
                room.len()
            } else {
                0
            }
        };
        let is_exact = tokens.iter().all(|token| has_own_place(*token));
        // Jobs with other tokens must not be taken for jobs with these.
        if !is_exact || tokens.len() > rooms.iter().map(free).sum() {
            return false;
        }
        let mut tokens = tokens.iter();
        for (room, forbids) in &mut rooms {
            if tokens.len() > 0 && room[0] == ALWAYS {
                room.fill(NEVER);
                *filter |= *forbids;
            }
            if *filter & *forbids != 0 {
                let free = room.iter_mut().filter(|place| **place == NEVER);
                for (place, token) in free.zip(tokens.by_ref()) {
                    *place = hashed(*token);
                }
            }
        }
        true
    }
}

impl Gate {
    /// Brings the gate into the processor's cache.
    #[inline]
    pub(super) const fn touch(&self) -> u32 {
        self.rejected
    }

    /// Whether the job has what the filter's second group and its conditions ask for, as far as the entry knows.
    /// Without a branch: hardly an entry lets a job pass, but which one does is not to be foreseen.
    #[inline]
    #[expect(clippy::needless_bitwise_bool, reason = "without a branch")]
    pub(super) fn lets_pass(&self, job: Outline, tokens: &TokenSieve) -> bool {
        // Both in one: a rate that is not reached takes the top bit of its byte away.
        let refused = (self.rejected & job.bits) | (!(job.rates - self.rates) & TOPS);
        tokens.has_any(self.second) & (refused == 0)
    }
}

impl Rest {
    /// Whether the job has what the other groups ask for, as far as the entry knows.
    #[inline]
    pub(super) fn lets_pass(&self, tokens: &TokenSieve) -> bool {
        let [first, second] = self.fourth;
        (tokens.has_any(self.third) != (self.filter & FORBIDS_THIRD != 0))
            & (tokens.has_any([first, second, second, second]) != (self.filter & FORBIDS_FOURTH != 0))
    }

    /// The filter's number.
    #[inline]
    pub(super) const fn filter(self) -> u32 {
        self.filter & (FORBIDS_FOURTH - 1)
    }

    /// Whether the filter stands under several tokens.
    #[inline]
    pub(super) const fn is_one_of_several(self) -> bool {
        self.filter & SEVERAL != 0
    }

    /// Whether who passes matches.
    #[inline]
    pub(super) const fn is_settled(self) -> bool {
        self.filter & SETTLED != 0
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

/// Where the token stands in a [`TokenSieve`]: a place of its own, or one in the upper half that it may share.
#[expect(clippy::cast_possible_truncation, reason = "below 2¹⁵")]
const fn hashed(token: Token) -> u16 {
    match token.kind() {
        TokenKind::Word if token.number() < OWN_WORDS => token.number() as u16,
        TokenKind::Value if token.number() < OWN_VALUES => (OWN_WORDS + token.number()) as u16,
        _ => {
            let hash = (token.bits().wrapping_mul(0x9E37_79B1) >> 18) as u16 | 1 << 14;
            // Another token's place, so that entries can tell a group from room for one.
            if hash >= NEVER { 1 << 14 } else { hash }
        }
    }
}

/// Whether no other token has the same place.
const fn has_own_place(token: Token) -> bool {
    hashed(token) < 1 << 14
}

const _: () = assert!(OWN_WORDS + OWN_VALUES == SIEVE / 2);

/// A job's tokens, a byte each: 1 for those that the job has.
#[derive(Debug, Clone)]
pub(super) struct TokenSieve(Box<[u8; SIEVE]>);

impl Default for TokenSieve {
    #[expect(clippy::large_stack_arrays, reason = "32 KiB, once a thread")]
    fn default() -> Self {
        let mut bytes = Box::new([0; SIEVE]);
        bytes[usize::from(ALWAYS)] = 1;
        Self(bytes)
    }
}

impl TokenSieve {
    pub(super) fn add(&mut self, token: Token) {
        self.0[usize::from(hashed(token))] = 1;
    }

    pub(super) fn remove(&mut self, token: Token) {
        self.0[usize::from(hashed(token))] = 0;
    }

    #[inline]
    fn has_any(&self, group: [u16; 4]) -> bool {
        let [a, b, c, d] = group.map(|hashed| self.0[usize::from(hashed) & (SIEVE - 1)]);
        a | b | c | d != 0
    }
}
