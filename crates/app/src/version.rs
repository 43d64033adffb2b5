//! What the program was built from and for, as `build.rs` found it.

/// The version and the commit: `bidloop -V`.
pub(crate) const SHORT: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("BIDLOOP_COMMIT"), ")");

/// The same with target, profile and compiler, in one line: `bidloop --version`.
pub(crate) const LONG: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("BIDLOOP_COMMIT"),
    ", ",
    env!("BIDLOOP_TARGET"),
    ", ",
    env!("BIDLOOP_PROFILE"),
    ", ",
    env!("BIDLOOP_RUSTC"),
    ")"
);
