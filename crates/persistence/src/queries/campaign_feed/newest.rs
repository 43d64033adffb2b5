//! The newest lead or match of an organization's campaigns.

use bidloop_domain::model::{CampaignId, JobId, LeadId, OrganizationId};
use bidloop_domain::port::Newest;

use super::super::lists::match_list::matches_of;
use super::super::prelude::*;

/// A campaign's id, served generation and last match's `createdAt`.
type CampaignRow = (Attempt<Col<CampaignId>>, i64, Option<i64>);

/// One indexed look for each campaign.
pub(super) async fn newest(
    conn: &mut Conn,
    organization: &OrganizationId,
    only: Option<&CampaignId>,
) -> Result<Newest, Failure> {
    let mut query = campaigns::table
        .filter(campaigns::organization_id.eq(organization.as_str()))
        .order(campaigns::id)
        .select((campaigns::id, campaigns::generation, campaigns::last_match_at))
        .into_boxed();
    if let Some(only) = only {
        query = query.filter(campaigns::id.eq(only.as_str().to_owned()));
    }
    let rows: Vec<CampaignRow> = query.load(conn).await?;
    let mut known = Vec::with_capacity(rows.len());
    for (Attempt(id), generation, last_at) in rows {
        // The inspection of campaigns reports one that cannot be read.
        if let Ok(Col(id)) = id {
            known.push((id, generation, last_at));
        }
    }
    let mut lead: Option<(i64, CampaignId, LeadId)> = None;
    for (campaign, ..) in &known {
        let found: Option<(i64, Attempt<Col<LeadId>>)> = leads::table
            .filter(leads::organization_id.eq(organization.as_str()))
            .filter(leads::campaign_id.eq(campaign.as_str()))
            .order(leads::created_at.desc())
            .select((leads::created_at, leads::id))
            .first(conn)
            .await
            .optional()?;
        if let Some((at, Attempt(Ok(Col(id))))) = found
            && lead.as_ref().is_none_or(|(newest, ..)| at > *newest)
        {
            lead = Some((at, campaign.clone(), id));
        }
    }
    if let Some((_, campaign, lead)) = lead {
        return Ok(Newest {
            lead: Some((campaign, lead)),
            matched: None,
        });
    }
    let latest = known
        .into_iter()
        .filter_map(|(campaign, generation, last_at)| Some((last_at?, campaign, generation)))
        .max_by_key(|(last_at, ..)| *last_at);
    let Some((_, campaign, generation)) = latest else {
        return Ok(Newest::default());
    };
    let key = (organization.clone(), campaign);
    let job: Option<Attempt<Col<JobId>>> = matches_of(&key, generation)
        .order(matches::seq.desc())
        .select(matches::job_id)
        .first(conn)
        .await
        .optional()?;
    let job = job.and_then(|Attempt(job)| job.ok());
    Ok(Newest {
        lead: None,
        matched: job.map(|Col(job)| (key.1, job)),
    })
}
