//! All saved filters that a process matches each job against.
//!
//! Filters are found by the caller's key, such as the campaign's and the filter's number. The set asks every filter
//! about every job; what it promises is the answer, not the way to it.

use std::collections::BTreeMap;

use super::compile::CompiledFilter;
use super::prepared_job::PreparedJob;

/// Filters by key, asked all at once which of them match a job.
///
/// ```
/// use bidloop_domain::matching::{FilterSet, PreparedJob};
/// use bidloop_domain::model::{JobPost, SavedFilter};
/// use serde_json::json;
///
/// let compiled = |body| SavedFilter::from_value(&body).and_then(|filter| filter.check()).expect("no fault");
/// let mut filters = FilterSet::new();
/// filters.insert("rust", compiled(json!({"keywords": "rust"})));
/// filters.insert("java", compiled(json!({"keywords": "java"})));
/// filters.insert("all", compiled(json!({})));
///
/// let post = JobPost::parse(
///     r#"{"id": "1", "ciphertext": "~1", "title": "Rust", "description": "", "url": "/1", "postedAt": 1}"#,
/// )?;
/// assert_eq!(filters.matches(&PreparedJob::new(&post)), ["all", "rust"]);
/// # Ok::<(), bidloop_domain::model::JobPostError>(())
/// ```
#[derive(Debug, Clone)]
pub struct FilterSet<K> {
    filters: BTreeMap<K, CompiledFilter>,
}

impl<K> Default for FilterSet<K> {
    fn default() -> Self {
        Self {
            filters: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Clone> FilterSet<K> {
    /// A set without filters, which no job matches.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a filter, or replaces the one with the same key and returns it.
    pub fn insert(&mut self, key: K, filter: CompiledFilter) -> Option<CompiledFilter> {
        self.filters.insert(key, filter)
    }

    /// Takes the filter with this key out.
    pub fn remove(&mut self, key: &K) -> Option<CompiledFilter> {
        self.filters.remove(key)
    }

    /// The filter with this key.
    pub fn get(&self, key: &K) -> Option<&CompiledFilter> {
        self.filters.get(key)
    }

    /// How many filters there are.
    pub fn len(&self) -> usize {
        self.filters.len()
    }

    /// Whether there is no filter.
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// The keys of the filters that match the job, in ascending order.
    pub fn matches(&self, job: &PreparedJob) -> Vec<K> {
        self.filters
            .iter()
            .filter(|(_, filter)| filter.matches(job))
            .map(|(key, _)| key.clone())
            .collect()
    }
}
