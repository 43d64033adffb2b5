//! The posting lists: for each token, the entries of the filters that are listed under it.

use super::entry::{ColdEntry, Entry, HotEntry};
use super::job_tokens::JobTokens;
use super::size_class::{FreeList, size};
use super::token::{IndexFull, Token};

/// The posting lists, by token. The entries of a list have no particular order.
///
/// All lists share one array. Each list has a block of the array with a little room to grow. A full list moves to a larger
/// block.
#[derive(Debug, Clone, Default)]
pub(super) struct Postings {
    /// The first halves of the entries.
    hot: Vec<HotEntry>,
    /// The second halves, at the same places.
    cold: Vec<ColdEntry>,
    lists: Vec<List>,
    free: FreeList,
    entries: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct List {
    start: u32,
    length: u32,
    size_class: u32,
}

/// The result of finding candidates. Its memory is reused for the next job.
#[derive(Debug, Clone, Default)]
pub(super) struct Candidates {
    /// Places of entries.
    places: Vec<u32>,
    /// Places of the entries of short lists.
    short: Vec<u32>,
    long: Vec<List>,
}

/// The maximum length of a short list.
const SHORT: usize = 8;
/// The number of entries that the processor fetches together.
const PER_CACHE_LINE: usize = 64 / size_of::<HotEntry>();

impl List {
    const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.length as usize
    }
}

impl Postings {
    /// The number of entries under the token.
    pub(super) fn length(&self, token: Token) -> usize {
        self.list(token).length as usize
    }

    /// The number of all entries.
    pub(super) const fn entries(&self) -> usize {
        self.entries
    }

    fn list(&self, token: Token) -> List {
        self.lists.get(token.index()).copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, token: Token, entry: Entry) -> Result<(), IndexFull> {
        let mut list = self.list(token);
        if list.length as usize == size(list.size_class) {
            let old = list;
            list.size_class += 1;
            list.start = self.allocate(list.size_class)?;
            self.hot.copy_within(old.range(), list.start as usize);
            self.cold.copy_within(old.range(), list.start as usize);
            self.free.release(old.size_class, old.start);
        }
        self.hot[list.range().end] = entry.hot;
        self.cold[list.range().end] = entry.cold;
        list.length += 1;
        self.entries += 1;
        if self.lists.len() <= token.index() {
            self.lists.resize(token.index() + 1, List::default());
        }
        self.lists[token.index()] = list;
        Ok(())
    }

    /// Removes the slot's oldest entry from the token's list.
    pub(super) fn remove(&mut self, token: Token, slot: u32) {
        let list = self.list(token);
        let mut cold = self.cold[list.range()].iter();
        let Some(before) = cold.position(|entry| entry.slot() == slot) else {
            return;
        };
        let (gap, end) = (list.start as usize + before, list.range().end);
        self.hot[gap] = self.hot[end - 1];
        self.cold[gap] = self.cold[end - 1];
        self.entries -= 1;
        self.lists[token.index()] = if list.length == 1 {
            self.free.release(list.size_class, list.start);
            List::default()
        } else {
            List {
                length: list.length - 1,
                ..list
            }
        };
    }

    fn allocate(&mut self, size_class: u32) -> Result<u32, IndexFull> {
        if let Some(start) = self.free.take(size_class) {
            return Ok(start);
        }
        let start = u32::try_from(self.hot.len()).map_err(|_| IndexFull)?;
        let end = self.hot.len() + size(size_class);
        if u32::try_from(end).is_err() {
            return Err(IndexFull);
        }
        self.hot.resize(end, HotEntry::default());
        self.cold.resize(end, ColdEntry::default());
        Ok(start)
    }

    /// Returns the entries that the job meets.
    ///
    /// It is unpredictable which entries the job meets, and a mispredicted branch would cost more than everything else. So
    /// the passes have no branch. They write down the place of each entry, and overwrite it if the job does not meet it.
    pub(super) fn candidates<'a>(
        &'a self,
        job: &JobTokens,
        memory: &'a mut Candidates,
    ) -> impl Iterator<Item = ColdEntry> + 'a {
        let hot = self.pass_hot(job, memory);
        let places = &mut memory.places[..hot];
        let mut passed = 0;
        for at in 0..places.len() {
            let place = places[at];
            places[passed] = place;
            passed += usize::from(self.cold[place as usize].may_match(job));
        }
        places[..passed].iter().map(|place| self.cold[*place as usize])
    }

    /// Writes down the places of the entries of which the job meets the first half, and returns their number.
    fn pass_hot(&self, job: &JobTokens, memory: &mut Candidates) -> usize {
        let Candidates { places, short, long } = memory;
        // The processor cannot predict the end of a loop over a short list. So the places of all short lists are
        // collected first, and one loop reads all of them.
        short.resize(job.tokens.len() * SHORT, 0);
        long.clear();
        let (mut shorts, mut entries) = (0, 0);
        for token in &job.tokens {
            let list = self.list(*token);
            let length = list.length as usize;
            entries += length;
            for (place, entry) in short[shorts..shorts + SHORT].iter_mut().zip(list.start..) {
                *place = entry;
            }
            if length <= SHORT {
                shorts += length;
            } else {
                long.push(list);
            }
        }
        if places.len() <= entries {
            places.resize(2 * entries + 1, 0);
        }
        let mut passed = 0;
        let mut compare = |place: u32, entry: &HotEntry| {
            places[passed] = place;
            passed += usize::from(entry.may_match(job));
        };
        for place in &short[..shorts] {
            compare(*place, &self.hot[*place as usize]);
        }
        // The lists are far apart in memory. Reading one entry of each cache line first lets these reads overlap.
        let touched = long.iter().fold(0, |touched, list| {
            let lines = self.hot[list.range()].iter().step_by(PER_CACHE_LINE);
            lines.fold(touched, |touched, entry| touched | entry.touch())
        });
        std::hint::black_box(touched);
        for list in long {
            for (place, entry) in (list.start..).zip(&self.hot[list.range()]) {
                compare(place, entry);
            }
        }
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_their_entries_through_moves_and_left_blocks_are_used_again() {
        let mut postings = Postings::default();
        for slot in 0..300 {
            postings.add(Token(slot % 3), Entry::new(slot, 0)).unwrap();
        }
        let size = postings.hot.len();
        for slot in (0..300).step_by(2) {
            postings.remove(Token(slot % 3), slot);
        }
        let list = postings.list(Token(1));
        let mut slots: Vec<u32> = postings.cold[list.range()]
            .iter()
            .map(|entry| entry.slot())
            .collect();
        slots.sort_unstable();
        let odd: Vec<u32> = (1..300).step_by(2).filter(|slot| slot % 3 == 1).collect();
        assert_eq!(slots, odd);
        for slot in 0..300 {
            postings.remove(Token(slot % 3), slot);
        }
        assert_eq!(postings.entries(), 0);
        for slot in 0..60 {
            postings.add(Token(7), Entry::new(slot, 0)).unwrap();
        }
        assert_eq!((postings.length(Token(7)), postings.hot.len()), (60, size));
    }
}
