//! A PostgreSQL server of a test's own, which it can stop in the middle of its work. It waits for the disk, as servers do
//! by default.

use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::database::variable;
use crate::installation::free_address;

/// Names the folder of PostgreSQL's programs.
const PROGRAMS: &str = "BIDLOOP_TEST_POSTGRES_BIN";
/// PostgreSQL refuses to run as root, so the user `nobody` runs it instead.
const NOBODY: u32 = 65_534;

/// A running server. Dropping it ends it and removes its files.
#[derive(Debug)]
pub struct OwnServer {
    programs: String,
    folder: TempDir,
    port: u16,
}

impl OwnServer {
    /// Starts a server that holds nothing yet.
    pub fn new() -> Self {
        let programs = variable(PROGRAMS, "the folder of PostgreSQL's programs");
        let folder = tempfile::tempdir().unwrap();
        if folder.path().metadata().unwrap().uid() == 0 {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let server = Self {
            programs,
            folder,
            port: free_address().port(),
        };
        server.run("initdb", "-D data -U bidloop -A trust -E UTF8 --locale=C");
        server.start();
        server
    }

    /// Its superuser's URL.
    pub fn url(&self) -> String {
        format!("postgres://bidloop@127.0.0.1:{}/postgres", self.port)
    }

    /// Stops it as a crash does: its processes end at once, and nothing that is only in memory is written.
    pub fn stop_at_once(&self) {
        self.run("pg_ctl", "-D data -m immediate -w stop");
    }

    /// Starts it again, and waits until it has recovered.
    pub fn start(&self) {
        let folder = self.path().display();
        let options = format!("-c listen_addresses=127.0.0.1 -p {} -k {folder}", self.port);
        let mut start = self.command("pg_ctl");
        start
            .args("-D data -w -t 60 -l log start -o".split(' '))
            .arg(options);
        assert!(start.status().unwrap().success(), "PostgreSQL does not start");
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, program: &str, arguments: &str) {
        let status = self.command(program).args(arguments.split(' ')).status();
        assert!(status.unwrap().success(), "{program} {arguments} failed");
    }

    /// As the folder's owner. Its output is dropped: the server would keep it open.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(Path::new(&self.programs).join(program));
        command
            .current_dir(self.path())
            .env("HOME", self.path())
            .uid(self.path().metadata().unwrap().uid())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

impl Default for OwnServer {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let stop = "-D data -m immediate -w stop".split(' ');
        let _ = self.command("pg_ctl").args(stop).status();
    }
}
