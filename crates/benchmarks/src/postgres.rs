//! A PostgreSQL server to measure on: the one that `BIDLOOP_TEST_POSTGRES_URL` names, else a temporary one with
//! PostgreSQL's default settings except for the size of its buffers.

use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::program::free_address;

/// PostgreSQL and PgBouncer refuse to run as root, so the user `nobody` runs them instead.
const NOBODY: u32 = 65_534;

/// A running server.
#[derive(Debug)]
pub(crate) struct PostgresServer {
    url: String,
    /// The folder of PostgreSQL's programs; empty if they are left to the search path.
    programs: PathBuf,
    temporary: Option<Temporary>,
}

/// The files and the first process of a temporary server.
#[derive(Debug)]
struct Temporary {
    folder: TempDir,
    pid: u32,
}

impl PostgresServer {
    /// Uses the server that is named, or starts one.
    pub(crate) fn start() -> Result<Self> {
        let programs = find_programs();
        match variable("BIDLOOP_TEST_POSTGRES_URL") {
            Some(url) => Ok(Self {
                url,
                programs: programs.unwrap_or_default(),
                temporary: None,
            }),
            None => programs
                .context("install PostgreSQL: its programs initdb and pg_ctl are missing")
                .and_then(Self::start_temporary)
                .context("BIDLOOP_TEST_POSTGRES_URL names no server, and none can be started"),
        }
    }

    fn start_temporary(programs: PathBuf) -> Result<Self> {
        let folder = folder("bidloop-postgres.")?;
        let path = folder.path();
        let initdb = "-D data -U bidloop -A trust -E UTF8 --locale=C".split(' ');
        run(in_folder(&programs.join("initdb"), path)?.args(initdb))?;
        let port = free_address()?.port();
        let socket = path.display();
        let options = format!("-c listen_addresses=127.0.0.1 -p {port} -k {socket} -c shared_buffers=256MB");
        // Its output is not captured: the server would keep it open.
        let started = in_folder(&programs.join("pg_ctl"), path)?
            .args("-D data -w -t 60 -l log start -o".split(' '))
            .arg(&options)
            .stdout(Stdio::null())
            .status()?;
        ensure!(started.success(), "PostgreSQL does not start");
        let pid_file = std::fs::read_to_string(path.join("data/postmaster.pid"))?;
        let pid = pid_file.lines().next().unwrap_or_default().trim().parse()?;
        Ok(Self {
            url: format!("postgres://bidloop@127.0.0.1:{port}/postgres"),
            programs,
            temporary: Some(Temporary { folder, pid }),
        })
    }

    /// The server's first process, if it is a temporary server.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.temporary.as_ref().map(|server| server.pid)
    }

    /// Fails unless a commit waits for the disk, as it does with PostgreSQL's default settings.
    pub(crate) fn must_wait_for_the_disk(&self) -> Result<()> {
        for setting in ["fsync", "synchronous_commit"] {
            let value = execute(&self.url, &format!("SHOW {setting}"))?;
            ensure!(value == "on", "the server's setting {setting} is {value}");
        }
        Ok(())
    }

    /// Creates an empty database.
    pub(crate) fn create_database(&self) -> Result<PostgresDatabase<'_>> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bidloop_benchmark_{}_{count}", std::process::id());
        let (server, options) = self.url.split_once('?').unwrap_or((&self.url, ""));
        let (server, _) = server.rsplit_once('/').context("the URL names no database")?;
        let separator = if options.is_empty() { "" } else { "?" };
        execute(&self.url, &format!("CREATE DATABASE {name}"))?;
        Ok(PostgresDatabase {
            server: self,
            url: format!("{server}/{name}{separator}{options}"),
            name,
        })
    }

    /// The program `pgbench`.
    pub(crate) fn pgbench(&self) -> Command {
        Command::new(self.programs.join("pgbench"))
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if let Some(server) = &self.temporary {
            let stop = "-D data -m immediate -w stop".split(' ');
            // Its files are removed with the folder even if it does not stop.
            let _ = in_folder(&self.programs.join("pg_ctl"), server.folder.path())
                .and_then(|mut pg_ctl| run(pg_ctl.args(stop)));
        }
    }
}

/// A database of its own, deleted when this is dropped.
#[derive(Debug)]
pub(crate) struct PostgresDatabase<'s> {
    pub(crate) server: &'s PostgresServer,
    pub(crate) url: String,
    name: String,
}

impl PostgresDatabase<'_> {
    /// Runs statements and returns the last value of the last row's first column, as text; empty if there is none.
    pub(crate) fn execute(&self, statements: &str) -> Result<String> {
        execute(&self.url, statements)
    }
}

impl Drop for PostgresDatabase<'_> {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        // A temporary server is deleted with all its databases.
        let _ = execute(&self.server.url, &drop);
    }
}

/// A transaction that is idle in a session of its own. What it sees must not be removed by anyone.
#[derive(Debug)]
pub(crate) struct HeldSnapshot {
    runtime: Runtime,
    client: Client,
    since: Instant,
}

impl HeldSnapshot {
    /// Of this database, as of now.
    pub(crate) fn of(url: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            tokio::spawn(connection);
            client
                .batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class")
                .await?;
            anyhow::Ok(client)
        })?;
        Ok(Self {
            runtime,
            client,
            since: Instant::now(),
        })
    }

    /// Ends the transaction. Returns how long it lasted.
    pub(crate) fn release(self) -> Result<Duration> {
        let held_for = self.since.elapsed();
        self.runtime.block_on(self.client.batch_execute("COMMIT"))?;
        Ok(held_for)
    }
}

fn execute(url: &str, statements: &str) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        let connection = tokio::spawn(connection);
        let messages = client.simple_query(statements).await?;
        drop(client);
        connection.await??;
        let values = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        Ok(values.last().unwrap_or_default().to_owned())
    })
}

/// The folder of the `initdb` on the search path, else of the highest version in Debian's folder.
fn find_programs() -> Option<PathBuf> {
    let path = variable("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<PathBuf> = versions
        .flatten()
        .map(|version| version.path().join("bin"))
        .collect();
    versions.sort();
    let initdb = std::env::split_paths(&path)
        .chain(versions.into_iter().rev())
        .find_map(|folder| folder.join("initdb").canonicalize().ok())?;
    initdb.parent().map(Path::to_owned)
}

/// A new folder for a server, whose owner is not root.
pub(crate) fn folder(prefix: &str) -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix(prefix).tempdir()?;
    if folder.path().metadata()?.uid() == 0 {
        chown(folder.path(), Some(NOBODY), Some(NOBODY))?;
    }
    Ok(folder)
}

/// A command that runs in the folder, as the folder's owner.
pub(crate) fn in_folder(program: &Path, folder: &Path) -> Result<Command> {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env("HOME", folder)
        .uid(folder.metadata()?.uid());
    Ok(command)
}

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command) -> Result<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("{program} cannot be run"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} failed: {error}");
    Ok(output)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark has no other settings")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
