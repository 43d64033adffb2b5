//! Attachments in a bucket: whole files, settings that are wrong, a storage that is away, and crashes in the middle of an
//! upload. What holds for a folder too is tested where it belongs, with the place that the tests' caller asks for.

use acceptance::api::Upload;
use acceptance::document::{EXTERNAL, ORGANIZATION, campaign, document};
use acceptance::installation::free_address;
use acceptance::world::{STEP, bid, id, lead_with_status, path};
use acceptance::{Access, Api, Attachments, Bucket, Forwarder, Kind, World, posts, until};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const ENDPOINT: &str = "AWS_ENDPOINT_URL";

fn world() -> World {
    let mut world = World::new(Kind::Sqlite);
    world.installation.keep_attachments_in_bucket();
    world
}

/// A world that reaches the storage through a forwarder, which is to listen at this address.
fn world_through_a_forwarder() -> (World, std::net::SocketAddr, String) {
    let mut world = world();
    let address = free_address();
    world
        .installation
        .set_variable(ENDPOINT, &format!("http://{address}"));
    let storage = Bucket::of_the_tests(Access::Owner).address().to_owned();
    (world, address, storage)
}

fn text<'a>(name: &'a str, content: &'a str) -> Upload<'a> {
    Upload {
        name,
        content_type: "text/plain",
        content: content.as_bytes(),
    }
}

fn campaign_with_file(world: &World, content: &str) -> Value {
    world.installation.file("files/portfolio.txt", content);
    let mut described = campaign(EXTERNAL, "rust");
    described["attachments"] =
        json!([{"name": "portfolio.txt", "contentType": "text/plain", "path": "files/portfolio.txt"}]);
    described
}

/// Name, size and SHA-256 of each file that the marketplace has.
fn at_the_marketplace(world: &World) -> Vec<(String, u64, String)> {
    let files = Api::new(world.simulator.address(), None)
        .get("/sim/attachments")
        .expect(200)
        .json();
    let described = |file: &Value| {
        let of = |name: &str| file[name].as_str().unwrap().to_owned();
        (of("fileName"), file["sizeBytes"].as_u64().unwrap(), of("sha256"))
    };
    let mut files: Vec<_> = files.as_array().unwrap().iter().map(described).collect();
    files.sort();
    files
}

fn described(name: &str, content: &str) -> (String, u64, String) {
    let hash = hex::encode(Sha256::digest(content.as_bytes()));
    (name.to_owned(), content.len() as u64, hash)
}

/// More than one part of an upload in parts: lines of which no two are alike.
fn large() -> String {
    let lines: Vec<String> = (0..1_200_000).map(|line| format!("{line:09}")).collect();
    lines.join("\n")
}

fn keys(world: &World, folder: &str) -> Vec<String> {
    world.installation.attachments().list(folder)
}

fn incomplete_uploads(world: &World) -> Vec<String> {
    let Attachments::Bucket { bucket, prefix } = world.installation.attachments() else {
        panic!("no bucket");
    };
    bucket.incomplete_uploads(prefix)
}

#[test]
fn files_of_a_lead_and_of_a_campaign_reach_the_marketplace_with_the_same_bytes() {
    let world = world();
    let portfolio = "Five years of Rust.";
    world.provision(&[campaign_with_file(&world, portfolio)]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 2), 2);
    let api = service.api();
    let large = large();
    let files = [text("offer.txt", "My offer."), text("large.txt", &large)];
    api.upload(&path(EXTERNAL, id(&leads[0]), "attachments"), &files)
        .expect(200);
    assert_eq!(keys(&world, ORGANIZATION).len(), 2);
    assert_eq!(keys(&world, &format!("campaigns/{ORGANIZATION}")).len(), 1);
    for lead in &leads {
        api.post_json(&path(EXTERNAL, id(lead), "bid"), &bid())
            .expect(200);
        lead_with_status(&api, EXTERNAL, id(lead), "submitted");
    }
    let expected = [
        described("large.txt", &large),
        described("offer.txt", "My offer."),
        described("portfolio.txt", portfolio),
    ];
    assert_eq!(at_the_marketplace(&world), expected);
}

#[test]
fn the_doctor_tries_the_bucket_and_leaves_nothing_in_it() {
    let world = world();
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let sound = world.installation.run(&["doctor"]).expect(0);
    assert!(
        sound
            .out
            .contains("a file was written, read, listed and deleted in the bucket"),
        "{}",
        sound.out
    );
    let sound = world.installation.run(&["doctor", "--json"]).expect(0).json();
    assert_eq!(sound["attachmentsFault"], Value::Null);
    assert_eq!(keys(&world, "bidloop.doctor"), Vec::<String>::new());
}

#[test]
fn wrong_settings_of_a_bucket_are_named_by_the_doctor_by_a_start_and_at_an_upload() {
    let mut world = world();
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let Attachments::Bucket { prefix, .. } = world.installation.attachments() else {
        panic!("no bucket");
    };
    let (url, program, owner) = (
        world.installation.attachments().url(),
        Bucket::of_the_tests(Access::Program),
        Bucket::of_the_tests(Access::Owner),
    );
    let nowhere = format!("http://{}", free_address());
    let elsewhere = format!("s3://no-such-bucket/{prefix}");
    let wrong_secret = Bucket {
        secret: owner.secret.clone(),
        ..program.clone()
    };
    let unknown_key = Bucket {
        key: "AKIAUNKNOWN000000000".to_owned(),
        ..program.clone()
    };
    let away = Bucket {
        endpoint: nowhere,
        ..program.clone()
    };
    let wrong = "AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID";
    let beyond_policy = "s3://bidloop-test/another-prefix";
    for (url, bucket, remedy) in [
        (
            url.as_str(),
            &unknown_key,
            "the storage does not know the access key",
        ),
        (
            &url,
            &away,
            "the storage cannot be reached: check AWS_ENDPOINT_URL",
        ),
        (&elsewhere, &owner, "there is no such bucket: create it"),
        (beyond_policy, &program, "the access key lacks a permission"),
        (&url, &wrong_secret, wrong),
    ] {
        let installation = &mut world.installation;
        installation.set("attachments.url", url);
        for (name, value) in bucket.variables() {
            installation.set_variable(name, &value);
        }
        // No connection is made.
        installation.run(&["config", "check"]).expect(0);
        let refused = installation.run(&["doctor"]).expect(1);
        let expected =
            format!("attachments.url: no file can be written: attachment storage is unavailable: {remedy}");
        assert!(refused.err.starts_with(&expected), "{}", refused.err);
        assert!(!refused.err.contains(&bucket.secret), "{}", refused.err);
        let refused = installation.run(&["doctor", "--json"]).expect(1).json();
        assert!(
            refused["attachmentsFault"].as_str().unwrap().contains(remedy),
            "{refused}"
        );
    }

    // With the last of them.
    let service = world.installation.serve();
    until("the start warns of it", STEP, || service.log().contains(wrong));
    let leads = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    let upload = path(EXTERNAL, id(&leads[0]), "attachments");
    let answer = service
        .api()
        .upload(&upload, &[text("offer.txt", "My offer.")])
        .expect(503);
    assert!(!answer.text().contains("AWS_"), "{}", answer.text());
    until("the log says why", STEP, || {
        service.log().matches(wrong).count() >= 2
    });
}

#[test]
fn while_the_bucket_is_away_uploads_answer_503_and_bids_with_files_wait_and_nothing_is_lost() {
    let (world, address, storage) = world_through_a_forwarder();
    let forwarder = Forwarder::start(address, &storage);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let mut service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 2), 2);
    let api = service.api();
    let uploads = path(EXTERNAL, id(&leads[0]), "attachments");
    api.upload(&uploads, &[text("one.txt", "first")]).expect(200);

    forwarder.cut();
    for (name, content) in [("two.txt", "second"), ("large.txt", large().as_str())] {
        let refused = api.upload(&uploads, &[text(name, content)]).expect(503);
        assert!(refused.header("retry-after").is_some());
        assert_eq!(refused.json()["statusCode"], 503);
    }
    let with_file = world.document(&[campaign_with_file(&world, "Five years of Rust.")]);
    let refused = world.installation.try_apply(&with_file).expect(1);
    assert!(
        refused.err.contains("the storage cannot be reached"),
        "{}",
        refused.err
    );
    api.post_json(&path(EXTERNAL, id(&leads[0]), "bid"), &bid())
        .expect(200);
    // What needs no file goes on.
    api.post_json(&path(EXTERNAL, id(&leads[1]), "bid"), &bid())
        .expect(200);
    lead_with_status(&api, EXTERNAL, id(&leads[1]), "submitted");
    until("the bid with a file has been tried", STEP, || {
        let shown = world.installation.show(id(&leads[0]));
        shown["bid"]["attempts"]
            .as_u64()
            .is_some_and(|attempts| attempts > 0)
    });
    lead_with_status(&api, EXTERNAL, id(&leads[0]), "queued");
    service.wait_until_ready();

    let _forwarder = Forwarder::start(address, &storage);
    lead_with_status(&api, EXTERNAL, id(&leads[0]), "submitted");
    assert_eq!(at_the_marketplace(&world), [described("one.txt", "first")]);
    world.installation.apply(&with_file);
    let next = world.publish(&service, EXTERNAL, vec![posts::hourly("rust next")], 3);
    let uploads = path(EXTERNAL, id(&next[0]), "attachments");
    let all = api
        .upload(&uploads, &[text("two.txt", "second")])
        .expect(200)
        .json();
    assert_eq!(all.as_array().unwrap().len(), 1, "{all}");
    assert_eq!(incomplete_uploads(&world), Vec::<String>::new());
    assert_eq!(world.accepted().len(), 2);
}

/// Of the crash remain an object that no row names, and parts that no list shows. The first goes with its organization,
/// the second by the bucket's lifecycle rule.
#[test]
fn a_crash_between_upload_and_row_leaves_nothing_on_the_lead_and_the_object_goes_with_its_organization() {
    let (mut world, address, storage) = world_through_a_forwarder();
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let large = large();
    let mut leads = Vec::new();
    for (content, objects, incomplete) in [("stored", 1, 0), (large.as_str(), 1, 1)] {
        let forwarder = Forwarder::start(address, &storage);
        let service = world.installation.serve();
        if leads.is_empty() {
            leads = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
        }
        let upload = path(EXTERNAL, id(&leads[0]), "attachments");
        forwarder.keep_answers();
        let (api, upload) = (service.api(), &upload);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let file = [text("offer.txt", content)];
                assert!(
                    api.try_upload(upload, &file).is_err(),
                    "it was killed before it could answer"
                );
            });
            until("the storage has answered", STEP, || {
                keys(&world, ORGANIZATION).len() == objects && incomplete_uploads(&world).len() == incomplete
            });
            service.kill();
        });
    }

    let direct = Bucket::of_the_tests(Access::Program);
    world.installation.set_variable(ENDPOINT, &direct.endpoint);
    let service = world.installation.serve();
    let upload = path(EXTERNAL, id(&leads[0]), "attachments");
    let again = [text("offer.txt", "again")];
    let all = service.api().upload(&upload, &again).expect(200).json();
    assert_eq!(all.as_array().unwrap().len(), 1, "{all}");
    assert_eq!(keys(&world, ORGANIZATION).len(), 2);

    let removal = document(json!({"id": ORGANIZATION, "state": "absent"}));
    world.installation.apply(&removal);
    until("all is erased", STEP, || {
        let pruned = world.installation.run(&["prune", "--json"]).expect(0).json();
        pruned["removedOrganizations"] == json!([])
    });
    assert_eq!(keys(&world, ORGANIZATION), Vec::<String>::new());
}
