//! Finding a lead by its id, and locking it.

use bidloop_domain::model::{LeadId, OrganizationId};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::super::Conn;
use crate::columns::can_be_stored_key;
use crate::failure::Failure;
use crate::rows::LeadRow;
use crate::schema::leads;

/// The organization's lead, which nobody else changes until the transaction ends. Of all locks it is taken first.
pub(crate) async fn locked_lead_row(
    conn: &mut Conn,
    organization: &OrganizationId,
    lead: &LeadId,
) -> Result<Option<LeadRow>, Failure> {
    if !can_be_stored_key(lead.as_str()) {
        return Ok(None);
    }
    let lead = leads::table
        .find((organization.as_str(), lead.as_str()))
        .select(LeadRow::as_select());
    Ok(for_update!(lead).first(conn).await.optional()?)
}

/// The lead, whosever it is: for operators' commands.
pub(crate) async fn lead_row_anywhere(conn: &mut Conn, lead: &LeadId) -> Result<Option<LeadRow>, Failure> {
    if !can_be_stored_key(lead.as_str()) {
        return Ok(None);
    }
    let found = leads::table
        .filter(leads::id.eq(lead.as_str()))
        .select(LeadRow::as_select())
        .first(conn)
        .await
        .optional()?;
    Ok(found)
}
