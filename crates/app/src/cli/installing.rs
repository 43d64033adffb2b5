//! Commands for those who install and package the program. They read no settings.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The folder, which is made if it is missing.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write bidloop.1 and a page for each command into this folder.
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}
