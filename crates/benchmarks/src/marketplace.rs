//! A simulated marketplace for the program to watch.

use anyhow::Result;
use bidloop_simulator::{Options, Simulator};
use serde_json::Value;
use tokio::runtime::Runtime;

/// A marketplace on a thread of its own. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Marketplace {
    simulator: Simulator,
    /// Runs the simulator.
    _runtime: Runtime,
}

impl Marketplace {
    /// A marketplace without posts.
    pub(crate) fn open() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let simulator = runtime.block_on(Simulator::start("127.0.0.1:0", Options::default()))?;
        Ok(Self {
            simulator,
            _runtime: runtime,
        })
    }

    /// Its base URL.
    pub(crate) fn address(&self) -> &str {
        self.simulator.base_url()
    }

    /// Publishes posts, all at once.
    pub(crate) fn publish(&self, posts: Vec<Value>) -> Result<()> {
        self.simulator.publish(posts)?;
        Ok(())
    }
}
