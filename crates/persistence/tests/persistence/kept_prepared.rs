//! Every statement that the ports run stays prepared: a second call of any method prepares nothing.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeSet;
use std::sync::Mutex;

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};

/// Statements that would be prepared anew with each call.
static PREPARED_ANEW: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Watches the connections that are opened from now on.
pub(crate) fn watch() {
    set_default_instrumentation(|| Some(Box::new(Watcher::default()))).unwrap();
}

/// Panics if a statement was not kept.
pub(crate) fn assert_all_are_kept() {
    let anew = PREPARED_ANEW.lock().unwrap();
    assert!(anew.is_empty(), "prepared anew with each call: {anew:#?}");
}

/// Watches one connection.
#[derive(Default)]
struct Watcher {
    kept: BTreeSet<String>,
}

impl Instrumentation for Watcher {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        match event {
            InstrumentationEvent::CacheQuery { sql, .. } => {
                self.kept.insert(sql.to_owned());
            }
            InstrumentationEvent::FinishQuery {
                query, error: None, ..
            } => {
                let shown = query.to_string();
                // What has no binds, such as BEGIN, is not prepared at all, and the migrations' statements run once.
                if let Some((sql, _)) = shown.split_once(" -- binds: ")
                    && !self.kept.contains(sql)
                    && !sql.contains("__diesel_schema_migrations")
                {
                    PREPARED_ANEW.lock().unwrap().insert(sql.to_owned());
                }
            }
            _ => {}
        }
    }
}
