//! Follow activity: what is added to the Activity record after a start, oldest first (`bidloop activity --follow`).
//! Tests: `tests/use_case/follow_activity.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::model::{Activity, ActivityId, ActivityPlace, ActivityQuery, Timestamp};
use crate::port::{ActivityStore, StoreError};

/// Entries that are read at a time.
const PAGE: u32 = 500;
/// How much later than a newer one an entry may become visible: entries are dated before their transaction ends.
const OVERLAP: Duration = Duration::from_secs(10);

/// Follows the Activity record. Reads are bounded: it holds the places of the last ten seconds and one page of entries.
#[derive(Debug)]
pub struct FollowActivity {
    activities: Arc<dyn ActivityStore>,
    query: ActivityQuery,
    /// The places that were given out or came before the start, from the beginning of the overlap on.
    seen: BTreeSet<ActivityPlace>,
    /// Behind which place the next page is read.
    cursor: ActivityPlace,
}

impl FollowActivity {
    /// Starts to follow what the query asks for. Returns its newest entries too, up to its limit, oldest first.
    pub async fn start(
        activities: Arc<dyn ActivityStore>,
        query: &ActivityQuery,
    ) -> Result<(Self, Vec<Activity>), StoreError> {
        let newest = ActivityQuery {
            limit: query.limit.max(1),
            ..query.clone()
        };
        let mut newest = activities.list(&newest).await?;
        let mut follow = Self {
            activities,
            query: ActivityQuery {
                limit: PAGE,
                ..query.clone()
            },
            seen: newest.first().map(ActivityPlace::of).into_iter().collect(),
            cursor: place(Timestamp::from_millis(i64::MIN)),
        };
        follow.pass_over_older().await?;
        newest.truncate(usize::try_from(query.limit).unwrap_or(usize::MAX));
        newest.reverse();
        Ok((follow, newest))
    }

    /// Up to a page of new entries, oldest first. None: nothing was added since.
    pub async fn next(&mut self) -> Result<Vec<Activity>, StoreError> {
        loop {
            let mut page = self.activities.behind(&self.query, self.cursor).await?;
            let Some(last) = page.last() else {
                self.rewind();
                return Ok(Vec::new());
            };
            self.cursor = ActivityPlace::of(last);
            page.retain(|entry| self.seen.insert(ActivityPlace::of(entry)));
            if !page.is_empty() {
                return Ok(page);
            }
        }
    }

    /// Notes what is in the overlap before the start's newest entry.
    async fn pass_over_older(&mut self) -> Result<(), StoreError> {
        let Some(newest) = self.seen.last().copied() else {
            return Ok(());
        };
        self.rewind();
        while self.cursor < newest {
            let page = self.activities.behind(&self.query, self.cursor).await?;
            let Some(last) = page.last() else { break };
            self.cursor = ActivityPlace::of(last);
            let older = page.iter().map(ActivityPlace::of).filter(|place| *place < newest);
            self.seen.extend(older);
        }
        self.rewind();
        Ok(())
    }

    /// Reads from the beginning of the overlap again, and forgets what lies before it.
    fn rewind(&mut self) {
        if let Some(newest) = self.seen.last() {
            self.cursor = place(newest.at.minus(OVERLAP));
            self.seen = self.seen.split_off(&self.cursor);
        }
    }
}

/// The place before all entries of a moment.
fn place(at: Timestamp) -> ActivityPlace {
    ActivityPlace {
        at,
        id: ActivityId(Uuid::nil()),
    }
}
