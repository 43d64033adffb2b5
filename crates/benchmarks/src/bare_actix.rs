//! A server that answers every request with fixed JSON and does nothing else, on as many threads as the service has. It
//! runs in a process of its own, so that its CPU can be told from the load generator's.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::{Context, Result};
use clap::Args;

use crate::process::Running;

/// The number of threads that `bidloop serve` has.
const THREADS: usize = 2;

/// A server of fixed answers.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct BareActix {
    /// Bytes of each answer.
    #[arg(long)]
    pub(crate) bytes: usize,
}

impl BareActix {
    /// Prints the address and serves until standard input ends, which it does with the process that started it.
    pub(crate) fn serve(self) -> Result<()> {
        let around = r#"{"data":""}"#.len();
        let filling = "x".repeat(self.bytes.saturating_sub(around));
        let answer = web::Bytes::from(format!(r#"{{"data":"{filling}"}}"#));
        std::thread::spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            std::process::exit(0);
        });
        actix_web::rt::System::new().block_on(async move {
            let server = HttpServer::new(move || {
                let answer = answer.clone();
                // Taking the body as an argument reads it.
                App::new().default_service(web::to(move |_body: web::Bytes| {
                    let answer = answer.clone();
                    async { HttpResponse::Ok().content_type("application/json").body(answer) }
                }))
            })
            .workers(THREADS)
            .bind("127.0.0.1:0")?;
            let address = server.addrs().first().copied().context("no address")?;
            writeln!(std::io::stdout(), "{address}")?;
            Ok(server.run().await?)
        })
    }

    /// Starts a process that serves.
    pub(crate) fn start(self) -> Result<BareActixProcess> {
        let child = Command::new(std::env::current_exe()?)
            .args(["bare-actix", "--bytes", &self.bytes.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut process = Running(child);
        let mut line = String::new();
        let output = process.0.stdout.take().context("no output")?;
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().parse().context("the bare server did not start")?;
        Ok(BareActixProcess { process, address })
    }
}

/// A running bare server, ended when this is dropped.
#[derive(Debug)]
pub(crate) struct BareActixProcess {
    process: Running,
    pub(crate) address: SocketAddr,
}

impl BareActixProcess {
    pub(crate) fn pid(&self) -> u32 {
        self.process.0.id()
    }
}
