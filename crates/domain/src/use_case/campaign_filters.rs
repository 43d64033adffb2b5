//! An index of filters that returns the campaigns of a job, edited filter by filter.
//!
//! Owns the keys of filters and campaigns in the index. Does not own the loading: see
//! [`current_filters`](super::current_filters).

use std::hash::{Hash, Hasher};

use indexmap::IndexSet;

use super::load_filters::load_filters;
use crate::matching::index::{Frequencies, IndexFull};
use crate::matching::{FilterIndex, MatchScratch, PreparedJob};
use crate::model::{CampaignId, FilterId, OrganizationId};
use crate::port::{FilterChanges, Quarantine, Revision, StoreError, StoredFilter, Threads};

/// The campaigns of the filters that match a job.
///
/// After any sequence of edits it matches like a new index of the same filters. Organizations and campaigns are stored
/// once, so a filter takes little memory besides its id and its share of the index. Organizations and campaigns without
/// filters stay in memory until the index is loaded again.
#[derive(Debug)]
pub(super) struct CampaignFilters {
    quarantine: Quarantine,
    index: FilterIndex<FilterKey>,
    organizations: IndexSet<OrganizationId>,
    /// Each with its organization's number.
    campaigns: IndexSet<(u32, CampaignId)>,
    /// The numbers of the campaigns that a job matches. The memory is reused for the next job.
    matched: Vec<u32>,
}

/// A filter's key in the index. The id is unique within the organization; the campaign is not part of the identity.
#[derive(Debug, Clone)]
struct FilterKey {
    organization: u32,
    campaign: u32,
    id: Box<str>,
}

impl PartialEq for FilterKey {
    fn eq(&self, other: &Self) -> bool {
        (self.organization, &self.id) == (other.organization, &other.id)
    }
}

impl Eq for FilterKey {}

impl Hash for FilterKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.organization, &self.id).hash(state);
    }
}

impl CampaignFilters {
    /// An index without filters, with known frequencies. Filters that cannot be read are set aside.
    pub(super) fn new(frequencies: Frequencies, quarantine: Quarantine) -> Self {
        Self {
            quarantine,
            index: FilterIndex::with_frequencies(frequencies),
            organizations: IndexSet::new(),
            campaigns: IndexSet::new(),
            matched: Vec::new(),
        }
    }

    /// The learnt frequencies, for the next index.
    pub(super) fn into_frequencies(self) -> Frequencies {
        self.index.into_frequencies()
    }

    /// The number of filters.
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// Applies changes, which may have been applied before. Returns the revision that they lead to and whether there are
    /// any; `None` if the store has forgotten them.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put).
    pub(super) fn apply(
        &mut self,
        changes: FilterChanges,
        threads: &dyn Threads,
    ) -> Result<Option<(Revision, bool)>, StoreError> {
        let FilterChanges::Known {
            revision,
            put,
            removed,
        } = changes
        else {
            return Ok(None);
        };
        for (organization, id) in &removed {
            self.remove(organization, id);
        }
        self.put(&put, threads)?;
        Ok(Some((revision, !put.is_empty() || !removed.is_empty())))
    }

    /// Adds filters, or replaces those with the same ids.
    ///
    /// # Errors
    /// [`StoreError::Backend`] if the index is full. Some of the filters have been added then, so the index must not be
    /// used before all of them are put successfully.
    pub(super) fn put(&mut self, filters: &[StoredFilter], threads: &dyn Threads) -> Result<(), StoreError> {
        // Replacing a filter would keep its old key, which holds the campaign that the filter may have left.
        for filter in filters {
            self.remove(&filter.organization_id, &filter.id);
        }
        self.add(filters, threads)
    }

    /// Like [`put`](Self::put), for filters that are not in the index.
    pub(super) fn add(&mut self, filters: &[StoredFilter], threads: &dyn Threads) -> Result<(), StoreError> {
        let mut numbered = Vec::with_capacity(filters.len());
        for filter in filters {
            let organization = number(&mut self.organizations, &filter.organization_id)?;
            let campaign = number(&mut self.campaigns, &(organization, filter.campaign_id.clone()))?;
            numbered.push((filter, organization, campaign));
        }
        let compiled = |&(filter, organization, campaign): &(&StoredFilter, u32, u32)| {
            let key = FilterKey {
                organization,
                campaign,
                id: filter.id.as_str().into(),
            };
            Ok((key, filter.compile()?))
        };
        load_filters(&mut self.index, &numbered, compiled, &self.quarantine, threads)
    }

    /// Removes a filter, if it is in the index.
    pub(super) fn remove(&mut self, organization: &OrganizationId, id: &FilterId) {
        let known = self.organizations.get_index_of(organization);
        if let Some(organization) = known.and_then(|number| u32::try_from(number).ok()) {
            self.index.remove(&FilterKey {
                organization,
                campaign: 0,
                id: id.as_str().into(),
            });
        }
    }

    /// Updates the frequencies with a job, for filters that are put later.
    pub(super) fn observe(&mut self, job: &PreparedJob, scratch: &mut MatchScratch) {
        self.index.observe(job, scratch);
    }

    /// The campaigns with at least one filter that matches the job, each once, in ascending order.
    pub(super) fn matched_by(
        &mut self,
        job: &PreparedJob,
        scratch: &mut MatchScratch,
    ) -> Vec<(OrganizationId, CampaignId)> {
        let Self {
            index,
            organizations,
            campaigns,
            matched,
            ..
        } = self;
        matched.clear();
        index.for_each_match(job, scratch, |key| matched.push(key.campaign));
        matched.sort_unstable();
        matched.dedup();
        let named = |number: &u32| {
            let (organization, campaign) = campaigns.get_index(*number as usize)?;
            Some((organizations.get_index(*organization as usize)?, campaign))
        };
        let mut found: Vec<_> = matched.iter().filter_map(named).collect();
        // The numbers depend on the order in which the filters were added.
        found.sort_unstable();
        found
            .into_iter()
            .map(|(organization, campaign)| (organization.clone(), campaign.clone()))
            .collect()
    }
}

/// The number of `value`, which is added if it is new.
fn number<T: Hash + Eq + Clone>(values: &mut IndexSet<T>, value: &T) -> Result<u32, StoreError> {
    let known = values.get_index_of(value);
    let number = known.unwrap_or_else(|| values.insert_full(value.clone()).0);
    u32::try_from(number).map_err(|_| StoreError::Backend(IndexFull.to_string()))
}

#[cfg(test)]
mod tests;
