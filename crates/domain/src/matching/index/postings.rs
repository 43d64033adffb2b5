//! The entries of all filters, by the token under which they stand.

use super::job_view::JobView;
use super::posting::Posting;
use super::token::{Token, TokenKind};

/// Lists of entries, by kind and number of the token. An entry's place in its list says nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Postings {
    lists: [Vec<Vec<Posting>>; 4],
    count: usize,
}

impl Postings {
    /// How many filters stand under the token.
    pub(super) fn load(&self, token: Token) -> usize {
        self.list(token).len()
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn list(&self, token: Token) -> &[Posting] {
        self.lists[token.kind() as usize]
            .get(token.number())
            .map_or(&[], Vec::as_slice)
    }

    pub(super) fn add(&mut self, token: Token, posting: Posting) {
        let lists = &mut self.lists[token.kind() as usize];
        if lists.len() <= token.number() {
            lists.resize_with(token.number() + 1, Vec::new);
        }
        let list = &mut lists[token.number()];
        if list.len() == list.capacity() {
            // Most lists are short, and a doubled capacity is more than the entries are worth.
            list.reserve_exact((list.len() / 4).max(1));
        }
        list.push(posting);
        self.count += 1;
    }

    /// Takes the entry of the filter at `body` out.
    pub(super) fn remove(&mut self, token: Token, body: u32) {
        let Some(list) = self.lists[token.kind() as usize].get_mut(token.number()) else {
            return;
        };
        if let Some(at) = list.iter().position(|posting| posting.body == body) {
            list.swap_remove(at);
            self.count -= 1;
        }
    }

    /// Finds the filters whose entries let the job pass.
    pub(super) fn survivors(&self, view: &JobView, found: &mut Survivors) {
        found.single.clear();
        found.several.clear();
        // The lists lie far apart. Asking for them all first lets the reads overlap.
        let touched = view
            .tokens
            .iter()
            .filter_map(|token| self.list(*token).first())
            .fold(0, |touched, posting| touched ^ posting.body);
        std::hint::black_box(touched);
        for token in &view.tokens {
            for posting in self.list(*token) {
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

/// Places of filters that are to be evaluated, each once.
#[derive(Debug, Clone, Default)]
pub(super) struct Survivors {
    /// Of filters that stand under one token.
    single: Vec<u32>,
    /// Of filters that stand under several.
    several: Vec<u32>,
}

impl Survivors {
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.single.iter().chain(&self.several).copied()
    }
}

const _: () = assert!(size_of::<Posting>() == 32);
const _: () = assert!(TokenKind::Any as usize == 3);
