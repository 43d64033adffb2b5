//! How the index is loaded and catches up, over a store that changes meanwhile and forgets.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use futures::executor::block_on;

use super::*;
use crate::model::{FilterId, Timestamp};
use crate::port::{
    CallingThread, ClaimedDelivery, FeedCursor, FilterChanges, MatchedPage, RecordPage, SendAtOnce,
    StoredFilter,
};

#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(0)
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// Filters in the order of their ids, and what becomes of them.
#[derive(Debug, Default)]
struct Stored {
    revision: i64,
    filters: Vec<StoredFilter>,
    /// Ids, each with the revision of its change.
    log: Vec<(i64, FilterId)>,
    /// Put once some filters have been read.
    meanwhile: Option<StoredFilter>,
    /// So many times what changed is not known.
    forgets: u32,
}

impl Stored {
    fn put(&mut self, filter: StoredFilter) {
        let id = filter.id.clone();
        self.remove(&id);
        let place = self.filters.partition_point(|known| known.id < id);
        self.filters.insert(place, filter);
    }

    fn remove(&mut self, id: &FilterId) {
        self.revision += 1;
        self.log.push((self.revision, id.clone()));
        self.filters.retain(|known| known.id != *id);
    }
}

#[derive(Debug, Default)]
struct ChangingStore(Mutex<Stored>);

#[async_trait]
impl JobStore for ChangingStore {
    async fn feed_position(&self) -> Result<Option<FeedCursor>, StoreError> {
        Ok(None)
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        Ok(Revision(self.0.lock().unwrap().revision))
    }

    async fn filters(
        &self,
        after: Option<&(OrganizationId, FilterId)>,
        limit: u32,
    ) -> Result<Vec<StoredFilter>, StoreError> {
        let mut stored = self.0.lock().unwrap();
        let behind = |filter: &&StoredFilter| after.is_none_or(|(_, after)| filter.id > *after);
        let read = stored.filters.iter().filter(behind).take(limit as usize);
        let read = read.cloned().collect();
        if let Some(filter) = stored.meanwhile.take() {
            stored.put(filter);
        }
        Ok(read)
    }

    async fn filters_since(&self, revision: Revision) -> Result<FilterChanges, StoreError> {
        let mut stored = self.0.lock().unwrap();
        if stored.forgets > 0 {
            stored.forgets -= 1;
            return Ok(FilterChanges::Forgotten);
        }
        let (mut put, mut removed) = (Vec::new(), Vec::new());
        for (_, id) in stored.log.iter().filter(|(changed, _)| *changed > revision.0) {
            match stored.filters.iter().find(|filter| filter.id == *id) {
                Some(filter) if put.contains(filter) => {}
                Some(filter) => put.push(filter.clone()),
                None => removed.push((organization(), id.clone())),
            }
        }
        Ok(FilterChanges::Known {
            revision: Revision(stored.revision),
            put,
            removed,
        })
    }

    async fn latest_jobs(&self, _limit: u32) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    async fn note_feed_read(&self, _: Timestamp) -> Result<(), StoreError> {
        Ok(())
    }

    fn page_size(&self) -> u32 {
        1
    }

    async fn record_and_claim(
        &self,
        _page: &MatchedPage,
        _by: Option<&SendAtOnce>,
    ) -> Result<(RecordPage, Vec<ClaimedDelivery>), StoreError> {
        Ok((RecordPage::PositionMoved, Vec::new()))
    }
}

fn organization() -> OrganizationId {
    OrganizationId::parse("org").unwrap()
}

fn id(number: usize) -> FilterId {
    FilterId::parse(&format!("f{number:06}")).unwrap()
}

fn campaign(number: usize) -> CampaignId {
    CampaignId::parse(&format!("c{number:06}")).unwrap()
}

/// The filter with this number, in the campaign of that number.
fn filter(number: usize, keywords: &str) -> StoredFilter {
    StoredFilter {
        organization_id: organization(),
        campaign_id: campaign(number),
        id: id(number),
        body: format!(r#"{{"keywords": "{keywords}"}}"#),
    }
}

fn world(filters: impl IntoIterator<Item = StoredFilter>) -> (ChangingStore, CurrentFilters) {
    let store = ChangingStore::default();
    store.0.lock().unwrap().filters = filters.into_iter().collect();
    (store, CurrentFilters::default())
}

/// The campaigns that a job with this title matches.
fn matched_by(filters: &mut CurrentFilters, title: &str) -> Vec<CampaignId> {
    let json = format!(
        r#"{{"id": "1", "ciphertext": "~1", "title": "{title}", "description": "", "url": "/1", "postedAt": 1}}"#
    );
    let job = PreparedJob::new(&JobPost::parse(&json).unwrap().facts());
    let matched = filters.match_all(&[job]);
    matched
        .into_iter()
        .flatten()
        .map(|(_, campaign)| campaign)
        .collect()
}

#[test]
fn what_changed_since_the_last_call_is_taken_over() {
    let (store, mut filters) = world([filter(1, "rust"), filter(2, "rust")]);
    assert_eq!(
        block_on(filters.catch_up(&store, &Still, &CallingThread, &[])),
        Ok((Revision(0), true))
    );
    assert_eq!(
        block_on(filters.catch_up(&store, &Still, &CallingThread, &[])),
        Ok((Revision(0), false))
    );
    store.0.lock().unwrap().remove(&id(1));
    store.0.lock().unwrap().put(filter(3, "rust"));
    assert_eq!(
        block_on(filters.catch_up(&store, &Still, &CallingThread, &[])),
        Ok((Revision(2), true))
    );
    assert_eq!(matched_by(&mut filters, "rust"), [campaign(2), campaign(3)]);
    // Something else was provisioned.
    store.0.lock().unwrap().revision += 1;
    assert_eq!(
        block_on(filters.catch_up(&store, &Still, &CallingThread, &[])),
        Ok((Revision(3), false))
    );
}

#[test]
fn what_is_committed_while_filters_are_loaded_is_taken_over() {
    let (store, mut filters) = world([filter(1, "rust")]);
    store.0.lock().unwrap().meanwhile = Some(filter(1, "java"));
    assert_eq!(
        block_on(filters.catch_up(&store, &Still, &CallingThread, &[])),
        Ok((Revision(1), true))
    );
    assert_eq!(matched_by(&mut filters, "rust"), []);
    assert_eq!(matched_by(&mut filters, "java"), [campaign(1)]);
}

#[test]
fn more_filters_than_are_read_at_once_are_all_loaded() {
    let count = AT_ONCE as usize + 1;
    let (store, mut filters) = world((0..count).map(|number| filter(number, &format!("w{number}"))));
    block_on(filters.catch_up(&store, &Still, &CallingThread, &[])).unwrap();
    for number in [0, count - 2, count - 1] {
        assert_eq!(
            matched_by(&mut filters, &format!("w{number}")),
            [campaign(number)]
        );
    }
}

#[test]
fn all_filters_are_read_anew_once_the_store_no_longer_tells_what_changed() {
    let (store, mut filters) = world([filter(1, "rust"), filter(2, "rust")]);
    block_on(filters.catch_up(&store, &Still, &CallingThread, &[])).unwrap();
    {
        let mut stored = store.0.lock().unwrap();
        stored.remove(&id(1));
        stored.put(filter(3, "rust"));
        stored.forgets = 1;
    }
    assert_eq!(
        block_on(filters.catch_up(&store, &Still, &CallingThread, &[])),
        Ok((Revision(2), true))
    );
    assert_eq!(matched_by(&mut filters, "rust"), [campaign(2), campaign(3)]);
}

#[test]
fn loading_is_given_up_after_some_attempts_and_begins_anew_with_the_next_call() {
    let (store, mut filters) = world([filter(1, "rust")]);
    store.0.lock().unwrap().forgets = LOAD_ATTEMPTS;
    let outcome = block_on(filters.catch_up(&store, &Still, &CallingThread, &[]));
    assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
    assert!(!filters.are_loaded());
    assert_eq!(
        block_on(filters.catch_up(&store, &Still, &CallingThread, &[])),
        Ok((Revision(0), true))
    );
    assert_eq!(matched_by(&mut filters, "rust"), [campaign(1)]);
}

#[test]
fn a_filter_that_becomes_unreadable_is_passed_over_and_matches_again_once_it_is_mended() {
    let (store, mut filters) = world([filter(1, "rust"), filter(2, "rust")]);
    block_on(filters.catch_up(&store, &Still, &CallingThread, &[])).unwrap();
    store.0.lock().unwrap().put(filter(1, "java"));
    store.0.lock().unwrap().put(filter(2, "(unfinished"));
    block_on(filters.catch_up(&store, &Still, &CallingThread, &[])).unwrap();
    assert_eq!(matched_by(&mut filters, "rust"), []);
    assert_eq!(matched_by(&mut filters, "java"), [campaign(1)]);
    store.0.lock().unwrap().put(filter(2, "java"));
    block_on(filters.catch_up(&store, &Still, &CallingThread, &[])).unwrap();
    assert_eq!(matched_by(&mut filters, "java"), [campaign(1), campaign(2)]);
}
