//! List leads of one status: a page of a campaign's matches whose leads have this status (contract section 7). Tests:
//! `tests/use_case/list_leads_of_status.rs`.

use std::sync::Arc;

use super::LeadError;
use super::list_leads::{LeadArray, ListedLeads};
use crate::model::{CampaignId, LeadForm, LeadStatus, LeadWriter, Links, OrganizationId, PostFields};
use crate::port::{CampaignFeedStore, FeedQuery, Quarantine, UnreadableRow};

/// Lists matches by the status of their leads. A match without a record counts as `new`, and gets none by it.
#[derive(Debug)]
pub struct ListLeadsOfStatus {
    /// Matches.
    pub feed: Arc<dyn CampaignFeedStore>,
    /// Addresses of operations and jobs.
    pub links: Links,
    /// Takes jobs that cannot be read.
    pub quarantine: Quarantine,
}

impl ListLeadsOfStatus {
    /// Up to `limit` leads of the status, starting `offset` such leads after the newest, in the order of List leads. The
    /// total counts those of the status.
    pub async fn execute(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        status: LeadStatus,
        offset: u64,
        limit: u32,
    ) -> Result<ListedLeads, LeadError> {
        let query = FeedQuery {
            status: Some(status),
            offset,
            limit,
        };
        let page = self.feed.feed_page(organization, campaign, &query).await?;
        let page = page.ok_or(LeadError::CampaignUnknown)?;
        let name = Some(page.campaign_name.as_str());
        let writer = LeadWriter::new(organization, campaign, name, &self.links, LeadForm::Listed);
        let mut array = LeadArray::new(writer);
        let mut unreadable = page.unreadable;
        for entry in &page.entries {
            match PostFields::of(&entry.job_json) {
                Ok(post) => array.add((&entry.lead).into(), post),
                Err(fault) => {
                    let job = entry.lead.job_id.as_str();
                    self.quarantine.set_aside(&UnreadableRow::new("jobs", job, fault));
                    unreadable += 1;
                }
            }
        }
        Ok(ListedLeads {
            count: array.len(),
            data: array.finish(),
            total: page.counts.of(status),
            offset,
            limit,
            unreadable,
        })
    }
}
