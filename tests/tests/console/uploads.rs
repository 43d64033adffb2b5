//! Forms with files: a bid's own files and a campaign's (decisions A9, A10 and E5).

use acceptance::document::{EXTERNAL, document};
use acceptance::world::STEP;
use acceptance::{Answer, Kind, Service, World, api, posts};
use serde_json::{Value, json};
use std::io::{BufReader, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use crate::acme::{BOB, PASSWORD, with_paused_campaign};
use crate::session::Session;

on_both_databases!(
    a_bids_files_come_with_its_form_and_replace_the_campaigns,
    a_refused_file_is_told_beside_its_field_and_what_was_typed_stays,
    a_form_with_files_and_a_wrong_token_is_refused_before_its_files_arrive,
    a_campaigns_files_are_added_listed_and_removed,
    a_leads_own_bidding_is_set_shown_and_cleared,
    the_template_is_previewed_on_another_lead,
);

const EVE: &str = "eve@other.test";
const BIDDING: &str = "/campaigns/camp_ext/bidding";
const BOUNDARY: &str = "----boundary";

/// Acme, and an organization of Eve's.
fn started(kind: Kind) -> (World, Service) {
    let (world, service) = with_paused_campaign(kind);
    let mut other = json!({"id": "org_other", "name": "Other"});
    other["users"] = json!([{"email": EVE, "password": PASSWORD, "name": "Eve"}]);
    other["subscription"] = world.organization()["subscription"].clone();
    world.installation.apply(&document(other));
    (world, service)
}

/// A job that became a match, and its bid page.
fn bid_page(world: &World, service: &Service) -> (String, String) {
    let leads = world.publish(service, EXTERNAL, vec![posts::hourly("A rust service")], 1);
    let lead = leads[0]["id"].as_str().unwrap().to_owned();
    (format!("/campaigns/{EXTERNAL}/leads/{lead}/bid"), lead)
}

enum Part<'p> {
    Field(&'p str, &'p str),
    File(&'p str, &'p [u8]),
}

fn body(parts: &[Part<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for part in parts {
        let (head, content) = match part {
            Part::Field(name, value) => (format!("name=\"{name}\"\r\n"), value.as_bytes()),
            Part::File(name, content) => (
                format!("name=\"files\"; filename=\"{name}\"\r\nContent-Type: text/plain\r\n"),
                *content,
            ),
        };
        body.extend(format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\n").as_bytes());
        body.extend(content);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}

fn send(service: &Service, session: &Session<'_>, path: &str, parts: Vec<Part<'_>>) -> Answer {
    let token = session.token();
    let mut all = vec![Part::Field("csrf", &token)];
    all.extend(parts);
    let origin = format!("http://{}", service.address());
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let headers = [
        ("Content-Type", kind.as_str()),
        ("Origin", &origin),
        ("Cookie", session.cookie()),
    ];
    let api = service.api_with(None);
    api.try_call("POST", path, &headers, &body(&all)).unwrap()
}

fn uploads(world: &World, lead: &str) -> Vec<Value> {
    let mut entries = world.installation.activity(&["--lead", lead]);
    entries.retain(|entry| entry["kind"] == "upload");
    entries
}

fn a_bids_files_come_with_its_form_and_replace_the_campaigns(kind: Kind) {
    let (world, service) = started(kind);
    let (path, lead) = bid_page(&world, &service);
    let bob = Session::of(&service, BOB);
    let default = vec![Part::File("default.txt", b"The campaign's.")];
    send(&service, &bob, &format!("{BIDDING}/files"), default).expect(303);
    let page = bob.get(&path).expect(200).text();
    assert!(
        page.contains("default.txt") && page.contains("15 bytes · from the campaign"),
        "{page}"
    );
    let letter = "It is <mine> & yours.";
    let attached = send(
        &service,
        &bob,
        &path,
        vec![
            Part::Field("coverLetter", letter),
            Part::File("one.txt", b"first"),
            Part::File("two.txt", b"second"),
            Part::Field("maximumBoost", "7"),
            Part::Field("action", "attach"),
        ],
    );
    let page = attached.expect(200).text();
    for shown in [
        "Files attached.",
        "one.txt",
        "two.txt",
        "6 bytes · uploaded for this lead",
        "It is &#60;mine&#62; &#38; yours.</textarea>",
        "value=\"7\"",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains("default.txt"), "{page}");
    let submitted = send(
        &service,
        &bob,
        &path,
        vec![
            Part::Field("coverLetter", letter),
            Part::File("three.txt", b"third"),
            Part::Field("action", "submit"),
        ],
    );
    submitted.expect(303);
    assert_eq!(world.bid_complete(&lead)["outcome"], "submitted");
    assert_eq!(world.accepted()[0]["attachments"].as_array().unwrap().len(), 3);
    let spent = bob.get(BIDDING).expect(200).text();
    let spent = spent.split("<dt>Spent today</dt><dd>").nth(1).unwrap();
    assert!(
        !spent.starts_with("0 ") && spent.contains(" connects"),
        "{spent:.100}"
    );
    let entries = uploads(&world, &lead);
    let told: Vec<(&Value, &Value)> = entries
        .iter()
        .map(|entry| (&entry["outcome"], &entry["actor"]["name"]))
        .collect();
    assert_eq!(told, [(&json!("accepted"), &json!(BOB)); 2]);
    let late = send(
        &service,
        &bob,
        &path,
        vec![Part::File("late.txt", b"late"), Part::Field("action", "attach")],
    );
    let page = late.expect(200).text();
    assert!(page.contains("it takes no more files."), "{page}");
}

fn a_refused_file_is_told_beside_its_field_and_what_was_typed_stays(kind: Kind) {
    let (world, service) = started(kind);
    let (path, lead) = bid_page(&world, &service);
    let bob = Session::of(&service, BOB);
    let large = vec![b'x'; 25 * 1_048_576 + 1];
    for (name, content, said) in [
        ("run.sh", &b"echo"[..], "has no accepted extension"),
        (
            "page.txt",
            b"<html>",
            "programs, scripts and macros are not accepted",
        ),
        ("large.txt", &large, "is larger than 25 MB"),
    ] {
        let refused = send(
            &service,
            &bob,
            &path,
            vec![
                Part::Field("coverLetter", "Typed."),
                Part::File("good.txt", b"good"),
                Part::File(name, content),
                Part::Field("maximumBoost", "7"),
                Part::Field("action", "submit"),
            ],
        );
        let page = refused.expect(200).text();
        let field = page.split("id=\"files-fault\"").nth(1).unwrap();
        let field = field.split("</p>").next().unwrap();
        assert!(field.contains(said) && field.contains(name), "{field}");
        assert!(
            page.contains(">Typed.</textarea>") && page.contains("value=\"7\""),
            "{page}"
        );
        assert!(!page.contains("good.txt"), "all or none: {page}");
    }
    assert_eq!(world.installation.show(&lead)["status"], "new");
    let entries = uploads(&world, &lead);
    assert_eq!(entries.len(), 3);
    assert!(
        entries
            .iter()
            .all(|entry| entry["outcome"] == "refused" && entry["actor"]["name"] == BOB)
    );
    let nothing = send(
        &service,
        &bob,
        &path,
        vec![Part::File("", b""), Part::Field("action", "attach")],
    );
    assert!(nothing.expect(200).text().contains("Choose a file first."));
}

fn a_form_with_files_and_a_wrong_token_is_refused_before_its_files_arrive(kind: Kind) {
    let (world, service) = started(kind);
    let (path, lead) = bid_page(&world, &service);
    let bob = Session::of(&service, BOB);
    let eve = Session::of(&service, EVE).token();
    let origin = format!("http://{}", service.address());
    let begin = |token: &str, origin: &str| {
        let parts = [Part::Field("csrf", token), Part::File("a.txt", b"begun")];
        let begun = body(&parts);
        let mut stream = TcpStream::connect(service.address()).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nOrigin: {origin}\r\nCookie: {}\r\n\
             Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: 100000000\r\n\r\n",
            service.address(),
            bob.cookie()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&begun[..begun.len() - 30]).unwrap();
        api::read_answer(&mut BufReader::new(stream)).unwrap().0
    };
    let started = Instant::now();
    begin(&eve, &origin).expect(403);
    begin("", &origin).expect(403);
    begin(&bob.token(), "http://evil.test").expect(403);
    // A client that pauses is given up after 20 s.
    assert!(started.elapsed() < STEP, "{:?}", started.elapsed());
    assert_eq!(uploads(&world, &lead), Vec::<Value>::new());
    let files = world.installation.attachments().list("org_acme");
    assert_eq!(files, Vec::<String>::new());
}

fn a_campaigns_files_are_added_listed_and_removed(kind: Kind) {
    let (world, service) = started(kind);
    let bob = Session::of(&service, BOB);
    let files = format!("{BIDDING}/files");
    assert!(
        bob.get(BIDDING)
            .expect(200)
            .text()
            .contains("<dt>Spent today</dt><dd>0 connects</dd>")
    );
    let two = vec![
        Part::File("about.txt", b"About me."),
        Part::File("work.txt", b"My work."),
    ];
    send(&service, &bob, &files, two).expect(303);
    let page = bob.get(BIDDING).expect(200).text();
    for shown in ["about.txt", "9 bytes", "work.txt", "8 bytes"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let again = send(&service, &bob, &files, vec![Part::File("ABOUT.txt", b"Other.")]);
    let page = again.expect(200).text();
    let field = page.split("id=\"files-fault\"").nth(1).unwrap();
    assert!(field.contains("is already attached"), "{field}");
    let none = send(&service, &bob, &files, vec![Part::File("", b"")]);
    assert!(none.expect(200).text().contains("Choose a file first."));
    bob.post(&format!("{files}/remove"), &[("name", "work.txt")])
        .expect(303);
    bob.post(&format!("{files}/remove"), &[("name", "work.txt")])
        .expect(404);
    let page = bob.get(BIDDING).expect(200).text();
    assert!(page.contains("about.txt") && !page.contains("work.txt"), "{page}");

    let mut entries = world.installation.activity(&["--campaign", EXTERNAL]);
    entries.retain(|entry| entry["kind"] == "change");
    let told: Vec<&str> = entries
        .iter()
        .map(|entry| entry["message"].as_str().unwrap())
        .collect();
    assert!(
        told.len() == 2
            && told[0].starts_with("File \"work.txt\" of campaign")
            && told[0].ends_with("removed."),
        "{told:?}"
    );
    assert_eq!(
        entries[1]["details"]["changes"][0]["new"],
        json!(["about.txt", "work.txt"])
    );
    assert!(entries.iter().all(|entry| entry["actor"]["name"] == BOB));

    let eve = Session::of(&service, EVE);
    let foreign = vec![Part::File("eve.txt", b"Eve's.")];
    send(&service, &eve, &files, foreign).expect(404);
    eve.post(&format!("{files}/remove"), &[("name", "about.txt")])
        .expect(404);
}

fn a_leads_own_bidding_is_set_shown_and_cleared(kind: Kind) {
    let (world, service) = started(kind);
    let (bid, lead) = bid_page(&world, &service);
    let page = format!("/campaigns/{EXTERNAL}/leads/{lead}");
    let configure = format!("{page}/configure");
    let bob = Session::of(&service, BOB);
    assert!(bob.get(&bid).expect(200).text().contains(&configure));
    let shown = bob.get(&configure).expect(200).text();
    assert!(shown.contains("$45/h (campaign)"), "{shown}");
    let wrong = [
        ("minBoost", "9"),
        ("maximumBoost", "3"),
        ("biddingFixedHourlyRate", "51"),
    ];
    let shown = bob.post(&configure, &wrong).expect(200).text();
    let fault = shown.split("id=\"own-minBoost-fault\"").nth(1).unwrap();
    assert!(
        fault
            .split("</p>")
            .next()
            .unwrap()
            .contains("must be at most maximumBoost")
    );
    assert!(shown.contains("value=\"51\""), "what was typed stays: {shown}");
    bob.post(&configure, &[("biddingFixedHourlyRate", "51")])
        .expect(303);
    let shown = bob.get(&page).expect(200).text();
    let own = shown.split("Own bidding</h2>").nth(1).unwrap();
    assert!(own.split("</section>").next().unwrap().contains("$51/h"), "{own}");
    assert!(shown.contains("Own bidding changed"), "{shown}");
    assert!(bob.get(&configure).expect(200).text().contains("value=\"51\""));
    assert!(bob.get(&bid).expect(200).text().contains("$51/h (lead)"));
    bob.post(&configure, &[("biddingFixedHourlyRate", "")])
        .expect(303);
    assert_eq!(world.installation.show(&lead)["biddingConfig"], json!({}));
    let mut entries = world.installation.activity(&["--lead", &lead]);
    entries.retain(|entry| entry["kind"] == "change");
    let changed: Vec<&Value> = entries
        .iter()
        .map(|entry| &entry["details"]["changes"][0]["new"])
        .collect();
    assert_eq!(changed, [&Value::Null, &json!(51)]);
    assert!(entries.iter().all(|entry| entry["actor"]["name"] == BOB));
    let eve = Session::of(&service, EVE);
    eve.get(&configure).expect(404);
    eve.post(&configure, &[("biddingFixedHourlyRate", "1")])
        .expect(404);
}

fn the_template_is_previewed_on_another_lead(kind: Kind) {
    let (world, service) = started(kind);
    let posts = ["Rust one", "Rust two"].map(posts::hourly);
    world.publish(&service, EXTERNAL, posts.to_vec(), 2);
    let bob = Session::of(&service, BOB);
    let title = |page: &str| {
        let on = page.split("On “<span dir=\"auto\">").nth(1).unwrap();
        on.split("</span>").next().unwrap().to_owned()
    };
    let first = bob.get(BIDDING).expect(200).text();
    let link = first.split("\">Another lead</a>").next().unwrap();
    let link = link.rsplit("href=\"").next().unwrap().to_owned();
    let second = bob.get(&link).expect(200).text();
    assert_ne!(title(&first), title(&second));
    let draft = [("letter", "About {{ title }}"), ("then", "preview")];
    let drafted = bob
        .post(&format!("{BIDDING}/template"), &draft)
        .expect(200)
        .text();
    let other = drafted.split("name=\"another\" value=\"").nth(1).unwrap();
    let other = other.split('"').next().unwrap();
    let draft = [("letter", "About {{ title }}"), ("another", other)];
    let again = bob
        .post(&format!("{BIDDING}/template"), &draft)
        .expect(200)
        .text();
    assert_ne!(title(&drafted), title(&again));
    assert!(again.contains(&format!("About {}", title(&again))), "{again}");
}
