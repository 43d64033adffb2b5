//! The bare actix server: answers fixed JSON and does nothing else, on as many threads as the service has. It runs
//! in a process of its own, so that its CPU can be told from the load generator's.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::{Context, Result};
use clap::Args;

/// As many as `bidloop serve` has.
const THREADS: usize = 2;

/// A server of fixed answers.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct BareActix {
    /// Bytes of the answer to every GET.
    #[arg(long)]
    pub(super) get_bytes: usize,
    /// Bytes of the answer to every POST, whose body is read.
    #[arg(long)]
    pub(super) post_bytes: usize,
}

impl BareActix {
    /// Prints the address and serves until standard input ends, which it does with the process that started it.
    pub(crate) fn serve(self) -> Result<()> {
        let page = web::Bytes::from(json_of(self.get_bytes));
        let answer = web::Bytes::from(json_of(self.post_bytes));
        actix_web::rt::System::new().block_on(async move {
            let server = HttpServer::new(move || {
                let (page, answer) = (page.clone(), answer.clone());
                let get = move || std::future::ready(json(page.clone()));
                let post = move |_body: web::Bytes| std::future::ready(json(answer.clone()));
                let any = web::resource("/{path:.*}").get(get).post(post);
                App::new().service(any)
            })
            .workers(THREADS)
            .bind("127.0.0.1:0")?;
            let address = server.addrs().first().copied().context("no address")?;
            writeln!(std::io::stdout(), "{address}")?;
            let server = server.run();
            let handle = server.handle();
            std::thread::spawn(move || {
                // What comes is of no interest, nor why it ended.
                let _ = std::io::stdin().read_to_end(&mut Vec::new());
                actix_web::rt::System::new().block_on(handle.stop(false));
            });
            server.await?;
            Ok(())
        })
    }

    /// Starts a process that serves.
    pub(super) fn start(self) -> Result<BareActixProcess> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("bare-actix")
            .args(["--get-bytes", &self.get_bytes.to_string()])
            .args(["--post-bytes", &self.post_bytes.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("no output")?;
        let mut process = BareActixProcess {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
        };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        process.address = line.trim().parse().context("the bare server did not start")?;
        Ok(process)
    }
}

/// A running bare server; dropping it ends it.
#[derive(Debug)]
pub(super) struct BareActixProcess {
    child: Child,
    pub(super) address: SocketAddr,
}

impl BareActixProcess {
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for BareActixProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn json(body: web::Bytes) -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(body)
}

fn json_of(bytes: usize) -> String {
    let around = r#"{"data":""}"#.len();
    format!(r#"{{"data":"{}"}}"#, "x".repeat(bytes.saturating_sub(around)))
}
