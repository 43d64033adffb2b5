//! What a newcomer and a packager use: the example files, the settings' places, the version, completions and manual pages.

use std::process::{Command, Stdio};
use std::time::Duration;

use acceptance::installation::free_address;
use acceptance::{Api, Installation, Kind, until, variable};
use serde_json::json;

/// The example says these addresses, which the tests replace: they run side by side.
const SERVICE: &str = "127.0.0.1:8080";
const MARKET: &str = "127.0.0.1:9090";

/// The program with nothing set, in the installation's folder.
fn bare(installation: &Installation, arguments: &[&str]) -> Command {
    let mut command = Command::new(variable("BIDLOOP_TEST_PROGRAM", "the bidloop program's path"));
    command.args(arguments).current_dir(installation.folder());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("BIDLOOP_") {
            command.env_remove(name);
        }
    }
    command
}

fn printed(mut command: Command) -> (i32, String, String) {
    let finished = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        finished.status.code().unwrap(),
        text(finished.stdout),
        text(finished.stderr),
    )
}

/// Ends with the test, whatever comes of it.
struct Background(std::process::Child);

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(mut command: Command) -> Background {
    Background(
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    )
}

#[test]
fn the_files_that_init_writes_work_against_the_simulator() {
    let installation = Installation::new(Kind::Sqlite);
    let (status, told, _) = printed(bare(&installation, &["init", "trial"]));
    assert_eq!(status, 0);
    for next in [
        "bidloop simulate",
        "bidloop apply provisioning.json",
        "bidloop serve",
    ] {
        assert!(told.contains(next), "{told}");
    }
    let (status, _, refused) = printed(bare(&installation, &["init", "trial"]));
    assert_eq!(status, 1);
    assert!(
        refused.contains("trial/bidloop.toml: exists already"),
        "{refused}"
    );

    let folder = installation.folder().join("trial");
    let settings = folder.join("bidloop.toml");
    let (service, market) = (free_address().to_string(), free_address().to_string());
    let text = std::fs::read_to_string(&settings).unwrap();
    assert!(text.contains(SERVICE) && text.contains(MARKET), "{text}");
    std::fs::write(
        &settings,
        text.replace(SERVICE, &service).replace(MARKET, &market),
    )
    .unwrap();
    let run = |arguments: &[&str]| {
        let mut command = bare(&installation, arguments);
        command.current_dir(&folder);
        command
    };
    let checked: serde_json::Value =
        serde_json::from_str(&printed(run(&["config", "check", "--json"])).1).unwrap();
    assert_eq!(checked, json!({"ok": true, "warnings": []}));
    let (status, report, faults) = printed(run(&["apply", "provisioning.json"]));
    assert_eq!((status, faults.as_str()), (0, ""));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["secrets"].as_array().unwrap().len(), 2, "{report}");

    assert_eq!(printed(run(&["healthcheck"])).0, 1, "nothing runs yet");
    let _market = start(run(&["simulate", "--listen", &market, "--rate", "20"]));
    let _service = start(run(&["serve"]));
    until("the service is ready", Duration::from_secs(30), || {
        printed(run(&["healthcheck"])).0 == 0
    });
    let leads = || {
        let list = run(&[
            "leads",
            "list",
            "--organization",
            "acme",
            "--campaign",
            "software",
            "--json",
        ]);
        serde_json::from_str::<serde_json::Value>(&printed(list).1).unwrap()
    };
    until("a job becomes a lead", Duration::from_secs(30), || {
        leads()["total"].as_u64() > Some(0)
    });
    // The simulator knows the example's account.
    Api::new(market.parse().unwrap(), Some("simulator-token"))
        .get("/api/account")
        .expect(200);
}

#[test]
fn init_names_a_file_that_stands_where_the_folder_should() {
    let installation = Installation::new(Kind::Sqlite);
    installation.file("taken", "");
    let (status, _, refused) = printed(bare(&installation, &["init", "taken"]));
    assert_eq!(
        (status, refused.as_str()),
        (
            1,
            "taken: is a file: name a folder, which is made if it is missing\n"
        )
    );
}

#[test]
fn colours_are_those_that_are_asked_for() {
    let installation = Installation::new(Kind::Sqlite);
    let is_coloured = |arguments: &[&str], no_color: bool| {
        let mut command = bare(&installation, arguments);
        command.envs(no_color.then_some(("NO_COLOR", "1")));
        let (_, out, err) = printed(command);
        (out + &err).contains('\u{1b}')
    };
    assert!(!is_coloured(&["serve", "--help"], false), "no terminal");
    assert!(is_coloured(&["serve", "--help", "--color=always"], true));
    assert!(is_coloured(&["--color", "always", "serve", "--nope"], false));
    let demo = ["demo", "--listen", "127.0.0.1:0", "--for", "0.1", "--color"];
    for (word, coloured) in [("always", true), ("never", false)] {
        assert_eq!(
            is_coloured(&[&demo[..], &[word]].concat(), false),
            coloured,
            "{word}"
        );
    }
    let (status, _, refused) = printed(bare(&installation, &["serve", "--color", "sometimes"]));
    assert!(
        status == 2 && refused.contains("[possible values: auto, always, never]"),
        "{refused}"
    );
}

#[test]
fn the_example_files_are_those_that_init_writes() {
    let installation = Installation::new(Kind::Sqlite);
    printed(bare(&installation, &["init"]));
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/app/package/examples/");
    let example = |name: &str| std::fs::read_to_string(format!("{examples}{name}")).unwrap();
    let written = |name: &str| std::fs::read_to_string(installation.folder().join(name)).unwrap();
    assert_eq!(written("bidloop.toml"), example("bidloop.toml"));
    assert_eq!(
        written("receiver.py"),
        example("../../../../docs/guides/receiver.py")
    );
    let document = |text: String| -> serde_json::Value { serde_json::from_str(&text).unwrap() };
    let mut provisioning = document(written("provisioning.json"));
    let password = provisioning["organizations"][0]["users"][0]["password"].take();
    assert_eq!(
        password.as_str().unwrap().len(),
        32,
        "each folder has a password of its own"
    );
    let mut expected = document(example("provisioning.json"));
    expected["organizations"][0]["users"][0]["password"].take();
    assert_eq!(provisioning, expected);
}

#[test]
fn the_settings_file_is_named_by_the_option_the_variable_or_its_place() {
    let installation = Installation::new(Kind::Sqlite);
    let deadline = |arguments: &[&str], variable: Option<&str>| {
        let mut command = bare(&installation, arguments);
        command.args(["config", "show", "--json"]);
        command.envs(variable.map(|file| ("BIDLOOP_CONFIG", file)));
        let (status, shown, faults) = printed(command);
        if status != 0 {
            return format!("{status} {faults}");
        }
        let shown: Vec<serde_json::Value> = serde_json::from_str(&shown).unwrap();
        let setting = shown
            .iter()
            .find(|shown| shown["key"] == "submission.deadline_ms")
            .unwrap();
        format!("{} {}", setting["value"], setting["source"].as_str().unwrap())
    };
    assert_eq!(deadline(&[], None), "900000 default");
    for (file, millis) in [("bidloop.toml", 1), ("variable.toml", 2), ("option.toml", 3)] {
        installation.file(file, format!("[submission]\ndeadline_ms = {millis}\n"));
    }
    assert_eq!(deadline(&[], None), "1 file");
    assert_eq!(deadline(&[], Some("variable.toml")), "2 file");
    assert_eq!(
        deadline(&["--config", "option.toml"], Some("variable.toml")),
        "3 file"
    );
    let missing = deadline(&[], Some("missing.toml"));
    assert!(
        missing.starts_with("2 missing.toml (from BIDLOOP_CONFIG): cannot be read"),
        "{missing}"
    );
}

#[test]
fn config_show_hides_secrets_and_says_where_values_come_from() {
    let mut installation = Installation::new(Kind::Sqlite);
    installation.set("marketplace.base_url", "http://127.0.0.1:1");
    installation.set("marketplace.token", "s3cret");
    let shown = installation.run(&["config", "show"]).expect(0).out;
    assert!(!shown.contains("s3cret"), "{shown}");
    let line = shown
        .lines()
        .find(|line| line.starts_with("marketplace.token "))
        .unwrap();
    assert!(
        line.ends_with("environment: BIDLOOP_MARKETPLACE__TOKEN"),
        "{line}"
    );
}

#[test]
fn the_check_warns_of_settings_that_surprise_and_refuses_a_bucket_that_nothing_reaches() {
    let mut installation = Installation::new(Kind::Sqlite);
    installation.set("server.listen", "0.0.0.0:8080");
    installation.unset("webhooks.allow_insecure_targets");
    let warnings = installation.run(&["config", "check", "--json"]).expect(0).json()["warnings"].clone();
    let warnings = warnings.as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].as_str().unwrap().starts_with("server.base_url"),
        "{warnings:?}"
    );

    installation.set("attachments.url", "s3://files");
    installation.set_variable("AWS_ENDPOINT_URL", "http://127.0.0.1:9000");
    let refused = installation.run(&["config", "check"]).expect(2).err;
    assert!(
        refused.starts_with("attachments.url ") && refused.contains("AWS_ALLOW_HTTP=true"),
        "{refused}"
    );
    installation.set_variable("AWS_ALLOW_HTTP", "true");
    let refused = installation.run(&["config", "check"]).expect(2).err;
    assert!(refused.contains("AWS_ACCESS_KEY_ID"), "{refused}");
    installation.set_variable("AWS_ACCESS_KEY_ID", "id");
    installation.set_variable("AWS_SECRET_ACCESS_KEY", "s3cret");
    installation.run(&["config", "check"]).expect(0);
}

#[test]
fn the_version_is_one_line_with_commit_target_profile_and_compiler() {
    let installation = Installation::new(Kind::Sqlite);
    let (_, short, _) = printed(bare(&installation, &["-V"]));
    let (_, long, _) = printed(bare(&installation, &["--version"]));
    assert!(
        short.starts_with("bidloop ") && short.lines().count() == 1,
        "{short}"
    );
    assert!(long.starts_with(short.trim_end().trim_end_matches(')')), "{long}");
    assert_eq!(long.lines().count(), 1, "{long}");
    assert!(long.contains("linux") && long.contains("rustc 1."), "{long}");
}

#[test]
fn completions_and_manual_pages_are_made_without_settings() {
    let installation = Installation::new(Kind::Sqlite);
    installation.file("bidloop.toml", "this is no TOML");
    for shell in ["bash", "zsh", "fish"] {
        let (status, script, _) = printed(bare(&installation, &["completions", shell]));
        assert!(status == 0 && script.contains("healthcheck"), "{shell}");
    }
    let (status, page, _) = printed(bare(&installation, &["man"]));
    assert!(status == 0 && page.contains(".TH bidloop 1"), "{page}");
    assert_eq!(printed(bare(&installation, &["man", "pages"])).0, 0);
    let pages = installation.folder().join("pages");
    for page in ["bidloop.1", "bidloop-serve.1", "bidloop-leads-list.1"] {
        assert!(pages.join(page).exists(), "{page}");
    }
    assert_eq!(printed(bare(&installation, &["completions", "dos"])).0, 2);
}

/// Packages install these settings.
#[test]
fn the_packages_settings_pass_the_check_without_a_warning() {
    let installation = Installation::new(Kind::Sqlite);
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/app/package/debian/bidloop.toml"
    );
    let (status, checked, faults) = printed(bare(
        &installation,
        &["--config", file, "config", "check", "--json"],
    ));
    assert_eq!((status, faults.as_str()), (0, ""));
    let checked: serde_json::Value = serde_json::from_str(&checked).unwrap();
    assert_eq!(checked, json!({"ok": true, "warnings": []}));
}
