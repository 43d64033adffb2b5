//! [`UseCaseRuntime`]: where the use cases of requests run.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures::future::poll_immediate;
use futures::{FutureExt as _, TryFutureExt as _};
use tokio::runtime::Handle;
use tokio::task::JoinError;
use tokio_util::context::TokioContext;
use tracing::Instrument as _;

/// Runs use cases: one that only reads on the thread of its request, one that changes something to its end.
#[derive(Debug, Clone)]
pub struct UseCaseRuntime(Handle);

/// Why a use case has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UseCaseFault {
    /// It panicked, with this message.
    Panicked(String),
    /// The runtime stopped.
    Cancelled,
}

impl UseCaseRuntime {
    /// On a multi-thread runtime, to which everything belongs that use cases start.
    pub const fn new(runtime: Handle) -> Self {
        Self(runtime)
    }

    /// On the runtime of the caller, which must be a multi-thread one.
    ///
    /// # Panics
    /// If there is none.
    pub fn current() -> Self {
        Self(Handle::current())
    }

    /// The runtime.
    pub const fn handle(&self) -> &Handle {
        &self.0
    }

    /// Starts a use case on the runtime. Dropping the returned future does not stop it.
    pub fn start<T: Send + 'static>(
        &self,
        use_case: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = Result<T, UseCaseFault>> {
        let started = self.0.spawn(use_case.in_current_span());
        async { Ok(started.await?) }
    }

    /// Runs a use case to its end, even if the connection closes. What it does before it first waits is done on this
    /// thread, the rest on the runtime: a hand-over costs more than a short read.
    pub fn run<T: Send + 'static>(
        &self,
        use_case: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = Result<T, UseCaseFault>> {
        // Boxed here, so that what waits for it neither holds it nor is moved with it.
        let mut use_case = Box::pin(use_case);
        async move {
            match self.read(poll_immediate(&mut use_case)).await? {
                Some(done) => Ok(done),
                None => self.start(use_case).await,
            }
        }
    }

    /// Runs a use case that only reads, on this thread, as the runtime would: its timers, tasks and connections are used, and
    /// a panic is a failed use case. It is dropped if the connection closes.
    pub fn read<T>(
        &self,
        use_case: impl Future<Output = T>,
    ) -> impl Future<Output = Result<T, UseCaseFault>> {
        let here = TokioContext::new(use_case, self.0.clone());
        AssertUnwindSafe(here)
            .catch_unwind()
            .map_err(|panic| UseCaseFault::of_panic(&*panic))
    }
}

impl UseCaseFault {
    fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::Panicked(text.unwrap_or("without a message").to_owned())
    }
}

impl From<JoinError> for UseCaseFault {
    fn from(error: JoinError) -> Self {
        error
            .try_into_panic()
            .map_or(Self::Cancelled, |panic| Self::of_panic(&*panic))
    }
}

impl fmt::Display for UseCaseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(message) => write!(f, "a use case panicked: {message}"),
            Self::Cancelled => f.write_str("a use case was cancelled: the runtime stopped"),
        }
    }
}

impl std::error::Error for UseCaseFault {}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use futures::FutureExt as _;
    use futures::executor::block_on;
    use tokio::runtime::{Builder, Runtime};
    use tokio::sync::oneshot;
    use tokio::time::{sleep, timeout};

    use super::*;

    fn runtime() -> (Runtime, UseCaseRuntime) {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let use_cases = UseCaseRuntime::new(runtime.handle().clone());
        (runtime, use_cases)
    }

    /// A use case that waits for `go` and then says that it ended; and whether it did.
    fn waiting() -> (
        oneshot::Sender<()>,
        impl Future<Output = ()> + Send,
        oneshot::Receiver<()>,
    ) {
        let ((go, gone), (end, ended)) = (oneshot::channel(), oneshot::channel());
        let use_case = async {
            gone.await.unwrap();
            end.send(()).unwrap();
        };
        (go, use_case, ended)
    }

    #[test]
    fn a_command_ends_though_nobody_waits_for_it_and_a_read_does_not() {
        let (runtime, use_cases) = runtime();
        let (go, use_case, ended) = waiting();
        assert_eq!(use_cases.run(use_case).now_or_never(), None);
        go.send(()).unwrap();
        let ended = async { timeout(Duration::from_secs(10), ended).await };
        runtime.block_on(ended).unwrap().unwrap();

        let (go, use_case, ended) = waiting();
        drop(use_cases.start(use_case));
        go.send(()).unwrap();
        let ended = async { timeout(Duration::from_secs(10), ended).await };
        runtime.block_on(ended).unwrap().unwrap();

        let (go, use_case, ended) = waiting();
        assert_eq!(use_cases.read(use_case).now_or_never(), None);
        assert!(go.send(()).is_err() && block_on(ended).is_err());
    }

    #[test]
    fn a_read_stays_on_its_thread_and_a_command_until_it_first_waits() {
        let (_runtime, use_cases) = runtime();
        let threads = || async {
            let before = thread::current().id();
            // Timers and tasks are the runtime's: this thread has none.
            sleep(Duration::from_millis(1)).await;
            tokio::spawn(async {}).await.unwrap();
            (before, thread::current().id())
        };
        let here = thread::current().id();
        assert_eq!(block_on(use_cases.read(threads())), Ok((here, here)));
        let (before, after) = block_on(use_cases.run(threads())).unwrap();
        assert!(before == here && after != here);
        let (before, after) = block_on(use_cases.start(threads())).unwrap();
        assert!(before != here && after != here);
    }

    #[test]
    fn a_panic_is_a_fault_of_its_use_case_alone() {
        let (_runtime, use_cases) = runtime();
        let panics = |waits: bool| async move {
            if waits {
                sleep(Duration::from_millis(1)).await;
            }
            panic!("out of {}", "order");
        };
        let fault = || Err::<(), _>(UseCaseFault::Panicked("out of order".to_owned()));
        for waits in [false, true] {
            assert_eq!(block_on(use_cases.read(panics(waits))), fault());
            assert_eq!(block_on(use_cases.run(panics(waits))), fault());
            assert_eq!(block_on(use_cases.start(panics(waits))), fault());
        }
        assert_eq!(block_on(use_cases.read(async { 1 })), Ok(1));
    }

    #[test]
    fn a_command_is_cancelled_with_the_runtime() {
        let (runtime, use_cases) = runtime();
        let (_go, use_case, _ended) = waiting();
        let started = use_cases.start(use_case);
        runtime.shutdown_background();
        assert_eq!(block_on(started), Err(UseCaseFault::Cancelled));
    }
}
