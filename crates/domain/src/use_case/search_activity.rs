//! Search activity: the Activity record as the console shows it (decision C8). Tests:
//! `tests/use_case/search_activity.rs`.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::model::{
    Activity, ActivityId, ActivityPlace, ActivitySearch, CampaignId, FoundActivities, LeadId, OrganizationId,
    Timestamp,
};
use crate::port::{ActivityStore, CampaignFeedStore, StoreError};

/// Entries of a page.
pub const ACTIVITY_PAGE: u32 = 50;
/// The most new entries that are counted.
pub const MAX_NEW_ENTRIES: u32 = 99;
/// The most steps of one search for the newest entries.
const NEWEST_STEPS: usize = 20;
/// Entries of a part of a CSV file.
const CSV_PART: u32 = 500;

/// A part of a CSV file. Lines end as RFC 4180 says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvPart {
    /// Whole lines; empty if this step found nothing.
    pub lines: String,
    /// Where the next part begins; `None` after the last.
    pub below: Option<ActivityPlace>,
}

/// Searches an organization's Activity record.
#[derive(Debug)]
pub struct SearchActivity {
    /// The Activity record.
    pub activities: Arc<dyn ActivityStore>,
    /// Titles of leads.
    pub feed: Arc<dyn CampaignFeedStore>,
}

/// A page of what a search finds.
#[derive(Debug, Clone, PartialEq)]
pub struct ActivityPage {
    /// The entries.
    pub found: FoundActivities,
    /// The titles of their leads, as far as these are stored.
    pub titles: HashMap<LeadId, String>,
}

impl SearchActivity {
    /// A page of what the search finds, newest first, below a place if one is given.
    pub async fn page(
        &self,
        search: &ActivitySearch,
        below: Option<ActivityPlace>,
    ) -> Result<ActivityPage, StoreError> {
        let found = self.activities.search(search, below, ACTIVITY_PAGE).await?;
        let mut leads: Vec<LeadId> = found
            .entries
            .iter()
            .filter_map(|entry| entry.lead_id.clone())
            .collect();
        leads.sort_unstable();
        leads.dedup();
        let titles = self.feed.lead_titles(&search.organization_id, &leads).await?;
        Ok(ActivityPage { found, titles })
    }

    /// Up to `limit` of the newest entries that the search finds. The work is bounded: what is rare and old may be left for a
    /// search below the returned place.
    pub async fn newest(&self, search: &ActivitySearch, limit: u32) -> Result<FoundActivities, StoreError> {
        let mut found = self.activities.search(search, None, limit).await?;
        for _ in 1..NEWEST_STEPS {
            let wanted = limit.saturating_sub(u32::try_from(found.entries.len()).unwrap_or(u32::MAX));
            let (1.., Some(below)) = (wanted, found.below) else {
                break;
            };
            let more = self.activities.search(search, Some(below), wanted).await?;
            found.entries.extend(more.entries);
            found.below = more.below;
        }
        Ok(found)
    }

    /// How many entries that the search finds are newer than a place, up to [`MAX_NEW_ENTRIES`].
    pub async fn newer(&self, search: &ActivitySearch, than: ActivityPlace) -> Result<u64, StoreError> {
        self.activities.newer(search, than, MAX_NEW_ENTRIES).await
    }

    /// One entry of the organization's record.
    pub async fn entry(
        &self,
        organization: &OrganizationId,
        id: ActivityId,
    ) -> Result<Option<Activity>, StoreError> {
        self.activities.find(organization, id).await
    }

    /// The next part of a CSV file of what the search finds, newest first. The first part begins with the names of the
    /// columns. A text that a spreadsheet would take for a formula has an apostrophe in front of it.
    pub async fn csv(
        &self,
        search: &ActivitySearch,
        below: Option<ActivityPlace>,
    ) -> Result<CsvPart, StoreError> {
        let found = self.activities.search(search, below, CSV_PART).await?;
        let mut lines = String::new();
        if below.is_none() {
            lines.push_str(CSV_HEAD);
        }
        for entry in &found.entries {
            write_line(entry, &mut lines);
        }
        Ok(CsvPart {
            lines,
            below: found.below,
        })
    }
}

/// The names of the columns.
const CSV_HEAD: &str =
    "id,at,kind,outcome,actorType,actorId,actorName,campaignId,leadId,httpStatus,dryRun,message,details\r\n";

fn write_line(entry: &Activity, lines: &mut String) {
    let optional = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let cells = [
        entry.id.to_string(),
        written(entry.at),
        entry.kind.as_str().to_owned(),
        entry.outcome.as_str().to_owned(),
        entry.actor.kind.as_str().to_owned(),
        optional(entry.actor.id.as_deref()),
        optional(entry.actor.name.as_deref()),
        optional(entry.campaign_id.as_ref().map(CampaignId::as_str)),
        optional(entry.lead_id.as_ref().map(LeadId::as_str)),
        entry
            .http_status
            .map(|status| status.to_string())
            .unwrap_or_default(),
        entry.dry_run.to_string(),
        entry.message.clone(),
        Value::Object(entry.details.clone()).to_string(),
    ];
    for (number, cell) in cells.iter().enumerate() {
        if number > 0 {
            lines.push(',');
        }
        write_cell(cell, lines);
    }
    lines.push_str("\r\n");
}

/// A moment as RFC 3339, in UTC with milliseconds; outside of its years as UNIX milliseconds.
fn written(at: Timestamp) -> String {
    let nanoseconds = i128::from(at.as_millis()) * 1_000_000;
    OffsetDateTime::from_unix_timestamp_nanos(nanoseconds)
        .ok()
        .and_then(|moment| moment.format(&Rfc3339).ok())
        .unwrap_or_else(|| at.as_millis().to_string())
}

/// What spreadsheets take for the beginning of a formula.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

fn write_cell(cell: &str, line: &mut String) {
    let guard = if cell.starts_with(FORMULA) { "'" } else { "" };
    if cell.contains(['"', ',', '\r', '\n']) {
        // Writing to a string does not fail.
        let _ = write!(line, "\"{guard}{}\"", cell.replace('"', "\"\""));
    } else {
        line.push_str(guard);
        line.push_str(cell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_quoted_where_needed_and_never_a_formula() {
        for (cell, expected) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"\n", "\"say \"\"hi\"\"\n\""),
            ("=1+1", "'=1+1"),
            ("+49", "'+49"),
            ("-1", "'-1"),
            ("@cmd", "'@cmd"),
            ("\t=1", "'\t=1"),
            ("\r=1", "\"'\r=1\""),
            ("=HYPERLINK(\"a\",\"b\")", "\"'=HYPERLINK(\"\"a\"\",\"\"b\"\")\""),
            ("a=b", "a=b"),
        ] {
            let mut line = String::new();
            write_cell(cell, &mut line);
            assert_eq!(line, expected);
        }
    }

    #[test]
    fn moments_are_rfc_3339() {
        assert_eq!(
            written(Timestamp::from_millis(1_790_000_000_123)),
            "2026-09-21T14:13:20.123Z"
        );
        assert_eq!(written(Timestamp::from_millis(i64::MAX)), i64::MAX.to_string());
    }
}
