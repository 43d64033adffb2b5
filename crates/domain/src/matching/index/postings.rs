//! The entries of all filters, by the token under which they stand.

use super::IndexFull;
use super::job_view::JobView;
use super::posting::Posting;
use super::token::{Token, TokenKind};

/// Lists of entries, by kind and number of the token. An entry's place in its list says nothing.
///
/// All lists lie in one stretch of memory, each with a little room to grow. One that outgrows its room moves, and
/// what it leaves is used by the next list that wants as much.
#[derive(Debug, Clone, Default)]
pub(super) struct Postings {
    entries: Vec<Posting>,
    lists: [Vec<List>; 4],
    /// Where rooms lie that no list uses, by their class.
    free: Vec<Vec<u32>>,
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
            self.entries.copy_within(old.range(), list.start as usize);
            self.leave_room(old);
        }
        self.entries[list.range().end] = posting;
        list.length += 1;
        self.count += 1;
        let lists = &mut self.lists[token.kind() as usize];
        if lists.len() <= token.number() {
            lists.resize(token.number() + 1, List::default());
        }
        lists[token.number()] = list;
        Ok(())
    }

    /// Takes the entry of the filter at `body` out.
    pub(super) fn remove(&mut self, token: Token, body: u32) {
        let list = self.list(token);
        let entries = &mut self.entries[list.range()];
        let Some(at) = entries.iter().position(|posting| posting.body == body) else {
            return;
        };
        entries.swap(at, list.length as usize - 1);
        self.count -= 1;
        let kept = if list.length == 1 {
            self.leave_room(list);
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
        if let Some(start) = self.free.get_mut(class as usize).and_then(Vec::pop) {
            return Ok(start);
        }
        let end = self.entries.len() + room(class);
        if u32::try_from(end).is_err() {
            return Err(IndexFull);
        }
        let start = u32::try_from(self.entries.len()).map_err(|_| IndexFull)?;
        self.entries.resize(end, Posting::default());
        Ok(start)
    }

    fn leave_room(&mut self, list: List) {
        let class = list.class as usize;
        if class == 0 {
            return;
        }
        if self.free.len() <= class {
            self.free.resize(class + 1, Vec::new());
        }
        self.free[class].push(list.start);
    }

    /// Finds the filters whose entries let the job pass.
    pub(super) fn survivors(&self, view: &JobView, found: &mut Survivors) {
        found.single.clear();
        found.several.clear();
        found.lists.clear();
        // All the lists are looked up before any is read, so that the look-ups overlap.
        found
            .lists
            .extend(view.tokens.iter().map(|token| self.list(*token)));
        for list in &found.lists {
            for posting in &self.entries[list.range()] {
                if posting.lets_pass(view.outline, &view.bits) {
                    if posting.is_one_of_several() {
                        found.several.push(posting.body);
                    } else {
                        found.single.push(posting.body);
                    }
                }
            }
        }
        found.several.sort_unstable();
        found.several.dedup();
    }
}

/// How many entries a room of the class holds: none in class 0, then 1 to 8, then four classes for each doubling.
const fn room(class: u32) -> usize {
    if class <= 8 {
        return class as usize;
    }
    let (doublings, step) = ((class - 9) / 4, (class - 9) % 4);
    (5 + step as usize) << (doublings + 1)
}

/// Places of filters that are to be evaluated, each once.
#[derive(Debug, Clone, Default)]
pub(super) struct Survivors {
    /// Of filters that stand under one token.
    single: Vec<u32>,
    /// Of filters that stand under several.
    several: Vec<u32>,
    lists: Vec<List>,
}

impl Survivors {
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.single.iter().chain(&self.several).copied()
    }
}

const _: () = assert!(size_of::<Posting>() == 32);
const _: () = assert!(TokenKind::Any as usize == 3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_grow_by_a_quarter_at_most_beyond_eight() {
        let rooms: Vec<usize> = (0..18).map(room).collect();
        assert_eq!(
            rooms,
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40]
        );
    }

    #[test]
    fn lists_keep_their_entries_through_moves_and_what_they_leave_is_used_again() {
        let mut postings = Postings::default();
        let token = |number| Token::new(TokenKind::Word, number);
        let posting = |body| {
            let mut posting = Posting::default();
            posting.body = body;
            posting
        };
        for body in 0..300 {
            postings.add(token(body % 3), posting(body)).unwrap();
        }
        let size = postings.entries.len();
        for body in 0..300 {
            if body % 2 == 0 {
                postings.remove(token(body % 3), body);
            }
        }
        let bodies = |postings: &Postings, number| {
            let list = postings.list(token(number));
            let mut bodies: Vec<u32> = postings.entries[list.range()]
                .iter()
                .map(|entry| entry.body)
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
        assert_eq!((postings.load(token(7)), postings.entries.len()), (60, size));
    }
}
