//! Upload attachments of the specification; decisions A9, A10 and C8 as far as the use case answers for them. The
//! rules of single files have tests beside them.

use bidloop_domain::model::{ActivityKind, ActivityOutcome, LeadAttachment, LeadId};
use bidloop_domain::port::BlobPath;
use bidloop_domain::use_case::{LeadError, PartHead, UploadSession};
use bidloop_port_contracts::fixture::campaign_id;
use bytes::Bytes;
use futures::stream;
use serde_json::json;

use crate::service::{Answered as _, Service, request};

async fn upload(
    service: &Service,
    lead: &LeadId,
    files: &[(&str, &str)],
) -> Result<Vec<LeadAttachment>, LeadError> {
    let upload = service.upload_attachments();
    let mut session = upload
        .begin(&Service::requester(), &Service::campaign(), lead, Ok(()))
        .await?;
    for (name, content) in files {
        let piece = Ok(Bytes::copy_from_slice(content.as_bytes()));
        if let Err(fault) = session.add_file(part(name), stream::iter([piece])).await {
            return Err(session.refuse(fault).await);
        }
    }
    session.finish().await
}

fn part(file_name: &str) -> PartHead {
    PartHead {
        name: "files".to_owned(),
        file_name: Some(file_name.to_owned()),
        content_type: Some("text/plain".to_owned()),
    }
}

/// An upload of which one file has come in.
async fn under_way(service: &Service, lead: &LeadId) -> UploadSession {
    let upload = service.upload_attachments();
    let mut session = upload
        .begin(&Service::requester(), &Service::campaign(), lead, Ok(()))
        .await
        .unwrap();
    let piece = Ok(Bytes::from_static(b"A piece"));
    session
        .add_file(part("a.txt"), stream::iter([piece]))
        .await
        .unwrap();
    session
}

fn names(files: &[LeadAttachment]) -> Vec<&str> {
    files.iter().map(|file| &*file.original_name).collect()
}

#[tokio::test]
async fn uploads_add_up_and_each_answer_is_the_leads_full_list() {
    let (service, lead) = Service::with_lead().await;
    let first = upload(&service, &lead, &[("a.txt", "A"), ("b.txt", "BB")])
        .await
        .unwrap();
    assert_eq!(names(&first), ["a.txt", "b.txt"]);
    let all = upload(&service, &lead, &[("c.txt", "C")]).await.unwrap();
    assert_eq!(names(&all), ["a.txt", "b.txt", "c.txt"]);
    for (file, content) in all.iter().zip(["A", "BB", "C"]) {
        let path = BlobPath::parse(&file.blob.storage_path).unwrap();
        assert_eq!(service.blobs.content(&path).as_deref(), Some(content.as_bytes()));
        assert_eq!(file.blob.size_bytes, content.len() as u64);
    }
    let entries = service.activities(ActivityKind::Upload).await;
    assert_eq!(entries.len(), 2);
    assert!(
        entries
            .iter()
            .all(|entry| entry.outcome == ActivityOutcome::Accepted && entry.http_status == Some(200))
    );
    assert_eq!(entries[0].actor, Service::caller().actor());
}

#[tokio::test]
async fn a_batch_with_a_faulty_file_is_rolled_back_whole_and_names_it() {
    let (service, lead) = Service::with_lead().await;
    upload(&service, &lead, &[("kept.txt", "K")]).await.unwrap();
    let kept = service.blobs.paths();
    for (files, faulty) in [
        (vec![("a.txt", "A"), ("run.sh", "echo")], "run.sh"),
        (vec![("a.txt", "A"), ("empty.txt", "")], "empty.txt"),
        (vec![("a.txt", "A"), ("KEPT.TXT", "K")], "KEPT.TXT"),
        (vec![("a.txt", "A"), ("A.txt", "again")], "A.txt"),
    ] {
        let refused = upload(&service, &lead, &files).await.unwrap_err();
        assert_eq!(refused.http_status(), Some(400));
        assert!(refused.to_string().contains(faulty), "{refused}");
        assert_eq!(service.blobs.paths(), kept);
        assert_eq!(service.context(&lead).await.attachments.len(), 1);
        let entry = service.activities(ActivityKind::Upload).await.remove(0);
        assert_eq!(
            (entry.outcome.as_str(), entry.http_status),
            ("refused", Some(400))
        );
    }
}

#[tokio::test]
async fn a_lead_takes_five_files_in_all() {
    let (service, lead) = Service::with_lead().await;
    upload(&service, &lead, &[("1.txt", "1"), ("2.txt", "2"), ("3.txt", "3")])
        .await
        .unwrap();
    let refused = upload(&service, &lead, &[("4.txt", "4"), ("5.txt", "5"), ("6.txt", "6")]).await;
    assert_eq!(refused.unwrap_err().http_status(), Some(400));
    assert_eq!(service.blobs.paths().len(), 3);
    let all = upload(&service, &lead, &[("4.txt", "4"), ("5.txt", "5")])
        .await
        .unwrap();
    assert_eq!(all.len(), 5);
    assert_eq!(
        upload(&service, &lead, &[]).await.unwrap_err().http_status(),
        Some(400),
        "no file at all"
    );
}

#[tokio::test]
async fn uploads_take_the_place_of_the_campaigns_files_in_the_proposal() {
    let (service, lead) = Service::with_lead().await;
    upload(&service, &lead, &[("offer.txt", "An offer")])
        .await
        .unwrap();
    service.bid(&lead, request()).await;
    service.submit().await;
    let files = service.marketplace.files();
    assert_eq!(
        (files.len(), &*files[0].name, &*files[0].content),
        (1, "offer.txt", &b"An offer"[..])
    );
}

#[tokio::test]
async fn a_lead_that_was_decided_on_takes_no_more_files() {
    let (service, lead) = Service::with_bid(request()).await;
    for status in ["queued", "submitted"] {
        let refused = upload(&service, &lead, &[("a.txt", "A")]).await.unwrap_err();
        assert_eq!(refused.http_status(), Some(400));
        assert!(refused.to_string().contains(status));
        let entry = service.activities(ActivityKind::Upload).await.remove(0);
        assert_eq!(
            (entry.outcome.as_str(), entry.http_status),
            ("refused", Some(400))
        );
        service.submit().await;
    }
    assert!(service.blobs.paths().is_empty());
}

#[tokio::test]
async fn a_bid_accepted_while_files_come_in_wins() {
    let (service, lead) = Service::with_lead().await;
    let session = under_way(&service, &lead).await;
    service.bid(&lead, request()).await;
    let refused = session.finish().await.unwrap_err();
    assert_eq!(refused.http_status(), Some(400));
    assert!(
        service.blobs.paths().is_empty(),
        "what was published is taken back"
    );
    service.submit().await;
    assert!(service.marketplace.files().is_empty());
}

#[tokio::test]
async fn the_declared_length_campaign_and_lead_are_judged_before_the_body() {
    let (service, lead) = Service::with_lead().await;
    let unknown = LeadId::parse("ld_unknown").unwrap();
    let too_large = || Err(LeadError::TooLarge { limit_bytes: 1 });
    let upload = service.upload_attachments();
    for (campaign, lead, envelope, status) in [
        ("nowhere", &unknown, too_large(), 413),
        ("nowhere", &unknown, Ok(()), 404),
        ("camp", &unknown, Ok(()), 404),
        ("camp", &lead, too_large(), 413),
    ] {
        let refused = upload
            .begin(&Service::requester(), &campaign_id(campaign), lead, envelope)
            .await;
        assert_eq!(refused.unwrap_err().http_status(), Some(status));
    }
    let entries = service.activities(ActivityKind::Upload).await;
    assert_eq!(entries.len(), 1, "on the existing lead alone");
    assert_eq!(json!(entries[0].http_status), 413);
}

#[tokio::test]
async fn a_file_that_breaks_off_is_recorded_with_what_came_of_it() {
    let (service, lead) = Service::with_lead().await;
    let mut session = under_way(&service, &lead).await;
    let broken_off = LeadError::Malformed(Vec::new());
    let pieces = stream::iter([Ok(Bytes::from_static(b"half")), Err(broken_off)]);
    let fault = session.add_file(part("b.txt"), pieces).await.unwrap_err();
    let refused = session.refuse(fault).await;
    assert!(matches!(refused, LeadError::Malformed(_)), "{refused}");
    let entry = service.activities(ActivityKind::Upload).await.remove(0);
    assert_eq!(entry.details["files"][0]["sizeBytes"], 7);
    assert_eq!(
        entry.details["files"][1],
        json!({"name": "b.txt", "contentType": "text/plain", "receivedBytes": 4})
    );
    assert!(service.blobs.paths().is_empty());
}

#[tokio::test]
async fn a_dropped_upload_leaves_nothing() {
    let (service, lead) = Service::with_lead().await;
    let session = under_way(&service, &lead).await;
    drop(session);
    assert!(service.blobs.paths().is_empty());
    assert!(service.context(&lead).await.attachments.is_empty());
}
