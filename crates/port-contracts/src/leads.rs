//! The rules of `LeadStore` for listing, finding, rejecting and configuring leads, and for dry runs (specification,
//! List leads; decisions A5, B1). Bids, quota and attachments have files of their own.

use bidloop_domain::model::{
    ActivityKind, Authorization, BiddingConfig, CampaignMode, CampaignState, Connects, EventId, EventPayload,
    Lead, LeadId, LeadStatus, NewEvent, OrganizationId, ReasonCode,
};
use bidloop_domain::port::{
    AcceptBid, AccountReading, ConfigureLead, DRY_RUN_BACKLOG, LeadLookup, LeaseOwner, RecordDryRun,
    RejectLead,
};

use crate::Stores;
use crate::fixture::{
    World, account, activities, activity, already_applied, at, at_once, campaign, campaign_id, clock_at,
    fresh_uuid, how_many, lead_id, organization, organization_id, refused_bid, seconds, submitted,
};

pub async fn a_page_holds_the_newest_first_with_the_total_and_the_campaigns_name(stores: Stores) {
    let world = World::new(stores).await;
    for second in 1..=5 {
        world
            .ingest(at(second), vec![world.job(&second.to_string(), at(0))])
            .await;
    }
    let page = world.list(1, 2).await;
    assert_eq!((page.total, page.campaign_name.as_str()), (5, "Campaign camp"));
    let jobs: Vec<String> = page.leads.iter().map(|known| known.job_id.to_string()).collect();
    assert_eq!(jobs, ["4", "3"]);
    let listed = &page.leads[0];
    assert_eq!((listed.status, listed.created_at), (LeadStatus::New, at(4)));
    assert_eq!((&listed.reason, &listed.proposal_id), (&None, &None));
    let lead = world.find(&listed.id).await.unwrap().lead.lead;
    assert_eq!(lead.id, lead_id("org_acme", "camp", "4"));
    assert_eq!(
        (&lead.organization_id, &lead.campaign_id),
        (&world.organization, &world.campaign)
    );
    assert_eq!((lead.status, lead.created_at), (LeadStatus::New, at(4)));
    assert_eq!(
        (&lead.reason, &lead.rejection_reason, &lead.proposal_id),
        (&None, &None, &None)
    );
    assert_eq!(lead.bidding_config, BiddingConfig::default());
}

pub async fn pages_side_by_side_hold_every_match_once(stores: Stores) {
    let world = World::new(stores).await;
    world.new_leads(11, at(0)).await;
    let whole: Vec<LeadId> = world
        .list(0, 100)
        .await
        .leads
        .into_iter()
        .map(|known| known.id)
        .collect();
    assert_eq!(whole.len(), 11);
    let mut paged = Vec::new();
    for offset in [0, 4, 8] {
        paged.extend(
            world
                .list(offset, 4)
                .await
                .leads
                .into_iter()
                .map(|known| known.id),
        );
    }
    assert_eq!(paged, whole);
}

pub async fn a_page_beyond_the_end_is_empty(stores: Stores) {
    let world = World::new(stores).await;
    assert_eq!(
        (world.list(0, 10).await.total, world.list(0, 10).await.leads),
        (0, vec![])
    );
    world.new_leads(3, at(0)).await;
    for offset in [3, 4, u64::from(u32::MAX), u64::MAX] {
        let page = world.list(offset, 10).await;
        assert_eq!((page.total, page.leads), (3, vec![]), "{offset}");
    }
}

pub async fn every_job_on_a_page_becomes_a_lead_and_no_other_does(stores: Stores) {
    let world = World::with(
        stores,
        organization("org_acme").campaign(campaign("camp").paused()),
    )
    .await;
    for second in 1..=3 {
        world
            .ingest(at(second), vec![world.job(&second.to_string(), at(0))])
            .await;
    }
    world.list(1, 1).await;
    let is_lead = async |job| world.find(&lead_id("org_acme", "camp", job)).await.is_some();
    assert_eq!(
        (is_lead("1").await, is_lead("2").await, is_lead("3").await),
        (false, true, false)
    );
}

pub async fn a_lead_keeps_its_id_and_created_at_however_often_it_is_listed(stores: Stores) {
    let world = World::with(
        stores,
        organization("org_acme").campaign(campaign("camp").paused()),
    )
    .await;
    world.ingest(at(10), vec![world.job("1", at(0))]).await;
    let first = world.list(0, 1).await.leads;
    world.ingest(at(20), vec![world.job("2", at(1))]).await;
    assert_eq!(world.list(1, 1).await.leads, first);
    let lead = world.find(&first[0].id).await.unwrap().lead.lead;
    assert_eq!((lead.job_id.as_str(), lead.created_at), ("1", at(10)));
    assert_eq!(first[0].created_at, at(10));
}

pub async fn a_reopened_lead_is_listed_with_the_proposal_id_that_it_kept(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let listed = async || world.list(0, 1).await.leads.remove(0);
    // As a process that remembers what it has listed.
    for _ in 0..3 {
        assert_eq!(listed().await.proposal_id, None);
    }
    world
        .bid_to_the_end(&lead, already_applied("p_earlier"), at(1))
        .await;
    let entry = activity(&world.organization, ActivityKind::Submission, "new", at(2));
    world.stores.leads.reopen(&lead.id, &entry).await.unwrap();
    for _ in 0..3 {
        let reopened = listed().await;
        assert_eq!((reopened.status, reopened.reason), (LeadStatus::New, None));
        assert_eq!(reopened.proposal_id.as_deref(), Some("p_earlier"));
    }
}

pub async fn pages_read_at_once_make_each_lead_once(stores: Stores) {
    let world = World::with(
        stores,
        organization("org_acme").campaign(campaign("camp").paused()),
    )
    .await;
    let jobs = (0..10)
        .map(|number| world.job(&number.to_string(), at(number)))
        .collect();
    world.ingest(at(10), jobs).await;
    let pages = at_once(8, |_| {
        let world = world.clone();
        async move { world.list(0, 10).await }
    })
    .await;
    assert_eq!(pages[0].leads.len(), 10);
    assert!(pages.iter().all(|page| page == &pages[0]));
}

pub async fn an_unknown_campaign_has_no_page(stores: Stores) {
    let world = World::new(stores).await;
    organization("org_two")
        .campaign(campaign("of_two"))
        .provision(&world.stores)
        .await;
    for (organization, campaign) in [
        ("org_acme", "camp_9"),
        ("org_acme", "of_two"),
        ("org_two", "camp"),
        ("org_9", "camp"),
    ] {
        let (organization, campaign) = (organization_id(organization), campaign_id(campaign));
        assert_eq!(
            world.stores.leads.page(&organization, &campaign, 0, 10).await,
            Ok(None)
        );
    }
}

pub async fn a_lead_is_found_with_everything_a_decision_needs(stores: Stores) {
    let mut camp = campaign("camp").automatic().paused();
    camp.0.bidding_config.min_boost = Some(Connects::new(2));
    camp.0.proposal.cover_letter = Some("Hello {{ title }}".to_owned());
    let acme = organization("org_acme").campaign(camp.clone());
    let world = World::with(stores, acme.clone()).await;
    let lead = world.new_lead("1", at(0)).await;
    let account = account("acct_1").id;
    let reading = AccountReading {
        profile_hourly_rate: Some(47.25),
        connects_balance: Connects::new(80),
        at: at(1),
    };
    world
        .stores
        .submissions
        .record_account(&world.organization, &account, &reading)
        .await
        .unwrap();
    let context = world.context(&lead).await;
    assert_eq!(context.lead.lead, lead);
    assert!(context.attachments.is_empty());
    assert!(context.bid.is_none());
    let found = context.campaign.unwrap();
    assert_eq!(
        (&found.organization_id, &found.id),
        (&world.organization, &world.campaign)
    );
    assert_eq!(found.name, "Campaign camp");
    assert_eq!(
        (found.mode, found.state),
        (CampaignMode::Automatic, CampaignState::Paused)
    );
    assert_eq!(
        (&found.bidding_config, &found.proposal),
        (&camp.0.bidding_config, &camp.0.proposal)
    );
    assert_eq!(found.subscription, acme.0.subscription);
    let summary = found.account.unwrap();
    assert_eq!((summary.id, summary.connected), (account, true));
    assert_eq!(summary.profile_hourly_rate, Some(47.25));
}

pub async fn a_lead_is_found_under_its_own_organization_and_campaign_only(stores: Stores) {
    let acme = organization("org_acme")
        .campaign(campaign("camp"))
        .campaign(campaign("other"));
    let world = World::with(stores, acme).await;
    organization("org_two")
        .campaign(campaign("camp"))
        .provision(&world.stores)
        .await;
    let lead = world.new_lead("1", at(0)).await;
    let look_up = async |organization: &str, campaign: &str, lead: &LeadId| {
        let (organization, campaign) = (organization_id(organization), campaign_id(campaign));
        let leads = &world.stores.leads;
        let found = leads.find(&organization, &campaign, lead).await.unwrap();
        let located = leads.locate(&organization, &campaign, lead).await.unwrap();
        assert_eq!(located, found.clone().map(|context| context.lead.lead));
        found
    };
    assert!(matches!(
        look_up("org_acme", "camp", &lead.id).await,
        LeadLookup::Found(_)
    ));
    assert!(matches!(
        look_up("org_acme", "other", &lead.id).await,
        LeadLookup::LeadUnknown
    ));
    assert!(matches!(
        look_up("org_two", "camp", &lead.id).await,
        LeadLookup::LeadUnknown
    ));
    assert!(matches!(
        look_up("org_acme", "camp_9", &lead.id).await,
        LeadLookup::CampaignUnknown
    ));
    assert!(matches!(
        look_up("org_two", "other", &lead.id).await,
        LeadLookup::CampaignUnknown
    ));
    let unknown = LeadId::parse("ld_9").unwrap();
    assert!(matches!(
        look_up("org_acme", "camp", &unknown).await,
        LeadLookup::LeadUnknown
    ));
}

pub async fn a_lead_is_found_anywhere_by_its_id(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let found = world.stores.leads.find_anywhere(&lead.id).await.unwrap().unwrap();
    assert_eq!(found.lead.lead, lead);
    assert_eq!(found.campaign.unwrap().id, world.campaign);
    assert!(
        world
            .stores
            .leads
            .find_anywhere(&LeadId::parse("ld_9").unwrap())
            .await
            .unwrap()
            .is_none()
    );
}

async fn reject(world: &World, lead: &Lead, reason: Option<&str>) -> RejectLead {
    let entry = activity(&world.organization, ActivityKind::Rejection, "accepted", at(5));
    world
        .stores
        .leads
        .reject(&Authorization::Subscription, lead, reason, &entry)
        .await
        .unwrap()
}

pub async fn a_rejection_is_for_good_and_leaves_its_reason_and_activity(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(2, at(0)).await;
    assert_eq!(
        reject(&world, &leads[0], Some("Too „cheap“.")).await,
        RejectLead::Rejected
    );
    assert_eq!(reject(&world, &leads[1], None).await, RejectLead::Rejected);
    let rejected = world.context(&leads[0]).await.lead.lead;
    assert_eq!(rejected.status, LeadStatus::Rejected);
    assert_eq!(rejected.rejection_reason.as_deref(), Some("Too „cheap“."));
    assert_eq!(world.context(&leads[1]).await.lead.lead.rejection_reason, None);
    assert_eq!(activities(&world.stores, &world.organization).await.len(), 2);
    assert_eq!(
        world.try_bid(&leads[0], at(6)).await,
        AcceptBid::LeadNotNew(LeadStatus::Rejected)
    );
}

pub async fn a_lead_that_is_not_new_cannot_be_rejected(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(3, at(0)).await;
    reject(&world, &leads[0], Some("first")).await;
    world
        .bid_to_the_end(&leads[1], submitted("p_1", at(2)), at(2))
        .await;
    world.bid(&leads[2], at(3)).await;
    let before = activities(&world.stores, &world.organization).await.len();
    for (lead, status) in leads
        .iter()
        .zip([LeadStatus::Rejected, LeadStatus::Submitted, LeadStatus::Queued])
    {
        assert_eq!(
            reject(&world, lead, Some("again")).await,
            RejectLead::LeadNotNew(status)
        );
        assert_eq!(world.status(lead).await, status);
    }
    assert_eq!(
        world
            .context(&leads[0])
            .await
            .lead
            .lead
            .rejection_reason
            .as_deref(),
        Some("first")
    );
    assert_eq!(activities(&world.stores, &world.organization).await.len(), before);
}

pub async fn an_unknown_lead_cannot_be_rejected(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let two = organization("org_two")
        .campaign(campaign("camp"))
        .provision(&world.stores)
        .await;
    let entry = activity(&two, ActivityKind::Rejection, "accepted", at(5));
    let mut foreign = lead.clone();
    foreign.organization_id = two.clone();
    assert_eq!(
        world
            .stores
            .leads
            .reject(&Authorization::Subscription, &foreign, None, &entry)
            .await,
        Ok(RejectLead::LeadUnknown)
    );
    assert_eq!(world.status(&lead).await, LeadStatus::New);
    assert_eq!(activities(&world.stores, &two).await, []);
}

pub async fn of_many_rejections_one_counts(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let answers = at_once(12, |_| {
        let (world, lead) = (world.clone(), lead.clone());
        async move { reject(&world, &lead, None).await }
    })
    .await;
    assert_eq!(how_many(&answers, &RejectLead::Rejected), 1);
    assert_eq!(activities(&world.stores, &world.organization).await.len(), 1);
}

pub async fn of_a_bid_and_a_rejection_at_once_one_counts(stores: Stores) {
    let world = World::new(stores).await;
    for lead in world.new_leads(8, at(0)).await {
        let (bid, rejection) = tokio::join!(world.try_bid(&lead, at(1)), reject(&world, &lead, None));
        let status = world.status(&lead).await;
        match rejection {
            RejectLead::Rejected => {
                assert_eq!(bid, AcceptBid::LeadNotNew(LeadStatus::Rejected));
                assert_eq!(status, LeadStatus::Rejected);
            }
            other => {
                assert_eq!(other, RejectLead::LeadNotNew(LeadStatus::Queued));
                assert_eq!((bid, status), (AcceptBid::Accepted, LeadStatus::Queued));
            }
        }
    }
}

pub async fn a_leads_configuration_is_replaced(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let first = BiddingConfig {
        boosting_enabled: Some(true),
        ..BiddingConfig::default()
    };
    let second = BiddingConfig {
        min_boost: Some(Connects::new(4)),
        ..BiddingConfig::default()
    };
    for config in [first, second, BiddingConfig::default()] {
        assert_eq!(world.stores.leads.configure(&lead.id, &config).await, Ok(true));
        assert_eq!(world.context(&lead).await.lead.lead.bidding_config, config);
    }
    let unknown = LeadId::parse("ld_9").unwrap();
    assert_eq!(
        world
            .stores
            .leads
            .configure(&unknown, &BiddingConfig::default())
            .await,
        Ok(false)
    );
}

pub async fn a_person_configures_a_lead_of_the_own_organization_and_it_is_recorded(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let other = organization("org_other").campaign(campaign("camp"));
    let other = World::with(world.stores.clone(), other).await;
    let config = BiddingConfig {
        min_boost: Some(Connects::new(4)),
        ..BiddingConfig::default()
    };
    let configure = async |organization: &OrganizationId| {
        let entry = activity(organization, ActivityKind::Change, "accepted", at(1));
        let (leads, mut lead) = (&world.stores.leads, lead.clone());
        lead.organization_id = organization.clone();
        leads
            .configure_as(&Authorization::Subscription, &lead, &config, &entry)
            .await
    };
    let foreign = configure(&other.organization).await;
    assert_eq!(foreign, Ok(ConfigureLead::LeadUnknown));
    let before = world.context(&lead).await.lead.lead.bidding_config;
    assert_eq!(before, BiddingConfig::default());
    assert_eq!(activities(&world.stores, &other.organization).await.len(), 0);

    let own = configure(&world.organization).await;
    assert_eq!(own, Ok(ConfigureLead::Configured));
    assert_eq!(world.context(&lead).await.lead.lead.bidding_config, config);
    let entries = activities(&world.stores, &world.organization).await;
    let changes = entries.iter().filter(|entry| entry.kind == ActivityKind::Change);
    assert_eq!(changes.count(), 1);
}

pub(crate) fn dry_run_of(lead: &Lead) -> NewEvent {
    NewEvent {
        id: EventId(fresh_uuid()),
        organization_id: lead.organization_id.clone(),
        campaign_id: lead.campaign_id.clone(),
        lead_id: lead.id.clone(),
        payload: EventPayload::BidComplete {
            dry_run: true,
            data: r#"{"dryRun": true, "amount": null}"#.to_owned(),
        },
        trace_parent: None,
    }
}

pub async fn a_dry_run_records_activity_and_bid_complete_and_nothing_else(stores: Stores) {
    let world = World::with(
        stores,
        organization("org_acme")
            .limit(1)
            .campaign(campaign("camp").paused()),
    )
    .await;
    let lead = world.new_lead("1", at(0)).await;
    let mut entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(7));
    entry.dry_run = true;
    let event = dry_run_of(&lead);
    world
        .stores
        .leads
        .record_dry_run(&Authorization::Subscription, &entry, &event)
        .await
        .unwrap();
    assert_eq!(activities(&world.stores, &world.organization).await, [entry]);
    let pending = world.pending().await;
    let begun = world
        .stores
        .deliveries
        .claim(&pending, &LeaseOwner::new("me"), &clock_at(at(8)), seconds(10))
        .await
        .unwrap();
    assert_eq!(begun.len(), 1);
    assert_eq!((&begun[0].payload, begun[0].created_at), (&event.payload, at(7)));
    assert_eq!(world.context(&lead).await.lead.lead, lead);
    assert_eq!(world.stores.submissions.queued_count().await, Ok(0));
    world.bid(&lead, at(9)).await;
}

pub async fn a_dry_run_recorded_twice_is_delivered_once(stores: Stores) {
    let world = World::with(
        stores,
        organization("org_acme").campaign(campaign("camp").paused()),
    )
    .await;
    let lead = world.new_lead("1", at(0)).await;
    let entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(7));
    let event = dry_run_of(&lead);
    world
        .stores
        .leads
        .record_dry_run(&Authorization::Subscription, &entry, &event)
        .await
        .unwrap();
    world
        .stores
        .leads
        .record_dry_run(&Authorization::Subscription, &entry, &event)
        .await
        .unwrap();
    assert_eq!(world.stores.deliveries.pending_count().await, Ok(1));
    assert_eq!(activities(&world.stores, &world.organization).await.len(), 1);
}

pub async fn a_dry_run_is_refused_while_a_receiver_has_a_thousand_pending_deliveries(stores: Stores) {
    let world = World::new(stores.clone()).await;
    let paused = organization("org_two").campaign(campaign("camp").paused());
    let other = World::with(stores, paused).await;
    let leads = world
        .new_leads(usize::try_from(DRY_RUN_BACKLOG).unwrap(), at(0))
        .await;
    let lead = &leads[0];
    let try_dry_run = async |world: &World, lead: &Lead, second| {
        let entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(second));
        let (leads, event) = (&world.stores.leads, dry_run_of(lead));
        let recorded = leads.record_dry_run(&Authorization::Subscription, &entry, &event);
        recorded.await.unwrap()
    };
    let state = async || {
        let pending = world.stores.deliveries.pending_count().await.unwrap();
        (
            pending,
            activities(&world.stores, &world.organization).await.len(),
        )
    };
    assert_eq!(try_dry_run(&world, lead, 5_000).await, RecordDryRun::Recorded);
    let full = state().await;
    assert_eq!(
        try_dry_run(&world, lead, 5_001).await,
        RecordDryRun::TooManyPending
    );
    assert_eq!(state().await, full, "nothing changed");

    let others_lead = other.new_lead("1", at(5_002)).await;
    let recorded = try_dry_run(&other, &others_lead, 5_003).await;
    assert_eq!(recorded, RecordDryRun::Recorded, "another organization's");
    let end = refused_bid(ReasonCode::JobClosed);
    world.bid_to_the_end(lead, end, at(5_004)).await;
    assert_eq!(state().await.0, full.0 + 2, "a real bid is told all the same");

    let oldest = world.stores.deliveries.pending(&[], 2, 2).await.unwrap();
    let (owner, clock) = (LeaseOwner::new("me"), clock_at(at(5_005)));
    let claimed = world
        .stores
        .deliveries
        .claim(&oldest, &owner, &clock, seconds(10));
    assert_eq!(claimed.await.unwrap().len(), 2);
    assert_eq!(try_dry_run(&world, lead, 5_006).await, RecordDryRun::Recorded);
}
