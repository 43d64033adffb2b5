//! The entries of all filters, by the token under which they stand.

use super::IndexFull;
use super::job_view::JobView;
use super::posting::{Gate, Posting, Rest};
use super::rooms::{FreeRooms, room};
use super::token::{Token, TokenKind};

/// Lists of entries, by kind and number of the token. An entry's place in its list says nothing.
///
/// All lists lie in one stretch of memory, each with a little room to grow. One that outgrows its room moves, and
/// what it leaves is used by the next list that wants as much.
#[derive(Debug, Clone, Default)]
pub(super) struct Postings {
    gates: Vec<Gate>,
    /// What belongs to the gates, in the same places.
    rests: Vec<Rest>,
    lists: [Vec<List>; 4],
    free: FreeRooms,
    count: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct List {
    start: u32,
    length: u32,
    /// Of its room; see [`room`].
    class: u32,
}

impl List {
    const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.length as usize
    }
}

impl Postings {
    /// How many filters stand under the token.
    pub(super) fn load(&self, token: Token) -> usize {
        self.list(token).length as usize
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    fn list(&self, token: Token) -> List {
        self.lists[token.kind() as usize]
            .get(token.number())
            .copied()
            .unwrap_or_default()
    }

    pub(super) fn add(&mut self, token: Token, posting: Posting) -> Result<(), IndexFull> {
        let mut list = self.list(token);
        if list.length as usize == room(list.class) {
            let old = list;
            list.class += 1;
            list.start = self.take_room(list.class)?;
            self.gates.copy_within(old.range(), list.start as usize);
            self.rests.copy_within(old.range(), list.start as usize);
            self.free.leave(old.class, old.start);
        }
        self.gates[list.range().end] = posting.gate;
        self.rests[list.range().end] = posting.rest;
        list.length += 1;
        self.count += 1;
        let lists = &mut self.lists[token.kind() as usize];
        if lists.len() <= token.number() {
            lists.resize(token.number() + 1, List::default());
        }
        lists[token.number()] = list;
        Ok(())
    }

    /// Takes the filter's oldest entry out.
    pub(super) fn remove(&mut self, token: Token, filter: u32) {
        let list = self.list(token);
        let mut rests = self.rests[list.range()].iter();
        let Some(before) = rests.position(|rest| rest.filter() == filter) else {
            return;
        };
        let gap = list.start as usize + before;
        self.gates[gap] = self.gates[list.range().end - 1];
        self.rests[gap] = self.rests[list.range().end - 1];
        self.count -= 1;
        let kept = if list.length == 1 {
            self.free.leave(list.class, list.start);
            List::default()
        } else {
            List {
                length: list.length - 1,
                ..list
            }
        };
        self.lists[token.kind() as usize][token.number()] = kept;
    }

    fn take_room(&mut self, class: u32) -> Result<u32, IndexFull> {
        if let Some(start) = self.free.take(class) {
            return Ok(start);
        }
        let end = self.gates.len() + room(class);
        if u32::try_from(end).is_err() {
            return Err(IndexFull);
        }
        let start = u32::try_from(self.gates.len()).map_err(|_| IndexFull)?;
        self.gates.resize(end, Gate::default());
        self.rests.resize(end, Rest::default());
        Ok(start)
    }

    /// Finds the filters whose entries let the job pass.
    ///
    /// What lets a job pass is not to be foreseen, so a branch on it would mostly cost more than all else. Each pass
    /// therefore writes every place down, over the one before if that did not pass.
    pub(super) fn survivors(&self, view: &JobView, found: &mut Survivors) {
        let gates_passed = self.through_gates(view, found);
        let places = &mut found.places[..gates_passed];
        let mut passed = 0;
        for at in 0..places.len() {
            let place = places[at];
            places[passed] = place;
            passed += usize::from(self.rests[place as usize].lets_pass(&view.sieve));
        }
        found.sort_out(passed, &self.rests);
    }

    /// Writes down the places of the gates that let the job pass, and tells how many there are.
    fn through_gates(&self, view: &JobView, found: &mut Survivors) -> usize {
        let Survivors {
            places, short, long, ..
        } = found;
        // The places of short lists' entries are written down first: with a loop for each list the processor would not
        // see where the next one begins.
        short.resize(view.tokens.len() * SHORT, 0);
        long.clear();
        let (mut shorts, mut entries) = (0, 0);
        for token in &view.tokens {
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
        if places.len() < entries {
            places.resize(2 * entries, 0);
        }
        let mut passed = 0;
        let mut ask = |place: u32, gate: &Gate| {
            places[passed] = place;
            passed += usize::from(gate.lets_pass(view.outline, &view.sieve));
        };
        for place in &short[..shorts] {
            ask(*place, &self.gates[*place as usize]);
        }
        // Fetched together, since the lists lie far apart.
        let touched = long.iter().fold(0, |touched, list| {
            let gates = self.gates[list.range()].iter().step_by(FETCHED_AT_ONCE);
            gates.fold(touched, |touched, gate| touched | gate.touch())
        });
        std::hint::black_box(touched);
        for list in long {
            for (place, gate) in (list.start..).zip(&self.gates[list.range()]) {
                ask(place, gate);
            }
        }
        passed
    }
}

/// Lists of so many entries are short.
const SHORT: usize = 8;
/// Gates that the processor fetches together.
const FETCHED_AT_ONCE: usize = 64 / size_of::<Gate>();

/// The filters whose entries let a job pass, by number, each once; and memory used in finding them.
#[derive(Debug, Clone, Default)]
pub(super) struct Survivors {
    /// Those that are to be evaluated.
    pub(super) open: Vec<u32>,
    /// Those that match.
    pub(super) settled: Vec<u32>,
    /// A bit for each filter, set for those found that stand under several tokens.
    seen: Vec<u64>,
    /// Places of entries.
    places: Vec<u32>,
    short: Vec<u32>,
    long: Vec<List>,
}

impl Survivors {
    /// Tells the filters of the first `count` places from one another.
    fn sort_out(&mut self, count: usize, rests: &[Rest]) {
        self.open.clear();
        self.settled.clear();
        let places = &self.places[..count];
        for place in places {
            let rest = rests[*place as usize];
            if rest.is_one_of_several() && !is_new(&mut self.seen, rest.filter()) {
                continue;
            }
            let found = if rest.is_settled() {
                &mut self.settled
            } else {
                &mut self.open
            };
            found.push(rest.filter());
        }
        for filter in self.open.iter().chain(&self.settled) {
            if let Some(seen) = self.seen.get_mut(*filter as usize / 64) {
                *seen = 0;
            }
        }
    }
}

/// Whether the filter was not seen before; now it is.
fn is_new(seen: &mut Vec<u64>, filter: u32) -> bool {
    let (word, bit) = (filter as usize / 64, 1 << (filter % 64));
    if seen.len() <= word {
        seen.resize(word + 1, 0);
    }
    let is_new = seen[word] & bit == 0;
    seen[word] |= bit;
    is_new
}

const _: () = assert!(size_of::<Gate>() == 16 && size_of::<Rest>() == 16);
const _: () = assert!(TokenKind::Any as usize == 3);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::SavedFilter;

    #[test]
    fn lists_keep_their_entries_through_moves_and_what_they_leave_is_used_again() {
        let mut postings = Postings::default();
        let token = |number| Token::new(TokenKind::Word, number);
        let posting = |number| {
            let filter = SavedFilter::from_value(&json!({"client": {"paymentVerified": true}})).unwrap();
            Posting::new(number, &filter.check().unwrap(), &[])
        };
        for body in 0..300 {
            postings.add(token(body % 3), posting(body)).unwrap();
        }
        let size = postings.gates.len();
        for body in 0..300 {
            if body % 2 == 0 {
                postings.remove(token(body % 3), body);
            }
        }
        let bodies = |postings: &Postings, number| {
            let list = postings.list(token(number));
            let mut bodies: Vec<u32> = postings.rests[list.range()]
                .iter()
                .map(|rest| rest.filter())
                .collect();
            bodies.sort_unstable();
            bodies
        };
        let odd: Vec<u32> = (1..300).step_by(2).filter(|body| body % 3 == 1).collect();
        assert_eq!(bodies(&postings, 1), odd);
        for body in 0..300 {
            postings.remove(token(body % 3), body);
        }
        assert_eq!(postings.count(), 0);
        for body in 0..60 {
            postings.add(token(7), posting(body)).unwrap();
        }
        assert_eq!((postings.load(token(7)), postings.gates.len()), (60, size));
    }
}
