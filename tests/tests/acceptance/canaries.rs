//! Canaries: secrets with values of their own are used in every way, and then looked for in all that the program writes:
//! the log at its finest level, the Activity record, metrics, answers, the output of commands, and the disk.

use std::path::Path;

use acceptance::document::{EXTERNAL, ORGANIZATION, active, campaign, document, organization};
use acceptance::world::{STEP, bid, id, path};
use acceptance::{Api, Kind, Service, World, posts, until};
use bidloop_domain::model::WebhookSecret;
use bidloop_simulator::Options;
use bidloop_simulator::caller::ReceiverOptions;
use serde_json::{Value, json};

on_both_databases!(
    no_secret_is_logged_as_text_answered_or_stored,
    no_secret_is_logged_as_json_answered_or_stored,
);

const ACCOUNT_TOKEN: &str = "canary-account-token-4b1d";
const REFUSED_TOKEN: &str = "canary-refused-token-77aa";
const FEED_TOKEN: &str = "canary-feed-token-9e02";
const PASSWORD: &str = "canary-users-password-31c6";
const DATABASE_PASSWORD: &str = "canary-database-password-58ef";
const KEY: &str = "lk_c0ffee01c0ffee02c0ffee03c0ffee04c0ffee05c0ffee06c0ffee07c0ffee08";
const WRONG_KEY: &str = "lk_badc0de1badc0de2badc0de3badc0de4badc0de5badc0de6badc0de7badc0de8";
/// Base64 of the text below it.
const WEBHOOK_SECRET: &str = "whsec_Y2FuYXJ5LXdlYmhvb2stc2VjcmV0LTAwMDAwMDE=";
const WEBHOOK_SECRET_BYTES: &str = "canary-webhook-secret-0000001";

const CANARIES: [&str; 9] = [
    ACCOUNT_TOKEN,
    REFUSED_TOKEN,
    FEED_TOKEN,
    PASSWORD,
    DATABASE_PASSWORD,
    KEY,
    WRONG_KEY,
    WEBHOOK_SECRET,
    WEBHOOK_SECRET_BYTES,
];

fn no_secret_is_logged_as_text_answered_or_stored(kind: Kind) {
    let (world, watch) = in_every_way(kind, "text");
    assert_nothing_is_stored(&world, &watch);
}

fn no_secret_is_logged_as_json_answered_or_stored(kind: Kind) {
    let (world, watch) = in_every_way(kind, "json");
    assert_nothing_is_stored(&world, &watch);
}

/// All that is looked for, and in what.
struct Watch {
    generated: Vec<String>,
}

impl Watch {
    #[track_caller]
    fn in_text(&self, what: &str, text: &str) {
        self.in_bytes(what, text.as_bytes());
    }

    #[track_caller]
    fn in_bytes(&self, what: &str, bytes: &[u8]) {
        let generated = self.generated.iter().map(String::as_str);
        for canary in CANARIES.into_iter().chain(generated) {
            // A part is as bad as the whole; the first characters of each are no secret.
            let part = canary.trim_start_matches("whsec_").trim_start_matches("lk_");
            let part = &part.as_bytes()[..part.len().min(24)];
            let at = bytes.windows(part.len()).position(|window| window == part);
            let context = at.map(|at| {
                let from = at.saturating_sub(200);
                String::from_utf8_lossy(&bytes[from..(at + 60).min(bytes.len())]).into_owned()
            });
            assert_eq!(context, None, "{canary} is in {what}");
        }
    }
}

fn document_with(world: &World, jobs_to: &str, dead: &str, token: &str) -> Value {
    let mut acme = organization();
    acme["apiKeys"] = json!([{"id": "key_ci", "name": "CI", "key": KEY}]);
    acme["users"] = json!([{"email": "ann@acme.test", "name": "Ann", "password": PASSWORD}]);
    acme["bidderAccounts"] = json!([{"id": "acct_1", "name": "Jane's profile", "token": token}]);
    let mut external = active(campaign(EXTERNAL, "rust"), jobs_to);
    external["webhooks"][0]["secret"] = json!(WEBHOOK_SECRET);
    acme["campaigns"] = json!([external]);
    acme["webhooks"] = json!([
        {"id": "wh_org", "url": world.receiver.url("/bids"), "events": ["bid_complete"], "active": true,
            "secret": acceptance::document::SECRET},
        {"id": "wh_dead", "url": dead, "events": ["bid_complete"], "active": true, "secret": WEBHOOK_SECRET},
    ]);
    document(acme)
}

/// Uses the secrets in every way, and looks at what the program wrote meanwhile. Answers the world, its service stopped,
/// and the secrets that the program made itself.
fn in_every_way(kind: Kind, format: &str) -> (World, Watch) {
    let mut world = World::with(kind, Options::default(), None);
    let account = json!({"id": "market-1", "connectsBalance": 100_000, "profileHourlyRate": 50});
    for token in [ACCOUNT_TOKEN, FEED_TOKEN] {
        world.simulator.put_account(token, account.clone()).unwrap();
    }
    let installation = &mut world.installation;
    installation.set_variable("RUST_LOG", "trace");
    installation.set("log.format", format);
    installation.set("marketplace.token", FEED_TOKEN);
    if kind == Kind::Postgres {
        let url = installation.database().url();
        let with_password = url.replacen('@', &format!(":{DATABASE_PASSWORD}@"), 1);
        installation.set("database.url", &with_password);
        let keys = installation.file("keys/secret", "1f".repeat(32));
        installation.set("secrets.key_file", &keys.display().to_string());
    }
    let options = ReceiverOptions {
        secrets: vec![WebhookSecret::parse(WEBHOOK_SECRET).unwrap()],
        ..ReceiverOptions::default()
    };
    let jobs = world.another_receiver(options);
    let dead = "http://127.0.0.1:9/dead";
    let mut watch = Watch {
        generated: Vec::new(),
    };

    let applied = |token: &str| {
        let document = document_with(&world, &jobs.url("/jobs"), dead, token);
        world.installation.try_apply(&document).expect(0)
    };
    let report = applied(ACCOUNT_TOKEN);
    watch.in_text("the report", &report.out);
    watch.in_text("the log of apply", &report.err);
    watch.in_text("the report of nothing new", &applied(ACCOUNT_TOKEN).out);
    // The one place that shows a secret is standard output, once.
    let created = world.installation.run(&[
        "keys",
        "create",
        "--organization",
        ORGANIZATION,
        "--name",
        "Night",
        "--json",
    ]);
    let created = created.expect(0);
    let made = created.json()["key"].as_str().unwrap().to_owned();
    watch.in_text("the log of keys create", &created.err);
    watch.generated.push(made);

    let mut service = world.installation.serve();
    let api = service.api_with(Some(KEY));
    requests(&world, &service, &api, &watch);
    // The marketplace refuses the token, and a new one takes its place.
    world.simulator.publish(posts::many("rust again", 1)).unwrap();
    applied(REFUSED_TOKEN);
    until("the lead is listed", STEP, || listed(&api).len() == 4);
    let newest = listed(&api).remove(0);
    api.post_json(&path(EXTERNAL, id(&newest), "bid"), &bid())
        .expect(200);
    until("the bid is refused for its token", STEP, || {
        world.installation.show(id(&newest))["status"] == "failed"
    });
    until("the dead receiver's deliveries fail", STEP, || {
        let failed = |entry: &Value| entry["outcome"] == "failed" && entry["kind"] == "delivery";
        world
            .installation
            .activity(&[])
            .iter()
            .filter(|entry| failed(entry))
            .count()
            >= 2
    });

    for command in [
        &["activity", "--limit", "1000"][..],
        &["keys", "list", "--organization", ORGANIZATION, "--json"],
        &["leads", "show", "--lead", id(&newest), "--json"],
        &["config", "check"],
        &["config", "check", "--json"],
        &["migrate", "--json"],
        &["filters", "test", "--filter", "absent"],
    ] {
        let done = world.installation.run(command);
        watch.in_text(&format!("the output of {command:?}"), &done.out);
        watch.in_text(&format!("the log of {command:?}"), &done.err);
    }
    let metrics = service.api_with(None).get("/metrics").expect(200);
    watch.in_text("the metrics", &metrics.text());
    // What is in flight ends, and the log is whole.
    service.ask_to_stop();
    assert!(service.wait_for_end().success());
    let log = service.log();
    assert!(log.contains("TRACE"), "the log is at its finest level");
    watch.in_text("the log", &log);
    (world, watch)
}

fn listed(api: &Api) -> Vec<Value> {
    let page = api
        .get(&format!("/v1/campaigns/{EXTERNAL}/leads"))
        .expect(200)
        .json();
    page["data"].as_array().unwrap().clone()
}

/// Requests that are accepted and refused, with faults on the way.
fn requests(world: &World, service: &Service, api: &Api, watch: &Watch) {
    world.simulator.publish(posts::many("rust", 3)).unwrap();
    until("the leads are listed", STEP, || listed(api).len() == 3);
    let leads = listed(api);
    let mut answers = vec![
        api.get(&format!("/v1/campaigns/{EXTERNAL}/leads")),
        service
            .api_with(Some(WRONG_KEY))
            .get("/v1/campaigns/x/leads")
            .expect(401),
        // Not even a key.
        service
            .api_with(Some(ACCOUNT_TOKEN))
            .get("/v1/campaigns/x/leads")
            .expect(401),
        api.post_json(&path(EXTERNAL, id(&leads[0]), "bid"), &json!({"coverLetter": 5}))
            .expect(400),
        api.post_json(&path(EXTERNAL, id(&leads[0]), "reject"), &json!({}))
            .expect(200),
    ];
    let faults = json!([{"call": "POST /api/proposals", "times": 1, "status": 500}]);
    world.simulator.put_faults(&faults).unwrap();
    for lead in &leads[1..] {
        answers.push(
            api.post_json(&path(EXTERNAL, id(lead), "bid"), &bid())
                .expect(200),
        );
        assert_eq!(world.bid_complete(id(lead))["outcome"], "submitted");
    }
    for answer in answers {
        watch.in_text("an answer", &format!("{:?}\n{}", answer.headers, answer.text()));
    }
}

/// The database's files or tables, and all other files but those that the test has written itself.
fn assert_nothing_is_stored(world: &World, watch: &Watch) {
    let installation = &world.installation;
    std::fs::remove_file(installation.folder().join("apply.json")).unwrap();
    look_below(installation.folder(), watch);
    let tables = installation.database().rows_as_text();
    assert_eq!(
        tables.is_empty(),
        installation.database().server_address().is_none()
    );
    for (table, rows) in tables {
        watch.in_text(&table, &rows);
    }
}

fn look_below(folder: &Path, watch: &Watch) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            look_below(&path, watch);
        } else {
            watch.in_bytes(&path.display().to_string(), &std::fs::read(&path).unwrap());
        }
    }
}
