//! Matches as a campaign's list shows them.

use diesel::prelude::*;

use crate::schema::matches;

/// Some columns of `matches`.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = matches)]
pub(crate) struct ListedMatchRow {
    pub(crate) job_id: String,
    pub(crate) created_at: i64,
}
