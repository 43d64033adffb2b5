//! From where on looks at the deliveries of each endpoint search.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::low_water::LowWater;

/// The most endpoints whose queues may begin before the mark. If there are more, looks search from the start again.
const MOST_PASSED_OVER: usize = 1_000;

/// A mark, and where the queues of those endpoints begin that it has passed over: they got no more when it was moved on.
///
/// Endpoints have names that tell them apart.
#[derive(Debug, Default)]
pub(crate) struct OthersFrom {
    low: LowWater,
    passed_over: Mutex<HashMap<String, i64>>,
}

/// One look.
pub(super) struct Look {
    began: Instant,
    /// From where on it searches, but for the endpoints that return.
    pub(super) from: i64,
    /// The endpoints that get no more now.
    full: HashSet<String>,
    /// The endpoints that get more again, and where their queues begin.
    pub(super) returning: HashMap<String, i64>,
}

impl Look {
    /// The endpoints that are not searched from the mark.
    pub(super) fn apart(&self) -> impl Iterator<Item = &String> {
        self.full.iter().chain(self.returning.keys())
    }
}

impl OthersFrom {
    fn passed_over(&self) -> MutexGuard<'_, HashMap<String, i64>> {
        self.passed_over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a look that leaves the `full` endpoints out.
    pub(super) fn begin(&self, full: HashSet<String>, from_start: bool) -> Look {
        let from = if from_start {
            LowWater::START
        } else {
            self.low.from()
        };
        let mut returning = HashMap::new();
        if from != LowWater::START {
            returning.clone_from(&self.passed_over());
            returning.retain(|endpoint, _| !full.contains(endpoint));
        }
        Look {
            began: Instant::now(),
            from,
            full,
            returning,
        }
    }

    /// Notes what a look found: when each delivery was queued, the oldest first, and its endpoint; and whether there may be
    /// more. Returns whether it needs no other from the start, if it found too little.
    pub(super) fn end(&self, look: Look, found: impl Iterator<Item = (i64, String)>, are_more: bool) -> bool {
        let (mut first, mut first_of) = (None, HashMap::new());
        for (queued_at, endpoint) in found {
            if look.returning.contains_key(&endpoint) {
                first_of.entry(endpoint).or_insert(queued_at);
            } else {
                first.get_or_insert(queued_at);
            }
        }
        let mut passed_over = self.passed_over();
        let before = self.low.mark().unwrap_or(LowWater::START);
        self.low.note(look.from, look.began, first);
        if look.from == LowWater::START {
            passed_over.retain(|endpoint, _| look.full.contains(endpoint));
        }
        for endpoint in look.returning.into_keys() {
            match first_of.get(&endpoint) {
                Some(first) => {
                    passed_over.insert(endpoint, LowWater::before(*first));
                }
                None if are_more => {}
                None => {
                    passed_over.remove(&endpoint);
                }
            }
        }
        for endpoint in look.full {
            passed_over.entry(endpoint).or_insert(before);
        }
        let mark = self.low.mark().unwrap_or(LowWater::START);
        passed_over.retain(|_, begins| *begins < mark);
        if passed_over.len() > MOST_PASSED_OVER {
            passed_over.clear();
            self.low.forget();
        }
        self.low.suffices(look.from)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn names(names: &[&str]) -> HashSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// A look that leaves endpoints out and finds the first rows of others. Returns from where on it searched, and which
    /// endpoints returned.
    fn look(others: &OthersFrom, full: &[&str], found: &[(i64, &str)]) -> (i64, HashMap<String, i64>) {
        let mut look = others.begin(names(full), false);
        let searched = (look.from, look.returning.clone());
        if look.from == LowWater::START {
            look.began = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
        }
        let found = found.iter().map(|(at, endpoint)| (*at, (*endpoint).to_owned()));
        others.end(look, found, false);
        searched
    }

    fn returning(endpoints: &[(&str, i64)]) -> HashMap<String, i64> {
        endpoints
            .iter()
            .map(|(name, at)| ((*name).to_owned(), *at))
            .collect()
    }

    #[test]
    fn an_endpoint_that_was_left_out_is_searched_from_where_its_queue_begins() {
        let others = OthersFrom::default();
        look(&others, &["stuck"], &[(1_000, "busy"), (9_000, "quiet")]);
        assert_eq!(look(&others, &["stuck", "busy"], &[(9_000, "quiet")]).0, 980);
        let (from, returned) = look(&others, &["stuck"], &[(1_500, "busy"), (9_000, "quiet")]);
        assert_eq!((from, returned), (8_980, returning(&[("busy", 980)])));
        let (from, returned) = look(&others, &["stuck"], &[(9_000, "quiet")]);
        assert_eq!((from, returned), (8_980, returning(&[("busy", 1_480)])));
        assert_eq!(
            look(&others, &["stuck"], &[]),
            (8_980, HashMap::new()),
            "its queue is empty"
        );
    }

    #[test]
    fn an_endpoint_that_was_always_left_out_is_searched_from_the_start() {
        let others = OthersFrom::default();
        look(&others, &["stuck"], &[(9_000, "quiet")]);
        let (from, returned) = look(&others, &[], &[(9_000, "quiet")]);
        assert_eq!(
            (from, returned),
            (8_980, returning(&[("stuck", LowWater::START)]))
        );
    }

    #[test]
    fn so_many_endpoints_left_out_have_no_mark_pass_over_them() {
        let others = OthersFrom::default();
        let many: Vec<String> = (0..=MOST_PASSED_OVER).map(|n| n.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        look(&others, &many, &[(9_000, "quiet")]);
        assert_eq!(look(&others, &many, &[]).0, LowWater::START);
    }
}
