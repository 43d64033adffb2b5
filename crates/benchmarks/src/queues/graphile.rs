//! graphile-worker, a job queue on PostgreSQL, with jobs that do nothing. It keeps no record of what it did.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::worked_off::WorkedOff;
use crate::postgres::{PostgresDatabase, run};
use crate::process::Cpu;
use crate::report::progress;

const PACKAGES: [&str; 2] = ["graphile-worker@0.17.3", "pg@8.16.3"];
const SCRIPT: &str = include_str!("graphile.mjs");

/// What the script prints.
#[derive(Debug, Deserialize)]
struct Printed {
    enqueue: f64,
    work: f64,
    left: u64,
}

/// Adds this many jobs and works them off.
pub(super) fn work_off(database: &PostgresDatabase<'_>, count: usize) -> Result<WorkedOff> {
    let script = install()?;
    let before = Cpu::of(None, database.server.pid());
    let output = run(Command::new("node")
        .arg(&script)
        .args([&database.url, &count.to_string()]))?;
    let cpu = Cpu::of(None, database.server.pid()).each_since(before, count as f64 / 1e6);
    let printed: Printed = serde_json::from_slice(&output.stdout).context("the script prints no figures")?;
    ensure!(printed.left == 0, "{} jobs are left", printed.left);
    Ok(WorkedOff {
        count,
        enqueue: printed.enqueue,
        work: printed.work,
        cpu,
    })
}

/// Installs the packages in the build's folder, if they are not there yet. Returns the script, which stands beside them.
fn install() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let build = program
        .ancestors()
        .nth(2)
        .context("the program is in no folder")?;
    let folder = build.join("graphile-worker");
    std::fs::create_dir_all(&folder)?;
    if !folder.join("node_modules/graphile-worker").is_dir() {
        progress("installing graphile-worker");
        let install = "install --silent --no-save --no-audit --no-fund --prefix".split(' ');
        run(Command::new("npm").args(install).arg(&folder).args(PACKAGES))
            .context("graphile-worker cannot be installed")?;
    }
    let script = folder.join("work_off.mjs");
    std::fs::write(&script, SCRIPT)?;
    Ok(script)
}
