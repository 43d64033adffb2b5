//! The lead that a command acts on. A match without a record is made a lead by the command (decision E5).

use bidloop_domain::model::{JobId, Lead, LeadId};

use super::super::lists::match_list::CampaignKey;
use super::super::lists::served::matched_at;
use super::super::prelude::*;
use super::rows::{insert_new_leads, locked_lead, new_lead};

/// A locked lead. A command that refuses after it had the lead must [forget](Self::forget) it.
pub(crate) struct ActedOn {
    pub(crate) lead: Lead,
    /// Whether this transaction made its record.
    is_fresh: bool,
}

impl ActedOn {
    /// `found`, which is locked, or else the campaign's match. `None` if the campaign does not list the job.
    ///
    /// The authorization has been checked: the organization is locked before the campaign.
    pub(crate) async fn of(
        conn: &mut Conn,
        found: Option<Lead>,
        key: &CampaignKey,
        id: &LeadId,
        job: &JobId,
    ) -> Result<Option<Self>, Failure> {
        let (organization, campaign) = key;
        if let Some(lead) = found {
            let is_fresh = false;
            return Ok(Some(Self { lead, is_fresh }).filter(|known| known.lead.campaign_id == *campaign));
        }
        if LeadId::derive(organization, campaign, job) != *id {
            return Ok(None);
        }
        let row = campaigns::table
            .find((organization.as_str(), campaign.as_str()))
            .select(campaigns::generation);
        // Under this lock no match comes or goes.
        let generation: Option<i64> = for_share!(row).first(conn).await.optional()?;
        let Some(generation) = generation else {
            return Ok(None);
        };
        let Some(created_at) = matched_at(conn, key, generation, job).await? else {
            return Ok(None);
        };
        let made = insert_new_leads(conn, &[new_lead(key, job, created_at)]).await?;
        // Another command may have made it since it was looked for, and decided on it.
        let lead = locked_lead(conn, organization, id).await?;
        Ok(lead.map(|lead| Self {
            lead,
            is_fresh: made == 1,
        }))
    }

    /// Removes the record again if this transaction made it.
    pub(crate) async fn forget(&self, conn: &mut Conn) -> Result<(), Failure> {
        if self.is_fresh {
            let key = (self.lead.organization_id.as_str(), self.lead.id.as_str());
            diesel::delete(leads::table.find(key)).execute(conn).await?;
        }
        Ok(())
    }
}
