//! Every statement that the ports run stays prepared: a second call of any method prepares nothing.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};

/// Statements that a connection prepared although it had prepared them, or others that differ in values alone.
static PREPARED_ANEW: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Watches the connections that are opened from now on.
pub(crate) fn watch() {
    set_default_instrumentation(|| Some(Box::new(Watcher::default()))).unwrap();
}

/// Panics if a statement was not kept.
pub(crate) fn assert_all_are_kept() {
    // The lock is given back first: other tests of this process go on.
    let anew = PREPARED_ANEW.lock().unwrap().clone();
    assert!(anew.is_empty(), "prepared anew: {anew:#?}");
}

fn report(finding: String) {
    PREPARED_ANEW.lock().unwrap().insert(finding);
}

/// Watches one connection.
#[derive(Default)]
struct Watcher {
    /// The texts of the statements that are kept, by their shapes.
    kept: BTreeMap<String, BTreeSet<String>>,
}

impl Watcher {
    fn keep(&mut self, sql: &str) {
        let texts = self.kept.entry(shape(sql)).or_default();
        if !texts.insert(sql.to_owned()) {
            report(format!("twice: {sql}"));
        } else if texts.len() > most_texts(sql) {
            report(format!("in many texts: {texts:#?}"));
        }
    }

    fn keeps(&self, sql: &str) -> bool {
        self.kept
            .get(&shape(sql))
            .is_some_and(|texts| texts.contains(sql))
    }
}

impl Instrumentation for Watcher {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        match event {
            InstrumentationEvent::CacheQuery { sql, .. } => self.keep(sql),
            // Only SQLite's connections report this.
            InstrumentationEvent::FinishQuery {
                query, error: None, ..
            } => {
                let shown = query.to_string();
                // What has no binds, such as BEGIN, is not prepared at all, and the migrations' statements run once.
                if let Some((sql, _)) = shown.split_once(" -- binds: ")
                    && !self.keeps(sql)
                    && !sql.contains("__diesel_schema_migrations")
                {
                    report(format!("not kept: {sql}"));
                }
            }
            _ => {}
        }
    }
}

/// What some statements contain that have several texts, how many texts, and why.
const BY_DESIGN: [(&str, usize, &str); 1] = [(
    "SELECT CAST(starts_at - starts_at % ",
    3,
    "The width of a step is written out: PostgreSQL does not see that two expressions with parameters are the same. \
     There are few widths.",
)];

/// How many texts of a statement's shape there may be.
fn most_texts(sql: &str) -> usize {
    let by_design = BY_DESIGN.iter().find(|(part, ..)| sql.contains(part));
    by_design.map_or(1, |(_, most, _)| *most)
}

/// The statement without its numbers, and with one placeholder for each list of them: what is left of texts that are written
/// for their values.
fn shape(sql: &str) -> String {
    let mut shape = String::new();
    for part in sql.split_inclusive(|end: char| !end.is_ascii_digit()) {
        let rest = part.trim_start_matches(|digit: char| digit.is_ascii_digit());
        if rest.len() < part.len() && !shape.ends_with('$') {
            shape.push('0');
        }
        shape.push_str(rest);
    }
    let mut shape = shape.replace('?', "$");
    for (run, one) in [("$, $", "$"), ("($), ($)", "($)")] {
        while shape.contains(run) {
            shape = shape.replace(run, one);
        }
    }
    shape
}

#[test]
fn statements_for_more_values_or_other_numbers_have_one_shape() {
    let of_two = "SELECT a FROM t WHERE a IN ($1, $2) AND b = $3 LIMIT 20";
    let of_three = "SELECT a FROM t WHERE a IN ($1, $2, $3) AND b = $4 LIMIT 5";
    assert_eq!(shape(of_two), "SELECT a FROM t WHERE a IN ($) AND b = $ LIMIT 0");
    assert_eq!(shape(of_three), shape(of_two));
    assert_eq!(shape("VALUES (?, ?), (?, ?), (?, ?)"), "VALUES ($)");
}
