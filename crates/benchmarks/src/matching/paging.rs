//! Pages of a long list: the time of a page at offset 1,000,000 beside that of one at offset 0.

use std::time::Instant;

use anyhow::{Result, ensure};

use super::fill::EVERYTHING;
use crate::http::{PAGE, get, page_path};
use crate::report::{Report, Row, median, progress};
use crate::world::World;

/// Leads that are skipped to reach the far pages.
const FAR: usize = 1_000_000;
/// Pages at each end that are asked for in turn.
const PAGES: usize = 10;
/// How often each page is asked for; the median of all counts.
const ROUNDS: usize = 30;

/// Asks for near and far pages in turn, after each has been listed once, which creates its leads.
pub(super) fn measure(world: &World<'_>, report: &mut Report) -> Result<()> {
    let service = world.installation.serve("api")?;
    let mut client = service.client()?;
    let ends = |page: usize| [page * PAGE, FAR + page * PAGE];
    progress("creating the leads of the pages");
    for offset in (0..PAGES).flat_map(ends) {
        let shown = client.leads(EVERYTHING, offset)?.len();
        ensure!(shown == PAGE, "the page at {offset} has {shown} leads");
    }
    let mut milliseconds = [Vec::new(), Vec::new()];
    for page in (0..ROUNDS).flat_map(|_| 0..PAGES) {
        for (times, offset) in milliseconds.iter_mut().zip(ends(page)) {
            let request = get(&page_path(EVERYTHING, offset));
            let started = Instant::now();
            client.ask(&request)?.expect(200)?;
            times.push(started.elapsed().as_secs_f64() * 1000.0);
        }
    }
    let [near, far] = milliseconds.map(median);
    let name = world.name("page at offset 1,000,000 to page at offset 0");
    report.add(
        Row::new(name, far / near, "times")
            .at_most(1.5)
            .with("at 0 ms", near)
            .with("at 1,000,000 ms", far),
    );
    service.stop()
}
