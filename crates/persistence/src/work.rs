//! The shape of a piece of work on a connection.
//!
//! Each piece has a type of its own, and so has its result. What runs work is compiled once, and not for each of the hundreds
//! of pieces: it gets [`Steps`], and the result is [`Kept`] apart.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use bidloop_domain::port::StoreError;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::failure::Failure;

/// Work on a connection that yields `T`: it can be sent to where the connection is, and run again.
///
/// Nothing implements this by hand.
pub(crate) trait Work<Conn, T>:
    for<'c> AsyncWork<&'c mut Conn, Result<T, Failure>, Future: Send> + Clone + Send + 'static
{
}

impl<Conn, T, F> Work<Conn, T> for F where
    F: for<'c> AsyncWork<&'c mut Conn, Result<T, Failure>, Future: Send> + Clone + Send + 'static
{
}

/// An async closure over `A` whose future can be named, so that it can be required to be [`Send`].
///
/// `AsyncFnOnce` alone does not let a bound speak of its future on stable Rust.
pub(crate) trait AsyncWork<A, R>:
    AsyncFnOnce(A) -> R + FnOnce(A) -> <Self as AsyncWork<A, R>>::Future
{
    /// What the closure returns.
    type Future: Future<Output = R>;
}

impl<F, A, R, Running> AsyncWork<A, R> for F
where
    F: AsyncFnOnce(A) -> R + FnOnce(A) -> Running,
    Running: Future<Output = R>,
{
    type Future = Running;
}

/// Work of any type, which can be run again.
pub(crate) type Steps<Conn> =
    Box<dyn for<'c> FnMut(&'c mut Conn) -> BoxFuture<'c, Result<(), Failure>> + Send>;

/// The result of work that succeeded, for the caller who waits for it.
pub(crate) struct Kept<T>(Arc<Mutex<Option<T>>>);

impl<T> Kept<T> {
    fn keep(&self, result: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    /// The result of the last run.
    pub(crate) fn take(self) -> Result<T, StoreError> {
        let result = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.ok_or_else(|| Failure::fault("work on a connection was not run").into())
    }
}

/// Separates work from its result.
pub(crate) fn apart<Conn: Send + 'static, T: Send + 'static>(
    work: impl Work<Conn, T>,
) -> (Steps<Conn>, Kept<T>) {
    let result = Arc::new(Mutex::new(None));
    let kept = Kept(Arc::clone(&result));
    let steps: Steps<Conn> = Box::new(move |conn| {
        let (work, kept) = (work.clone(), Kept(Arc::clone(&result)));
        async move {
            kept.keep(work(conn).await?);
            Ok(())
        }
        .boxed()
    });
    (steps, kept)
}
