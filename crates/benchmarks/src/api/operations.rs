//! The measured operations, each by three contenders: the service over HTTP, the same SQL without the service, and a
//! bare server that answers as many bytes.

use std::sync::Arc;

use anyhow::{Result, ensure};

use super::contest::{Contender, hold};
use super::fill::{self, LISTED};
use super::load::{HttpContender, Requests};
use super::options::Options;
use super::pgbench::PgbenchContender;
use super::sqlite_loop::LoopContender;
use super::statements::{self, Script, UNKNOWN_LEAD};
use crate::bare_actix::BareActix;
use crate::database::Database;
use crate::http::{get, page_path, post};
use crate::process;
use crate::report::{Report, Row};
use crate::world::World;

/// Bytes of the answer to a bid, approximately.
const ACKNOWLEDGEMENT: usize = 120;

/// An operation of the service.
struct Operation {
    name: &'static str,
    requests: Arc<Requests>,
    expected: u16,
    /// What the bare server is asked every time.
    sample: Vec<u8>,
    answer_bytes: usize,
    sql: Script,
}

/// Measures all operations on a filled database.
pub(super) fn measure(
    world: &World<'_>,
    leads: &[String],
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let database = &world.database;
    let service = world.installation.serve("api")?;
    let mut client = service.client()?;
    let list = get(&page_path(LISTED, 0));
    let path = format!("/v1/campaigns/{LISTED}/leads/{UNKNOWN_LEAD}/reject");
    let look_up = post(&path, "application/json", "{}");
    let bids = fill::bids(&mut client)?;
    let operations = [
        Operation {
            name: "list of 100",
            requests: Requests::same(list.clone()),
            expected: 200,
            answer_bytes: client.ask(&list)?.expect(200)?.len(),
            sample: list,
            sql: statements::list(database, leads)?,
        },
        Operation {
            name: "point look-ups",
            requests: Requests::same(look_up.clone()),
            expected: 404,
            answer_bytes: client.ask(&look_up)?.expect(404)?.len(),
            sample: look_up,
            sql: statements::look_up(database)?,
        },
        Operation {
            name: "bid",
            sample: bids.first().cloned().unwrap_or_default(),
            requests: Requests::each(bids),
            expected: 200,
            answer_bytes: ACKNOWLEDGEMENT,
            sql: statements::bid(database)?,
        },
    ];
    for operation in operations {
        let server = BareActix {
            bytes: operation.answer_bytes,
        }
        .start()?;
        let ours = HttpContender {
            name: "bidloop",
            address: service.address,
            requests: operation.requests,
            expected: operation.expected,
            connections: options.connections,
            pid: service.pid(),
            database_pid: database.server_pid(),
        };
        let bare = HttpContender {
            name: "bare actix",
            address: server.address,
            requests: Requests::same(operation.sample),
            expected: 200,
            pid: server.pid(),
            database_pid: None,
            ..ours
        };
        let sql: Box<dyn Contender> = match database {
            Database::Sqlite(file) => Box::new(LoopContender::new(file, operation.sql)?),
            Database::Postgres(database) => Box::new(PgbenchContender::new(
                database,
                options.connections,
                operation.sql,
            )?),
        };
        let mut contenders: [Box<dyn Contender + '_>; 3] = [Box::new(ours), sql, Box::new(bare)];
        hold(&world.name(operation.name), &mut contenders, options, report)?;
    }
    if let Some(peak) = process::peak_megabytes(service.pid()) {
        report.add(Row::new(world.name("most memory under load"), peak, "MB"));
    }
    let bids = database.number(&statements::bids_by_sql())?;
    ensure!(bids > 0, "the bids by SQL are not there");
    service.stop()
}
