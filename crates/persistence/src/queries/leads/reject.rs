//! Rejecting a lead.

use bidloop_domain::model::{Activity, Authorization, Lead, LeadStatus};
use bidloop_domain::port::RejectLead;

use super::super::activities::insert_activity;
use super::super::lists::lead_statuses::show_status;
use super::super::prelude::*;
use super::{Acts, acted_on};

/// Rejects the lead if it is still open.
pub(super) async fn reject(
    conn: &mut Conn,
    authorization: &Authorization,
    lead: &Lead,
    reason: Option<&String>,
    activity: &Activity,
) -> Result<RejectLead, Failure> {
    let lead = match acted_on(conn, authorization, lead, activity.at).await? {
        Acts::NotAuthorized(why) => return Ok(RejectLead::NotAuthorized(why)),
        Acts::LeadUnknown => return Ok(RejectLead::LeadUnknown),
        Acts::On(acted_on) => acted_on.lead,
    };
    if !lead.status.is_open() {
        return Ok(RejectLead::LeadNotNew(lead.status));
    }
    diesel::update(leads::table.find((lead.organization_id.as_str(), lead.id.as_str())))
        .set((
            leads::status.eq(LeadStatus::Rejected.as_str()),
            leads::rejection_reason.eq(reason.cloned().map(Col)),
        ))
        .execute(conn)
        .await?;
    insert_activity(conn, activity).await?;
    show_status(conn, &lead, LeadStatus::Rejected).await?;
    Ok(RejectLead::Rejected)
}
