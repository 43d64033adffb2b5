//! What an organization's bids take while another organization is hot: its 99th percentile beside the same load spread over
//! other organizations, and beside none.

use anyhow::{Result, anyhow};

use super::contest::{Contender as _, p99_ms};
use super::load::HttpContender;
use super::options::Options;
use crate::report::{Report, Row, median};

/// Measures the bystander in rounds with each of the loads, and alone.
pub(super) fn measure(
    name: &str,
    bystander: &mut HttpContender,
    loads: [&mut HttpContender; 2],
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let [hot, spread] = loads;
    let [mut with_hot, mut with_spread, mut alone] = [const { Vec::new() }; 3];
    for _ in 0..options.rounds {
        with_hot.push(beside(hot, bystander, options)?);
        with_spread.push(beside(spread, bystander, options)?);
        alone.push(p99_ms(bystander.run(options.round())?.latencies_us));
    }
    let [with_hot, with_spread, alone] = [with_hot, with_spread, alone].map(median);
    report.add(
        Row::new(name, with_hot / with_spread, "× p99")
            .at_most(2.0)
            .with("p99 ms beside the hot one", with_hot)
            .with("beside others", with_spread)
            .with("alone", alone),
    );
    Ok(())
}

/// The bystander's 99th percentile under a load, in milliseconds.
fn beside(load: &mut HttpContender, bystander: &mut HttpContender, options: &Options) -> Result<f64> {
    std::thread::scope(|scope| {
        let load = scope.spawn(|| load.run(options.round()));
        let run = bystander.run(options.round());
        load.join().map_err(|_| anyhow!("a thread panicked"))??;
        Ok(p99_ms(run?.latencies_us))
    })
}
