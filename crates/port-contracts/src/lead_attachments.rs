//! The rules of `LeadStore::add_attachments` (specification, uploadLeadAttachments; decisions A9, A10 and B4).

use bidloop_domain::attachment_rules::MAX_FILES;
use bidloop_domain::bidding::ReasonCode;
use bidloop_domain::model::{
    ActivityKind, AttachmentId, Authorization, BlobRef, Lead, LeadAttachment, LeadStatus, Timestamp,
};
use bidloop_domain::port::{AcceptBid, AddAttachments, NewAttachment};

use crate::Stores;
use crate::fixture::{
    World, activities, activity, at, at_once, campaign, fresh_uuid, how_many, organization, refused_bid,
};

pub(crate) fn file(name: &str, created_at: Timestamp) -> NewAttachment {
    let id = fresh_uuid();
    NewAttachment {
        attachment: LeadAttachment {
            id: AttachmentId(id),
            original_name: name.to_owned(),
            safe_name: name.to_owned(),
            content_type: "text/plain".to_owned(),
            blob: BlobRef {
                size_bytes: 26_214_400,
                sha256: "0c".repeat(32),
                storage_path: format!("leads/{id}/{name}"),
            },
            created_at,
        },
        comparison_key: name.to_lowercase(),
    }
}

async fn add(world: &World, lead: &Lead, files: &[NewAttachment]) -> AddAttachments {
    let entry = activity(&lead.organization_id, ActivityKind::Upload, "accepted", at(5));
    world
        .stores
        .leads
        .add_attachments(&Authorization::Subscription, lead, files, &entry)
        .await
        .unwrap()
}

fn attachments(files: &[NewAttachment]) -> Vec<LeadAttachment> {
    files.iter().map(|file| file.attachment.clone()).collect()
}

/// That the lead has `files` and the Activity record `entries` entries.
async fn assert_has(world: &World, lead: &Lead, files: &[NewAttachment], entries: usize) {
    assert_eq!(world.context(lead).await.attachments, attachments(files));
    assert_eq!(
        activities(&world.stores, &world.organization).await.len(),
        entries
    );
}

pub async fn added_files_are_answered_with_the_earlier_ones_oldest_first(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let files = [file("z.txt", at(1)), file("a Ü.txt", at(2)), file("m.txt", at(3))];
    for (count, new) in files.iter().enumerate() {
        let added = add(&world, &lead, std::slice::from_ref(new)).await;
        assert_eq!(added, AddAttachments::Added(attachments(&files[..=count])));
    }
    assert_has(&world, &lead, &files, 3).await;
}

pub async fn more_than_five_files_are_refused_as_a_whole(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let many: Vec<_> = (0..=5)
        .map(|number| file(&format!("{number}.txt"), at(1)))
        .collect();
    assert_eq!(many.len(), MAX_FILES + 1);
    assert_eq!(
        add(&world, &lead, &many).await,
        AddAttachments::TooMany { existing: 0 }
    );
    assert_has(&world, &lead, &[], 0).await;
    let three = [file("a.txt", at(1)), file("b.txt", at(2)), file("c.txt", at(3))];
    for new in &three {
        assert!(matches!(
            add(&world, &lead, std::slice::from_ref(new)).await,
            AddAttachments::Added(_)
        ));
    }
    assert_eq!(
        add(&world, &lead, &many[..3]).await,
        AddAttachments::TooMany { existing: 3 }
    );
    assert_has(&world, &lead, &three, 3).await;
    assert!(matches!(add(&world, &lead, &many[..2]).await, AddAttachments::Added(all) if all.len() == 5));
}

pub async fn a_name_that_the_lead_has_is_refused_as_a_whole(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let first = file("Offer.txt", at(1));
    add(&world, &lead, std::slice::from_ref(&first)).await;
    let answer = add(&world, &lead, &[file("new.txt", at(2)), file("OFFER.txt", at(2))]).await;
    assert_eq!(answer, AddAttachments::DuplicateName("OFFER.txt".to_owned()));
    assert_has(&world, &lead, &[first], 1).await;
}

pub async fn a_name_that_the_upload_repeats_is_refused_as_a_whole(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let answer = add(
        &world,
        &lead,
        &[file("offer.txt", at(1)), file("Offer.txt", at(1))],
    )
    .await;
    assert_eq!(answer, AddAttachments::DuplicateName("Offer.txt".to_owned()));
    assert_has(&world, &lead, &[], 0).await;
}

pub async fn another_lead_may_have_the_same_name(stores: Stores) {
    let world = World::new(stores).await;
    for lead in world.new_leads(2, at(0)).await {
        let files = [file("offer.txt", at(1))];
        assert_eq!(
            add(&world, &lead, &files).await,
            AddAttachments::Added(attachments(&files))
        );
    }
}

pub async fn a_lead_that_is_not_new_takes_no_files(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(2, at(0)).await;
    world.bid(&leads[0], at(1)).await;
    let entry = activity(&world.organization, ActivityKind::Rejection, "accepted", at(2));
    world
        .stores
        .leads
        .reject(&Authorization::Subscription, &leads[1], None, &entry)
        .await
        .unwrap();
    for (lead, status) in leads.iter().zip([LeadStatus::Queued, LeadStatus::Rejected]) {
        let answer = add(&world, lead, &[file("offer.txt", at(3))]).await;
        assert_eq!(answer, AddAttachments::LeadNotNew(status));
        assert_has(&world, lead, &[], 2).await;
    }
}

pub async fn another_organizations_lead_takes_no_files(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let two = organization("org_two")
        .campaign(campaign("camp"))
        .provision(&world.stores)
        .await;
    let foreign = Lead {
        organization_id: two.clone(),
        ..lead.clone()
    };
    assert_eq!(
        add(&world, &foreign, &[file("offer.txt", at(1))]).await,
        AddAttachments::LeadUnknown
    );
    assert_eq!(activities(&world.stores, &two).await, []);
    assert_has(&world, &lead, &[], 0).await;
}

pub async fn uploads_take_the_place_of_the_campaigns_files(stores: Stores) {
    let acme = organization("org_acme").campaign(campaign("camp").attachment("portfolio.pdf"));
    let world = World::with(stores, acme).await;
    let lead = world.new_lead("1", at(0)).await;
    let files = [file("offer.txt", at(1)), file("rates.txt", at(2))];
    for new in &files {
        add(&world, &lead, std::slice::from_ref(new)).await;
    }
    world.bid(&lead, at(3)).await;
    let frozen = world.claim_one("me", at(4)).await.bid.attachments;
    let told: Vec<_> = frozen
        .iter()
        .map(|file| (file.name.as_str(), &file.content_type, &file.blob))
        .collect();
    let expected: Vec<_> = files
        .iter()
        .map(|file| &file.attachment)
        .map(|file| (file.safe_name.as_str(), &file.content_type, &file.blob))
        .collect();
    assert_eq!(told, expected);
}

pub async fn a_reopened_lead_keeps_its_uploads_and_takes_more(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let files = [file("offer.txt", at(1)), file("more.txt", at(9))];
    add(&world, &lead, &files[..1]).await;
    world
        .bid_to_the_end(&lead, refused_bid(ReasonCode::JobWarning), at(2))
        .await;
    let entry = activity(&world.organization, ActivityKind::Submission, "new", at(3));
    world.stores.leads.reopen(&lead.id, &entry).await.unwrap();
    assert_eq!(
        add(&world, &lead, &files[1..]).await,
        AddAttachments::Added(attachments(&files))
    );
    world.bid(&lead, at(10)).await;
    assert_eq!(world.claim_one("me", at(11)).await.bid.attachments.len(), 2);
}

pub async fn of_many_uploads_at_once_no_more_than_five_files_are_added(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let answers = at_once(12, |number| {
        let (world, lead) = (world.clone(), lead.clone());
        async move { add(&world, &lead, &[file(&format!("{number}.txt"), at(1))]).await }
    })
    .await;
    let added = answers
        .iter()
        .filter(|answer| matches!(answer, AddAttachments::Added(_)))
        .count();
    assert_eq!(added, 5);
    let refused = AddAttachments::TooMany { existing: 5 };
    assert_eq!(how_many(&answers, &refused), 7);
    assert_eq!(world.context(&lead).await.attachments.len(), 5);
    assert_eq!(activities(&world.stores, &world.organization).await.len(), 5);
}

pub async fn of_many_uploads_of_one_name_one_is_added(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let answers = at_once(8, |_| {
        let (world, lead) = (world.clone(), lead.clone());
        async move { add(&world, &lead, &[file("offer.txt", at(1))]).await }
    })
    .await;
    let added = answers
        .iter()
        .filter(|answer| matches!(answer, AddAttachments::Added(_)))
        .count();
    assert_eq!(added, 1);
    let refused = AddAttachments::DuplicateName("offer.txt".to_owned());
    assert_eq!(how_many(&answers, &refused), 7);
}

pub async fn an_upload_is_in_the_bid_or_comes_too_late(stores: Stores) {
    let world = World::new(stores).await;
    for lead in world.new_leads(8, at(0)).await {
        let files = [file("offer.txt", at(1))];
        let (upload, bid) = tokio::join!(add(&world, &lead, &files), world.try_bid(&lead, at(2)));
        assert_eq!(bid, AcceptBid::Accepted);
        let frozen = world.context(&lead).await.bid.unwrap().attachments.len();
        match upload {
            AddAttachments::Added(_) => assert_eq!(frozen, 1),
            other => {
                assert_eq!(other, AddAttachments::LeadNotNew(LeadStatus::Queued));
                assert_eq!(frozen, 0);
            }
        }
    }
}
