//! The settings: a file, the environment over it, and every fault by its name. No database is asked.

use acceptance::{Installation, Kind};

#[test]
fn right_settings_pass_the_check() {
    let installation = Installation::new(Kind::Sqlite);
    installation.run(&["config", "check"]).expect(0);
    let file = installation.file(
        "bidloop.toml",
        "[watch]\nact_within_minutes = 5\n[log]\nformat = \"json\"\n",
    );
    installation
        .run(&["--config", &file.display().to_string(), "config", "check"])
        .expect(0);
}

#[test]
fn every_faulty_setting_is_named_and_the_status_is_2() {
    let mut installation = Installation::new(Kind::Sqlite);
    let file = installation.file(
        "bidloop.toml",
        "[server]\nlisten = \"nowhere\"\nlisten_on = 1\n[marketplace]\nbase_url = \"ftp://x\"\npoll_interval_ms = \"soon\"\ntimeout_ms = -1\n\
         [submission]\ndeadline_ms = 1.5\n[database]\nauto_migrate = \"perhaps\"\n[attachments]\nurl = \"gopher:x\"\n[kitchen]\nsink = true\n",
    );
    for key in ["server.listen", "marketplace.poll_interval_ms", "attachments.url"] {
        installation.unset(key);
    }
    installation.set("log.format", "xml");
    installation.set("webhooks.allow_insecure_targets", "1");
    installation.set("database.url", "mysql://x");
    let file = file.display().to_string();
    for command in [&["config", "check"][..], &["serve"], &["migrate"], &["activity"]] {
        let mut arguments = vec!["--config", &file];
        arguments.extend(command);
        let finished = installation.run(&arguments).expect(2);
        for name in [
            "server.listen",
            "server.listen_on",
            "marketplace.base_url",
            "marketplace.poll_interval_ms",
            "marketplace.timeout_ms",
            "submission.deadline_ms",
            "database.auto_migrate",
            "attachments.url",
            "kitchen.sink",
            "log.format",
            "webhooks.allow_insecure_targets",
            "database.url",
        ] {
            assert!(
                finished.err.lines().any(
                    |line| line.starts_with(&format!("{name} ")) || line.starts_with(&format!("{name}:"))
                ),
                "{name} is not named by {command:?}:\n{}",
                finished.err
            );
        }
        assert!(finished.out.is_empty());
    }
    let finished = installation
        .run(&["--config", "missing.toml", "config", "check"])
        .expect(2);
    assert!(finished.err.contains("missing.toml"), "{}", finished.err);
}

#[test]
fn the_environment_overrides_the_file() {
    let mut installation = Installation::new(Kind::Sqlite);
    let file = installation.file("bidloop.toml", "[log]\nformat = \"xml\"\n");
    let file = file.display().to_string();
    installation
        .run(&["--config", &file, "config", "check"])
        .expect(2);
    installation.set("log.format", "json");
    installation
        .run(&["--config", &file, "config", "check"])
        .expect(0);
}
