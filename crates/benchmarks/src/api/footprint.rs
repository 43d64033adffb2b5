//! What the service needs besides CPU: time to start, memory when idle, memory for uploads.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::contest::median;
use super::world::LISTED;
use crate::http::{Connection, KEY};
use crate::process;
use crate::program::{Installation, Program, Service};
use crate::report::{Report, Row};

const STARTS: usize = 10;
const ALL_ROLES: &str = "api,watch,dispatch,submit";
/// How long a service is left alone before it counts as idle.
const SETTLED: Duration = Duration::from_secs(3);

const UPLOADS: usize = 5;
const UPLOAD_BYTES: usize = 25 * 1_048_576;
const BOUNDARY: &str = "bidloop-benchmark-boundary";

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
        let middle = median(times).context("no start was measured")?;
        report.add(
            Row::new(measure, middle, "ms")
                .below(300.0)
                .with("longest ms", longest),
        );
    }
    Ok(())
}

/// The memory of a service in all roles, idle, and by how much uploads make it grow.
pub(super) fn memory(installation: &Installation, leads: &[String], report: &mut Report) -> Result<()> {
    let service = installation.serve(ALL_ROLES)?;
    std::thread::sleep(SETTLED);
    let Some(idle) = process::resident_bytes(service.pid()) else {
        let why = "this system does not tell a process's memory";
        report.add(Row::failed("idle, SQLite", why));
        report.add(Row::failed("uploads", why));
        return Ok(());
    };
    report.add(Row::new("idle, SQLite", megabytes(idle), "MB").below(40.0));
    let grown = growth_with_uploads(&service, leads)?;
    let measure = format!("growth with {UPLOADS} uploads of 25 MB at once");
    report.add(Row::new(measure, megabytes(grown), "MB").below(32.0));
    service.stop()
}

/// The most memory that the service holds, as it is told by the system.
pub(super) fn peak(service: &Service) -> Option<f64> {
    process::peak_bytes(service.pid()).map(megabytes)
}

fn growth_with_uploads(service: &Service, leads: &[String]) -> Result<u64> {
    process::forget_peak(service.pid())?;
    let before = process::resident_bytes(service.pid()).context("the service is gone")?;
    ensure!(leads.len() >= UPLOADS, "there are too few leads");
    std::thread::scope(|scope| {
        let uploads: Vec<_> = leads[..UPLOADS]
            .iter()
            .map(|lead| scope.spawn(|| upload(service.address, lead)))
            .collect();
        for upload in uploads {
            upload
                .join()
                .map_err(|_| anyhow::anyhow!("an upload panicked"))??;
        }
        anyhow::Ok(())
    })?;
    let peak = process::peak_bytes(service.pid()).context("the service is gone")?;
    Ok(peak.saturating_sub(before))
}

/// Uploads the largest file that is allowed. It is text, all of which has to be looked at.
fn upload(address: SocketAddr, lead: &str) -> Result<()> {
    let head = format!(
        "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"files\"; filename=\"notes.txt\"\r\n\
         content-type: text/plain\r\n\r\n"
    );
    let tail = format!("\r\n--{BOUNDARY}--\r\n");
    let length = head.len() + UPLOAD_BYTES + tail.len();
    let mut connection = Connection::open(address)?;
    let start = format!(
        "POST /v1/campaigns/{LISTED}/leads/{lead}/attachments HTTP/1.1\r\nhost: bidloop\r\n\
         authorization: Bearer {KEY}\r\ncontent-type: multipart/form-data; boundary={BOUNDARY}\r\n\
         content-length: {length}\r\n\r\n{head}"
    );
    connection.write(start.as_bytes())?;
    let line = "Sixty-three letters of plain text, and then the line is at end.\n";
    let chunk = line.repeat(1024);
    ensure!(
        UPLOAD_BYTES.is_multiple_of(chunk.len()),
        "the chunks do not make a whole file"
    );
    for _ in 0..UPLOAD_BYTES / chunk.len() {
        connection.write(chunk.as_bytes())?;
    }
    connection.write(tail.as_bytes())?;
    let answer = connection.answer()?;
    let said = String::from_utf8_lossy(&answer.body);
    ensure!(
        answer.status == 200,
        "an upload was answered {}: {said}",
        answer.status
    );
    Ok(())
}

/// A million bytes each.
fn megabytes(bytes: u64) -> f64 {
    f64::from(u32::try_from(bytes / 1000).unwrap_or(u32::MAX)) / 1000.0
}
