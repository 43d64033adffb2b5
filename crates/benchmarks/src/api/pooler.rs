//! Bids through PgBouncer in transaction mode, beside the same bids without it.

use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::contest::{Contender, Goals, hold};
use super::load::Requests;
use super::operations::{SERVICE, contender};
use super::options::Options;
use crate::postgres::{PostgresDatabase, folder, in_folder};
use crate::process::Running;
use crate::program::{Installation, Program, Service, free_address};
use crate::report::Report;
use crate::waiting::wait_until;
use crate::world::World;

/// Connections to the server: as many as Bidloop would have without a pooler.
const POOL: u32 = 20;

/// Measures bids that are `spread` over organizations, in more rounds than others: two rounds of one contender may differ by as
/// much as the contenders do.
pub(super) fn measure(
    world: &World<'_>,
    database: &PostgresDatabase<'_>,
    spread: &Arc<Requests>,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let pooler = Pooler::before(&database.url)?;
    let program = Program::find(options.program.as_deref())?;
    let mut other = Installation::new(&program, Some(&pooler.url))?;
    other.set("BIDLOOP_DATABASE__PREPARED_STATEMENTS", "false");
    let services = [other.serve("api")?, world.installation.serve("api")?];
    let named = ["through PgBouncer", SERVICE].into_iter().zip(&services);
    let mut contenders: Vec<Box<dyn Contender>> = Vec::new();
    for (name, service) in named {
        let bids = Arc::clone(spread);
        contenders.push(Box::new(contender(
            name,
            world,
            service,
            bids,
            options.connections,
        )));
    }
    let name = world.name("bids of 50 organizations");
    let options = options.with_more_rounds();
    hold(&name, &mut contenders, Goals::throughput(0.8), &options, report)?;
    services.into_iter().try_for_each(Service::stop)
}

/// A running PgBouncer.
struct Pooler {
    /// The database through it.
    url: String,
    _process: Running,
    _folder: TempDir,
}

impl Pooler {
    /// Starts one before the server of this URL.
    fn before(url: &str) -> Result<Self> {
        let (rest, database) = url.rsplit_once('/').context("the URL names no database")?;
        let (user, server) = rest
            .split_once("://")
            .and_then(|(_, authority)| authority.rsplit_once('@'))
            .context("the URL names no user")?;
        let password = user
            .split_once(':')
            .map(|(_, password)| format!(" password={password}"));
        let (user, _) = user.split_once(':').unwrap_or((user, ""));
        let (host, port) = server.rsplit_once(':').unwrap_or((server, "5432"));
        let (database, _) = database.split_once('?').unwrap_or((database, ""));
        let address = free_address()?;
        let settings = format!(
            "[databases]\n* = host={host} port={port} user={user}{}\n\
             [pgbouncer]\nlisten_addr = {}\nlisten_port = {}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n\
             max_client_conn = 200\ndefault_pool_size = {POOL}\n",
            password.unwrap_or_default(),
            address.ip(),
            address.port(),
        );
        let folder = folder("bidloop-pgbouncer.")?;
        std::fs::write(folder.path().join("pgbouncer.ini"), settings)?;
        let installed = Path::new("/usr/sbin/pgbouncer");
        let program = Some(installed).filter(|file| file.is_file());
        let mut pgbouncer = in_folder(program.unwrap_or(Path::new("pgbouncer")), folder.path())?;
        let process = pgbouncer
            .args(["-q", "pgbouncer.ini"])
            .stderr(Stdio::null())
            .spawn();
        let mut process = Running(process.context("install PgBouncer: it cannot be run")?);
        wait_until("PgBouncer listens", Duration::from_millis(5), || {
            ensure!(process.0.try_wait()?.is_none(), "PgBouncer has ended");
            Ok(TcpStream::connect(address).is_ok())
        })?;
        Ok(Self {
            url: format!("postgres://{user}@{address}/{database}"),
            _process: process,
            _folder: folder,
        })
    }
}
