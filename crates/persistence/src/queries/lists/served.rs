//! What is remembered of the lists that are served.

use bidloop_domain::model::{JobId, ListedLead};
use diesel::dsl::{auto_type, exists, sql};
use diesel::expression::SqlLiteral;
use diesel::sql_types::Bool;
use quick_cache::sync::Cache;

use super::super::prelude::*;
use super::match_list::{CampaignKey, Gap, matches_of};

/// A campaign's list that is served, as far as its row says.
#[derive(Debug, Clone, Copy, Queryable, Selectable)]
#[diesel(table_name = campaigns)]
pub(crate) struct ServedList {
    pub(crate) generation: i64,
    /// How many matches it has, which is the place of the last one.
    #[diesel(column_name = match_total)]
    pub(crate) total: i64,
    /// The last match's `createdAt`.
    #[diesel(column_name = last_match_at)]
    pub(crate) last_at: Option<i64>,
    #[diesel(embed)]
    pub(crate) gap: Gap,
}

impl ServedList {
    /// The campaign's list. `None` if there is no such campaign.
    pub(crate) async fn of(
        conn: &mut Conn,
        (organization, campaign): &CampaignKey,
    ) -> Result<Option<Self>, Failure> {
        let row = campaigns::table.find((organization.as_str(), campaign.as_str()));
        Ok(row.select(Self::as_select()).first(conn).await.optional()?)
    }
}

/// What a page says of its campaign, and depends on.
#[derive(Debug, Clone)]
pub(crate) struct ServedCampaign {
    pub(crate) name: String,
    pub(crate) list: ServedList,
    /// Whether an account had bid on one of its jobs by other means. Such a lead keeps that proposal's id when it is reopened,
    /// so its match does not say all of it although it says that it is `new`.
    pub(crate) applied_elsewhere: bool,
}

impl ServedCampaign {
    /// `None` if there is no such campaign. A name that cannot be read is an error.
    pub(crate) async fn of(
        conn: &mut Conn,
        quarantine: &Quarantine,
        key: &CampaignKey,
    ) -> Result<Option<Self>, Failure> {
        let (organization, campaign) = key;
        let row: Option<(Attempt<Col<String>>, ServedList, bool)> = campaigns::table
            .find((organization.as_str(), campaign.as_str()))
            .select((
                campaigns::name,
                ServedList::as_select(),
                exists(applied_elsewhere(key)),
            ))
            .first(conn)
            .await
            .optional()?;
        let Some((Attempt(name), list, applied_elsewhere)) = row else {
            return Ok(None);
        };
        let name = name.map_err(|why| {
            let why = format_args!("name: {why}");
            let row = UnreadableRow::of_organization("campaigns", organization, campaign, why);
            quarantine.set_aside(&row);
            Failure::corrupt(row.to_string())
        })?;
        Ok(Some(Self {
            name: name.0,
            list,
            applied_elsewhere,
        }))
    }
}

/// How many campaigns a process remembers.
const CAMPAIGNS: usize = 10_000;
/// How many leads it remembers: some 2 MB.
const LEADS: usize = 50_000;

/// What a process remembers of lists.
pub(crate) struct ServedLists {
    /// Campaigns as they were last read. Whoever uses one asks [whether it is unchanged](if_unchanged).
    campaigns: Cache<CampaignKey, ServedCampaign>,
    /// The leads that are stored with the `createdAt` of their match. Such a lead stays stored as long as there is its
    /// campaign.
    stored: Cache<StoredLead, ()>,
}

/// A lead's id, as the number that is in it, and its `createdAt`.
pub(crate) type StoredLead = ([u8; 16], i64);

impl Default for ServedLists {
    fn default() -> Self {
        Self {
            campaigns: Cache::new(CAMPAIGNS),
            stored: Cache::new(LEADS),
        }
    }
}

impl ServedLists {
    pub(crate) fn of(&self, campaign: &CampaignKey) -> Option<ServedCampaign> {
        self.campaigns.get(campaign)
    }

    pub(crate) fn remember(&self, campaign: &CampaignKey, served: &ServedCampaign) {
        self.campaigns.insert(campaign.clone(), served.clone());
    }

    /// Whether it is known that the lead is stored with the `createdAt` that it has here, its match's.
    pub(crate) fn is_stored(&self, lead: &ListedLead) -> bool {
        stored_lead(lead).is_some_and(|lead| self.stored.get(&lead).is_some())
    }

    /// Notes that these leads are stored. They must be committed.
    pub(crate) fn note_stored(&self, leads: &[StoredLead]) {
        for lead in leads {
            self.stored.insert(*lead, ());
        }
    }
}

/// `None` for an id that was not derived.
pub(crate) fn stored_lead(lead: &ListedLead) -> Option<StoredLead> {
    let mut number = [0; 16];
    hex::decode_to_slice(lead.id.as_str().strip_prefix("ld_")?, &mut number).ok()?;
    Some((number, lead.created_at.as_millis()))
}

/// The campaign's row, if it still says this of its list.
#[auto_type]
pub(crate) fn if_unchanged<'q>(campaign: &'q CampaignKey, list: &ServedList) -> _ {
    let organization_id: &'q str = campaign.0.as_str();
    let campaign_id: &'q str = campaign.1.as_str();
    let (total, generation): (i64, i64) = (list.total, list.generation);
    let (settled, gap): (i64, i64) = (list.gap.settled, list.gap.gap);
    campaigns::table
        .filter(campaigns::organization_id.eq(organization_id))
        .filter(campaigns::id.eq(campaign_id))
        .filter(campaigns::generation.eq(generation))
        .filter(campaigns::match_total.eq(total))
        .filter(campaigns::match_settled.eq(settled))
        .filter(campaigns::match_gap.eq(gap))
}

/// The campaign's bids that the marketplace refused because the account had bid on the job by other means. In the words of
/// the partial index.
#[auto_type]
pub(crate) fn applied_elsewhere<'q>(campaign: &'q CampaignKey) -> _ {
    let organization_id: &'q str = campaign.0.as_str();
    let campaign_id: &'q str = campaign.1.as_str();
    let was_refused: SqlLiteral<Bool> = sql("bids.status = 'failed' AND bids.proposal_id IS NOT NULL");
    bids::table
        .filter(bids::organization_id.eq(organization_id))
        .filter(bids::campaign_id.eq(campaign_id))
        .filter(was_refused)
}

/// When a job became a match of the campaign. `None` if this generation of its matches has no such job.
pub(crate) async fn matched_at(
    conn: &mut Conn,
    campaign: &CampaignKey,
    generation: i64,
    job: &JobId,
) -> Result<Option<i64>, Failure> {
    let found = matches_of(campaign, generation)
        .filter(matches::job_id.eq(job.as_str()))
        .select(matches::created_at);
    Ok(found.first(conn).await.optional()?)
}

#[cfg(test)]
mod tests {
    use bidloop_domain::model::{CampaignId, LeadId, LeadStatus, OrganizationId, Timestamp};

    use super::*;

    #[test]
    fn a_lead_is_known_as_stored_with_the_created_at_of_its_match_alone() {
        let job_id = JobId::parse("177022").unwrap();
        let organization = OrganizationId::parse("org_acme").unwrap();
        let campaign = CampaignId::parse("camp").unwrap();
        let matched = ListedLead {
            id: LeadId::derive(&organization, &campaign, &job_id),
            job_id,
            job_seq: 1,
            created_at: Timestamp::from_millis(5),
            status: LeadStatus::New,
            reason: None,
            proposal_id: None,
        };
        let known = ServedLists::default();
        assert!(!known.is_stored(&matched));
        known.note_stored(&[stored_lead(&matched).unwrap()]);
        assert!(known.is_stored(&matched));
        let matched_again = ListedLead {
            created_at: Timestamp::from_millis(9),
            ..matched
        };
        assert!(!known.is_stored(&matched_again));
    }
}
