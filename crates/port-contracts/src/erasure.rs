//! The rules of `ProvisioningStore` and `ErasureStore` for removed organizations: gone at once, erased in small steps, and
//! nothing comes afterwards.

use std::time::Duration;

use bidloop_domain::bidding::ReasonCode;
use bidloop_domain::model::{ActivityKind, Authorization, Lead, LeadStatus, OrganizationId, Unauthorized};
use bidloop_domain::port::{
    AcceptBid, CommitProvisioning, FilterChanges, LeadLookup, LeaseOwner, ProvisioningChange, RecordPage,
    ReopenLead, Revision, SwitchMatches,
};

use crate::Stores;
use crate::deliveries::{end_of, outcome};
use crate::fixture::{
    OrganizationBuilder, World, activities, activity, at, at_once, campaign, clock_at, finish, key,
    organization, organization_id, refused_bid, revision, submitted,
};
use crate::lead_attachments::file;

const ME: &str = "me";

fn acme() -> OrganizationBuilder {
    organization("org_acme")
        .key("key_1", 1)
        .key("key_2", 2)
        .campaign(campaign("camp").filter("f_2", serde_json::json!({"featured": true})))
        .campaign(campaign("auto").automatic())
}

/// `org_acme`, and `org_other` with a campaign of the same id.
async fn two(stores: Stores) -> (World, World) {
    let world = World::with(stores.clone(), acme()).await;
    let other = World::with(
        stores,
        organization("org_other")
            .key("key_1", 3)
            .campaign(campaign("camp")),
    )
    .await;
    (world, other)
}

async fn try_remove(world: &World) -> CommitProvisioning {
    let change = ProvisioningChange::RemoveOrganization(world.organization.clone());
    let now = revision(&world.stores).await;
    let provisioning = &world.stores.provisioning;
    provisioning.commit(now, &[change], at(500)).await.unwrap()
}

async fn remove(world: &World) {
    assert_eq!(try_remove(world).await, CommitProvisioning::Committed);
}

async fn claim_as(world: &World, owner: &str, second: i64) -> bool {
    let erasure = &world.stores.erasure;
    erasure
        .claim_erasure(
            &world.organization,
            &LeaseOwner::new(owner),
            at(second),
            at(second + 60),
        )
        .await
        .unwrap()
}

async fn erase_some(world: &World, owner: &str, limit: u32) -> Option<u64> {
    let erasure = &world.stores.erasure;
    erasure
        .erase(&world.organization, &LeaseOwner::new(owner), limit)
        .await
        .unwrap()
}

async fn finish_as(world: &World, owner: &str) -> bool {
    let erasure = &world.stores.erasure;
    erasure
        .finish_erasure(&world.organization, &LeaseOwner::new(owner))
        .await
        .unwrap()
}

/// Erases all that is left, in steps of up to `limit` rows. Returns how many rows there were.
async fn erase(world: &World, limit: u32) -> u64 {
    assert!(claim_as(world, ME, 600).await);
    let mut rows = 0;
    loop {
        let erased = erase_some(world, ME, limit).await.unwrap();
        assert!(erased <= u64::from(limit), "{erased} at once");
        rows += erased;
        if erased == 0 {
            break;
        }
    }
    assert!(finish_as(world, ME).await);
    rows
}

/// Leads of both campaigns with a bid that was submitted, one that was skipped, an upload, deliveries and intents.
async fn busy(world: &World) -> Vec<Lead> {
    let leads = world.new_leads(6, at(0)).await;
    for id in ["auto-1", "auto-2"] {
        world.campaign("auto").new_lead(id, at(20)).await;
    }
    world
        .bid_to_the_end(&leads[0], submitted("p_1", at(30)), at(30))
        .await;
    let skipped = refused_bid(ReasonCode::JobWarning);
    world.bid_to_the_end(&leads[1], skipped, at(31)).await;
    let entry = activity(&world.organization, ActivityKind::Upload, "accepted", at(32));
    let files = [file("a.txt", at(32))];
    let service = Authorization::Subscription;
    let added = world
        .stores
        .leads
        .add_attachments(&service, &leads[2], &files, &entry);
    assert!(added.await.is_ok());
    assert!(world.pending().await.len() > 6);
    leads
}

async fn being_erased(world: &World) -> Vec<OrganizationId> {
    let asked = [world.organization.clone(), organization_id("org_other")];
    let snapshot = world.stores.provisioning.snapshot(&asked, &[]).await.unwrap();
    snapshot.being_erased
}

/// What is known of the organization by the ways that lead to it.
async fn assert_unknown(world: &World, leads: &[Lead]) {
    let stores = &world.stores;
    for (id, number) in [("key_1", 1), ("key_2", 2)] {
        let (_, hash) = key("org_acme", id, number, at(0));
        assert_eq!(stores.api_keys.find(&hash).await, Ok(None));
    }
    assert_eq!(stores.api_keys.list(&world.organization).await, Ok(None));
    let page = stores
        .leads
        .page(&world.organization, &world.campaign, 0, 10)
        .await;
    assert_eq!(page, Ok(None));
    for lead in leads {
        let found = stores
            .leads
            .find(&world.organization, &world.campaign, &lead.id)
            .await;
        assert!(matches!(found.unwrap(), LeadLookup::CampaignUnknown));
        assert!(stores.leads.find_anywhere(&lead.id).await.unwrap().is_none());
        assert_eq!(
            world.try_bid(lead, at(501)).await,
            AcceptBid::NotAuthorized(Unauthorized::Ended)
        );
    }
    let filters = stores.jobs.filters(None, 100).await.unwrap();
    assert!(
        filters
            .iter()
            .all(|filter| filter.organization_id != world.organization)
    );
    let urls = stores.provisioning.webhook_urls(None, 100).await.unwrap();
    assert!(urls.iter().all(|url| url.organization_id != world.organization));
    let due = stores.matches.due_backfills().await.unwrap().campaigns;
    assert!(due.iter().all(|due| due.organization_id != world.organization));
}

pub async fn a_removed_organization_is_unknown_at_once_and_others_stay(stores: Stores) {
    let (world, other) = two(stores).await;
    let leads = busy(&world).await;
    let kept = other.new_lead("other", at(40)).await;
    remove(&world).await;
    assert_unknown(&world, &leads).await;
    assert_eq!(
        being_erased(&world).await,
        std::slice::from_ref(&world.organization)
    );
    assert_eq!(
        world.stores.erasure.removed(10).await,
        Ok(vec![world.organization.clone()])
    );
    assert_eq!(other.total().await, 1);
    other
        .bid_to_the_end(&kept, submitted("p_2", at(510)), at(510))
        .await;
    let (_, hash) = key("org_other", "key_1", 3, at(0));
    assert!(other.stores.api_keys.find(&hash).await.unwrap().is_some());
}

pub async fn the_keys_of_a_removed_organization_stay_known_as_removed(stores: Stores) {
    let (world, _) = two(stores).await;
    remove(&world).await;
    erase(&world, 100).await;
    let digests = [1, 2, 3].map(|number| key("org_acme", "key", number, at(0)).1);
    let snapshot = world.stores.provisioning.snapshot(&[], &digests).await.unwrap();
    let mut removed = snapshot.removed_key_hashes;
    removed.sort();
    let mut expected = digests[..2].to_vec();
    expected.sort();
    assert_eq!(removed, expected);
}

pub async fn an_organization_with_a_bid_that_has_no_outcome_is_not_removed(stores: Stores) {
    let (world, other) = two(stores).await;
    let leads = world.new_leads(2, at(0)).await;
    let others = other.new_lead("other", at(1)).await;
    other.bid(&others, at(2)).await;
    for lead in &leads {
        world.bid(lead, at(2)).await;
    }
    let outstanding = |bids| CommitProvisioning::BidsOutstanding {
        organization: world.organization.clone(),
        bids,
    };
    assert_eq!(try_remove(&world).await, outstanding(2));
    assert_eq!(world.total().await, 2);
    let claimed = world.claim("submitter", at(3)).await;
    let claimed = claimed
        .iter()
        .find(|claimed| claimed.bid.organization_id == world.organization);
    let claimed = claimed.unwrap();
    let end = finish(&claimed.bid, submitted("p", at(4)), at(4));
    assert_eq!(
        world.stores.submissions.finish(&end, &claimed.owner).await,
        Ok(true)
    );
    assert_eq!(try_remove(&world).await, outstanding(1));
    let claimed = world.claim_one("submitter", at(5)).await;
    let end = finish(&claimed.bid, submitted("p", at(6)), at(6));
    assert_eq!(
        world.stores.submissions.finish(&end, &claimed.owner).await,
        Ok(true)
    );
    remove(&world).await;
}

pub async fn of_bids_and_a_removal_at_once_either_are_accepted(stores: Stores) {
    let (world, _) = two(stores).await;
    let leads = world.new_leads(8, at(0)).await;
    let racing = world.clone();
    let accepted = at_once(9, move |number| {
        let (world, leads) = (racing.clone(), leads.clone());
        async move {
            match leads.get(number) {
                Some(lead) => world.try_bid(lead, at(1)).await == AcceptBid::Accepted,
                None => try_remove(&world).await == CommitProvisioning::Committed,
            }
        }
    })
    .await;
    let queued = world.stores.submissions.queued_count().await.unwrap();
    if accepted[8] {
        assert_eq!((queued, &accepted[..8]), (0, &[false; 8][..]));
    } else {
        let bids = accepted.iter().filter(|accepted| **accepted).count();
        assert!(bids > 0);
        assert_eq!(queued, bids as u64);
    }
}

pub async fn what_a_removed_organization_had_is_erased_in_steps_and_nothing_of_others(stores: Stores) {
    let (world, other) = two(stores).await;
    busy(&world).await;
    let kept = other.new_leads(3, at(40)).await;
    other
        .bid_to_the_end(&kept[0], submitted("p_2", at(50)), at(50))
        .await;
    let record = |of: &World| activity(&of.organization, ActivityKind::Bid, "accepted", at(60));
    for of in [&world, &other] {
        of.stores.activities.record(&record(of)).await.unwrap();
    }
    let others_activities = activities(&other.stores, &other.organization).await;
    let others_pending = |pending: Vec<bidloop_domain::port::PendingDelivery>| {
        let own = pending
            .into_iter()
            .filter(|one| one.organization_id == other.organization);
        own.collect::<Vec<_>>()
    };
    let pending = others_pending(world.pending().await);
    remove(&world).await;
    let rows = erase(&world, 2).await;
    assert!(rows > 20, "{rows} rows");
    assert_eq!(activities(&world.stores, &world.organization).await, []);
    assert_eq!(world.pending().await, pending);
    assert_eq!(world.stores.automatic_bids.automatic_count().await, Ok(0));
    assert_eq!(world.stores.erasure.removed(10).await, Ok(Vec::new()));
    assert_eq!(being_erased(&world).await, []);
    assert_eq!(other.total().await, 3);
    assert_eq!(other.status(&kept[0]).await, LeadStatus::Submitted);
    assert_eq!(
        activities(&other.stores, &other.organization).await,
        others_activities
    );
}

pub async fn an_organization_made_anew_sees_nothing_of_the_removed_one(stores: Stores) {
    let (world, _) = two(stores).await;
    let leads = busy(&world).await;
    remove(&world).await;
    erase(&world, 100).await;
    let mut anew = acme().limit(1);
    anew.0.api_keys.clear();
    let world = World::with(world.stores, anew).await;
    assert_eq!(world.total().await, 0);
    assert_eq!(activities(&world.stores, &world.organization).await, []);
    assert!(world.find(&leads[0].id).await.is_none());
    // Of the quota nothing is used. The job comes as a lead without a past.
    let lead = world.new_lead("again", at(700)).await;
    world
        .bid_to_the_end(&lead, submitted("p_9", at(701)), at(701))
        .await;
    let context = world.context(&lead).await;
    assert_eq!(context.lead.lead.status, LeadStatus::Submitted);
    assert_eq!(context.attachments, []);
}

pub async fn one_process_at_a_time_erases(stores: Stores) {
    let (world, _) = two(stores).await;
    busy(&world).await;
    assert!(!claim_as(&world, ME, 0).await, "nothing is removed");
    assert_eq!(erase_some(&world, ME, 5).await, None);
    remove(&world).await;
    assert_eq!(erase_some(&world, ME, 5).await, None, "nobody has claimed it");
    assert!(claim_as(&world, ME, 1000).await);
    assert!(!claim_as(&world, "another", 1059).await);
    assert!(claim_as(&world, ME, 1059).await, "the claim is renewed");
    assert!(!claim_as(&world, "another", 1118).await);
    assert_eq!(erase_some(&world, "another", 5).await, None);
    assert!(!finish_as(&world, "another").await);
    assert!(claim_as(&world, "another", 1119).await);
    assert_eq!(erase_some(&world, ME, 5).await, None);
    assert!(erase_some(&world, "another", 5).await > Some(0));
}

pub async fn an_erasure_is_finished_only_when_nothing_is_left(stores: Stores) {
    let (world, _) = two(stores).await;
    busy(&world).await;
    remove(&world).await;
    assert!(claim_as(&world, ME, 600).await);
    assert!(!finish_as(&world, ME).await);
    while erase_some(&world, ME, 3).await != Some(0) {
        assert!(claim_as(&world, ME, 601).await);
    }
    assert!(finish_as(&world, ME).await);
    assert!(!finish_as(&world, ME).await);
    assert!(!claim_as(&world, ME, 700).await);
}

pub async fn nothing_is_recorded_for_a_removed_organization(stores: Stores) {
    let (world, _) = two(stores).await;
    remove(&world).await;
    let entry = activity(&world.organization, ActivityKind::Bid, "refused", at(501));
    assert_eq!(world.stores.activities.record(&entry).await, Ok(()));
    assert_eq!(activities(&world.stores, &world.organization).await, []);
    let (record, hash) = key("org_acme", "key_9", 9, at(501));
    assert!(world.stores.api_keys.create(&record, &hash).await.is_ok());
    assert_eq!(world.stores.api_keys.find(&hash).await, Ok(None));
}

pub async fn what_was_under_way_for_a_removed_organization_leaves_nothing(stores: Stores) {
    let (world, _) = two(stores).await;
    let leads = busy(&world).await;
    // What processes hold while the organization is removed and erased.
    let page = world.page(at(100), vec![world.job("late", at(100))]).await;
    let intents = world
        .stores
        .automatic_bids
        .claim(&LeaseOwner::new(ME), at(100), at(900), 10)
        .await
        .unwrap();
    let pending = world.pending().await;
    let (owner, lasts) = (LeaseOwner::new("sender"), Duration::from_secs(900));
    let deliveries = &world.stores.deliveries;
    let sending = deliveries
        .claim(&pending[..2], &owner, &clock_at(at(100)), lasts)
        .await
        .unwrap();
    assert_eq!((intents.len(), sending.len()), (2, 2));
    remove(&world).await;
    // Nothing more is sent.
    let claimed = deliveries
        .claim(&pending[2..4], &owner, &clock_at(at(501)), lasts)
        .await;
    assert_eq!(claimed.map(|claimed| claimed.len()), Ok(0));
    erase(&world, 100).await;

    for sent in &sending {
        let end = end_of(sent, outcome(true), at(700));
        assert_eq!(deliveries.finish(&end, &owner).await, Ok(false));
    }
    let claimed = deliveries
        .claim(&pending, &owner, &clock_at(at(700)), lasts)
        .await;
    assert_eq!(claimed.map(|claimed| claimed.len()), Ok(0));
    assert_eq!(deliveries.interrupt_overdue(at(5_000)).await, Ok(0));
    let parked = activity(&world.organization, ActivityKind::Bid, "refused", at(700));
    for intent in &intents {
        let intents = &world.stores.automatic_bids;
        assert_eq!(intents.complete(intent, Some(&parked), at(0)).await, Ok(()));
    }
    let recorded = world.stores.jobs.record_page(&page).await;
    assert_eq!(recorded, Ok(RecordPage::RevisionMoved));
    let reopened = world.stores.leads.reopen(&leads[1].id, &parked).await;
    assert_eq!(reopened, Ok(ReopenLead::LeadUnknown));
    assert_eq!(
        world.try_bid(&leads[3], at(700)).await,
        AcceptBid::NotAuthorized(Unauthorized::Ended)
    );
    assert_eq!(activities(&world.stores, &world.organization).await, []);
    assert_eq!(world.pending().await, []);
    let anew = World::bare(world.stores, organization("org_acme").campaign(campaign("camp"))).await;
    assert_eq!(anew.total().await, 0);
}

pub async fn a_backfill_of_a_removed_organization_is_superseded(stores: Stores) {
    let (world, _) = two(stores).await;
    world.new_leads(3, at(0)).await;
    let put = ProvisioningChange::PutFilter(
        world.organization.clone(),
        world.campaign.clone(),
        bidloop_domain::port::FilterRecord {
            id: bidloop_domain::model::FilterId::parse("f_3").unwrap(),
            name: "Later".to_owned(),
            body: serde_json::json!({"keywords": "rust"}),
        },
    );
    crate::fixture::commit(&world.stores, &[put]).await;
    let matches = &world.stores.matches;
    let due = matches.due_backfills().await.unwrap();
    let backfill = due.campaigns.iter().find(|due| due.campaign_id == world.campaign);
    let seqs: Vec<i64> = world.stored_jobs().await.iter().map(|job| job.seq).collect();
    remove(&world).await;
    let switched = matches
        .switch(backfill.unwrap(), due.watermark, &seqs, at(510))
        .await;
    assert_eq!(switched, Ok(SwitchMatches::Superseded));
}

pub async fn filters_in_memory_from_before_the_removal_are_read_again_once_it_is_erased(stores: Stores) {
    let (world, _) = two(stores).await;
    let before = revision(&world.stores).await;
    remove(&world).await;
    let after = revision(&world.stores).await;
    let since = async |revision: Revision| world.stores.jobs.filters_since(revision).await.unwrap();
    let FilterChanges::Known { removed, .. } = since(before).await else {
        panic!("the change is known");
    };
    let mut removed: Vec<String> = removed.iter().map(|(_, id)| id.to_string()).collect();
    removed.sort();
    assert_eq!(removed, ["f_2", "f_auto", "f_camp"]);
    erase(&world, 1).await;
    // Another change, so that there is something to tell.
    organization("org_third")
        .campaign(campaign("third"))
        .provision(&world.stores)
        .await;
    assert_eq!(since(before).await, FilterChanges::Forgotten);
    let FilterChanges::Known { put, removed, .. } = since(after).await else {
        panic!("later changes are known");
    };
    assert_eq!((put.len(), removed.len()), (1, 0));
}
