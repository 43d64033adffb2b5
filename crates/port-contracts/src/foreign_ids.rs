//! What belongs to another organization is as absent, in every method of every store.
//!
//! A test compares the methods of the ports with a list, so that none is forgotten.

use std::sync::Arc;

use bidloop_domain::model::{
    AccountId, ActivityKind, ActivityPlace, ActivityQuery, ActivitySearch, Authorization, BiddingConfig,
    CampaignId, Connects, EmailKey, EventId, Lead, LeadStatus, NewEvent, OrganizationId, Unauthorized,
};
use bidloop_domain::port::{
    AcceptBid, AccountReading, AddAttachments, AutomaticBidIntent, ClaimedDelivery, DeliveryEnd,
    DeliveryOutcome, FeedQuery, LeadLookup, LeaseOwner, PendingDelivery, RejectLead, RevokeApiKey,
};
use uuid::Uuid;

use crate::Stores;
use crate::fixture::{
    World, activities, activity, at, bid, campaign, campaign_id, clock_at, ended, finish, key, organization,
    organization_id, proposal, seconds, submitted, token,
};

/// An organization with a lead, and another one, whose ids are used.
struct Two {
    world: World,
    lead: Lead,
    other: OrganizationId,
}

async fn two(stores: Stores) -> Two {
    let acme = organization("org_acme").key("key", 1).campaign(campaign("camp"));
    let world = World::with(stores, acme).await;
    let others = organization("org_other").key("other", 2);
    let mut own = campaign("camp_other");
    own.0.filters.clear();
    let other = others.campaign(own).provision(&world.stores).await;
    let lead = world.new_lead("1", at(0)).await;
    Two { world, lead, other }
}

impl Two {
    /// That the lead is as it was, and neither organization's Activity record holds anything.
    async fn assert_untouched(&self, before: LeadStatus) {
        let found = self.world.context(&self.lead).await;
        assert_eq!(found.lead.lead.status, before);
        assert_eq!(found.attachments, []);
        assert_eq!(activities(&self.world.stores, &self.other).await, []);
    }
}

pub async fn another_organizations_lead_is_not_found_bid_on_rejected_or_given_files(stores: Stores) {
    let two = two(stores).await;
    let (leads, lead, other) = (&two.world.stores.leads, &two.lead, &two.other);
    let camp: &CampaignId = &two.world.campaign;
    assert!(leads.page(other, camp, 0, 10).await.unwrap().is_none());
    assert_eq!(leads.campaign_exists(other, camp).await, Ok(false));
    let in_foreign_campaign = leads.find(other, camp, &lead.id).await.unwrap();
    assert!(matches!(in_foreign_campaign, LeadLookup::CampaignUnknown));
    let own = campaign_id("camp_other");
    let in_own_campaign = leads.find(other, &own, &lead.id).await.unwrap();
    assert!(matches!(in_own_campaign, LeadLookup::LeadUnknown));
    let in_foreign_campaign = leads.locate(other, camp, &lead.id).await.unwrap();
    assert!(matches!(in_foreign_campaign, LeadLookup::CampaignUnknown));
    let in_own_campaign = leads.locate(other, &own, &lead.id).await.unwrap();
    assert!(matches!(in_own_campaign, LeadLookup::LeadUnknown));

    let anyones = Authorization::Subscription;
    let entry = |kind| activity(other, kind, "accepted", at(1));
    let mut foreign = bid(lead, at(1));
    foreign.organization_id = other.clone();
    assert_eq!(
        leads
            .accept_bid(&anyones, &foreign, &entry(ActivityKind::Bid))
            .await,
        Ok(AcceptBid::LeadUnknown)
    );
    let mut foreign = lead.clone();
    foreign.organization_id = other.clone();
    assert_eq!(
        leads
            .reject(&anyones, &foreign, None, &entry(ActivityKind::Rejection))
            .await,
        Ok(RejectLead::LeadUnknown)
    );
    assert_eq!(
        leads
            .add_attachments(&anyones, &foreign, &[], &entry(ActivityKind::Upload))
            .await,
        Ok(AddAttachments::LeadUnknown)
    );
    // Nor with another organization's key on the lead's own ids.
    let (_, others_key) = key("org_other", "other", 2, at(0));
    let foreign = Authorization::ApiKey(others_key);
    let entry = activity(
        &two.world.organization,
        ActivityKind::Rejection,
        "accepted",
        at(1),
    );
    assert_eq!(
        leads.reject(&foreign, lead, None, &entry).await,
        Ok(RejectLead::NotAuthorized(Unauthorized::Ended))
    );
    two.assert_untouched(LeadStatus::New).await;
}

pub async fn a_dry_run_under_another_organizations_ids_reaches_none_of_its_endpoints(stores: Stores) {
    let two = two(stores).await;
    let before = two.world.pending().await.len();
    let id = Uuid::from_u128(7);
    let event = NewEvent {
        id: EventId(id),
        organization_id: two.other.clone(),
        campaign_id: two.world.campaign.clone(),
        lead_id: two.lead.id.clone(),
        payload: ended(bidloop_domain::model::BidId(id)),
        trace_parent: None,
    };
    let entry = activity(&two.other, ActivityKind::Bid, "accepted", at(1));
    two.world
        .stores
        .leads
        .record_dry_run(&Authorization::Subscription, &entry, &event)
        .await
        .unwrap();
    assert_eq!(two.world.pending().await.len(), before);
    assert_eq!(activities(&two.world.stores, &two.world.organization).await, []);
}

pub async fn another_organizations_keys_are_not_listed_revoked_or_used(stores: Stores) {
    let two = two(stores).await;
    let keys = &two.world.stores.api_keys;
    let (acmes, hash) = key("org_acme", "key", 1, at(0));
    let listed = keys.list(&two.other).await.unwrap().unwrap();
    assert!(listed.iter().all(|record| record.id != acmes.id));
    assert_eq!(
        keys.revoke(&two.other, &acmes.id, at(1)).await,
        Ok(RevokeApiKey::Unknown)
    );
    keys.record_uses(&[(two.other.clone(), acmes.id.clone(), at(2))])
        .await
        .unwrap();
    let found = keys.find(&hash).await.unwrap().unwrap().record;
    assert_eq!(found.organization_id, two.world.organization);
    assert_eq!((found.revoked_at, found.last_used_at), (None, None));
}

pub async fn another_organizations_delivery_is_neither_claimed_nor_ended(stores: Stores) {
    let two = two(stores).await;
    let deliveries = &two.world.stores.deliveries;
    let owner = LeaseOwner::new("me");
    let pending = two.world.pending().await;
    let foreign: Vec<PendingDelivery> = pending
        .iter()
        .map(|delivery| PendingDelivery {
            organization_id: two.other.clone(),
            ..delivery.clone()
        })
        .collect();
    let (clock, lasts) = (clock_at(at(1)), seconds(14));
    let claimed = deliveries.claim(&foreign, &owner, &clock, lasts).await.unwrap();
    assert_eq!(claimed.len(), 0);
    let mut claimed = deliveries.claim(&pending, &owner, &clock, lasts).await.unwrap();
    assert_eq!(claimed.len(), 1);
    let end = Arc::new(DeliveryEnd {
        delivery: ClaimedDelivery {
            organization_id: two.other.clone(),
            ..claimed.remove(0)
        },
        outcome: DeliveryOutcome::EndpointRemoved,
        activity: activity(&two.other, ActivityKind::Delivery, "failed", at(2)),
    });
    assert_eq!(deliveries.finish(&end, &owner).await, Ok(false));
    two.assert_untouched(LeadStatus::New).await;
}

pub async fn another_organizations_bid_cannot_be_changed_or_ended(stores: Stores) {
    let two = two(stores).await;
    two.world.bid(&two.lead, at(1)).await;
    let claimed = two.world.claim_one("me", at(2)).await;
    let (submissions, other) = (&two.world.stores.submissions, &two.other);
    let (id, owner) = (claimed.bid.id, &claimed.owner);
    let letter = proposal(&claimed.bid.job_id, "Foreign");
    assert_eq!(submissions.renew(other, id, owner, at(900)).await, Ok(false));
    assert_eq!(
        submissions.begin_attempt(other, id, owner, &letter).await,
        Ok(false)
    );
    assert_eq!(
        submissions.postpone(other, id, owner, at(9), Some(false)).await,
        Ok(false)
    );
    assert_eq!(
        submissions.postpone(other, id, owner, at(9), None).await,
        Ok(false)
    );
    let refused = token("token_acct_1");
    assert_eq!(
        submissions.disconnect_account(other, id, owner, &refused).await,
        Ok(false)
    );
    let mut end = finish(&claimed.bid, submitted("p", at(3)), at(3));
    end.organization_id = other.clone();
    end.activity.organization_id = other.clone();
    end.event.organization_id = other.clone();
    assert_eq!(submissions.finish(&end, owner).await, Ok(false));
    two.assert_untouched(LeadStatus::Queued).await;

    let reading = AccountReading {
        profile_hourly_rate: Some(99.0),
        connects_balance: Connects::new(1),
        at: at(3),
    };
    let acct = AccountId::parse("acct_1").unwrap();
    submissions.record_account(other, &acct, &reading).await.unwrap();
    let context = two.world.context(&two.lead).await;
    let account = context.campaign.and_then(|campaign| campaign.account).unwrap();
    assert_eq!((account.connected, account.profile_hourly_rate), (true, None));
}

pub async fn another_organizations_intent_is_not_settled(stores: Stores) {
    let acme = organization("org_acme").campaign(campaign("camp").automatic());
    let world = World::with(stores, acme).await;
    let other = organization("org_other").provision(&world.stores).await;
    let lead = world.new_lead("1", at(0)).await;
    let foreign = AutomaticBidIntent {
        organization_id: other,
        campaign_id: world.campaign.clone(),
        lead_id: lead.id,
    };
    world
        .stores
        .automatic_bids
        .complete(&foreign, None, at(0))
        .await
        .unwrap();
    assert_eq!(world.stores.automatic_bids.automatic_count().await, Ok(1));
}

pub async fn another_organizations_activity_and_state_are_not_read(stores: Stores) {
    let two = two(stores).await;
    let entry = activity(
        &two.world.organization,
        ActivityKind::Rejection,
        "accepted",
        at(1),
    );
    two.world.stores.activities.record(&entry).await.unwrap();
    let query = ActivityQuery {
        organization_id: Some(two.other.clone()),
        campaign_id: None,
        lead_id: None,
        limit: 10,
    };
    assert_eq!(two.world.stores.activities.list(&query).await, Ok(Vec::new()));
    let snapshot = two
        .world
        .stores
        .provisioning
        .snapshot(std::slice::from_ref(&two.other), &[])
        .await;
    let found = snapshot.unwrap().organizations;
    assert!(
        found
            .iter()
            .all(|record| record.id == organization_id("org_other"))
    );
    let campaigns: Vec<_> = found.iter().flat_map(|record| &record.campaigns).collect();
    assert!(
        campaigns
            .iter()
            .all(|campaign| campaign.id == campaign_id("camp_other"))
    );
    // Configuring and reopening are operators' commands, which find a lead of any organization.
    let unset = BiddingConfig::default();
    assert_eq!(
        two.world.stores.leads.configure(&two.lead.id, &unset).await,
        Ok(true)
    );
}

pub async fn an_organization_that_was_not_removed_is_not_erased(stores: Stores) {
    let two = two(stores).await;
    let (erasure, owner) = (&two.world.stores.erasure, LeaseOwner::new("eraser"));
    let organization = &two.world.organization;
    assert_eq!(erasure.removed(10).await, Ok(Vec::new()));
    assert_eq!(
        erasure.claim_erasure(organization, &owner, at(0), at(60)).await,
        Ok(false)
    );
    assert_eq!(erasure.erase(organization, &owner, 10).await, Ok(None));
    assert_eq!(erasure.finish_erasure(organization, &owner).await, Ok(false));
    two.assert_untouched(LeadStatus::New).await;
}

pub async fn the_consoles_pages_show_nothing_of_another_organization(stores: Stores) {
    let two = two(stores).await;
    let (stores, lead, other) = (&two.world.stores, &two.lead, &two.other);
    let (feed, camp, job) = (&stores.campaign_feed, &two.world.campaign, &two.lead.job_id);
    let query = FeedQuery {
        status: None,
        offset: 0,
        limit: 10,
    };
    assert_eq!(feed.feed_page(other, camp, &query).await, Ok(None));
    let ours = std::slice::from_ref(&lead.id);
    assert_eq!(feed.feed_news(other, camp, None, ours, 10).await, Ok(None));
    let theirs = feed
        .feed_news(other, &campaign_id("camp_other"), None, ours, 10)
        .await;
    assert_eq!(theirs.unwrap().unwrap().decided, []);
    let jobs = std::slice::from_ref(job);
    assert_eq!(feed.feed_entries(other, camp, jobs).await, Ok(None));
    assert_eq!(feed.signed_matches(other, camp, None, 10).await, Ok(None));
    assert!(feed.find_match(other, camp, job).await.unwrap().is_none());
    assert_eq!(feed.job_of_lead(other, camp, &lead.id, 10).await, Ok(None));
    assert_eq!(feed.campaign_filters(other, camp).await, Ok(None));
    assert_eq!(feed.latest_bid(other, &lead.id).await, Ok(None));
    let titles = feed.lead_titles(other, std::slice::from_ref(&lead.id)).await;
    assert!(titles.unwrap().is_empty());
    let signs = stores.overview.signs(std::slice::from_ref(other)).await.unwrap();
    assert_eq!(signs.len(), 1);
    assert_eq!(signs[0].matches, [(campaign_id("camp_other"), 0)]);
    assert_eq!(signs[0].newest_activity, None);
    assert!(feed.bid_means(other, camp).await.unwrap().is_none());
    let person = EmailKey::of("ops@other.test");
    assert_eq!(feed.looked_at(other, camp, &person, at(1)).await, Ok(false));
    let new = feed.new_matches(other, &person, 10).await.unwrap();
    assert_eq!(new, [(campaign_id("camp_other"), 0)]);

    let entry = activity(&two.world.organization, ActivityKind::Change, "accepted", at(1));
    stores.activities.record(&entry).await.unwrap();
    assert_eq!(stores.activities.find(other, entry.id).await, Ok(None));
    let search = ActivitySearch {
        campaign_id: Some(camp.clone()),
        ..ActivitySearch::of(other.clone())
    };
    let found = stores.activities.search(&search, None, 10).await.unwrap();
    assert_eq!(found.entries, []);
    let oldest = ActivityPlace {
        at: at(0),
        id: entry.id,
    };
    let theirs = ActivityQuery {
        organization_id: Some(other.clone()),
        campaign_id: None,
        lead_id: None,
        limit: 10,
    };
    assert_eq!(stores.activities.behind(&theirs, oldest).await, Ok(Vec::new()));
    assert_eq!(stores.activities.newer(&search, oldest, 10).await, Ok(0));

    let shell = stores.overview.shell(other, at(1)).await.unwrap().unwrap();
    let shown: Vec<_> = shell.campaigns.iter().map(|sign| sign.id.clone()).collect();
    assert_eq!(shown, [campaign_id("camp_other")]);
    let facts = stores.overview.facts(other, at(1)).await.unwrap().unwrap();
    let shown: Vec<_> = facts
        .campaigns
        .iter()
        .map(|known| known.sign.id.clone())
        .collect();
    assert_eq!(shown, [campaign_id("camp_other")]);
    assert_eq!(stores.provisioning.has_history(other, camp).await, Ok(false));
    assert_eq!(stores.matches.is_backfill_due(other, camp).await, Ok(false));
}

/// How a method treats another organization's ids.
#[cfg(test)]
#[derive(Debug)]
enum Judgement {
    /// A rule of this file calls it with foreign ids.
    Shown,
    /// A rule of the port's own file does.
    ShownElsewhere,
    /// It takes and finds no organization's ids, or those of all: a worker's or an operator's.
    OfTheInstallation,
    /// The domain makes what it writes, from what the caller may see.
    WritesWhatItIsGiven,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Judgement::{self, OfTheInstallation, Shown, ShownElsewhere, WritesWhatItIsGiven};

    const JUDGED: &[(&str, &str, Judgement)] = &[
        ("ActivityStore", "behind", Shown),
        ("ActivityStore", "find", Shown),
        ("ActivityStore", "list", Shown),
        ("ActivityStore", "newer", Shown),
        ("ActivityStore", "record", WritesWhatItIsGiven),
        ("ActivityStore", "search", Shown),
        ("ApiKeyStore", "create", WritesWhatItIsGiven),
        ("ApiKeyStore", "find", Shown),
        ("ApiKeyStore", "find_each", Shown),
        ("ApiKeyStore", "list", Shown),
        ("ApiKeyStore", "record_uses", Shown),
        ("ApiKeyStore", "revoke", Shown),
        ("AutomaticBidStore", "automatic_count", OfTheInstallation),
        ("AutomaticBidStore", "claim", OfTheInstallation),
        ("AutomaticBidStore", "complete", Shown),
        ("BillingStore", "billed", OfTheInstallation),
        ("BillingStore", "billed_organizations", OfTheInstallation),
        ("BillingStore", "commit_billing", WritesWhatItIsGiven),
        ("CampaignFeedStore", "bid_means", Shown),
        ("CampaignFeedStore", "campaign_filters", Shown),
        ("CampaignFeedStore", "feed_entries", Shown),
        ("CampaignFeedStore", "feed_news", Shown),
        ("CampaignFeedStore", "feed_page", Shown),
        ("CampaignFeedStore", "find_match", Shown),
        ("CampaignFeedStore", "job_of_lead", Shown),
        ("CampaignFeedStore", "latest_bid", Shown),
        ("CampaignFeedStore", "lead_titles", Shown),
        ("CampaignFeedStore", "looked_at", Shown),
        ("CampaignFeedStore", "new_matches", Shown),
        ("CampaignFeedStore", "newest", ShownElsewhere),
        ("CampaignFeedStore", "signed_matches", Shown),
        ("CampaignFeedStore", "stored_job", OfTheInstallation),
        ("DeliveryStore", "begin_try", ShownElsewhere),
        ("DeliveryStore", "claim", Shown),
        ("DeliveryStore", "finish", Shown),
        ("DeliveryStore", "interrupt_overdue", OfTheInstallation),
        ("DeliveryStore", "pending", OfTheInstallation),
        ("DeliveryStore", "pending_count", OfTheInstallation),
        ("ErasureStore", "claim_erasure", Shown),
        ("ErasureStore", "erase", Shown),
        ("ErasureStore", "finish_erasure", Shown),
        ("ErasureStore", "removed", OfTheInstallation),
        ("FeedLeaseStore", "hold", OfTheInstallation),
        ("FeedLeaseStore", "release", OfTheInstallation),
        ("FirstRunStore", "create_first", OfTheInstallation),
        ("FirstRunStore", "first_run_code", OfTheInstallation),
        ("FirstRunStore", "has_no_people", OfTheInstallation),
        ("FirstRunStore", "put_first_run_code", OfTheInstallation),
        ("JobStore", "feed_position", OfTheInstallation),
        ("JobStore", "filters", OfTheInstallation),
        ("JobStore", "filters_since", OfTheInstallation),
        ("JobStore", "latest_jobs", OfTheInstallation),
        ("JobStore", "note_feed_read", OfTheInstallation),
        ("JobStore", "record_and_claim", OfTheInstallation),
        ("JobStore", "record_page", OfTheInstallation),
        ("JobStore", "revision", OfTheInstallation),
        ("LeadStore", "accept_bid", Shown),
        ("LeadStore", "add_attachments", Shown),
        ("LeadStore", "campaign_exists", Shown),
        ("LeadStore", "configure", OfTheInstallation),
        ("LeadStore", "configure_as", ShownElsewhere),
        ("LeadStore", "find", Shown),
        ("LeadStore", "find_anywhere", OfTheInstallation),
        ("LeadStore", "job_contents", OfTheInstallation),
        ("LeadStore", "locate", Shown),
        ("LeadStore", "page", Shown),
        ("LeadStore", "record_dry_run", Shown),
        ("LeadStore", "reject", Shown),
        ("LeadStore", "reopen", OfTheInstallation),
        ("LeadStore", "reopen_as", ShownElsewhere),
        ("MatchStore", "due_backfills", OfTheInstallation),
        ("MatchStore", "due_count", OfTheInstallation),
        ("MatchStore", "is_backfill_due", Shown),
        ("MatchStore", "job_seqs", OfTheInstallation),
        ("MatchStore", "jobs_at", OfTheInstallation),
        ("MatchStore", "signatures", OfTheInstallation),
        ("MatchStore", "store_signatures", OfTheInstallation),
        ("MatchStore", "stored_jobs", OfTheInstallation),
        ("MatchStore", "switch", OfTheInstallation),
        ("OverviewStore", "facts", Shown),
        ("OverviewStore", "installation_state", OfTheInstallation),
        ("OverviewStore", "organizations", OfTheInstallation),
        ("OverviewStore", "shell", Shown),
        ("OverviewStore", "signs", Shown),
        ("OverviewStore", "summaries", OfTheInstallation),
        ("PeopleStore", "commit_people", ShownElsewhere),
        ("PeopleStore", "link", OfTheInstallation),
        ("PeopleStore", "organization_people", ShownElsewhere),
        ("PeopleStore", "person", OfTheInstallation),
        ("PeopleStore", "record_token_use", ShownElsewhere),
        ("PeopleStore", "token", OfTheInstallation),
        ("ProvisioningStore", "commit", WritesWhatItIsGiven),
        ("ProvisioningStore", "commit_by", WritesWhatItIsGiven),
        ("ProvisioningStore", "has_history", Shown),
        ("ProvisioningStore", "people", OfTheInstallation),
        ("ProvisioningStore", "snapshot", Shown),
        ("ProvisioningStore", "webhook_urls", OfTheInstallation),
        ("RetentionStore", "count_prunable", OfTheInstallation),
        ("RetentionStore", "note_stored_jobs", OfTheInstallation),
        ("RetentionStore", "prune", OfTheInstallation),
        ("SessionStore", "end_session", OfTheInstallation),
        ("SessionStore", "open_session", OfTheInstallation),
        ("SessionStore", "record_session_use", OfTheInstallation),
        ("SessionStore", "session", OfTheInstallation),
        ("SessionStore", "show_organization", ShownElsewhere),
        ("SignInTryStore", "count_try", OfTheInstallation),
        ("SignInTryStore", "end_try", OfTheInstallation),
        ("StatisticsStore", "add_all_up", OfTheInstallation),
        ("StatisticsStore", "add_up", OfTheInstallation),
        ("StatisticsStore", "gather", OfTheInstallation),
        ("StatisticsStore", "sums", ShownElsewhere),
        ("SubmissionStore", "begin_attempt", Shown),
        ("SubmissionStore", "claim", OfTheInstallation),
        ("SubmissionStore", "claim_unanswered", OfTheInstallation),
        ("SubmissionStore", "disconnect_account", Shown),
        ("SubmissionStore", "finish", Shown),
        ("SubmissionStore", "finish_by", ShownElsewhere),
        ("SubmissionStore", "postpone", Shown),
        ("SubmissionStore", "queued_count", OfTheInstallation),
        ("SubmissionStore", "record_account", Shown),
        ("SubmissionStore", "renew", Shown),
        ("SubmissionStore", "waiting", OfTheInstallation),
    ];

    /// The stores' methods, as the sources of the ports declare them.
    fn declared() -> Vec<(String, String)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../domain/src/port");
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let source = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let mut port = None;
            for line in source.lines() {
                if let Some(rest) = line.strip_prefix("pub trait ") {
                    let name = rest.split([':', ' ']).next().unwrap();
                    port = name.ends_with("Store").then(|| name.to_owned());
                } else if line == "}" {
                    port = None;
                }
                let method = line
                    .strip_prefix("    async fn ")
                    .and_then(|rest| rest.split('(').next());
                if let (Some(port), Some(method)) = (&port, method) {
                    found.push((port.clone(), method.to_owned()));
                }
            }
        }
        found.retain(|(port, _)| port != "BlobStore");
        found.sort();
        found
    }

    #[test]
    fn every_method_of_every_store_is_judged() {
        let judged: Vec<(String, String)> = JUDGED
            .iter()
            .map(|(port, method, _)| ((*port).to_owned(), (*method).to_owned()))
            .collect();
        assert_eq!(
            declared(),
            judged,
            "left: the ports; right: what this file judges"
        );
    }
}
