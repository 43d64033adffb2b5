//! Starts the program that `lib.rs` holds.

use std::process::ExitCode;

fn main() -> ExitCode {
    bidloop::main()
}
