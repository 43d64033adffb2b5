//! `bidloop doctor`: which stored rows cannot be understood, and whether the bucket of attachments can be used.

use bidloop_domain::model::sanitize_for_log;
use bidloop_domain::port::{InspectedUpTo, RowInspector};
use serde_json::json;

use super::{Failure, Outcome, database, output};
use crate::bucket;
use crate::cli::DoctorArgs;
use crate::settings::Settings;
use crate::system::SystemEntropy;

/// Rows that are read at a time.
const AT_ONCE: u32 = 500;

pub(super) async fn run(settings: &Settings, args: &DoctorArgs) -> Outcome {
    let database = database::open_current(settings).await?;
    let (examined, unreadable) = inspect(&*database.row_inspector(), args.json).await?;
    let bucket = try_bucket(settings).await;
    let fault = bucket.as_ref().and_then(|tried| tried.as_ref().err());
    if args.json {
        output::json_line(
            &json!({ "examined": examined, "unreadable": unreadable, "attachmentsFault": fault }),
        )?;
    } else {
        output::line(&format!("{examined} rows examined, {unreadable} unreadable."))?;
        if let Some(Ok(())) = bucket {
            output::line("Attachments: a file was written, read, listed and deleted in the bucket.")?;
        }
    }
    match fault {
        Some(fault) => Err(Failure::failed(format!("attachments.url: {fault}"))),
        None if unreadable > 0 => Err(Failure::Failed(Vec::new())),
        None => Ok(()),
    }
}

/// `None` for a folder, which a service makes when it starts: this command's user may be another.
async fn try_bucket(settings: &Settings) -> Option<Result<(), String>> {
    if !settings.attachments.is_bucket() {
        return None;
    }
    let opened = settings.attachments.clone().open().await;
    Some(match opened {
        Ok(blobs) => bucket::try_out(&*blobs, &SystemEntropy).await,
        Err(error) => Err(error.to_string()),
    })
}

/// Prints each unreadable row when it is found. Returns how many rows were examined, and how many of them are unreadable.
async fn inspect(rows: &dyn RowInspector, as_json: bool) -> Result<(u64, u64), Failure> {
    let (mut examined, mut unreadable) = (0, 0);
    let mut next = Some(InspectedUpTo::default());
    while let Some(from) = next {
        let some = rows.inspect(&from, AT_ONCE).await?;
        examined += some.examined;
        unreadable += some.unreadable.len() as u64;
        for row in &some.unreadable {
            if as_json {
                output::json_line(&json!({ "table": row.table, "id": row.id, "why": row.why }))?;
            } else {
                output::line(&sanitize_for_log(&row.to_string(), usize::MAX))?;
            }
        }
        next = some.next;
    }
    Ok((examined, unreadable))
}
