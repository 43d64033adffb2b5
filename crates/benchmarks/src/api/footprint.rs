//! What the service needs besides CPU: time to start, memory when idle, memory for uploads.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::contest::Contender as _;
use super::fill::LISTED;
use super::load::{HttpContender, Requests};
use crate::http::post;
use crate::process;
use crate::program::{Installation, Program, Service};
use crate::report::{Report, Row, median};

const STARTS: usize = 10;
const ALL_ROLES: &str = "api,watch,dispatch,submit";
/// How long a service is left alone before it counts as idle.
const SETTLED: Duration = Duration::from_secs(3);

const UPLOADS: u16 = 5;
/// The largest file that is allowed.
const UPLOAD_BYTES: usize = 25 * 1_048_576;
const BOUNDARY: &str = "bidloop-benchmark-boundary";

/// The size of the file to install.
pub(super) fn size(program: &Program, report: &mut Report) -> Result<()> {
    report.add(Row::new("the program's file", program.megabytes()?, "MB").at_most(40.0));
    Ok(())
}

/// From starting the process to its first 200 on `/readyz`, in a new folder and again in the same.
pub(super) fn starts(program: &Program, report: &mut Report) -> Result<()> {
    let mut first = Vec::new();
    let mut again = Vec::new();
    for _ in 0..STARTS {
        let installation = Installation::new(program, None)?;
        for times in [&mut first, &mut again] {
            let service = installation.serve(ALL_ROLES)?;
            times.push(service.ready_after.as_secs_f64() * 1000.0);
            service.stop()?;
        }
    }
    for (measure, times) in [
        ("start to ready, SQLite, new database", first),
        ("start to ready, SQLite", again),
    ] {
        let longest = times.iter().copied().reduce(f64::max);
        let row = Row::new(measure, median(times), "ms").at_most(25.0);
        report.add(row.with("longest ms", longest));
    }
    Ok(())
}

/// The memory of an idle service in all roles, and by how much uploads make it grow.
pub(super) fn memory(installation: &Installation, leads: &[String], report: &mut Report) -> Result<()> {
    let service = installation.serve(ALL_ROLES)?;
    std::thread::sleep(SETTLED);
    let Some(idle) = process::resident_megabytes(service.pid()) else {
        let why = "this system does not tell a process's memory";
        report.add(Row::failed("idle, SQLite", why));
        report.add(Row::failed("uploads", why));
        return Ok(());
    };
    report.add(Row::new("idle, SQLite", idle, "MB").at_most(30.0));
    let grown = growth_with_uploads(&service, leads)?;
    let measure = format!("growth with {UPLOADS} uploads of 25 MB at once");
    report.add(Row::new(measure, grown, "MB").below(32.0));
    service.stop()
}

fn growth_with_uploads(service: &Service, leads: &[String]) -> Result<f64> {
    let uploads = leads.iter().take(UPLOADS.into()).map(|lead| upload(lead));
    let mut load = HttpContender {
        name: "uploads",
        address: service.address,
        requests: Requests::each(uploads.collect()),
        expected: 200,
        connections: UPLOADS,
        pid: service.pid(),
        database_pid: None,
    };
    process::forget_peak(service.pid())?;
    let before = process::resident_megabytes(service.pid()).context("the service is gone")?;
    let uploaded = load.run(Duration::from_secs(60))?.latencies_us.len();
    ensure!(uploaded == usize::from(UPLOADS), "{uploaded} files were uploaded");
    let peak = process::peak_megabytes(service.pid()).context("the service is gone")?;
    Ok((peak - before).max(0.0))
}

/// An upload of the largest file. It is text, all of which the service has to read.
fn upload(lead: &str) -> Vec<u8> {
    let line = "Sixty-three letters of plain text, and then the line is at end.\n";
    let text = line.repeat(UPLOAD_BYTES / line.len());
    let body = format!(
        "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"files\"; filename=\"notes.txt\"\r\n\
         content-type: text/plain\r\n\r\n{text}\r\n--{BOUNDARY}--\r\n"
    );
    let path = format!("/v1/campaigns/{LISTED}/leads/{lead}/attachments");
    post(&path, &format!("multipart/form-data; boundary={BOUNDARY}"), &body)
}
