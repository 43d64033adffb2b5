//! An entry of a posting list: 32 bytes that decide for most jobs whether the filter matches.
//!
//! An entry has room for four groups of tokens and for the bits of common conditions. They are necessary for a match. If
//! the whole filter has found room, and no token shares its place in a [`TokenSet`] with another one, they are also
//! sufficient: the entry is *exact*. Entries are stored in two halves. Few jobs meet the first half, so that a match reads
//! few of the second halves.

use super::job_tokens::{JobTokens, TokenSet};
use super::token::Token;

/// The filter matches if its entry does.
const EXACT: u32 = 1 << 31;
/// The filter has entries in several lists, so that one match may find it more than once.
const REPEATED: u32 = 1 << 30;
const FORBIDS_FOUR: u32 = 1 << 29;
const FORBIDS_TWO: u32 = 1 << 28;
/// The highest slot.
pub(super) const MAX_SLOT: u32 = FORBIDS_TWO - 1;

/// A whole entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) hot: HotEntry,
    pub(super) cold: ColdEntry,
}

/// The half that is read for every job that has the list's token.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HotEntry {
    /// Places of tokens. The job has at least one of them.
    four: [u16; 4],
    /// Places of tokens. The job has at least one of them.
    two: [u16; 2],
    /// The bits of conditions. The job fails none of them.
    conditions: u32,
}

/// The half that is read for jobs that meet the first half.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ColdEntry {
    /// Places of tokens. The job has at least one of them, or with [`FORBIDS_FOUR`] none of them.
    four: [u16; 4],
    /// Places of tokens. The job has at least one of them, or with [`FORBIDS_TWO`] none of them.
    two: [u16; 2],
    /// The filter's slot, and four flags.
    filter: u32,
}

impl Entry {
    /// Makes the entry of the filter in this slot, with the bits of its conditions.
    pub(super) fn new(slot: u32, conditions: u32) -> Self {
        let (four, two) = ([FREE; 4], [FREE; 2]);
        Self {
            hot: HotEntry {
                four,
                two,
                conditions,
            },
            cold: ColdEntry {
                four,
                two,
                filter: slot,
            },
        }
    }

    /// Requires one of the tokens, if there is room. Returns whether the entry now requires exactly this.
    pub(super) fn require(&mut self, tokens: &[Token]) -> bool {
        let Self { hot, cold } = self;
        let groups: [&mut [u16]; 4] = [&mut hot.two, &mut hot.four, &mut cold.two, &mut cold.four];
        let mut groups = groups.into_iter();
        let Some(group) = groups.find(|group| group[0] == FREE && tokens.len() <= group.len()) else {
            return false;
        };
        fill(group, tokens);
        tokens.iter().all(|token| TokenSet::has_own_place(*token))
    }

    /// Forbids the tokens, if there is room for all of them. Returns whether the entry now forbids them.
    pub(super) fn forbid(&mut self, tokens: &[Token]) -> bool {
        let ColdEntry { four, two, filter } = &mut self.cold;
        let groups: [(&mut [u16], u32); 2] = [(two, FORBIDS_TWO), (four, FORBIDS_FOUR)];
        let free = || groups.iter().filter(|(group, _)| group[0] == FREE);
        let room: usize = free().map(|(group, _)| group.len()).sum();
        // A job that has another token with the same place may match.
        if tokens.len() > room || !tokens.iter().all(|token| TokenSet::has_own_place(*token)) {
            return false;
        }
        let mut left = tokens;
        for (group, flag) in groups {
            if group[0] == FREE && !left.is_empty() {
                let (here, after) = left.split_at(left.len().min(group.len()));
                fill(group, here);
                *filter |= flag;
                left = after;
            }
        }
        true
    }

    pub(super) const fn set_repeated(&mut self) {
        self.cold.filter |= REPEATED;
    }

    pub(super) const fn set_exact(&mut self) {
        self.cold.filter |= EXACT;
    }
}

/// The place of a token that every job has: an unused place of a group.
const FREE: u16 = TokenSet::place(Token::ANY);

/// Fills a group with the tokens. The first one is repeated in the places that are left.
fn fill(group: &mut [u16], tokens: &[Token]) {
    for (at, place) in group.iter_mut().enumerate() {
        let token = tokens.get(at).or(tokens.first());
        *place = token.map_or(FREE, |token| TokenSet::place(*token));
    }
}

impl HotEntry {
    /// Whether the job meets the first half. There is no branch, since the result is unpredictable.
    #[inline]
    #[expect(clippy::needless_bitwise_bool, reason = "without a branch")]
    pub(super) fn may_match(&self, job: &JobTokens) -> bool {
        job.set.has_any(self.four) & job.set.has_any(self.two) & (self.conditions & job.failed == 0)
    }

    /// Brings the entry into the processor's cache.
    #[inline]
    pub(super) const fn touch(&self) -> u32 {
        self.conditions
    }
}

impl ColdEntry {
    /// Whether the job meets the second half.
    #[inline]
    pub(super) fn may_match(&self, job: &JobTokens) -> bool {
        (job.set.has_any(self.four) != (self.filter & FORBIDS_FOUR != 0))
            & (job.set.has_any(self.two) != (self.filter & FORBIDS_TWO != 0))
    }

    #[inline]
    pub(super) const fn slot(self) -> u32 {
        self.filter & MAX_SLOT
    }

    #[inline]
    pub(super) const fn is_repeated(self) -> bool {
        self.filter & REPEATED != 0
    }

    #[inline]
    pub(super) const fn is_exact(self) -> bool {
        self.filter & EXACT != 0
    }
}

const _: () = assert!(size_of::<HotEntry>() == 16 && size_of::<ColdEntry>() == 16);
