//! Pages of a long list: what one a million leads from the newest costs beside the first.

use std::time::Instant;

use anyhow::{Result, ensure};

use super::median;
use super::world::{EVERYTHING, World};
use crate::http::{self, Connection};
use crate::report::{Report, Row, progress};

/// Leads that are skipped to reach the far pages.
const FAR: usize = 1_000_000;
const LIMIT: usize = 100;
/// Pages at each end that are asked for in turn.
const PAGES: usize = 10;
/// How often each page is asked for; the median of all counts.
const ROUNDS: usize = 30;

/// Asks for near and far pages in turn, all of whose leads are there already.
pub(super) fn measure(world: &World<'_>, report: &mut Report) -> Result<()> {
    let service = world.installation.serve("api")?;
    let mut connection = Connection::open(service.address)?;
    let ends = |page: usize| [page * LIMIT, FAR + page * LIMIT];
    progress("making leads of the pages");
    for offset in (0..PAGES).flat_map(ends) {
        let page = connection.ask(&http::get(&path(offset)))?.json()?;
        let shown = page["data"].as_array().map_or(0, Vec::len);
        ensure!(shown == LIMIT, "the page at {offset} has {shown} leads");
    }
    let mut milliseconds = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for page in 0..PAGES {
            for (times, offset) in milliseconds.iter_mut().zip(ends(page)) {
                let request = http::get(&path(offset));
                let started = Instant::now();
                let answer = connection.ask(&request)?;
                times.push(started.elapsed().as_secs_f64() * 1000.0);
                ensure!(answer.status == 200, "a page was answered {}", answer.status);
            }
        }
    }
    let [near, far] = milliseconds.map(median);
    report.add(
        Row::new(
            world.name("page at offset 1,000,000 to page at offset 0"),
            far / near,
            "times",
        )
        .at_most(1.5)
        .with("at 0 ms", Some(near))
        .with("at 1,000,000 ms", Some(far)),
    );
    service.stop()
}

fn path(offset: usize) -> String {
    format!("/v1/campaigns/{EVERYTHING}/leads?limit={LIMIT}&offset={offset}")
}
