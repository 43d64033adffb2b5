//! Files of a campaign's proposals that people add and remove in the console (decisions A9 and E5).

use std::sync::Arc;

use bidloop_domain::attachment_rules::FileFault;
use bidloop_domain::model::{ActivityOutcome, MemberRole};
use bidloop_domain::port::{BlobError, BlobPath};
use bidloop_domain::use_case::{
    CampaignUpload, Changed, ManageOrganizationError, OrganizationChange, PartHead,
};
use bytes::Bytes;
use futures::stream;
use serde_json::json;

use crate::manage_organization::{manage, member, record, recorded, signed_in};
use crate::service::{Service, request};

/// Why a file was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Refused {
    File(FileFault),
    Blob(BlobError),
    Change(ManageOrganizationError),
}

impl From<FileFault> for Refused {
    fn from(fault: FileFault) -> Self {
        Self::File(fault)
    }
}

impl From<BlobError> for Refused {
    fn from(error: BlobError) -> Self {
        Self::Blob(error)
    }
}

async fn begin(service: &Service) -> CampaignUpload {
    let person = signed_in(service, MemberRole::Member).await;
    CampaignUpload::begin(Arc::new(manage(service)), person, Service::campaign())
        .await
        .unwrap()
}

async fn add_to(upload: &mut CampaignUpload, name: &str, content: &str) -> Result<(), Refused> {
    let part = PartHead {
        name: "files".to_owned(),
        file_name: Some(name.to_owned()),
        content_type: Some("text/plain".to_owned()),
    };
    let piece = Ok(Bytes::copy_from_slice(content.as_bytes()));
    upload.add_file(part, stream::iter([piece])).await
}

async fn upload(service: &Service, files: &[(&str, &str)]) -> Result<Changed, Refused> {
    let mut upload = begin(service).await;
    for (name, content) in files {
        add_to(&mut upload, name, content).await?;
    }
    upload.finish().await.map_err(Refused::Change)
}

async fn remove(service: &Service, name: &str) -> Result<Changed, ManageOrganizationError> {
    let change = OrganizationChange::RemoveFile {
        campaign: Service::campaign(),
        name: name.to_owned(),
    };
    let person = signed_in(service, MemberRole::Member).await;
    manage(service).change(&person, &change).await
}

async fn names(service: &Service) -> Vec<String> {
    let files = record(service).await.campaigns.remove(0).attachments;
    files.into_iter().map(|file| file.name).collect()
}

#[tokio::test]
async fn files_add_up_are_recorded_and_sent_with_the_campaigns_proposals() {
    let (service, lead) = Service::with_lead().await;
    upload(&service, &[("about.txt", "About me."), ("work.txt", "My work.")])
        .await
        .unwrap();
    upload(&service, &[("rates.txt", "My rates.")]).await.unwrap();
    assert_eq!(names(&service).await, ["about.txt", "work.txt", "rates.txt"]);
    let entries = recorded(&service).await;
    assert_eq!(entries.len(), 2);
    assert_eq!(
        (&*entries[1].message, entries[1].outcome),
        (
            "Files \"about.txt\", \"work.txt\" of campaign \"Campaign camp\" added.",
            ActivityOutcome::Accepted
        )
    );
    assert_eq!(entries[0].actor, member(MemberRole::Member).actor());
    assert_eq!(
        entries[0].details["changes"],
        json!([{"type": "campaign", "id": Service::campaign(), "field": "attachments",
            "old": ["about.txt", "work.txt"], "new": ["about.txt", "work.txt", "rates.txt"]}])
    );
    service.bid(&lead, request()).await;
    service.submit().await;
    let sent = service.marketplace.files();
    let sent: Vec<(&str, &[u8])> = sent.iter().map(|file| (&*file.name, &*file.content)).collect();
    assert_eq!(
        sent,
        [
            ("about.txt", &b"About me."[..]),
            ("work.txt", b"My work."),
            ("rates.txt", b"My rates.")
        ]
    );
}

#[tokio::test]
async fn a_removed_file_is_sent_with_queued_bids_all_the_same_and_with_no_other() {
    let (service, lead) = Service::with_lead().await;
    upload(&service, &[("about.txt", "About me.")]).await.unwrap();
    service.bid(&lead, request()).await;
    remove(&service, "about.txt").await.unwrap();
    assert_eq!(names(&service).await, [""; 0]);
    assert_eq!(
        recorded(&service).await[0].message,
        "File \"about.txt\" of campaign \"Campaign camp\" removed."
    );
    service.submit().await;
    assert_eq!(service.marketplace.files().len(), 1);
    let again = remove(&service, "about.txt").await;
    assert_eq!(again, Err(ManageOrganizationError::Unknown));
}

#[tokio::test]
async fn a_file_whose_content_the_storage_has_lost_can_be_removed_and_others_added() {
    let service = Service::new().await;
    upload(&service, &[("lost.txt", "Lost.")]).await.unwrap();
    for path in service.blobs.paths() {
        bidloop_domain::port::BlobStore::delete(&*service.blobs, &path)
            .await
            .unwrap();
    }
    upload(&service, &[("new.txt", "New.")]).await.unwrap();
    remove(&service, "lost.txt").await.unwrap();
    assert_eq!(names(&service).await, ["new.txt"]);
}

#[tokio::test]
async fn the_rules_of_files_hold_and_a_faulty_file_changes_nothing() {
    let service = Service::new().await;
    upload(&service, &[("kept.txt", "K")]).await.unwrap();
    let kept: Vec<BlobPath> = service.blobs.paths();
    for (files, faulty) in [
        (vec![("a.txt", "A"), ("run.sh", "echo")], "run.sh"),
        (vec![("a.txt", "A"), ("empty.txt", "")], "empty.txt"),
        (vec![("a.txt", "A"), ("KEPT.TXT", "other")], "KEPT.TXT"),
        (
            vec![
                ("1.txt", "1"),
                ("2.txt", "2"),
                ("3.txt", "3"),
                ("4.txt", "4"),
                ("5.txt", "5"),
            ],
            "5.txt",
        ),
    ] {
        let Err(Refused::File(fault)) = upload(&service, &files).await else {
            panic!("{faulty} was taken");
        };
        assert!(fault.to_string().contains(faulty), "{fault}");
        assert_eq!(service.blobs.paths(), kept);
    }
    assert_eq!(names(&service).await, ["kept.txt"]);
    assert_eq!(recorded(&service).await.len(), 1);
    let none = upload(&service, &[]).await;
    assert!(matches!(
        none,
        Err(Refused::Change(ManageOrganizationError::Faulty(_)))
    ));
}

#[tokio::test]
async fn of_two_uploads_at_once_none_is_lost_and_a_name_is_taken_once() {
    let service = Service::new().await;
    let (mut one, mut other, mut same) = (
        begin(&service).await,
        begin(&service).await,
        begin(&service).await,
    );
    add_to(&mut one, "one.txt", "1").await.unwrap();
    add_to(&mut other, "other.txt", "2").await.unwrap();
    add_to(&mut same, "ONE.txt", "3").await.unwrap();
    one.finish().await.unwrap();
    other.finish().await.unwrap();
    let Err(ManageOrganizationError::Faulty(faults)) = same.finish().await else {
        panic!("the name was taken twice");
    };
    assert_eq!(faults.len(), 1);
    assert_eq!(names(&service).await, ["one.txt", "other.txt"]);
}

#[tokio::test]
async fn another_organizations_campaign_takes_no_files() {
    let service = Service::new().await;
    let unknown = bidloop_port_contracts::fixture::campaign_id("camp_other");
    let owner = signed_in(&service, MemberRole::Owner).await;
    let begun = CampaignUpload::begin(Arc::new(manage(&service)), owner, unknown).await;
    assert!(matches!(begun, Err(ManageOrganizationError::Unknown)));
}
