//! `bidloop completions` and `bidloop man`: what shells and manuals know of the command line.

use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Failure, Outcome, output};
use crate::cli::{Cli, CompletionsArgs, ManArgs};

pub(super) fn completions(args: &CompletionsArgs) -> Outcome {
    output::bytes(&script(args.shell))
}

fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bidloop", &mut script);
    script
}

pub(super) fn man(args: &ManArgs) -> Outcome {
    match &args.folder {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command())
                .render(&mut page)
                .map_err(|error| Failure::failed(format!("the page cannot be made: {error}")))?;
            output::bytes(&page)
        }
        Some(folder) => {
            write_pages(folder).map_err(|error| {
                Failure::failed(format!("{}: cannot be written: {error}", folder.display()))
            })?;
            output::line(&format!("The pages are in {}.", folder.display()))
        }
    }
}

/// Writes a page for each command that is shown in the help.
fn write_pages(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Cli::command(), folder)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_shell_has_a_script_that_knows_each_command() {
        for shell in Shell::value_variants() {
            let script = String::from_utf8(script(*shell)).unwrap();
            for command in Cli::command().get_subcommands() {
                assert!(
                    script.contains(command.get_name()),
                    "{shell}: {}",
                    command.get_name()
                );
            }
        }
    }

    #[test]
    fn every_command_has_a_page_under_its_whole_name() {
        let folder = tempfile::tempdir().unwrap();
        write_pages(folder.path()).unwrap();
        for (page, text) in [
            ("bidloop.1", "BIDLOOP_CONFIG"),
            ("bidloop-serve.1", "role"),
            ("bidloop-keys-create.1", "Creates a key and shows it once"),
            ("bidloop-leads-list.1", "newest first"),
        ] {
            let content = std::fs::read_to_string(folder.path().join(page)).unwrap();
            assert!(
                content.starts_with(".ie") && content.contains(".TH"),
                "{page}: {content}"
            );
            assert!(content.contains(text), "{page}: {content}");
        }
    }
}
