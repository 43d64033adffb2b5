//! List leads: a page of the campaign's matches. Tests: `tests/use_case/list_leads.rs`.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::LeadError;
use crate::model::{CampaignId, LeadForm, Links, OrganizationId, lead_document};
use crate::port::{LeadStore, Quarantine, UnreadableRow};

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
    /// How many leads of the page are left out, because they cannot be read (decision D2).
    pub unreadable: usize,
}

impl ListedLeads {
    /// True while `offset + data.len() < total`, where leads that are left out count as listed: paging ends.
    pub fn has_more(&self) -> bool {
        let listed = self.data.len() + self.unreadable;
        self.offset.saturating_add(listed as u64) < self.total
    }
}

/// Lists a campaign's matches (specification, listCampaignLeads).
#[derive(Debug)]
pub struct ListLeads {
    /// Leads.
    pub leads: Arc<dyn LeadStore>,
    /// Addresses of operations and jobs.
    pub links: Links,
    /// Takes jobs that cannot be read.
    pub quarantine: Quarantine,
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
        let mut data = Vec::with_capacity(page.leads.len());
        for lead in &page.leads {
            match lead_document(lead, name, &self.links, LeadForm::Listed) {
                Ok(document) => data.push(document),
                Err(fault) => {
                    let job = lead.lead.job_id.as_str();
                    self.quarantine.set_aside(&UnreadableRow::new("jobs", job, fault));
                }
            }
        }
        Ok(ListedLeads {
            unreadable: page.unreadable + page.leads.len() - data.len(),
            data,
            total: page.total,
            offset,
            limit,
        })
    }
}
