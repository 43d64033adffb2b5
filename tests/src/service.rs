//! A running `bidloop` process: its address, its log, its memory, and the ways in which it ends.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::api::Api;
use crate::document::KEY;
use crate::patience::{eventually, until};

/// How long a start may take on a busy machine.
const START: Duration = Duration::from_secs(20);
/// The program's own limit for a graceful stop, and some.
const STOP: Duration = Duration::from_secs(20);

/// A process of the program. Dropping it kills it, and shows its log if the test is failing.
#[derive(Debug)]
pub struct Service {
    child: Child,
    address: SocketAddr,
    out: Arc<Mutex<String>>,
    log: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl Service {
    /// Starts the process, which is to listen on `address`.
    pub fn start(mut command: Command, address: SocketAddr) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (out, log) = (Arc::default(), Arc::default());
        let readers = vec![
            collect(child.stdout.take().unwrap(), &out),
            collect(child.stderr.take().unwrap(), &log),
        ];
        Self {
            child,
            address,
            out,
            log,
            readers,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A caller with the key that the documents of `document` provision.
    pub fn api(&self) -> Api {
        Api::new(self.address, Some(KEY))
    }

    /// A caller with another key, or none.
    pub fn api_with(&self, key: Option<&str>) -> Api {
        Api::new(self.address, key)
    }

    /// What it has written to standard output.
    pub fn out(&self) -> String {
        self.out.lock().unwrap().clone()
    }

    /// What it has written to standard error.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits until `/readyz` answers 200.
    #[track_caller]
    pub fn wait_until_ready(&mut self) {
        let api = self.api_with(None);
        until("the service is ready", START, || {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("the service ended with {status}:\n{}", self.log());
            }
            api.try_call("GET", "/readyz", &[], b"")
                .is_ok_and(|answer| answer.status == 200)
        });
    }

    /// Waits until it answers HTTP at all.
    #[track_caller]
    pub fn wait_until_it_listens(&self) {
        let api = self.api_with(None);
        until("the service listens", START, || {
            api.try_call("GET", "/healthz", &[], b"").is_ok()
        });
    }

    /// Asks it to stop, and does not wait.
    pub fn ask_to_stop(&self) {
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -TERM {}", self.child.id())])
            .status();
        assert!(sent.unwrap().success(), "SIGTERM cannot be sent");
    }

    /// Interrupts it, as Ctrl-C does, and does not wait.
    pub fn interrupt(&self) {
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -INT {}", self.child.id())])
            .status();
        assert!(sent.unwrap().success(), "SIGINT cannot be sent");
    }

    /// Asks it to stop and waits for its end.
    #[track_caller]
    pub fn stop(mut self) -> ExitStatus {
        self.ask_to_stop();
        self.wait_for_end()
    }

    /// Waits until it has ended by itself.
    #[track_caller]
    pub fn wait_for_end(&mut self) -> ExitStatus {
        let status = eventually("the process ends", STOP, || self.child.try_wait().unwrap());
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        status
    }

    /// Ends it as a power cut would (SIGKILL).
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Memory that it occupies: now, and at the highest, in KiB.
    pub fn memory(&self) -> Memory {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        Memory {
            resident_kib: line("VmRSS:"),
            highest_kib: line("VmHWM:"),
        }
    }

    /// Takes the memory of now for the highest.
    pub fn forget_highest_memory(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").unwrap();
    }

    /// The processor time that its threads have used.
    pub fn cpu(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let of_task = |task: std::io::Result<std::fs::DirEntry>| -> u64 {
            // A thread may have ended meanwhile.
            let stat = std::fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap_or_default();
            stat.split_whitespace()
                .next()
                .map_or(0, |nanos| nanos.parse().unwrap())
        };
        Duration::from_nanos(tasks.map(of_task).sum())
    }

    /// The sockets that it has open.
    pub fn connections(&self) -> usize {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap();
        let is_socket = |file: &std::fs::DirEntry| {
            std::fs::read_link(file.path())
                .is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
        };
        files.filter(|file| file.as_ref().is_ok_and(is_socket)).count()
    }
}

/// Memory of a process in KiB.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// Now.
    pub resident_kib: u64,
    /// Since its start.
    pub highest_kib: u64,
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let from = log.len().saturating_sub(20_000);
            let from = (from..=log.len())
                .find(|at| log.is_char_boundary(*at))
                .unwrap_or(0);
            eprintln!("--- the service's log (its end) ---\n{}", &log[from..]);
        }
    }
}

fn collect(stream: impl Read + Send + 'static, into: &Arc<Mutex<String>>) -> JoinHandle<()> {
    let into = Arc::clone(into);
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while stream.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            into.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
    })
}
