//! `uploadLeadAttachments`: the rules of a batch. Files' own rules are tested with `attachment_rules`.

use bidloop_domain::port::BlobPath;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::client::{Answer, Request, exchange_half_closed};
use crate::world::{World, address_of, key};

const BOUNDARY: &str = "----test7MA4YWxk";
pub(crate) const MB: usize = 1_048_576;

/// A part under construction, and the whole of them.
#[derive(Clone, Default)]
pub(crate) struct Form(Vec<u8>);

impl Form {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn part(mut self, headers: &str, content: &[u8]) -> Self {
        self.0
            .extend_from_slice(format!("--{BOUNDARY}\r\n{headers}\r\n\r\n").as_bytes());
        self.0.extend_from_slice(content);
        self.0.extend_from_slice(b"\r\n");
        self
    }

    pub(crate) fn file(self, name: &str, content_type: &str, content: &[u8]) -> Self {
        let headers = format!(
            "Content-Disposition: form-data; name=\"files\"; filename=\"{name}\"\r\nContent-Type: {content_type}"
        );
        self.part(&headers, content)
    }

    pub(crate) fn text(self, name: &str) -> Self {
        self.file(name, "text/plain", b"Dear client,")
    }

    pub(crate) fn bytes(mut self) -> Vec<u8> {
        self.0.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
        self.0
    }
}

pub(crate) fn request(path: &str, body: Vec<u8>) -> Request {
    Request::new("POST", path)
        .key(&key())
        .header(
            "Content-Type",
            &format!("multipart/form-data; boundary={BOUNDARY}"),
        )
        .body(body)
}

fn upload(world: &World, job: usize, form: Form) -> Answer {
    world.send(&request(&address_of(job, "attachments"), form.bytes()))
}

/// Refused with `status`, naming `named`; nothing kept; recorded.
fn assert_refused(world: &World, answer: &Answer, status: u16, named: &str) {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.json()["statusCode"], status);
    assert!(
        answer.message().contains(named),
        "{} names {named}",
        answer.message()
    );
    let recorded = &world.activities()[0];
    assert_eq!(
        (recorded.outcome.as_str(), recorded.http_status),
        ("refused", Some(status))
    );
    assert!(recorded.message.contains(named));
}

fn names(answer: &Answer) -> Vec<String> {
    let list = answer.json();
    let list = list.as_array().unwrap_or_else(|| panic!("{answer:?}"));
    list.iter()
        .map(|file| file["originalName"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_answer_is_the_leads_full_list_in_the_specified_shape() {
    let world = World::new();
    let pdf = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n";
    let first = upload(
        &world,
        0,
        Form::new().file("Port folio.PDF", "application/pdf", pdf),
    );
    assert_eq!(first.status, 200, "{first:?}");
    let file = first.json()[0].clone();
    assert_eq!(file["originalName"], "Port folio.PDF");
    assert_eq!(file["contentType"], "application/pdf");
    assert_eq!(file["sizeBytes"], pdf.len());
    let digest = hex::encode(Sha256::digest(pdf));
    assert_eq!(file["sha256"], digest);
    assert_eq!(file["createdAt"], 1_790_000_000_000_i64);
    let path = BlobPath::parse(file["storagePath"].as_str().unwrap()).unwrap();
    assert_eq!(world.blobs.content(&path).as_deref(), Some(&pdf[..]));
    let recorded = &world.activities()[0];
    assert_eq!(
        (recorded.outcome.as_str(), recorded.http_status),
        ("accepted", Some(200))
    );
    assert_eq!(recorded.details["files"][0]["name"], "Port folio.PDF");
    assert_eq!(recorded.details["files"][0]["sha256"], json!(digest));
    assert_eq!(recorded.details["files"][0]["sizeBytes"], pdf.len());

    let second = upload(&world, 0, Form::new().text("a.txt").text("b.txt"));
    assert_eq!(names(&second), ["Port folio.PDF", "a.txt", "b.txt"]);
}

#[test]
fn a_name_with_quotes_or_any_script_is_kept_as_given() {
    let world = World::new();
    let headers = "Content-Disposition: form-data; name=\"files\"; filename=\"x.txt\"; \
                   filename*=UTF-8''%E7%BB%8F%E5%8E%86.txt\r\nContent-Type: text/plain; charset=utf-8";
    let form = Form::new()
        .text("a \\\"b\\\";c.txt")
        .text("Résumé.txt")
        .part(headers, b"hi");
    assert_eq!(
        names(&upload(&world, 0, form)),
        ["a \"b\";c.txt", "Résumé.txt", "经历.txt"]
    );
}

#[test]
fn a_part_without_a_type_is_plain_text() {
    let world = World::new();
    let headers = "Content-Disposition: form-data; name=\"files\"; filename=\"a.txt\"";
    assert_eq!(upload(&world, 0, Form::new().part(headers, b"hi")).status, 200);
    let headers = headers.replace("a.txt", "a.pdf");
    assert_refused(
        &world,
        &upload(&world, 0, Form::new().part(&headers, b"%PDF-1.7")),
        400,
        "a.pdf",
    );
}

#[test]
fn a_batch_with_one_faulty_file_keeps_none() {
    let world = World::new();
    for (name, content_type, content) in [
        ("evil.exe", "application/pdf", &b"%PDF-1.7\n%%EOF"[..]),
        ("fake.png", "image/png", b"%PDF-1.7\n%%EOF"),
        ("note.pdf", "text/plain", b"hello"),
        ("empty.txt", "text/plain", b""),
        ("tool.jar", "application/zip", b"PK\x03\x04"),
        ("noextension", "text/plain", b"hello"),
        ("script.txt", "text/plain", b"#!/bin/sh\necho"),
        (
            "GOOD1.TXT",
            "text/plain",
            b"a name of the same batch, in another case",
        ),
    ] {
        let form = Form::new()
            .text("good1.txt")
            .file(name, content_type, content)
            .text("good2.txt");
        assert_refused(&world, &upload(&world, 0, form), 400, name);
    }
    assert!(world.blobs.paths().is_empty());
    assert_eq!(
        names(&upload(&world, 0, Form::new().text("good1.txt"))),
        ["good1.txt"]
    );
}

#[test]
fn a_name_that_the_lead_has_is_refused_in_any_case_and_normal_form() {
    let world = World::new();
    assert_eq!(upload(&world, 0, Form::new().text("Résumé.txt")).status, 200);
    let again = "RE\u{301}SUME\u{301}.TXT";
    assert_refused(
        &world,
        &upload(&world, 0, Form::new().text("x.txt").text(again)),
        400,
        "SUM",
    );
    assert_eq!(
        upload(&world, 1, Form::new().text("Résumé.txt")).status,
        200,
        "another lead's is no matter"
    );
    assert_eq!(world.blobs.paths().len(), 2);
}

#[test]
fn a_lead_has_at_most_five_files_over_all_requests() {
    let world = World::new();
    let numbered = |from: usize, to: usize| {
        (from..to).fold(Form::new(), |form, index| form.text(&format!("{index}.txt")))
    };
    assert_refused(&world, &upload(&world, 0, numbered(0, 6)), 400, "5.txt");
    assert_eq!(upload(&world, 0, numbered(0, 3)).status, 200);
    assert_refused(&world, &upload(&world, 0, numbered(3, 6)), 400, "5.txt");
    assert_eq!(upload(&world, 0, numbered(3, 5)).status, 200);
    assert_refused(&world, &upload(&world, 0, numbered(5, 6)), 400, "5.txt");
    assert_eq!(upload(&world, 1, numbered(0, 5)).status, 200);
}

#[test]
fn a_request_without_a_file_is_refused() {
    let world = World::new();
    assert_refused(&world, &upload(&world, 0, Form::new()), 400, "no file");
    let nameless = "Content-Disposition: form-data; name=\"files\"";
    assert_refused(
        &world,
        &upload(&world, 0, Form::new().part(nameless, b"x")),
        400,
        "file name",
    );
}

#[test]
fn every_part_must_be_named_files() {
    let world = World::new();
    let named = "Content-Disposition: form-data; name=\"file\"; filename=\"offer.txt\"";
    assert_refused(
        &world,
        &upload(&world, 0, Form::new().part(named, b"x")),
        400,
        "offer.txt",
    );
    let field = "Content-Disposition: form-data; name=\"comment\"";
    assert_refused(
        &world,
        &upload(&world, 0, Form::new().text("a.txt").part(field, b"x")),
        400,
        "comment",
    );
    assert!(world.blobs.paths().is_empty());
}

#[test]
fn a_file_of_exactly_25_mb_passes_and_one_byte_more_is_413() {
    let world = World::new();
    let mut content = vec![b'a'; 25 * MB];
    let answer = upload(&world, 0, Form::new().file("big.txt", "text/plain", &content));
    assert_eq!(
        (answer.status, &answer.json()[0]["sizeBytes"]),
        (200, &json!(25 * MB))
    );
    content.push(b'a');
    let form = Form::new()
        .text("small.txt")
        .file("bigger.txt", "text/plain", &content);
    assert_refused(&world, &upload(&world, 0, form.clone()), 413, "bigger.txt");
    let chunked = request(&address_of(0, "attachments"), form.bytes()).chunked();
    assert_refused(&world, &world.send(&chunked), 413, "bigger.txt");
    assert_eq!(world.blobs.paths().len(), 1);
}

#[test]
fn the_first_faulty_file_decides_between_400_and_413() {
    let world = World::new();
    let big = vec![b'a'; 25 * MB + 1];
    let form = Form::new().text("a.exe").file("big.txt", "text/plain", &big);
    assert_refused(&world, &upload(&world, 0, form), 400, "a.exe");
    let form = Form::new().file("big.txt", "text/plain", &big).text("a.exe");
    assert_refused(&world, &upload(&world, 0, form), 413, "big.txt");
}

#[test]
fn an_upload_after_the_decision_is_refused_naming_the_status() {
    let world = World::new();
    let bid = json!({"coverLetter": "x", "questionAnswerPairs": []});
    assert_eq!(world.post(&address_of(0, "bid"), &bid).status, 200);
    assert_eq!(world.post(&address_of(1, "reject"), &json!({})).status, 200);
    assert_refused(
        &world,
        &upload(&world, 0, Form::new().text("a.exe")),
        400,
        "queued",
    );
    assert_refused(
        &world,
        &upload(&world, 1, Form::new().text("a.txt")),
        400,
        "rejected",
    );
    assert!(world.blobs.paths().is_empty());
}

#[test]
fn a_missing_or_useless_boundary_is_400() {
    let world = World::new();
    let path = address_of(0, "attachments");
    for content_type in [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=other",
    ] {
        let request = Request::new("POST", &path)
            .key(&key())
            .header("Content-Type", content_type)
            .body(Form::new().text("a.txt").bytes());
        let answer = world.send(&request);
        assert_eq!(
            (answer.status, answer.error_paths()),
            (400, vec![String::new()]),
            "{content_type}"
        );
    }
}

#[test]
fn a_body_that_breaks_off_keeps_nothing() {
    let world = World::new();
    let whole = Form::new().text("a.txt").text("b.txt").bytes();
    let path = address_of(0, "attachments");
    for cut in [0, 1, 30, whole.len() / 2, whole.len() - 40, whole.len() - 5] {
        let shorter = request(&path, whole[..cut].to_vec());
        assert_eq!(
            world.send(&shorter).status,
            400,
            "a whole body that ends too early, at {cut}"
        );
        let cut_off = shorter.declared(whole.len() as u64).bytes();
        let answer = exchange_half_closed(world.address, &cut_off);
        assert!(
            answer.is_none_or(|answer| answer.status == 400),
            "cut off at {cut}"
        );
    }
    assert!(world.blobs.paths().is_empty());
    assert_eq!(upload(&world, 0, Form::new().text("a.txt")).status, 200);
}

#[test]
fn a_part_with_huge_or_malformed_headers_is_400() {
    let world = World::new();
    let huge = format!("X-Huge: {}", "x".repeat(MB));
    let many = "X-Many: 1\r\n".repeat(500);
    for headers in [
        huge.as_str(),
        many.trim_end(),
        "no header at all",
        "Content-Disposition: form-data",
    ] {
        let answer = upload(&world, 0, Form::new().part(headers, b"x"));
        assert_eq!(answer.status, 400, "{}", &headers[..20.min(headers.len())]);
    }
}

#[test]
fn while_the_attachment_storage_is_away_an_upload_is_503() {
    let world = World::new();
    world.blobs.set_available(false);
    let answer = upload(&world, 0, Form::new().text("a.txt"));
    assert_eq!(answer.status, 503);
    assert!(answer.header("retry-after").is_some());
    world.blobs.set_available(true);
    assert_eq!(
        upload(&world, 0, Form::new().text("a.txt")).status,
        200,
        "its name is not taken"
    );
}

#[test]
fn of_uploads_at_once_a_lead_takes_five_files_and_no_name_twice() {
    let world = World::new();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let world = &world;
        let sent: Vec<_> = (0..12)
            .map(|index| {
                scope.spawn(move || upload(world, 0, Form::new().text(&format!("{}.txt", index % 6))).status)
            })
            .collect();
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    assert_eq!(
        statuses.iter().filter(|status| **status == 200).count(),
        5,
        "{statuses:?}"
    );
    assert!(
        statuses.iter().all(|status| matches!(status, 200 | 400)),
        "{statuses:?}"
    );
    assert_eq!(world.blobs.paths().len(), 5, "what was refused is not kept");
}

#[test]
fn text_before_and_after_the_parts_is_ignored() {
    let world = World::new();
    let mut body = b"This is a message in several parts.\r\n".to_vec();
    body.extend(Form::new().text("a.txt").bytes());
    body.extend_from_slice(b"The end.\r\n");
    let answer = world.send(&request(&address_of(0, "attachments"), body));
    assert_eq!(names(&answer), ["a.txt"]);
}
