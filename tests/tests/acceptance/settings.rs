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

/// What passes the check is what every command takes; what a command would refuse fails the check.
#[test]
fn the_check_and_the_commands_judge_settings_alike() {
    let mut installation = Installation::new(Kind::Sqlite);
    installation.file("junk.pem", "junk");
    installation.set("marketplace.base_url", "http://127.0.0.1:1");
    for (key, value) in [
        ("webhooks.extra_root_certificates", "missing.pem"),
        ("webhooks.extra_root_certificates", "junk.pem"),
        ("attachments.url", "s3://"),
        ("attachments.url", "file:"),
        ("marketplace.token", "two\nlines"),
        ("marketplace.base_url", "http://user:secret@market.test"),
        ("database.url", "sqlite://"),
        ("database.url", "postgres://x:notaport/y"),
        ("database.url", "postgres://"),
    ] {
        let before = installation.setting(key);
        installation.set(key, value);
        for command in [
            &["config", "check"][..],
            &["serve"],
            &["migrate"],
            &["apply", "absent"],
        ] {
            let finished = installation.run(command).expect(2);
            let lines: Vec<_> = finished.err.lines().collect();
            assert!(
                matches!(lines[..], [line] if line.starts_with(&format!("{key} (from BIDLOOP_"))),
                "{key} = {value:?}, {command:?}: {lines:?}"
            );
        }
        match before {
            Some(before) => installation.set(key, &before),
            None => installation.unset(key),
        }
    }
    installation.run(&["config", "check"]).expect(0);
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
