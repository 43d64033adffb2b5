//! A PostgreSQL server to measure on: the one that `BIDLOOP_TEST_POSTGRES_URL` names, else a throw-away one from the
//! system's programs, with PostgreSQL's own settings but for the size of its buffers.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::program::free_address;

/// PostgreSQL refuses to run as root; the first of these that exists runs it then.
const UNPRIVILEGED: [&str; 3] = ["bidloop-test", "postgres", "nobody"];

/// A running server.
#[derive(Debug)]
pub(super) struct PostgresServer {
    url: String,
    programs: Option<PathBuf>,
    throw_away: Option<ThrowAway>,
}

#[derive(Debug)]
struct ThrowAway {
    folder: TempDir,
    user: Option<User>,
    pid: u32,
}

#[derive(Debug, Clone, Copy)]
struct User {
    uid: u32,
    gid: u32,
}

impl PostgresServer {
    /// Uses the server that is named, or starts one.
    pub(super) fn start() -> Result<Self> {
        if let Some(url) = variable("BIDLOOP_TEST_POSTGRES_URL") {
            return Ok(Self {
                url,
                programs: find_programs(),
                throw_away: None,
            });
        }
        Self::start_throw_away("256MB")
            .context("BIDLOOP_TEST_POSTGRES_URL names no server, and none can be started")
    }

    /// Starts one with shared buffers of this size, whatever is named.
    pub(super) fn start_throw_away(shared_buffers: &str) -> Result<Self> {
        let programs = find_programs()
            .context("PostgreSQL's programs (initdb, pg_ctl) are not there: install PostgreSQL")?;
        let user = unprivileged_user()?;
        let folder = tempfile::Builder::new().prefix("bidloop-postgres.").tempdir()?;
        if let Some(user) = user {
            chown(folder.path(), Some(user.uid), Some(user.gid))?;
        }
        let data = folder.path().join("data").display().to_string();
        let initdb = [
            "-D",
            &data,
            "-U",
            "bidloop",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
        ];
        run(as_user(&programs.join("initdb"), user, folder.path()).args(initdb))?;
        let port = free_address()?.port();
        let options = format!(
            "-c listen_addresses=127.0.0.1 -p {port} -k {} -c shared_buffers={shared_buffers}",
            folder.path().display()
        );
        let log = folder.path().join("log").display().to_string();
        let mut start = as_user(&programs.join("pg_ctl"), user, folder.path());
        // Not with captured output, which the server would keep open.
        let started = start
            .args(["-D", &data, "-w", "-t", "60", "-l", &log, "-o", &options, "start"])
            .stdout(std::process::Stdio::null())
            .status()?;
        ensure!(started.success(), "PostgreSQL does not start");
        let pid_file = std::fs::read_to_string(folder.path().join("data/postmaster.pid"))?;
        let pid = pid_file.lines().next().unwrap_or_default().trim().parse()?;
        Ok(Self {
            url: format!("postgres://bidloop@127.0.0.1:{port}/postgres"),
            programs: Some(programs),
            throw_away: Some(ThrowAway { folder, user, pid }),
        })
    }

    /// The server's first process, if it is this benchmark's own.
    pub(super) fn pid(&self) -> Option<u32> {
        self.throw_away.as_ref().map(|server| server.pid)
    }

    /// Makes an empty database.
    pub(super) fn create_database(&self) -> Result<PostgresDatabase<'_>> {
        let name = format!("bidloop_benchmark_{}", std::process::id());
        let (server, options) = self.url.split_once('?').unwrap_or((&self.url, ""));
        let (server, _) = server.rsplit_once('/').context("the URL names no database")?;
        let separator = if options.is_empty() { "" } else { "?" };
        let database = PostgresDatabase {
            server: self,
            url: format!("{server}/{name}{separator}{options}"),
            name,
        };
        self.sql(&self.url, &format!("CREATE DATABASE {}", database.name))?;
        Ok(database)
    }

    /// One of PostgreSQL's client programs.
    pub(super) fn client(&self, program: &str) -> Command {
        let beside = self.programs.as_ref().map(|folder| folder.join(program));
        Command::new(
            beside
                .filter(|path| path.is_file())
                .unwrap_or_else(|| program.into()),
        )
    }

    fn sql(&self, url: &str, statement: &str) -> Result<String> {
        let output = run(&mut self.psql(url, statement))?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    fn psql(&self, url: &str, statement: &str) -> Command {
        let mut psql = self.client("psql");
        psql.args([
            "-X",
            "-q",
            "-At",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            url,
            "-c",
            statement,
        ]);
        psql
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if let (Some(server), Some(programs)) = (&self.throw_away, &self.programs) {
            let data = server.folder.path().join("data").display().to_string();
            let mut stop = as_user(&programs.join("pg_ctl"), server.user, server.folder.path());
            // Its files go with the folder, whether or not it stopped.
            let _ = run(stop.args(["-D", &data, "-m", "immediate", "-w", "stop"]));
        }
    }
}

/// A database of its own; dropping this drops it.
#[derive(Debug)]
pub(super) struct PostgresDatabase<'s> {
    pub(super) server: &'s PostgresServer,
    pub(super) url: String,
    name: String,
}

impl PostgresDatabase<'_> {
    /// Runs a statement and returns its rows, a line each.
    pub(super) fn sql(&self, statement: &str) -> Result<String> {
        self.server.sql(&self.url, statement)
    }

    /// The client program that runs a statement, to be given its input.
    pub(super) fn psql(&self, statement: &str) -> Command {
        self.server.psql(&self.url, statement)
    }
}

impl Drop for PostgresDatabase<'_> {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        // A throw-away server goes as a whole.
        let _ = self.server.sql(&self.server.url, &drop);
    }
}

/// The folder of the newest installed version's programs.
fn find_programs() -> Option<PathBuf> {
    let path = variable("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        let mut versions: Vec<PathBuf> = versions
            .filter_map(|version| Some(version.ok()?.path()))
            .collect();
        versions.sort();
        folders.extend(versions.into_iter().rev().map(|version| version.join("bin")));
    }
    folders
        .into_iter()
        .find(|folder| folder.join("initdb").is_file() && folder.join("pg_ctl").is_file())
}

/// Whom PostgreSQL runs as; `None` if it may run as whoever runs this.
fn unprivileged_user() -> Result<Option<User>> {
    if id("-u", None)? != 0 {
        return Ok(None);
    }
    for name in UNPRIVILEGED {
        if let (Ok(uid), Ok(gid)) = (id("-u", Some(name)), id("-g", Some(name))) {
            return Ok(Some(User { uid, gid }));
        }
    }
    anyhow::bail!("PostgreSQL refuses to run as root, and there is no unprivileged user")
}

fn id(what: &str, name: Option<&str>) -> Result<u32> {
    let output = run(Command::new("id").arg(what).args(name))?;
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

fn as_user(program: &Path, user: Option<User>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env("HOME", folder);
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
    command
}

/// Runs a command that must succeed.
pub(super) fn run(command: &mut Command) -> Result<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("{program} cannot be run"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} failed: {said}");
    Ok(output)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark has no settings but these")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
