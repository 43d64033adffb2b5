//! Uploads: what is accepted, whole batches or nothing, and their use for the proposal.

use acceptance::api::Upload;
use acceptance::document::{EXTERNAL, campaign};
use acceptance::world::{STEP, bid, id, lead_with_status, path};
use acceptance::{Kind, World, posts, until};
use serde_json::json;

on_both_databases!(
    uploads_are_used_for_the_proposal_instead_of_the_campaigns_attachments,
    a_batch_with_a_faulty_file_changes_nothing,
    a_lead_holds_at_most_five_files_of_at_most_25_mb,
    an_upload_after_the_decision_is_refused_by_status,
);

const PDF: &[u8] = b"%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n";

fn text<'a>(name: &'a str, content: &'a str) -> Upload<'a> {
    Upload {
        name,
        content_type: "text/plain",
        content: content.as_bytes(),
    }
}

fn uploads_are_used_for_the_proposal_instead_of_the_campaigns_attachments(kind: Kind) {
    let world = World::new(kind);
    world.installation.file("files/portfolio.pdf", PDF);
    let mut with_file = campaign(EXTERNAL, "rust");
    with_file["attachments"] =
        json!([{"name": "portfolio.pdf", "contentType": "application/pdf", "path": "files/portfolio.pdf"}]);
    world.provision(&[with_file]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 2), 2);
    let api = service.api();
    let upload = path(EXTERNAL, id(&leads[0]), "attachments");
    let first = api
        .upload(&upload, &[text("one.txt", "first")])
        .expect(200)
        .json();
    let files = [
        text("two.txt", "second"),
        Upload {
            name: "three.PDF",
            content_type: "application/pdf",
            content: PDF,
        },
    ];
    let all = api.upload(&upload, &files).expect(200).json();
    let names: Vec<&str> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["originalName"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["one.txt", "two.txt", "three.PDF"], "the lead's full list");
    assert_eq!(all[0], first[0]);
    for file in all.as_array().unwrap() {
        assert!(
            file["id"].is_string() && file["contentType"].is_string() && file["sizeBytes"].is_i64(),
            "{file}"
        );
    }
    for lead in &leads {
        api.post_json(&path(EXTERNAL, id(lead), "bid"), &bid())
            .expect(200);
        assert_eq!(world.bid_complete(id(lead))["outcome"], "submitted");
    }
    let accepted = world.accepted();
    let of = |lead: &serde_json::Value| {
        let url = lead["jobUrl"].as_str().unwrap();
        let proposal = accepted
            .iter()
            .find(|p| url.ends_with(p["jobId"].as_str().unwrap()))
            .unwrap();
        proposal["attachments"].as_array().unwrap().len()
    };
    assert_eq!((of(&leads[0]), of(&leads[1])), (3, 1));
}

fn a_batch_with_a_faulty_file_changes_nothing(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    let api = service.api();
    let upload = path(EXTERNAL, id(&leads[0]), "attachments");
    api.upload(&upload, &[text("kept.txt", "kept")]).expect(200);
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let faulty = [
        text("KEPT.txt", "a duplicate name"),
        text("empty.txt", ""),
        text("script.sh", "#!/bin/sh"),
        text("script.txt", "\u{feff}\n@ECHO OFF\r\n"),
        text("noextension", "x"),
        Upload {
            name: "program.exe",
            content_type: "application/pdf",
            content: PDF,
        },
        Upload {
            name: "picture.png",
            content_type: "image/png",
            content: PDF,
        },
        Upload {
            name: "picture.pdf",
            content_type: "application/pdf",
            content: png,
        },
        Upload {
            name: "archive.jar",
            content_type: "application/zip",
            content: b"PK\x03\x04xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        },
        Upload {
            name: "page.html",
            content_type: "text/html",
            content: b"<html>",
        },
        Upload {
            name: "binary.txt",
            content_type: "text/plain",
            content: b"a\0b",
        },
        Upload {
            name: "latin.txt",
            content_type: "text/plain",
            content: b"\xe9t\xe9",
        },
    ];
    for file in faulty {
        let answer = api
            .upload(&upload, &[text("good.txt", "good"), file])
            .expect(400)
            .json();
        assert!(
            answer["message"].as_str().unwrap().contains(file.name),
            "{}: {answer}",
            file.name
        );
    }
    api.upload(&upload, &[]).expect(400);
    let now = api
        .upload(
            &upload,
            &[text("good.txt", "Start 50% now, 50% later; net 30 days.")],
        )
        .expect(200)
        .json();
    assert_eq!(now.as_array().unwrap().len(), 2, "{now}");
}

fn a_lead_holds_at_most_five_files_of_at_most_25_mb(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 2), 2);
    let api = service.api();
    let upload = path(EXTERNAL, id(&leads[0]), "attachments");
    let names = ["1.txt", "2.txt", "3.txt", "4.txt", "5.txt", "6.txt"];
    let files: Vec<Upload<'_>> = names.iter().map(|name| text(name, "x")).collect();
    api.upload(&upload, &files).expect(400);
    api.upload(&upload, &files[..4]).expect(200);
    api.upload(&upload, &files[4..]).expect(400);
    api.upload(&upload, &files[4..5]).expect(200);
    let full = api.upload(&upload, &files[5..]).expect(400).json();
    assert!(full["message"].as_str().unwrap().contains('5'), "{full}");
    let large = "x".repeat(25 * 1_048_576 + 1);
    let other = path(EXTERNAL, id(&leads[1]), "attachments");
    let answer = api
        .upload(&other, &[text("large.txt", &large)])
        .expect(413)
        .json();
    assert!(
        answer["message"].as_str().unwrap().contains("large.txt"),
        "{answer}"
    );
    let rest = api
        .upload(&other, &[text("largest.txt", &large[1..])])
        .expect(200)
        .json();
    assert_eq!(rest.as_array().unwrap().len(), 1);
}

fn an_upload_after_the_decision_is_refused_by_status(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 2), 2);
    let api = service.api();
    api.post(&path(EXTERNAL, id(&leads[0]), "reject")).expect(200);
    api.post_json(&path(EXTERNAL, id(&leads[1]), "bid"), &bid())
        .expect(200);
    lead_with_status(&api, EXTERNAL, id(&leads[1]), "submitted");
    for (lead, status) in [(&leads[0], "rejected"), (&leads[1], "submitted")] {
        let answer = api
            .upload(&path(EXTERNAL, id(lead), "attachments"), &[text("a.txt", "a")])
            .expect(400)
            .json();
        assert!(answer["message"].as_str().unwrap().contains(status), "{answer}");
    }
    until("both refusals stand in Activity", STEP, || {
        let lines = world.installation.activity(&[]);
        lines
            .iter()
            .filter(|line| line["kind"] == "upload" && line["outcome"] == "refused")
            .count()
            == 2
    });
}
