//! `--color`: whether help, errors of usage, the log and the demo's screen have colours.

use std::ffi::OsString;

use clap::{ColorChoice, CommandFactory as _, FromArgMatches as _, ValueEnum as _};

use super::Cli;

impl Cli {
    /// Parses the process's arguments, and ends the process after help and errors of usage.
    pub(crate) fn of_process() -> Self {
        let asked = asked_color(std::env::args_os());
        let matches = Self::command().color(asked).get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// What `--color` says. Help is printed while the arguments are parsed, so this looks for it before.
fn asked_color(arguments: impl Iterator<Item = OsString>) -> ColorChoice {
    let mut arguments = arguments
        .map(|argument| argument.into_string().unwrap_or_default())
        .take_while(|argument| argument != "--");
    let mut asked = ColorChoice::Auto;
    while let Some(argument) = arguments.next() {
        let word = match argument.strip_prefix("--color") {
            Some("") => arguments.next(),
            Some(rest) => rest.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        if let Some(choice) = word.and_then(|word| ColorChoice::from_str(&word, false).ok()) {
            asked = choice;
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_colour_is_found_wherever_it_stands_among_the_arguments() {
        for (line, asked) in [
            ("bidloop --help", ColorChoice::Auto),
            ("bidloop --color never --help", ColorChoice::Never),
            ("bidloop serve --color=always", ColorChoice::Always),
            ("bidloop --color=sometimes", ColorChoice::Auto),
            ("bidloop --color", ColorChoice::Auto),
            ("bidloop --colors=always", ColorChoice::Auto),
            ("bidloop backup -- --color=always", ColorChoice::Auto),
        ] {
            let arguments = line.split(' ').map(OsString::from);
            assert_eq!(asked_color(arguments), asked, "{line}");
        }
    }
}
