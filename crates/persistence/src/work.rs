//! The shape of a piece of work on a connection.

use std::future::Future;

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
