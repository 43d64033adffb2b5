//! The `bidloop` program.
fn main() {}
