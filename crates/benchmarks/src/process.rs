//! What Linux tells of a process: the CPU it used and the memory it holds. Elsewhere there are no such figures.

use std::fs;

/// Unit of the times in `/proc/<pid>/stat`: `getconf CLK_TCK` is 100 on every Linux that Rust's programs run on.
const TICKS_PER_SECOND: f64 = 100.0;

struct Stat {
    parent: u32,
    own: f64,
    ended_children: f64,
}

/// CPU seconds, user and system, that a process used so far.
pub(super) fn cpu_seconds(pid: u32) -> Option<f64> {
    Some(stat(pid)?.own)
}

/// CPU seconds of a process and of its children, those that ended included.
pub(super) fn cpu_seconds_of_family(pid: u32) -> Option<f64> {
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

/// Bytes of memory that the process holds now.
pub(super) fn resident_bytes(pid: u32) -> Option<u64> {
    status(pid, "VmRSS:")
}

/// The most bytes that the process held since its start or since [`forget_peak`].
pub(super) fn peak_bytes(pid: u32) -> Option<u64> {
    status(pid, "VmHWM:")
}

/// Makes the present memory the peak.
pub(super) fn forget_peak(pid: u32) -> std::io::Result<()> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5")
}

fn status(pid: u32, field: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

fn stat(pid: u32) -> Option<Stat> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name stands in parentheses and may hold anything.
    let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<f64>().ok();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        own: (ticks(11)? + ticks(12)?) / TICKS_PER_SECOND,
        ended_children: (ticks(13)? + ticks(14)?) / TICKS_PER_SECOND,
    })
}
