//! The shape of a piece of work on a connection.

use std::future::Future;

/// An async closure over `A` whose future can be named, so that it can be required to be [`Send`].
///
/// `AsyncFnOnce` alone does not let a bound speak of its future on stable Rust. Nothing implements this by hand.
pub(crate) trait Work<A, R>: AsyncFnOnce(A) -> R + FnOnce(A) -> <Self as Work<A, R>>::Future {
    /// What the closure returns.
    type Future: Future<Output = R>;
}

impl<F, A, R, Running> Work<A, R> for F
where
    F: AsyncFnOnce(A) -> R + FnOnce(A) -> Running,
    Running: Future<Output = R>,
{
    type Future = Running;
}
