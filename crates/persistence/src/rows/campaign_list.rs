//! Campaigns as owners of lists of matches.

use bidloop_domain::model::{CampaignId, CampaignMode, CampaignState, OrganizationId};
use diesel::prelude::*;

use crate::columns::{read, word};
use crate::failure::Failure;
use crate::schema::{campaigns, matches};

/// The columns of `campaigns` that tell how its list stands and what it does with a new match.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = campaigns)]
pub(crate) struct CampaignListRow {
    organization_id: String,
    id: String,
    mode: String,
    state: String,
    pub(crate) generation: i64,
    pub(crate) match_total: i64,
    pub(crate) last_match_at: Option<i64>,
}

impl CampaignListRow {
    pub(crate) fn organization_id(&self) -> Result<OrganizationId, Failure> {
        let id = &self.organization_id;
        read("campaigns.organization_id", id, OrganizationId::parse(id))
    }

    pub(crate) fn campaign_id(&self) -> Result<CampaignId, Failure> {
        read("campaigns.id", &self.id, CampaignId::parse(&self.id))
    }

    pub(crate) fn mode(&self) -> Result<CampaignMode, Failure> {
        word("campaigns.mode", &self.mode)
    }

    pub(crate) fn state(&self) -> Result<CampaignState, Failure> {
        word("campaigns.state", &self.state)
    }
}

/// The columns of `campaigns` that a backfill goes by.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = campaigns)]
pub(crate) struct CampaignGenerationRow {
    pub(crate) revision: i64,
    pub(crate) matched_revision: i64,
    pub(crate) generation: i64,
    pub(crate) last_generation: i64,
}

/// How a list ends, to be written into its campaign's row.
#[derive(Debug, Clone)]
pub(crate) struct ListEndRow<'a> {
    pub(crate) organization_id: &'a str,
    pub(crate) campaign_id: &'a str,
    pub(crate) match_total: i64,
    pub(crate) last_match_at: Option<i64>,
}

/// A row of `matches`.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = matches)]
pub(crate) struct NewMatchRow<'a> {
    pub(crate) organization_id: &'a str,
    pub(crate) campaign_id: &'a str,
    pub(crate) generation: i64,
    pub(crate) seq: i64,
    pub(crate) job_id: &'a str,
    pub(crate) created_at: i64,
}
