//! The `bidloop` program: found or built, set up in a folder of its own, started and stopped. What is asked of it
//! over HTTP is elsewhere.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::report::progress;

/// How long the program may take to be ready or to stop.
const PATIENCE: Duration = Duration::from_secs(30);

/// The built program.
#[derive(Debug, Clone)]
pub(super) struct Program(PathBuf);

impl Program {
    /// The one given, else the one beside this executable, which is built if it is not there.
    pub(super) fn find(given: Option<&Path>) -> Result<Self> {
        if let Some(path) = given {
            ensure!(path.is_file(), "there is no program {}", path.display());
            // It is run in other folders.
            return Ok(Self(std::path::absolute(path)?));
        }
        let own = std::env::current_exe()?;
        let beside = own.with_file_name(format!("bidloop{}", std::env::consts::EXE_SUFFIX));
        if !beside.is_file() {
            progress("building the program");
            let built = Command::new("cargo")
                .args(["build", "--release", "-p", "bidloop"])
                .stdout(Stdio::null())
                .status()
                .context("cargo cannot be run")?;
            ensure!(built.success(), "the program cannot be built");
        }
        ensure!(
            beside.is_file(),
            "run this with cargo run --release: {} is not there",
            beside.display()
        );
        Ok(Self(beside))
    }
}

/// The program with settings of its own.
#[derive(Debug)]
pub(super) struct Installation {
    program: Program,
    folder: TempDir,
    address: SocketAddr,
    settings: Vec<(&'static str, String)>,
}

impl Installation {
    /// On this database, or on SQLite in the installation's folder.
    pub(super) fn new(program: &Program, database_url: Option<&str>) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("bidloop-benchmark.").tempdir()?;
        let address = free_address()?;
        let file = |name: &str| folder.path().join(name).display().to_string();
        let sqlite = format!("sqlite://{}", file("bidloop.db"));
        let settings = vec![
            ("BIDLOOP_SERVER__LISTEN", address.to_string()),
            (
                "BIDLOOP_DATABASE__URL",
                database_url.map_or(sqlite, str::to_owned),
            ),
            (
                "BIDLOOP_ATTACHMENTS__URL",
                format!("file:{}", file("attachments")),
            ),
            ("BIDLOOP_MARKETPLACE__POLL_INTERVAL_MS", "200".to_owned()),
        ];
        Ok(Self {
            program: program.clone(),
            folder,
            address,
            settings,
        })
    }

    /// Has services from now on watch this marketplace.
    pub(super) fn watch(&mut self, marketplace: &str) {
        self.settings
            .push(("BIDLOOP_MARKETPLACE__BASE_URL", marketplace.to_owned()));
    }

    /// Has services from now on send webhooks to plain addresses of this machine.
    pub(super) fn send_to_this_machine(&mut self) {
        self.settings
            .push(("BIDLOOP_WEBHOOKS__ALLOW_INSECURE_TARGETS", "true".to_owned()));
    }

    /// SQLite's file.
    pub(super) fn sqlite_file(&self) -> PathBuf {
        self.folder.path().join("bidloop.db")
    }

    /// Provisions what the document describes.
    pub(super) fn apply(&self, document: &Value) -> Result<()> {
        let mut apply = self.command(&["apply", "-"]).stdin(Stdio::piped()).spawn()?;
        if let Some(mut input) = apply.stdin.take() {
            input.write_all(document.to_string().as_bytes())?;
        }
        let applied = apply.wait()?;
        ensure!(applied.success(), "provisioning failed:\n{}", self.log());
        Ok(())
    }

    /// Starts the service with these roles and waits until it is ready.
    pub(super) fn serve(&self, roles: &str) -> Result<Service> {
        let started = Instant::now();
        let child = self.command(&["serve", "--role", roles]).spawn()?;
        let mut service = Service {
            child,
            address: self.address,
            ready_after: Duration::ZERO,
        };
        while !is_ready(self.address) {
            if started.elapsed() > PATIENCE || service.child.try_wait()?.is_some() {
                bail!("the service does not get ready:\n{}", self.log());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        service.ready_after = started.elapsed();
        Ok(service)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program.0);
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.map_or_else(|_| Stdio::null(), Stdio::from));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("BIDLOOP_") || name == "RUST_LOG" {
                command.env_remove(name);
            }
        }
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        command
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

/// A service that is ready. Dropping it ends it at once.
#[derive(Debug)]
pub(super) struct Service {
    child: Child,
    pub(super) address: SocketAddr,
    /// From starting the process to its first 200 on `/readyz`.
    pub(super) ready_after: Duration,
}

impl Service {
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it gracefully.
    pub(super) fn stop(mut self) -> Result<()> {
        let pid = self.pid().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status()?;
        ensure!(told.success(), "the service cannot be told to stop");
        let since = Instant::now();
        while self.child.try_wait()?.is_none() {
            ensure!(since.elapsed() < PATIENCE, "the service does not stop");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address on this machine that nobody listens on.
pub(super) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

fn is_ready(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: bidloop\r\nconnection: close\r\n\r\n")?;
        let mut start = [0; 12];
        stream.read_exact(&mut start)?;
        Ok(start.ends_with(b" 200"))
    };
    ask().unwrap_or(false)
}
