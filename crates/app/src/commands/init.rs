//! `bidloop init`: example settings, an example provisioning file and a receiver, which work against `bidloop simulate`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use bidloop_domain::port::Entropy;

use super::{Failure, Outcome, output};
use crate::cli::InitArgs;
use crate::system::SystemEntropy;

const SETTINGS: &str = include_str!("../../package/examples/bidloop.toml");
const PROVISIONING: &str = include_str!("../../package/examples/provisioning.json");
/// The guide's own, so that the program alone is enough to begin.
const RECEIVER: &str = include_str!("../../../../docs/guides/receiver.py");
/// Stands in the example for a password that each folder has its own of.
const PASSWORD: &str = "replace-this-password";

const NEXT: &str = "  \
  bidloop simulate --rate 5         # a marketplace to try with, in a terminal of its own
  bidloop apply provisioning.json   # prints the API key and the webhook's secret, this once
  bidloop serve                     # the service, in a second terminal; its console is at http://127.0.0.1:8080

Sign in to the console as you@acme.example with the password in provisioning.json.
Webhooks go to http://127.0.0.1:9000/, where a program of yours decides. receiver.py is one. In a third terminal, run it with
the key and the secret that `apply` has printed:
  python3 -m venv venv && venv/bin/pip install -q Flask==3.1.3 standardwebhooks==1.1.0
  API_KEY=lk_… WEBHOOK_SECRET=whsec_… venv/bin/python receiver.py";

pub(super) fn run(args: &InitArgs) -> Outcome {
    let mut random = [0; 16];
    SystemEntropy.fill_random(&mut random);
    let password = format!("{:032x}", u128::from_ne_bytes(random));
    let files = [
        ("bidloop.toml", SETTINGS.to_owned()),
        ("provisioning.json", PROVISIONING.replace(PASSWORD, &password)),
        ("receiver.py", RECEIVER.to_owned()),
    ];
    write(&args.folder, &files)?;
    for (name, _) in &files {
        output::line(&format!("Wrote {}.", args.folder.join(name).display()))?;
    }
    let place = if args.folder == Path::new(".") {
        String::new()
    } else {
        format!(", in the folder {}", args.folder.display())
    };
    output::line(&format!("\nNext{place}:\n{NEXT}"))
}

/// Writes all files, or none if one of them is there already.
fn write(folder: &Path, files: &[(&str, String)]) -> Outcome {
    if folder.is_file() {
        let problem = "is a file: name a folder, which is made if it is missing";
        return Err(Failure::failed(format!("{}: {problem}", folder.display())));
    }
    std::fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
    let there: Vec<String> = paths
        .iter()
        .filter(|path| path.symlink_metadata().is_ok())
        .map(|path| format!("{}: exists already, and nothing is overwritten", path.display()))
        .collect();
    if !there.is_empty() {
        return Err(Failure::Failed(there));
    }
    for (path, (_, content)) in paths.iter().zip(files) {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .and_then(|mut file| file.write_all(content.as_bytes()))
            .map_err(|error| unwritten(path, &error))?;
    }
    Ok(())
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    let problem = match error.kind() {
        ErrorKind::AlreadyExists => "exists already, and nothing is overwritten".to_owned(),
        _ => format!("cannot be written: {error}"),
    };
    Failure::failed(format!("{}: {problem}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_password_stands_in_it_once() {
        assert_eq!(PROVISIONING.matches(PASSWORD).count(), 1);
    }
}
