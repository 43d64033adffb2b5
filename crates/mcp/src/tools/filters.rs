//! `test_filter`.

use bidloop_domain::use_case::{LeadError, PreviewedJob};
use serde_json::{Value, json};

use super::Arguments;
use crate::answer::{Answer, fitting};
use crate::tool_error::ToolError;
use crate::{ToolServer, arguments};

/// The most jobs that a test shows.
pub(crate) const MAX_TESTED: u64 = 50;
/// How many it shows unless the call says otherwise.
const SHOWN: u64 = 10;

/// How many stored jobs a filter matches, with the newest of them. Stored jobs are the installation's: every organization
/// may look for them.
pub(super) async fn test(server: &ToolServer, given: Arguments) -> Result<Answer, ToolError> {
    let (filter, limit) = arguments::read(given, |fields| {
        let filter = fields.required("filter", |value| Ok(value.clone()));
        let limit = arguments::whole(fields, "limit", (0, MAX_TESTED), SHOWN);
        Some((filter?, limit?))
    })?;
    let turn = server.filter_tests.turn().await.ok_or(ToolError::Busy)?;
    let shown = usize::try_from(limit).unwrap_or_default();
    let preview = server.try_filter.preview(&filter, shown).await?;
    drop(turn);
    let preview = preview.map_err(|faults| {
        let faults = faults.into_iter().map(|fault| fault.under(&["filter"]));
        LeadError::Malformed(faults.collect())
    })?;
    let ids: Vec<&str> = preview.newest.iter().map(|job| job.post.id.as_str()).collect();
    Ok(Answer::of(json!({
        "jobs": preview.examined,
        "complete": preview.is_complete,
        "matched": preview.matching,
        "ids": ids,
        "newest": fitting(preview.newest.iter().map(job).collect()),
    }))
    .by_strangers("`newest`"))
}

fn job(job: &PreviewedJob) -> Value {
    let mut post = json!({"jobUrl": job.job_url});
    if let (Value::Object(members), Ok(Value::Object(post))) = (&mut post, serde_json::to_value(&job.post)) {
        members.extend(post);
    }
    post
}
