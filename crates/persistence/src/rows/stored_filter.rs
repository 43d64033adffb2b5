//! Saved filters as they are matched, and their changes.

use bidloop_domain::model::{CampaignId, FilterId, OrganizationId};
use bidloop_domain::port::StoredFilter;
use diesel::prelude::*;

use crate::columns::read;
use crate::failure::Failure;
use crate::schema::{filter_changes, filters};

/// The columns of `filters` without the name.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = filters)]
pub(crate) struct StoredFilterRow {
    organization_id: String,
    campaign_id: String,
    id: String,
    /// As stored: whoever compiles a million of them parses them there.
    body: String,
}

/// A row of `filter_changes`.
#[derive(Debug, Clone, Copy, Insertable)]
#[diesel(table_name = filter_changes)]
pub(crate) struct FilterChangeRow<'a> {
    pub(crate) organization_id: &'a str,
    pub(crate) filter_id: &'a str,
    pub(crate) revision: i64,
}

impl StoredFilterRow {
    pub(crate) fn into_stored_filter(self) -> Result<StoredFilter, Failure> {
        let (organization, campaign) = (&self.organization_id, &self.campaign_id);
        Ok(StoredFilter {
            organization_id: read(
                "filters.organization_id",
                organization,
                OrganizationId::parse(organization),
            )?,
            campaign_id: read("filters.campaign_id", campaign, CampaignId::parse(campaign))?,
            id: read("filters.id", &self.id, FilterId::parse(&self.id))?,
            body: self.body,
        })
    }
}
