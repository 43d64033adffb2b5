//! Where the pages of a lead are, and what they are about.

use bidloop_domain::model::{CampaignId, JobId, LeadId};
use bidloop_domain::port::StoreError;
use bidloop_domain::use_case::{LeadAddress, LeadPageView};
use serde::Deserialize;

use crate::page::{PageError, campaign_id};
use crate::visit::Visit;

/// Where a lead is found: the path's ids, and the job of a match without a record.
#[derive(Debug, Clone)]
pub(crate) struct LeadPlace {
    pub(crate) campaign: CampaignId,
    pub(crate) address: LeadAddress,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct JobQuery {
    job: String,
}

impl LeadPlace {
    pub(crate) fn of(path: &(String, String), job: &str) -> Result<Self, PageError> {
        let (campaign, lead) = path;
        Ok(Self {
            campaign: campaign_id(campaign)?,
            address: LeadAddress {
                lead: LeadId::parse(lead).map_err(|_| PageError::NotFound)?,
                job: JobId::parse(job).ok(),
            },
        })
    }

    pub(crate) fn of_query(path: &(String, String), query: &JobQuery) -> Result<Self, PageError> {
        Self::of(path, &query.job)
    }

    /// The lead's page.
    pub(crate) fn path(&self) -> String {
        format!("/campaigns/{}/leads/{}", self.campaign, self.address.lead)
    }

    /// The address of the lead's page, or of something below it; it names the job of a match without a record.
    pub(crate) fn address_of(&self, below: &str) -> String {
        let path = format!("{}{below}", self.path());
        match &self.address.job {
            Some(job) => {
                let query = form_urlencoded::Serializer::new(String::new())
                    .append_pair("job", job.as_str())
                    .finish();
                format!("{path}?{query}")
            }
            None => path,
        }
    }

    /// The lead's page after something was done.
    pub(crate) fn after(&self, done: &str) -> String {
        let address = self.address_of("");
        let joint = if address.contains('?') { '&' } else { '?' };
        format!("{address}{joint}done={done}")
    }

    /// The job of a match without a record, for a form.
    pub(crate) fn job(&self) -> Option<String> {
        self.address.job.as_ref().map(ToString::to_string)
    }

    /// What the lead's page shows.
    pub(crate) async fn view(&self, visit: &Visit) -> Result<LeadPageView, PageError> {
        let (show_lead, organization, place) = (
            visit.console.show_lead.clone(),
            visit.organization().clone(),
            self.clone(),
        );
        // Without the job it may search 50,000 matches.
        let view = visit.console.runtime.run(async move {
            show_lead
                .execute(&organization, &place.campaign, &place.address)
                .await
        });
        view.await??.ok_or(PageError::NotFound)
    }

    /// The place with its job, which an action needs to make a match a lead (decision E5).
    pub(crate) async fn located(self, visit: &Visit) -> Result<Self, PageError> {
        let (find, organization) = (visit.console.find_lead.clone(), visit.organization().clone());
        // As in `view`.
        let located = visit.console.runtime.run(async move {
            let found = find.locate(&organization, &self.campaign, &self.address).await?;
            Ok::<_, StoreError>(found.map(|address| Self { address, ..self }))
        });
        located.await??.ok_or(PageError::NotFound)
    }
}
