//! Tells the program what it was built from and for: `bidloop --version`.

use std::path::Path;
use std::process::Command;

/// Names the commit when there is no repository, as in a container or a source archive.
const COMMIT: &str = "BIDLOOP_BUILD_COMMIT";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={COMMIT}");
    let given = std::env::var_os(COMMIT).filter(|commit| !commit.is_empty());
    let given = given.map(|commit| commit.to_string_lossy().into_owned());
    let commit = given
        .or_else(commit)
        .unwrap_or_else(|| "unknown commit".to_owned());
    let target = variable("TARGET");
    let rustc = output(&variable("RUSTC"), &["--version"]).unwrap_or_else(|| "unknown rustc".to_owned());
    // `rustc 1.95.0 (59807616e 2026-04-14)`
    let rustc: Vec<&str> = rustc.split(' ').take(2).collect();
    println!("cargo::rustc-env=BIDLOOP_COMMIT={commit}");
    println!("cargo::rustc-env=BIDLOOP_TARGET={target}");
    println!("cargo::rustc-env=BIDLOOP_PROFILE={}", profile());
    println!("cargo::rustc-env=BIDLOOP_RUSTC={}", rustc.join(" "));
}

/// The checked-out commit, and a rebuild when another one is checked out; `None` without Git.
fn commit() -> Option<String> {
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"])?;
    // `logs/HEAD` grows with each commit, whatever branch it is on.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = output("git", &["rev-parse", "--git-path", file])
            && Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    Some(commit)
}

/// The profile's own name, which only the path of the output has: `PROFILE` is `release` for each that inherits it.
fn profile() -> String {
    let out = variable("OUT_DIR");
    let folder = Path::new(&out).ancestors().nth(3).and_then(Path::file_name);
    let name = folder.and_then(std::ffi::OsStr::to_str);
    name.map_or_else(|| variable("PROFILE"), str::to_owned)
}

fn variable(name: &str) -> String {
    let value = std::env::var_os(name);
    value.map_or_else(
        || format!("unknown {name}"),
        |value| value.to_string_lossy().into_owned(),
    )
}

/// What a command prints, without the line break at its end; `None` if it fails.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let ran = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(ran.stdout).ok()?;
    (ran.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
