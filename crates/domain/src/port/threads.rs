//! Threads for work that can be done in parallel.

/// Runs one piece of work on several threads.
pub trait Threads: Send + Sync + std::fmt::Debug {
    /// Calls `work` on this thread and on up to `useful - 1` others at the same time. Returns when all calls have.
    fn run(&self, useful: usize, work: &(dyn Fn() + Sync));
}

/// The calling thread alone.
#[derive(Debug, Clone, Copy)]
pub struct CallingThread;

impl Threads for CallingThread {
    fn run(&self, _: usize, work: &(dyn Fn() + Sync)) {
        work();
    }
}
