//! List leads: a page of the campaign's matches.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::Caller;
use crate::model::{CampaignId, CorruptJob, LeadForm, LeadWithJob, Links, lead_document};
use crate::port::{LeadStore, StoreError};

/// The largest page, and the default (specification, Limits).
pub const MAX_PAGE: u32 = 100;

/// The largest offset that is used; beyond any list.
const MAX_OFFSET: u64 = i64::MAX as u64;

/// Which page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    offset: u64,
    limit: u32,
}

impl PageRequest {
    /// From the query's texts as they came (decision A4): below the minimum raised to it, above the maximum
    /// lowered to it, no integer replaced by the default.
    ///
    /// ```
    /// use bidloop_domain::use_case::PageRequest;
    ///
    /// let page = PageRequest::from_query(Some("-3"), Some("1000"));
    /// assert_eq!((page.offset(), page.limit()), (0, 100));
    /// let page = PageRequest::from_query(Some("seven"), Some("0"));
    /// assert_eq!((page.offset(), page.limit()), (0, 1));
    /// ```
    pub fn from_query(offset: Option<&str>, limit: Option<&str>) -> Self {
        let offset = offset
            .and_then(integer)
            .map_or(0, |n| n.clamp(0, i128::from(MAX_OFFSET)));
        let limit = limit
            .and_then(integer)
            .map_or(i128::from(MAX_PAGE), |n| n.clamp(1, i128::from(MAX_PAGE)));
        Self {
            offset: u64::try_from(offset).unwrap_or(0),
            limit: u32::try_from(limit).unwrap_or(MAX_PAGE),
        }
    }

    /// Leads to skip.
    pub const fn offset(self) -> u64 {
        self.offset
    }

    /// Leads to return at most.
    pub const fn limit(self) -> u32 {
        self.limit
    }
}

/// An integer of any length; beyond `i128` it saturates.
fn integer(text: &str) -> Option<i128> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let bound = if text.starts_with('-') {
        i128::MIN
    } else {
        i128::MAX
    };
    Some(text.parse().unwrap_or(bound))
}

/// A page, its leads written as JSON.
#[derive(Debug)]
pub struct ListedLeads {
    /// Lead objects, newest first.
    pub data: Vec<Box<RawValue>>,
    /// Matches across all pages.
    pub total: u64,
    /// The offset used.
    pub offset: u64,
    /// The limit used.
    pub limit: u32,
}

impl ListedLeads {
    /// True while `offset + data.len() < total`.
    pub fn has_more(&self) -> bool {
        self.offset.saturating_add(self.data.len() as u64) < self.total
    }
}

/// Why no page was returned.
#[derive(Debug, thiserror::Error)]
pub enum ListLeadsError {
    /// The organization has no such campaign.
    #[error("campaign not found")]
    CampaignUnknown,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CorruptJob> for ListLeadsError {
    fn from(error: CorruptJob) -> Self {
        Self::Store(StoreError::Corrupt(error.to_string()))
    }
}

/// Lists a campaign's matches (specification, listCampaignLeads).
#[derive(Debug)]
pub struct ListLeads {
    leads: Arc<dyn LeadStore>,
    links: Links,
}

impl ListLeads {
    /// Over a store.
    pub fn new(leads: Arc<dyn LeadStore>, links: Links) -> Self {
        Self { leads, links }
    }

    /// The page. Every job on it is from then on a stored lead.
    pub async fn execute(
        &self,
        caller: &Caller,
        campaign: &CampaignId,
        page: PageRequest,
    ) -> Result<ListedLeads, ListLeadsError> {
        let found = self
            .leads
            .page(&caller.organization_id, campaign, page.offset, page.limit)
            .await?
            .ok_or(ListLeadsError::CampaignUnknown)?;
        let name = Some(found.campaign_name.as_str());
        let write = |lead: &LeadWithJob| {
            lead_document(&lead.lead, name, &lead.job_json, &self.links, LeadForm::Listed)
        };
        let data = found.leads.iter().map(write).collect::<Result<_, _>>()?;
        Ok(ListedLeads {
            data,
            total: found.total,
            offset: page.offset,
            limit: page.limit,
        })
    }
}
