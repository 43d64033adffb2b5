//! The measured operations: what is asked over HTTP, and the bare server that answers as many bytes.

use std::sync::Arc;

use anyhow::{Result, ensure};

use super::bare_actix::{BareActix, BareActixProcess};
use super::contest::{Contender, Pace, SERVICE, hold};
use super::footprint;
use super::load::{HttpContender, Requests};
use super::world::{self, LISTED};
use crate::http::{self, Connection};
use crate::program::Service;
use crate::report::{Report, Row};

/// An id of a lead's form, which no lead has.
pub(super) const UNKNOWN_LEAD: &str = "ld_00000000000000000000000000000000";

/// Bytes of the answer to a bid, about.
const ACKNOWLEDGEMENT: usize = 120;

/// One operation as the service is asked for it.
#[derive(Debug)]
struct Operation {
    name: &'static str,
    requests: Requests,
    expected: u16,
    /// What the bare server is asked instead: the same, over and over.
    sample: Vec<u8>,
}

/// The same SQL as each operation's, without the service.
pub(super) struct SameSql<'a> {
    pub(super) list: Box<dyn Contender + 'a>,
    pub(super) look_up: Box<dyn Contender + 'a>,
    pub(super) bid: Box<dyn Contender + 'a>,
}

/// Measures all operations on a service in the role `api` whose world is filled.
pub(super) fn measure(
    database: &str,
    service: &Service,
    database_pid: Option<u32>,
    sql: SameSql<'_>,
    (pace, connections): (Pace, usize),
    report: &mut Report,
) -> Result<()> {
    let bids = world::bids(service)?;
    let bid = bids.first().cloned().unwrap_or_default();
    let list = http::get(&world::page_path(LISTED, 0));
    let look_up = http::post(
        &format!("/v1/campaigns/{LISTED}/leads/{UNKNOWN_LEAD}/reject"),
        "{}",
    );
    let operations = [
        (same("list of 100", list, 200), sql.list),
        (same("point look-ups", look_up, 404), sql.look_up),
        (
            Operation {
                name: "bid",
                requests: Requests::each(bids),
                expected: 200,
                sample: bid,
            },
            sql.bid,
        ),
    ];
    for (operation, sql) in operations {
        let server = bare_server(service, &operation)?;
        let ours = HttpContender {
            name: SERVICE,
            address: service.address,
            requests: Arc::new(operation.requests),
            expected: operation.expected,
            connections,
            pid: service.pid(),
            database_pid,
        };
        let bare = HttpContender {
            name: "bare actix",
            address: server.address,
            requests: Arc::new(Requests::Same(operation.sample)),
            expected: 200,
            connections,
            pid: server.pid(),
            database_pid: None,
        };
        let mut contenders: [Box<dyn Contender + '_>; 3] = [Box::new(ours), sql, Box::new(bare)];
        hold(
            &format!("{}, {database}", operation.name),
            &mut contenders,
            pace,
            report,
        )?;
    }
    if let Some(peak) = footprint::peak(service) {
        report.add(Row::new(
            format!("most memory under load, {database}"),
            peak,
            "MB",
        ));
    }
    Ok(())
}

fn same(name: &'static str, request: Vec<u8>, expected: u16) -> Operation {
    Operation {
        name,
        sample: request.clone(),
        requests: Requests::Same(request),
        expected,
    }
}

/// A bare server whose answers are as long as the service's to this operation.
fn bare_server(service: &Service, operation: &Operation) -> Result<BareActixProcess> {
    let bytes = match &operation.requests {
        Requests::Same(request) => {
            let answer = Connection::open(service.address)?.ask(request)?;
            ensure!(
                answer.status == operation.expected,
                "{} is answered {}",
                operation.name,
                answer.status
            );
            answer.body.len()
        }
        // A request that counts once is not used up for this.
        Requests::Each { .. } => ACKNOWLEDGEMENT,
    };
    BareActix {
        get_bytes: bytes,
        post_bytes: bytes,
    }
    .start()
}
