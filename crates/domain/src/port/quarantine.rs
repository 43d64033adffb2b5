//! Stored rows that cannot be understood, as one process has met them.

use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Display};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The tables that workers take work from, or that they need for it: their rows are met again as long as they are there.
const OF_WORKERS: [&str; 5] = [
    "automatic_bids",
    "bidder_accounts",
    "bids",
    "deliveries",
    "webhook_endpoints",
];

/// How many rows of a table are remembered. More are passed over all the same, but they are neither logged nor counted.
const REMEMBERED: usize = 50_000;

/// How many characters of a fault are kept: it may quote what is stored.
const FAULT_LENGTH: usize = 300;

/// A row that another version has written, or a damaged disk has changed, so that this program cannot understand it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableRow {
    /// The row's table.
    pub table: &'static str,
    /// The row's key: its id, after the organization's and a slash if the id is unique within the organization.
    pub id: String,
    /// What is wrong. It may quote the stored value, but never a secret.
    pub why: String,
}

impl UnreadableRow {
    /// The row of `table` with this key.
    pub fn new(table: &'static str, id: impl Into<String>, why: impl Display) -> Self {
        let mut why = why.to_string();
        if let Some((cut, _)) = why.char_indices().nth(FAULT_LENGTH) {
            why.truncate(cut);
            why.push('…');
        }
        Self {
            table,
            id: id.into(),
            why,
        }
    }

    /// A row whose id is unique within its organization.
    pub fn of_organization(
        table: &'static str,
        organization: impl Display,
        id: impl Display,
        why: impl Display,
    ) -> Self {
        Self::new(table, format!("{organization}/{id}"), why)
    }
}

impl Display for UnreadableRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}: {}", self.table, self.id, self.why)
    }
}

/// The unreadable rows that a process has met since its start. Clones share them.
///
/// Such a row costs nobody else anything (decision D2): readers and workers pass it over and set it aside here. Setting
/// aside logs the row once. Nothing is stored: after a restart, perhaps of a version that understands the row, it is
/// tried again. Workers also try their rows again with each [round](Self::next_round), in case that they were mended.
///
/// ```
/// use bidloop_domain::port::{Quarantine, UnreadableRow};
///
/// let quarantine = Quarantine::default();
/// quarantine.set_aside(&UnreadableRow::of_organization("filters", "acme", "f_1", "body: no JSON"));
/// assert!(quarantine.holds("filters", "acme", "f_1"));
/// assert_eq!(quarantine.counts(), [("filters", 1)]);
/// quarantine.release("filters", "acme/f_1");
/// assert!(quarantine.is_empty("filters"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Quarantine(Arc<Mutex<BTreeMap<&'static str, OfTable>>>);

/// The ids of a table's unreadable rows.
#[derive(Debug, Default)]
struct OfTable {
    /// Met in this round.
    held: HashSet<String>,
    /// Met in the round before.
    before: HashSet<String>,
    /// Met ever.
    logged: HashSet<String>,
}

impl Quarantine {
    fn rows(&self) -> MutexGuard<'_, BTreeMap<&'static str, OfTable>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the row, and logs it the first time.
    pub fn set_aside(&self, row: &UnreadableRow) {
        let mut rows = self.rows();
        let of_table = rows.entry(row.table).or_default();
        if of_table.held.len() < REMEMBERED {
            of_table.held.insert(row.id.clone());
        }
        let is_logged = of_table.logged.len() >= REMEMBERED || !of_table.logged.insert(row.id.clone());
        drop(rows);
        if is_logged {
            return;
        }
        tracing::error!(
            table = row.table,
            row = row.id,
            why = row.why,
            "a stored row cannot be read: it is passed over until it changes or the program is restarted; \
             `bidloop doctor` lists all such rows"
        );
    }

    /// Whether the row of an organization was set aside, and is not to be tried again yet.
    pub fn holds(&self, table: &str, organization: impl Display, id: impl Display) -> bool {
        let rows = self.rows();
        // Mostly there is none, and then no key is written.
        rows.get(table)
            .is_some_and(|rows| !rows.held.is_empty() && rows.held.contains(&format!("{organization}/{id}")))
    }

    /// Whether no row of the table was set aside.
    pub fn is_empty(&self, table: &str) -> bool {
        self.count(table) == 0
    }

    /// How many rows of the table were set aside.
    pub fn count(&self, table: &str) -> usize {
        self.rows().get(table).map_or(0, |rows| rows.held.len())
    }

    /// The rows of the table that were set aside, in no order.
    pub fn ids(&self, table: &str) -> Vec<String> {
        self.rows()
            .get(table)
            .map_or_else(Vec::new, |rows| rows.held.iter().cloned().collect())
    }

    /// Forgets a row, because it was replaced by one that can be read or was removed.
    pub fn release(&self, table: &str, id: &str) {
        if let Some(rows) = self.rows().get_mut(table) {
            rows.held.remove(id);
            rows.before.remove(id);
        }
    }

    /// Lets workers try their rows again. A row that is still unreadable is set aside again without being logged; one
    /// that is not met until the round after is no longer counted.
    pub fn next_round(&self) {
        let mut rows = self.rows();
        for table in OF_WORKERS {
            if let Some(rows) = rows.get_mut(table) {
                rows.before = std::mem::take(&mut rows.held);
            }
        }
    }

    /// How many rows were set aside, for each table that has had any.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        let rows = self.rows();
        let count = |rows: &OfTable| rows.held.union(&rows.before).count() as u64;
        rows.iter().map(|(table, rows)| (*table, count(rows))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: usize) -> UnreadableRow {
        UnreadableRow::of_organization("bids", "org", number, "no JSON")
    }

    #[test]
    fn a_row_is_counted_once_however_often_it_is_met() {
        let quarantine = Quarantine::default();
        for _ in 0..3 {
            quarantine.set_aside(&row(1));
        }
        assert_eq!(quarantine.counts(), [("bids", 1)]);
    }

    #[test]
    fn a_row_is_tried_again_in_the_next_round_and_forgotten_once_it_is_no_longer_met() {
        let quarantine = Quarantine::default();
        quarantine.set_aside(&row(1));
        quarantine.next_round();
        assert!(!quarantine.holds("bids", "org", "1"));
        assert_eq!(quarantine.counts(), [("bids", 1)]);
        quarantine.next_round();
        assert_eq!(quarantine.counts(), [("bids", 0)]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let quarantine = Quarantine::default();
        for number in 0..REMEMBERED + 10 {
            quarantine.set_aside(&row(number));
        }
        assert_eq!(quarantine.count("bids"), REMEMBERED);
    }
}
