//! The `bidloop` program: settings, wiring, workers and commands around the domain's use cases.
//!
//! It is a library, so that it is compiled while the code of its dependencies is still being generated.

mod billing;
mod bucket;
mod cli;
mod commands;
mod console;
mod descriptors;
mod file_modes;
mod measured_marketplace;
mod metrics;
mod password_hasher;
mod service;
mod settings;
mod shutdown;
mod system;
mod telemetry;
mod toml_text;
mod tools;
mod traces;
mod trust_roots;
mod version;
mod work_notifiers;
mod workers;

use std::process::ExitCode;

/// Runs the command that the program's arguments name, and answers its exit status.
pub fn main() -> ExitCode {
    let cli = cli::Cli::of_process();
    file_modes::keep_new_files_private();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match runtime {
        Ok(runtime) => {
            let status = runtime.block_on(commands::run(cli));
            // Work that did not finish during the graceful stop is abandoned; the store has its state.
            runtime.shutdown_background();
            status
        }
        Err(error) => {
            commands::report_start_failure(&error);
            ExitCode::FAILURE
        }
    }
}
