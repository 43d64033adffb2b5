//! List leads: a page of the campaign's matches. Tests: `tests/use_case/list_leads.rs`.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::LeadError;
use crate::model::{CampaignId, LeadForm, LeadWithJob, Links, OrganizationId, lead_document};
use crate::port::{LeadStore, StoreError};

/// The largest page, and the default (specification, Limits).
pub const MAX_PAGE: u32 = 100;

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

/// Lists a campaign's matches (specification, listCampaignLeads).
#[derive(Debug)]
pub struct ListLeads {
    /// Leads.
    pub leads: Arc<dyn LeadStore>,
    /// Addresses of operations and jobs.
    pub links: Links,
}

impl ListLeads {
    /// Up to `limit` leads, starting `offset` leads after the newest. Every listed job becomes a stored lead.
    pub async fn execute(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        offset: u64,
        limit: u32,
    ) -> Result<ListedLeads, LeadError> {
        let page = self.leads.page(organization, campaign, offset, limit).await?;
        let page = page.ok_or(LeadError::CampaignUnknown)?;
        let name = Some(page.campaign_name.as_str());
        let write = |lead: &LeadWithJob| lead_document(lead, name, &self.links, LeadForm::Listed);
        let data: Result<_, _> = page.leads.iter().map(write).collect();
        Ok(ListedLeads {
            data: data.map_err(StoreError::from)?,
            total: page.total,
            offset,
            limit,
        })
    }
}
