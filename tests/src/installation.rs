//! One installation of the program: its folder, its database, its settings, and its commands.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::attachments::Attachments;
use crate::database::{Kind, TestDatabase, variable};
use crate::own_server::OwnServer;
use crate::patience::eventually;
use crate::service::Service;

/// Names the program under test.
const PROGRAM: &str = "BIDLOOP_TEST_PROGRAM";
/// Ports below those that the system hands out by itself, so that a restarted service finds its own free.
const PORTS: std::ops::Range<u16> = 12_000..19_999;
/// No command may take longer.
const COMMAND: Duration = Duration::from_secs(60);

/// What a command did.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The exit status; -1 if a signal ended it.
    pub status: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Finished {
    /// The output, if the exit status is this one; fails the test otherwise.
    #[track_caller]
    pub fn expect(self, status: i32) -> Self {
        assert_eq!(
            self.status, status,
            "standard output:\n{}\nstandard error:\n{}",
            self.out, self.err
        );
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {}", self.out))
    }

    /// Standard output as JSON lines.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        self.out.lines().map(parse).collect()
    }
}

/// The program, set up in a folder of its own.
#[derive(Debug)]
pub struct Installation {
    umask: Option<u32>,
    variables: BTreeMap<String, String>,
    settings: BTreeMap<String, String>,
    address: SocketAddr,
    database: TestDatabase,
    attachments: Attachments,
    folder: TempDir,
}

impl Installation {
    /// An installation on an empty database, whose webhooks may go to this machine.
    pub fn new(kind: Kind) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = TestDatabase::create(kind, folder.path());
        Self::on(database, folder)
    }

    /// An installation on an empty database of this server.
    pub fn on_server(server: &OwnServer) -> Self {
        Self::on(
            TestDatabase::create_on(server.url()),
            tempfile::tempdir().unwrap(),
        )
    }

    fn on(database: TestDatabase, folder: TempDir) -> Self {
        let address = free_address();
        let attachments = Attachments::create(folder.path());
        let mut installation = Self {
            umask: None,
            variables: BTreeMap::new(),
            settings: BTreeMap::new(),
            address,
            database,
            attachments,
            folder,
        };
        let url = installation.database.url();
        installation.set("server.listen", &address.to_string());
        installation.set("database.url", &url);
        if installation.database.pooler().is_some() {
            installation.set("database.prepared_statements", "false");
        }
        installation.use_attachments();
        installation.set("webhooks.allow_insecure_targets", "true");
        installation.set("marketplace.poll_interval_ms", "50");
        installation
    }

    /// Keeps attachments in the bucket, whatever the caller of the tests asks for.
    pub fn keep_attachments_in_bucket(&mut self) {
        self.attachments = Attachments::in_bucket(self.folder.path());
        self.use_attachments();
    }

    fn use_attachments(&mut self) {
        let url = self.attachments.url();
        self.set("attachments.url", &url);
        for (name, value) in self.attachments.variables() {
            self.set_variable(name, &value);
        }
    }

    /// Changes a setting for all that is started from now on.
    pub fn set(&mut self, key: &str, value: &str) {
        self.settings.insert(key.to_owned(), value.to_owned());
    }

    /// Gives this umask to all that is started from now on.
    pub fn set_umask(&mut self, umask: u32) {
        self.umask = Some(umask);
    }

    /// Gives another environment variable to all that is started from now on.
    pub fn set_variable(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// Leaves a setting at its default from now on.
    pub fn unset(&mut self, key: &str) {
        self.settings.remove(key);
    }

    /// What a setting is set to, if it is.
    pub fn setting(&self, key: &str) -> Option<String> {
        self.settings.get(key).cloned()
    }

    /// Its database.
    pub fn database(&self) -> &TestDatabase {
        &self.database
    }

    /// Where its attachments are.
    pub fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    /// Its folder, which is also the commands' working directory.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file into the folder.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).unwrap();
        }
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Runs a command to its end.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Finished {
        self.run_with(arguments, "")
    }

    /// Runs a command to its end that writes its results to `out`.
    #[track_caller]
    pub fn run_into(&self, arguments: &[&str], out: Stdio) -> Finished {
        let mut command = self.command(arguments);
        let finished = command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        Finished {
            status: finished.status.code().unwrap_or(-1),
            out: String::new(),
            err: String::from_utf8(finished.stderr).unwrap(),
        }
    }

    /// Runs a command to its end with this text on standard input.
    #[track_caller]
    pub fn run_with(&self, arguments: &[&str], input: &str) -> Finished {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that reads no input may have ended already.
        let _unread = child.stdin.take().unwrap().write_all(input.as_bytes());
        let mut out = child.stdout.take().unwrap();
        let mut err = child.stderr.take().unwrap();
        let read = |stream: &mut dyn std::io::Read| {
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        };
        let (out, err) = std::thread::scope(|scope| {
            let out = scope.spawn(|| read(&mut out));
            let err = read(&mut err);
            (out.join().unwrap(), err)
        });
        let what = format!("bidloop {} ends", arguments.join(" "));
        let status = eventually(&what, COMMAND, || child.try_wait().unwrap());
        Finished {
            status: status.code().unwrap_or(-1),
            out,
            err,
        }
    }

    /// Applies a provisioning document and answers the report.
    #[track_caller]
    pub fn apply(&self, document: &Value) -> Value {
        self.try_apply(document).expect(0).json()
    }

    /// Applies a provisioning document that may be refused.
    #[track_caller]
    pub fn try_apply(&self, document: &Value) -> Finished {
        let file = self.file("apply.json", document.to_string());
        self.run(&["apply", &file.display().to_string()])
    }

    /// Starts `bidloop serve` and waits until it is ready.
    #[track_caller]
    pub fn serve(&self) -> Service {
        let mut service = self.start(&["serve"]);
        service.wait_until_ready();
        service
    }

    /// Starts a command that goes on, and does not wait.
    pub fn start(&self, arguments: &[&str]) -> Service {
        Service::start(self.command(arguments), self.address)
    }

    /// Starts another process of the API, on an address of its own, and waits until it is ready.
    #[track_caller]
    pub fn serve_api_beside(&mut self) -> Service {
        let address = free_address();
        self.set("server.listen", &address.to_string());
        let mut service = Service::start(self.command(&["serve", "--role", "api"]), address);
        service.wait_until_ready();
        service
    }

    /// Replaces a text in a column by one of the same length, as a damaged disk would. No program must be running.
    #[track_caller]
    pub fn damage(&self, place: (&str, &str), text: &str, damaged: &str) {
        if let TestDatabase::Sqlite(file) = &self.database {
            // A copy has no journal beside it.
            self.run(&["backup", "damaged.db"]).expect(0);
            for journal in ["-wal", "-shm"] {
                let mut name = file.clone().into_os_string();
                name.push(journal);
                let _ = std::fs::remove_file(name);
            }
            std::fs::rename(self.folder().join("damaged.db"), file).unwrap();
        }
        self.database.damage(place, text, damaged);
    }

    /// The Activity record's lines that these arguments choose, newest first.
    #[track_caller]
    pub fn activity(&self, arguments: &[&str]) -> Vec<Value> {
        let mut all = vec!["activity", "--limit", "1000000"];
        all.extend(arguments);
        self.run(&all).expect(0).json_lines()
    }

    /// What `leads show` says.
    #[track_caller]
    pub fn show(&self, lead: &str) -> Value {
        self.run(&["leads", "show", "--lead", lead, "--json"])
            .expect(0)
            .json()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let program = variable(PROGRAM, "the bidloop program's path");
        let mut command = match self.umask {
            None => Command::new(program),
            Some(umask) => {
                let mut shell = Command::new("sh");
                let script = format!("umask {umask:03o}; exec \"$0\" \"$@\"");
                shell.args(["-c", &script, &program]);
                shell
            }
        };
        command.args(arguments).current_dir(self.folder.path());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("BIDLOOP_") || text.starts_with("AWS_") {
                command.env_remove(name);
            }
        }
        command.envs(&self.variables);
        for (key, value) in &self.settings {
            let name = key.replace('.', "__").to_uppercase();
            command.env(format!("BIDLOOP_{name}"), value);
        }
        command
    }
}

/// An address on this machine that nobody listens on.
pub fn free_address() -> SocketAddr {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Processes side by side begin at different places.
    let start = std::process::id().wrapping_mul(97);
    let span = u32::from(PORTS.end - PORTS.start);
    let candidate = || {
        let step = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % span;
        let port = PORTS.start + u16::try_from(step).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        TcpListener::bind(address).ok().map(|_| address)
    };
    eventually("a free port", Duration::from_secs(5), candidate)
}
