//! `bidloop simulate`.

use bidloop_simulator::{Options, PostSource, Publishing, Simulator};

use serde_json::json;

use super::{Failure, Outcome, output};
use crate::cli::SimulateArgs;
use crate::shutdown;

pub(super) async fn run(args: &SimulateArgs) -> Outcome {
    if args.rate.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
        return Err(Failure::usage("--rate: must be above 0 jobs per second"));
    }
    let source = match &args.jobs {
        Some(file) => Some(PostSource::from_file(file).map_err(|error| Failure::failed(error.to_string()))?),
        None => args.rate.map(|_| PostSource::Generated {
            seed: args.seed,
            backlog: 0,
        }),
    };
    let publishing = source.map(|source| Publishing {
        source,
        rate: args.rate,
        fresh_times: false,
    });
    let options = Options {
        publishing,
        ..Options::default()
    };
    let simulator = Simulator::start(args.listen, options)
        .await
        .map_err(|error| Failure::failed(format!("--listen {}: {error}", args.listen)))?;
    for token in &args.accounts {
        simulator
            .put_account(token, json!({"connectsBalance": 1_000, "profileHourlyRate": 60}))
            .map_err(|error| Failure::failed(format!("--account: {error}")))?;
    }
    output::line(&format!(
        "The marketplace simulator listens on {}.",
        simulator.base_url()
    ))?;
    output::line(&format!(
        "Its bidder accounts have these tokens: {}. PUT /sim/accounts/TOKEN makes others.",
        args.accounts.join(", ")
    ))?;
    shutdown::requested().await;
    simulator.shutdown().await;
    Ok(())
}
