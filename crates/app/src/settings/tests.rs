//! Settings from a file and from variables, as an operator writes them.

use bidloop_webhooks::TargetPolicy;

use super::*;

pub(super) fn load(toml: &str, environment: &[(&str, &str)]) -> Result<Settings, Vec<String>> {
    let environment: Vec<_> = environment
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let mut faults = Vec::new();
    let mut values = source::Values::default();
    values.add_file(Path::new("bidloop.toml"), toml, &mut faults);
    values.add_environment(&environment, &mut faults);
    let settings = Settings::read(values, &environment, &mut faults);
    if faults.is_empty() {
        Ok(settings)
    } else {
        Err(faults.iter().map(ToString::to_string).collect())
    }
}

#[test]
fn every_key_has_its_documented_default() {
    let settings = load("", &[]).unwrap();
    assert_eq!(settings.server.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.server.operability_listen, None);
    assert_eq!(settings.database.url.expose(), "sqlite://bidloop-data/bidloop.db");
    assert!(settings.database.auto_migrate);
    assert_eq!(settings.database.request_connections, 12);
    assert_eq!(settings.database.worker_connections, 8);
    assert!(settings.marketplace.is_none());
    assert_eq!(settings.submission_deadline, Duration::from_secs(900));
    assert_eq!(settings.act_within, Some(Duration::from_secs(86_400)));
    let days = |days: u64| Some(Duration::from_secs(days * 86_400));
    let retention = Retention {
        activity: days(400),
        deliveries: days(90),
        jobs: days(180),
        letters: days(400),
    };
    assert_eq!(settings.retention, retention);
    assert_eq!(settings.webhooks.targets, TargetPolicy::PublicHttps.into());
    assert_eq!(
        format!("{:?}", settings.attachments),
        "Folder(\"bidloop-data/attachments\")"
    );
    assert_eq!(settings.log_format, LogFormat::Text);
}

#[test]
fn proxies_are_trusted_by_network() {
    let settings = load("[server]\ntrusted_proxies = \"10.0.0.0/8, fd00::/8\"\n", &[]).unwrap();
    let trusted = format!("{:?}", settings.server.trusted_proxies);
    assert_eq!(trusted, "TrustedProxies([10.0.0.0/8, fd00::/8])");
    let faults = load("[server]\ntrusted_proxies = \"10.0.0.1, proxy\"\n", &[]).unwrap_err();
    assert!(faults[0].contains("`10.0.0.1` is not a network"), "{faults:?}");
    let none = load("", &[]).unwrap().server.trusted_proxies;
    assert_eq!(format!("{none:?}"), "TrustedProxies([])");
}

#[test]
fn origins_of_web_pages_are_a_list_or_a_text_and_each_is_checked() {
    let origins = |toml: &str| load(&format!("[server]\ncors_origins = {toml}\n"), &[]);
    let these =
        |origins: &[&str]| AllowedOrigins::These(origins.iter().map(|origin| (*origin).to_owned()).collect());
    for (toml, expected) in [
        ("[]", AllowedOrigins::None),
        ("[\"*\"]", AllowedOrigins::Any),
        ("\"*\"", AllowedOrigins::Any),
        ("[\"https://a.example\"]", these(&["https://a.example"])),
        (
            "\"https://a.example, http://localhost:3000\"",
            these(&["https://a.example", "http://localhost:3000"]),
        ),
    ] {
        assert_eq!(origins(toml).unwrap().server.cors_origins, expected, "{toml}");
    }
    assert_eq!(load("", &[]).unwrap().server.cors_origins, AllowedOrigins::None);
    for (toml, because) in [
        (
            "[\"https://a.example/\"]",
            "browsers write it `https://a.example`",
        ),
        ("[\"https://a.example\", \"*\"]", "must be the only entry"),
        ("[1]", "must be a list of texts in quotes"),
        ("7", "must be a text in quotes"),
    ] {
        let faults = origins(toml).unwrap_err();
        assert!(
            matches!(&faults[..], [fault] if fault.starts_with("server.cors_origins") && fault.contains(because)),
            "{toml}: {faults:?}"
        );
    }
}

#[test]
fn the_tool_server_is_off_unless_it_has_an_address() {
    assert!(load("", &[]).unwrap().mcp.is_none());
    let settings = load("[mcp]\nlisten = \"127.0.0.1:8090\"\n", &[]).unwrap();
    assert_eq!(settings.mcp.unwrap().listen.to_string(), "127.0.0.1:8090");
    let faults = load("[mcp]\nbase_url = \"https://agents.test\"\n", &[]).unwrap_err();
    assert!(
        faults[0].starts_with("mcp.base_url") && faults[0].contains("`mcp.listen`"),
        "{faults:?}"
    );
}

#[test]
fn zero_connections_mean_the_default() {
    let settings = load(
        "[server]\nmax_connections = 0\nmax_connections_per_address = 20\n",
        &[],
    )
    .unwrap();
    assert_eq!(settings.server.max_connections, None);
    assert_eq!(settings.server.max_connections_per_address, NonZeroUsize::new(20));
}

#[test]
fn the_environment_overrides_the_file() {
    let settings = load(
        "[marketplace]\nbase_url = \"http://127.0.0.1:9090\"\ntimeout_ms = 5\n",
        &[
            ("BIDLOOP_MARKETPLACE__TIMEOUT_MS", "70"),
            ("BIDLOOP_DATABASE__AUTO_MIGRATE", "false"),
        ],
    )
    .unwrap();
    assert_eq!(
        settings.marketplace.unwrap().client.timeout,
        Duration::from_millis(70)
    );
    assert!(!settings.database.auto_migrate);
}

#[test]
fn an_unknown_key_is_an_error_that_suggests_the_closest() {
    let faults = load(
        "[server]\nlisten_on = \"x\"\n",
        &[("BIDLOOP_DATABSE__URL", "sqlite://a")],
    )
    .unwrap_err();
    assert_eq!(
        faults,
        [
            "server.listen_on (in bidloop.toml): unknown setting; did you mean `server.listen`?",
            "databse.url (from BIDLOOP_DATABSE__URL): unknown setting; did you mean `database.url`?",
        ]
    );
}

#[test]
fn all_faults_are_reported_with_their_names() {
    let faults = load(
            "[server]\nlisten = \"here\"\n[log]\nformat = \"xml\"\n[submission]\ndeadline_ms = -1\n[database]\nurl = \"mysql://x\"\n[watch]\nact_within_minutes = \"soon\"\n",
            &[],
        )
        .unwrap_err();
    let names: Vec<&str> = faults
        .iter()
        .filter_map(|fault| fault.split_whitespace().next())
        .collect();
    assert_eq!(
        names,
        [
            "server.listen",
            "database.url",
            "submission.deadline_ms",
            "watch.act_within_minutes",
            "log.format"
        ]
    );
}

#[test]
fn a_fault_of_the_files_syntax_is_one_line_with_its_place() {
    let faults = load("[log]\nformat = text\n", &[]).unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(
        faults[0].starts_with("bidloop.toml: ") && faults[0].ends_with(" at line 2 column 10"),
        "{faults:?}"
    );
    assert!(!faults[0].contains('\n'), "{faults:?}");
}

#[test]
fn a_value_that_an_adapter_refuses_is_reported_with_the_settings_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let missing = folder.path().join("missing.pem").display().to_string();
    let junk = file("junk.pem", "junk");
    let broken = file(
        "broken.pem",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    );
    for (key, value, because) in [
        (
            "webhooks.extra_root_certificates",
            missing.as_str(),
            "cannot be read",
        ),
        ("webhooks.extra_root_certificates", &junk, "holds no certificate"),
        ("webhooks.extra_root_certificates", &broken, "certificate 1"),
        ("attachments.url", "s3://", "names no bucket"),
        ("attachments.url", "s3://files/../x", "the prefix"),
        ("attachments.url", "file:", "names no folder"),
        ("marketplace.token", "two\nlines", "printable ASCII"),
        ("marketplace.base_url", "http://", "is not a URL"),
        ("marketplace.base_url", "http://u:p@market.test", "a password"),
        ("database.url", "sqlite://", "the path of a file"),
        ("database.url", "postgres://x:notaport/y", "cannot be used"),
        ("database.url", "postgres://", "names no host"),
        ("database.url", "a\0b", "U+0000"),
    ] {
        let variable = format!("BIDLOOP_{}", key.replace('.', "__").to_uppercase());
        let faults = load("", &[(&variable, value)]).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(
            faults[0].starts_with(&format!("{key} (from {variable}): ")) && faults[0].contains(because),
            "{value}: {faults:?}"
        );
    }
}

#[test]
fn a_buckets_variables_are_judged_with_its_address() {
    let half = [("AWS_SECRET_ACCESS_KEY", "s3cret")];
    let faults = load("[attachments]\nurl = \"s3://files\"\n", &half).unwrap_err();
    assert!(
        faults[0].starts_with("attachments.url (in bidloop.toml): "),
        "{faults:?}"
    );
    assert!(!faults[0].contains("s3cret"), "{faults:?}");
    assert!(load("", &half).is_ok(), "nobody asks for them");

    let bucket = "[attachments]\nurl = \"s3://files\"\n";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "s3cret\n").unwrap();
    let file = file.path().to_str().unwrap();
    let id = ("AWS_ACCESS_KEY_ID", "id");
    assert!(load(bucket, &[id, ("AWS_SECRET_ACCESS_KEY_FILE", file)]).is_ok());
    let faults = load(bucket, &[id, half[0], ("AWS_SECRET_ACCESS_KEY_FILE", file)]).unwrap_err();
    assert!(
        faults.len() == 1 && faults[0].contains("are both set") && !faults[0].contains("s3cret"),
        "{faults:?}"
    );
}

#[test]
fn right_settings_make_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent");
    let toml = format!(
        "[database]\nurl = \"sqlite://{0}/bidloop.db\"\n[attachments]\nurl = \"file:{0}/attachments\"\n",
        absent.display()
    );
    load(&toml, &[]).unwrap();
    assert!(!absent.exists());
}

#[test]
fn a_secret_may_stand_in_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let url = file("url", "postgres://u:s3cret@127.0.0.1/x\n");
    let token = file("token", "t0ken\n");
    let settings = load(
        &format!("[marketplace]\nbase_url = \"https://market.test\"\ntoken_file = \"{token}\"\n"),
        &[("BIDLOOP_DATABASE__URL_FILE", &url)],
    )
    .unwrap();
    assert_eq!(settings.database.url.expose(), "postgres://u:s3cret@127.0.0.1/x");
    let client = &settings.marketplace.as_ref().unwrap().client;
    assert_eq!(client.feed_token.as_ref().unwrap().expose(), "t0ken");
    let shown = format!("{settings:?}");
    assert!(!shown.contains("s3cret") && !shown.contains("t0ken"), "{shown}");

    let faults = load(
        "[database]\nurl = \"postgres://u:s3cret@127.0.0.1/x\"\n",
        &[("BIDLOOP_DATABASE__URL_FILE", &url)],
    )
    .unwrap_err();
    assert_eq!(
        faults,
        [
            "database.url_file (from BIDLOOP_DATABASE__URL_FILE): database.url (in bidloop.toml) is set too: leave one \
              of them out"
        ]
    );
    let wrong = file("wrong", "mysql://u:s3cret@h/x");
    for bad in [wrong.as_str(), "/absent/file"] {
        let faults = load("", &[("BIDLOOP_DATABASE__URL_FILE", bad)]).unwrap_err();
        assert!(
            faults.len() == 1
                && faults[0].starts_with("database.url_file (from BIDLOOP_DATABASE__URL_FILE): ")
                && !faults[0].contains("s3cret"),
            "{faults:?}"
        );
    }
}

#[test]
fn a_mail_server_is_named_with_a_sender_and_reached_with_tls() {
    const URL: &str = "BIDLOOP_MAIL__SMTP_URL";
    const FROM: (&str, &str) = ("BIDLOOP_MAIL__FROM", "Bidloop <bidloop@acme.test>");
    assert!(load("", &[]).unwrap().mail.is_none());
    let secure = (URL, "smtps://bidloop:s3cret@mail.test");
    let settings = load("", &[secure, FROM]).unwrap();
    assert!(settings.mail.is_some() && !format!("{settings:?}").contains("s3cret"));
    assert!(
        load("", &[(URL, "smtp://[::1]:1025"), FROM])
            .unwrap()
            .mail
            .is_some()
    );
    let plain = (URL, "smtp://bidloop:s3cret@mail.test");
    for (set, fault) in [
        (vec![secure], "set `mail.from` too"),
        (vec![FROM], "set `mail.smtp_url` too"),
        (vec![plain, FROM], "mail.allow_insecure = true"),
    ] {
        let faults = load("", &set).unwrap_err();
        assert!(
            faults.len() == 1 && faults[0].contains(fault) && !faults[0].contains("s3cret"),
            "{faults:?}"
        );
    }
}

#[test]
fn another_machine_is_reached_with_tls_unless_a_setting_says_otherwise() {
    for (key, value, host, switch) in [
        (
            "BIDLOOP_DATABASE__URL",
            "postgres://u:s3cret@db.test/x",
            "db.test",
            "database.allow_insecure",
        ),
        (
            "BIDLOOP_DATABASE__URL",
            "postgres://u:s3cret@192.0.2.1/x?sslmode=prefer",
            "192.0.2.1",
            "database.allow_insecure",
        ),
        (
            "BIDLOOP_MARKETPLACE__BASE_URL",
            "http://market.test/api",
            "market.test",
            "marketplace.allow_insecure",
        ),
        (
            "BIDLOOP_MARKETPLACE__BASE_URL",
            "http://[2001:db8::1]:9090",
            "2001:db8::1",
            "marketplace.allow_insecure",
        ),
    ] {
        let faults = load("", &[(key, value)]).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(
            faults[0].contains(host)
                && faults[0].contains(&format!("`{switch} = true`"))
                && !faults[0].contains("s3cret"),
            "{faults:?}"
        );
        let variable = format!("BIDLOOP_{}", switch.replace('.', "__").to_uppercase());
        let settings = load("", &[(key, value), (&variable, "true")]).unwrap();
        let warnings = warnings_of_connections(&settings);
        assert!(
            matches!(&warnings[..], [warning] if warning.contains(host) && !warning.contains("s3cret")),
            "{warnings:?}"
        );
    }
    for (key, value) in [
        ("BIDLOOP_DATABASE__URL", "postgres://127.0.0.1/x"),
        ("BIDLOOP_DATABASE__URL", "postgres:///x?host=/run/postgresql"),
        (
            "BIDLOOP_DATABASE__URL",
            "postgres://db.test/x?sslmode=verify-full",
        ),
        ("BIDLOOP_MARKETPLACE__BASE_URL", "http://localhost:9090"),
        ("BIDLOOP_MARKETPLACE__BASE_URL", "https://market.test"),
    ] {
        let settings = load("", &[(key, value)]).unwrap();
        let warnings = warnings_of_connections(&settings);
        assert!(warnings.is_empty(), "{value}: {warnings:?}");
    }
}

/// A PostgreSQL without `secrets.key_file`, and a marketplace without a token, have warnings of their own.
fn warnings_of_connections(settings: &Settings) -> Vec<String> {
    let warnings = settings.warnings.iter().map(ToString::to_string);
    warnings
        .filter(|warning| {
            !["secrets.key_file", "marketplace.token"]
                .iter()
                .any(|key| warning.starts_with(key))
        })
        .collect()
}

#[test]
fn each_setting_is_shown_with_its_value_in_force_and_its_place() {
    let settings = load(
        "[marketplace]\ntoken = \"s3cret\"\n[database]\nurl = \"postgres://u:s3cret@127.0.0.1/x\"\n",
        &[("BIDLOOP_SUBMISSION__DEADLINE_MS", "5")],
    )
    .unwrap();
    let shown = |key: &str| {
        let found = settings.shown.iter().find(|shown| shown.key == key).unwrap();
        let value = found.value.as_ref().map(ToString::to_string);
        (
            value.unwrap_or_default(),
            found.source,
            found.place.clone().unwrap_or_default(),
        )
    };
    let of = |value: &str, source: &'static str, place: &str| (value.to_owned(), source, place.to_owned());
    assert_eq!(settings.shown.len(), source::KEYS.len());
    assert_eq!(shown("marketplace.token"), of("\"***\"", "file", "bidloop.toml"));
    assert_eq!(
        shown("database.url"),
        of("\"postgres://u:***@127.0.0.1/x\"", "file", "bidloop.toml")
    );
    assert_eq!(
        shown("submission.deadline_ms"),
        of("\"5\"", "environment", "BIDLOOP_SUBMISSION__DEADLINE_MS")
    );
    for (key, default) in [
        ("server.listen", "\"127.0.0.1:8080\""),
        ("server.base_url", ""),
        ("server.post_cache_mb", "16"),
        ("database.auto_migrate", "true"),
        ("marketplace.timeout_ms", "10000"),
        ("retention.jobs_days", "180"),
        ("attachments.url", "\"file:bidloop-data/attachments\""),
        ("log.format", "\"text\""),
        ("mail.from", ""),
    ] {
        assert_eq!(shown(key), of(default, "default", ""), "{key}");
    }
    let nothing = load("", &[]).unwrap().shown;
    let url = nothing.iter().find(|shown| shown.key == "database.url").unwrap();
    assert_eq!(
        url.value.as_ref().unwrap().as_str(),
        Some("sqlite://bidloop-data/bidloop.db")
    );
}

#[test]
fn every_setting_that_a_file_may_hold_is_a_secret_and_never_shown() {
    let is_secret = |key: &&&str| source::KEYS.contains(&format!("{key}_file").as_str());
    let secrets: Vec<&str> = source::KEYS.iter().filter(is_secret).copied().collect();
    assert!(secrets.contains(&"marketplace.token"), "{secrets:?}");
    let mut values = source::Values::default();
    for key in &secrets {
        let found = source::Found {
            value: toml::Value::String("s3cret".to_owned()),
            place: source::Place::Variable("X".to_owned()),
        };
        values.0.insert(key, found);
    }
    let shown = Settings::read(values, &[], &mut Vec::new()).shown;
    for key in secrets {
        let found = shown.iter().find(|shown| shown.key == key).unwrap();
        assert_eq!(found.value.as_ref().unwrap().as_str(), Some("***"), "{key}");
    }
}

#[test]
fn what_is_read_as_a_secret_is_hidden_whatever_its_name() {
    let mut faults = Vec::new();
    let mut values = source::Values::default();
    values.add_file(Path::new("x.toml"), "[mail]\nfrom = \"s3cret\"", &mut faults);
    let mut read = Reader::new(values, &mut faults);
    assert_eq!(
        read.secret("mail.from", |text| Ok(text.to_owned())),
        Some("s3cret".to_owned())
    );
    assert!(!format!("{:?}", read.shown()).contains("s3cret"));
}

#[test]
fn the_secret_of_stripes_webhook_is_checked_and_shown_nowhere() {
    assert!(load("", &[]).unwrap().stripe_webhook_secret.is_none());
    let variable = "BIDLOOP_BILLING__STRIPE_WEBHOOK_SECRET";
    let settings = load("", &[(variable, "whsec_0123456789abcdef")]).unwrap();
    assert!(settings.stripe_webhook_secret.is_some());
    assert!(!format!("{settings:?}").contains("0123456789abcdef"));
    let faults = load("", &[(variable, "sk_live_0123456789abcdef")]).unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(
        faults[0].starts_with("billing.stripe_webhook_secret (from ") && !faults[0].contains("0123"),
        "{faults:?}"
    );
}

#[cfg(feature = "otel")]
#[test]
fn traces_are_exported_to_the_collector_that_is_named() {
    assert!(load("", &[]).unwrap().telemetry.is_none());
    let settings = load(
        "[telemetry]\notlp_endpoint = \"http://127.0.0.1:4318\"\nsample_ratio = 0.25\n\
         otlp_headers = \"authorization=Bearer a=b, X-Scope = t\"\n",
        &[],
    );
    let settings = settings.unwrap();
    assert!(!format!("{settings:?}").contains("Bearer"));
    let telemetry = settings.telemetry.unwrap();
    assert_eq!(telemetry.service_name, "bidloop");
    assert!((telemetry.sample_ratio - 0.25).abs() < f64::EPSILON);
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        telemetry.headers.expose(),
        &[header("authorization", "Bearer a=b"), header("x-scope", "t")]
    );
    let headers = "[telemetry]\notlp_endpoint = \"http://collector:4318\"\notlp_headers = \"a=b\"\n";
    let faults = load(headers, &[]).unwrap_err();
    assert!(faults[0].contains("without TLS"), "{faults:?}");
}

#[cfg(not(feature = "otel"))]
#[test]
fn a_program_without_traces_says_so() {
    let faults = load("[telemetry]\notlp_endpoint = \"http://127.0.0.1:4318\"\n", &[]).unwrap_err();
    assert!(
        faults[0].starts_with("telemetry.otlp_endpoint") && faults[0].contains("built without"),
        "{faults:?}"
    );
    assert!(load("[telemetry]\nsample_ratio = 1\n", &[]).is_ok());
}

#[test]
fn settings_of_traces_are_checked() {
    for (wrong, because) in [
        ("sample_ratio = 1.1", "from 0 to 1"),
        ("sample_ratio = \"nan\"", "from 0 to 1"),
        ("sample_ratio = -1", "from 0 to 1"),
        ("otlp_endpoint = \"collector:4318\"", "http://"),
        ("otlp_headers = \"s3cret\"", "with commas between them"),
        ("otlp_headers = \"a b=s3cret\"", "with commas between them"),
        ("otlp_headers = \"a=s3cret\\nx\"", "with commas between them"),
    ] {
        let faults = load(&format!("[telemetry]\n{wrong}\n"), &[]).unwrap_err();
        assert!(
            faults.len() == 1 && faults[0].contains(because) && !faults[0].contains("s3cret"),
            "{wrong}: {faults:?}"
        );
    }
}

#[test]
fn retention_of_zero_days_keeps_for_ever() {
    let settings = load("[retention]\njobs_days = 0\nactivity_days = 1\n", &[]).unwrap();
    assert_eq!(settings.retention.jobs, None);
    assert_eq!(settings.retention.activity, Some(Duration::from_secs(86_400)));
}

#[test]
fn act_within_zero_means_any_age() {
    assert_eq!(
        load("[watch]\nact_within_minutes = 0\n", &[]).unwrap().act_within,
        None
    );
}
