//! A simulated marketplace for the program to watch.

use anyhow::Result;
use bidloop_simulator::{Options, Simulator};
use serde_json::Value;
use tokio::runtime::Runtime;

/// A marketplace on a thread of its own, that stands as long as this does.
#[derive(Debug)]
pub(crate) struct Marketplace {
    simulator: Simulator,
    runtime: Runtime,
}

impl Marketplace {
    /// One without posts.
    pub(crate) fn open() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let simulator = runtime.block_on(Simulator::start("127.0.0.1:0", Options::default()))?;
        Ok(Self { simulator, runtime })
    }

    pub(crate) fn address(&self) -> &str {
        self.simulator.base_url()
    }

    /// Its thread, for what else is to be served.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Puts posts up, all at once.
    pub(crate) fn publish(&self, posts: Vec<Value>) -> Result<()> {
        self.simulator.publish(posts)?;
        Ok(())
    }

    /// Closes it.
    pub(crate) fn close(self) {
        self.runtime.block_on(self.simulator.shutdown());
    }
}
