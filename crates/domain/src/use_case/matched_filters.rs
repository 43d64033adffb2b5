//! The filters of one campaign, and which of them a job matches, condition by condition.

use crate::matching::{Explanation, PreparedJob, SavedFilter};
use crate::model::FilterId;
use crate::port::FilterRecord;

/// A filter with its verdict on a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedFilter {
    /// The filter.
    pub id: FilterId,
    /// Its name.
    pub name: String,
    /// Each condition with its result.
    pub explanation: Explanation,
}

/// A campaign's filters, compiled once for many jobs.
#[derive(Debug)]
pub(super) struct MatchedFilters(Vec<(FilterRecord, SavedFilter)>);

impl MatchedFilters {
    /// Filters whose bodies cannot be read are left out: they match nothing.
    pub(super) fn of(filters: Vec<FilterRecord>) -> Self {
        let compiled = filters.into_iter().filter_map(|filter| {
            let compiled = SavedFilter::from_value(&filter.body).ok()?;
            Some((filter, compiled))
        });
        Self(compiled.collect())
    }

    /// Every filter's verdict on the job.
    pub(super) fn explained(&self, job: &PreparedJob) -> Vec<MatchedFilter> {
        let explained = self.0.iter().map(|(filter, compiled)| MatchedFilter {
            id: filter.id.clone(),
            name: filter.name.clone(),
            explanation: compiled.explain(job),
        });
        explained.collect()
    }

    /// The first filter that the job matches now; `None` if the job or the filters changed and the list still holds it.
    pub(super) fn matching(&self, job: &PreparedJob) -> Option<MatchedFilter> {
        let (filter, compiled) = self.0.iter().find(|(_, filter)| filter.matches(job))?;
        Some(MatchedFilter {
            id: filter.id.clone(),
            name: filter.name.clone(),
            explanation: compiled.explain(job),
        })
    }
}
