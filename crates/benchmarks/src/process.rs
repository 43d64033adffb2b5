//! Processes: ended with their owner, and their CPU and memory as Linux counts them. Other systems have no such figures.

use std::fs;
use std::process::Child;

/// Unit of the times in `/proc/<pid>/stat`: `getconf CLK_TCK` is 100 on every Linux that Rust's programs run on.
const TICKS_PER_SECOND: f64 = 100.0;

/// A child process that is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// CPU time, user and system; `None` where it is unknown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cpu {
    pub(crate) server: Option<f64>,
    pub(crate) database: Option<f64>,
}

impl Cpu {
    /// Seconds used so far by a server and by a database server with all its processes.
    pub(crate) fn of(server: Option<u32>, database: Option<u32>) -> Self {
        Self {
            server: server.and_then(stat).map(|stat| stat.own),
            database: database.and_then(cpu_seconds_of_family),
        }
    }

    /// What was used since `before`, divided by `count`.
    pub(crate) fn each_since(self, before: Self, count: f64) -> Self {
        let each = |after: Option<f64>, before: Option<f64>| Some((after? - before?) / count);
        Self {
            server: each(self.server, before.server),
            database: each(self.database, before.database),
        }
    }
}

/// CPU seconds of the calling thread.
pub(crate) fn thread_cpu_seconds() -> Option<f64> {
    stat_in("/proc/thread-self/stat").map(|stat| stat.own)
}

/// CPU seconds of a process and of its children, including those that ended.
fn cpu_seconds_of_family(pid: u32) -> Option<f64> {
    let parent = stat(pid)?;
    let processes = fs::read_dir("/proc").ok()?;
    let children = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let living: f64 = children
        .filter_map(stat)
        .filter(|child| child.parent == pid)
        .map(|child| child.own + child.ended_children)
        .sum();
    Some(parent.own + parent.ended_children + living)
}

/// Resident memory of a process, in megabytes of a million bytes.
pub(crate) fn resident_megabytes(pid: u32) -> Option<f64> {
    status(pid, "VmRSS:")
}

/// The most resident memory of a process since its start or since [`forget_peak`], in megabytes.
pub(crate) fn peak_megabytes(pid: u32) -> Option<f64> {
    status(pid, "VmHWM:")
}

/// Makes the present memory the peak.
pub(crate) fn forget_peak(pid: u32) -> std::io::Result<()> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5")
}

fn status(pid: u32, field: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
}

/// CPU seconds of a process.
struct Stat {
    parent: u32,
    own: f64,
    ended_children: f64,
}

fn stat(pid: u32) -> Option<Stat> {
    stat_in(&format!("/proc/{pid}/stat"))
}

fn stat_in(file: &str) -> Option<Stat> {
    let line = fs::read_to_string(file).ok()?;
    // The program's name stands in parentheses and may contain anything.
    let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<f64>().ok();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        own: (ticks(11)? + ticks(12)?) / TICKS_PER_SECOND,
        ended_children: (ticks(13)? + ticks(14)?) / TICKS_PER_SECOND,
    })
}
