//! The `bidloop` program: found or built, set up in a folder of its own, started and stopped.

use std::fs::File;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::http::Client;
use crate::process::Running;
use crate::report::progress;
use crate::waiting::wait_until;

/// The built program.
#[derive(Debug, Clone)]
pub(crate) struct Program(PathBuf);

impl Program {
    /// The one given, else the one that is installed, built anew if its sources have changed.
    pub(crate) fn find(given: Option<&Path>) -> Result<Self> {
        if let Some(path) = given {
            ensure!(path.is_file(), "there is no program {}", path.display());
            // It is run in other folders.
            return Ok(Self(std::path::absolute(path)?));
        }
        let own = std::env::current_exe()?;
        let folder = own.ancestors().nth(2).context("this executable has no folder")?;
        progress("building the program, which takes minutes if it is not there or has changed");
        let built = Command::new("cargo")
            .args("build --quiet --locked --profile distribution -p bidloop --features otel".split(' '))
            .arg("--target-dir")
            .arg(folder)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdout(Stdio::null())
            .status()
            .context("cargo cannot be run")?;
        ensure!(built.success(), "the program cannot be built");
        Ok(Self(folder.join(format!(
            "distribution/bidloop{}",
            std::env::consts::EXE_SUFFIX
        ))))
    }

    /// The size of the program's file.
    pub(crate) fn megabytes(&self) -> Result<f64> {
        Ok(self.0.metadata()?.len() as f64 / 1e6)
    }
}

/// The program with its own settings, in a folder of its own.
#[derive(Debug)]
pub(crate) struct Installation {
    program: Program,
    folder: TempDir,
    address: SocketAddr,
    settings: Vec<(&'static str, String)>,
}

impl Installation {
    /// On this database, or on SQLite in the installation's folder.
    pub(crate) fn new(program: &Program, database_url: Option<&str>) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("bidloop-benchmark.").tempdir()?;
        let address = free_address()?;
        let file = |name: &str| folder.path().join(name).display().to_string();
        let database = database_url.map_or_else(|| format!("sqlite://{}", file("bidloop.db")), str::to_owned);
        let settings = vec![
            ("BIDLOOP_SERVER__LISTEN", address.to_string()),
            ("BIDLOOP_DATABASE__URL", database),
            (
                "BIDLOOP_ATTACHMENTS__URL",
                format!("file:{}", file("attachments")),
            ),
            ("BIDLOOP_MARKETPLACE__POLL_INTERVAL_MS", "200".to_owned()),
            // The receiver of webhooks is a plain address of this machine.
            ("BIDLOOP_WEBHOOKS__ALLOW_INSECURE_TARGETS", "true".to_owned()),
        ];
        Ok(Self {
            program: program.clone(),
            folder,
            address,
            settings,
        })
    }

    /// Sets the marketplace that services watch from now on.
    pub(crate) fn watch(&mut self, marketplace: &str) {
        self.settings
            .push(("BIDLOOP_MARKETPLACE__BASE_URL", marketplace.to_owned()));
    }

    /// Sets a variable for what is started from now on.
    pub(crate) fn set(&mut self, name: &'static str, value: &str) {
        self.settings.push((name, value.to_owned()));
    }

    /// Starts a command beside the service. Dropping it kills it.
    pub(crate) fn start(&self, arguments: &[&str]) -> Result<Running> {
        Ok(Running(self.command(arguments).spawn()?))
    }

    /// SQLite's file.
    pub(crate) fn sqlite_file(&self) -> PathBuf {
        self.folder.path().join("bidloop.db")
    }

    /// Applies a provisioning document.
    pub(crate) fn apply(&self, document: &Value) -> Result<()> {
        let mut apply = self.command(&["apply", "-"]).stdin(Stdio::piped()).spawn()?;
        if let Some(mut input) = apply.stdin.take() {
            input.write_all(document.to_string().as_bytes())?;
        }
        let applied = apply.wait()?;
        ensure!(applied.success(), "provisioning failed:\n{}", self.log());
        Ok(())
    }

    /// Starts the service with these roles and waits until it is ready.
    pub(crate) fn serve(&self, roles: &str) -> Result<Service> {
        let started = Instant::now();
        let mut service = Service {
            process: Running(self.command(&["serve", "--role", roles]).spawn()?),
            address: self.address,
            ready_after: Duration::ZERO,
        };
        wait_until("the service is ready", Duration::from_millis(1), || {
            ensure!(service.process.0.try_wait()?.is_none(), "the service has ended");
            let ready = service
                .client()
                .and_then(|mut client| client.get("/readyz").map(drop));
            Ok(ready.is_ok())
        })
        .with_context(|| self.log())?;
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
pub(crate) struct Service {
    process: Running,
    pub(crate) address: SocketAddr,
    /// From starting the process to its first 200 on `/readyz`.
    pub(crate) ready_after: Duration,
}

impl Service {
    pub(crate) fn pid(&self) -> u32 {
        self.process.0.id()
    }

    /// A new connection to it.
    pub(crate) fn client(&self) -> Result<Client> {
        Client::open(self.address)
    }

    /// Stops it gracefully.
    pub(crate) fn stop(mut self) -> Result<()> {
        let pid = self.pid().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status()?;
        ensure!(told.success(), "the service cannot be told to stop");
        wait_until("the service stops", Duration::from_millis(5), || {
            Ok(self.process.0.try_wait()?.is_some())
        })
    }
}

/// An address on this machine at which nothing listens.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
