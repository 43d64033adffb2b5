//! Memory of a process with a million filters, over one without: each a process of its own.

use std::io::Write as _;
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::index_rows::index_of;
use super::workload::{Filters, Kind};
use crate::report::Row;

/// A process that indexes filters and tells its resident memory in bytes.
#[derive(Debug, clap::Args)]
pub(crate) struct Footprint {
    filters: usize,
}

impl Footprint {
    pub(crate) fn tell(&self) -> anyhow::Result<()> {
        let filters = Filters::new(Kind::Selective, 31, &[]).take(self.filters);
        let index = index_of(filters)?;
        ensure!(index.len() == self.filters, "filters are missing");
        writeln!(std::io::stdout().lock(), "{}", resident()?)?;
        drop(index);
        Ok(())
    }
}

/// Bytes a filter.
pub(super) fn row(filters: u32) -> anyhow::Result<Row> {
    let bytes = (resident_with(filters)? - resident_with(0)?) / f64::from(filters);
    Ok(Row::new("resident memory with 1,000,000 filters", bytes, "bytes a filter").below(250.0))
}

fn resident_with(filters: u32) -> anyhow::Result<f64> {
    let output = Command::new(std::env::current_exe()?)
        .args(["matching-footprint", &filters.to_string()])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    text.trim()
        .parse()
        .with_context(|| format!("the measuring process said {text:?}"))
}

fn resident() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("reading /proc, which Linux has")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .context("no VmRSS in /proc/self/status")?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes * 1024)
}
