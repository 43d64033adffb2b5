//! The rules of `LeadStore` for accepting bids and reopening leads (decisions A8, B1, B2 and B4). The quota, and decisions that
//! arrive at the same time, have files of their own.

use bidloop_domain::bidding::ReasonCode;
use bidloop_domain::model::{
    ActivityKind, Authorization, BiddingConfig, Connects, HourlyRateStrategy, Lead, LeadId, LeadStatus,
    SubscriptionStatus, effective,
};
use bidloop_domain::port::{AcceptBid, ProvisioningChange, ReopenLead};

use crate::Stores;
use crate::fixture::{
    World, account, activities, activity, at, at_once, bid, campaign, commit, how_many, organization,
    organization_id, refused_bid, submitted, token,
};

pub async fn an_accepted_bid_queues_the_lead_and_leaves_its_activity(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let id = world.bid(&lead, at(1)).await;
    let context = world.context(&lead).await;
    assert_eq!(
        context.lead.lead,
        Lead {
            status: LeadStatus::Queued,
            ..lead
        }
    );
    let record = context.bid.unwrap();
    assert_eq!(
        (record.id, record.status, record.attempts),
        (id, LeadStatus::Queued, 0)
    );
    assert_eq!((record.queued_at, record.deadline), (at(1), at(901)));
    assert_eq!((record.answer_outstanding, record.proposal), (false, None));
    assert_eq!(
        (record.reason, record.proposal_id, record.submitted_at),
        (None, None, None)
    );
    assert_eq!(record.connects_spent, Connects::ZERO);
    assert_eq!(world.stores.submissions.queued_count().await, Ok(1));
    assert_eq!(activities(&world.stores, &world.organization).await.len(), 1);
}

pub async fn an_accepted_bid_is_frozen_as_it_was_asked_for(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let override_of_request = BiddingConfig {
        bidding_hourly_rate_strategy: Some(HourlyRateStrategy::MatchProfileRate),
        maximum_boost: Some(Connects::new(9)),
        ..BiddingConfig::default()
    };
    let of_lead = BiddingConfig {
        min_boost: Some(Connects::new(2)),
        ..BiddingConfig::default()
    };
    let mut asked = bid(&lead, at(1));
    asked.config = effective(&override_of_request, &of_lead, &BiddingConfig::default());
    let entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(1));
    assert_eq!(
        world
            .stores
            .leads
            .accept_bid(&Authorization::Subscription, &asked, &entry)
            .await,
        Ok(AcceptBid::Accepted)
    );
    world
        .stores
        .leads
        .configure(&lead.id, &override_of_request)
        .await
        .unwrap();

    let claimed = world.claim_one("me", at(2)).await;
    let queued = &claimed.bid;
    assert_eq!(
        (queued.id, &queued.lead_id, &queued.job_id),
        (asked.id, &lead.id, &lead.job_id)
    );
    assert_eq!(
        (&queued.organization_id, &queued.campaign_id),
        (&world.organization, &world.campaign)
    );
    assert_eq!(
        (&queued.cover_letter, &queued.answers),
        (&asked.cover_letter, &asked.answers)
    );
    assert_eq!(queued.config, asked.config);
    assert_eq!((queued.queued_at, queued.deadline), (at(1), at(901)));
    assert_eq!(
        (queued.attempts, &queued.proposal, queued.answer_outstanding),
        (0, &None, false)
    );
    assert_eq!(claimed.token, Some(token("token_acct_1")));
    assert_eq!((claimed.owner.as_str(), claimed.job_taken), ("me", false));
    assert_eq!(claimed.post.title, "Rust service");
    assert_eq!(world.context(&lead).await.bid.unwrap().config, asked.config);
}

pub async fn a_bid_on_a_lead_that_is_not_new_is_refused_and_changes_nothing(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(5, at(0)).await;
    world
        .bid_to_the_end(&leads[0], submitted("p_1", at(1)), at(1))
        .await;
    world
        .bid_to_the_end(&leads[1], refused_bid(ReasonCode::AlreadyHired), at(2))
        .await;
    world
        .bid_to_the_end(&leads[2], refused_bid(ReasonCode::JobClosed), at(3))
        .await;
    let entry = activity(&world.organization, ActivityKind::Rejection, "accepted", at(3));
    world
        .stores
        .leads
        .reject(&Authorization::Subscription, &leads[3], None, &entry)
        .await
        .unwrap();
    world.bid(&leads[4], at(4)).await;
    let before = activities(&world.stores, &world.organization).await;
    for lead in &leads {
        let context = world.context(lead).await;
        let status = context.lead.lead.status;
        assert_ne!(status, LeadStatus::New);
        assert_eq!(world.try_bid(lead, at(5)).await, AcceptBid::LeadNotNew(status));
        let after = world.context(lead).await;
        assert_eq!((after.lead, after.bid), (context.lead, context.bid));
    }
    assert_eq!(world.stores.submissions.queued_count().await, Ok(1));
    assert_eq!(activities(&world.stores, &world.organization).await, before);
}

pub async fn a_bid_without_a_connected_account_is_refused_and_changes_nothing(stores: Stores) {
    let acme = organization("org_acme")
        .campaign(campaign("camp").bids_with(None))
        .campaign(campaign("cut_off").bids_with(Some("acct_1")));
    let world = World::with(stores, acme).await;
    let cut_off = world.campaign("cut_off");
    let without = world.new_lead("1", at(0)).await;
    let waiting = cut_off.new_lead("2", at(0)).await;
    let trigger = cut_off.new_lead("3", at(1)).await;
    cut_off.bid(&trigger, at(2)).await;
    let claimed = cut_off.claim_one("me", at(2)).await;
    let submissions = &cut_off.stores.submissions;
    let disconnected = submissions
        .disconnect_account(
            &world.organization,
            claimed.bid.id,
            &claimed.owner,
            &token("token_acct_1"),
        )
        .await;
    assert_eq!(disconnected, Ok(true));
    for (world, lead) in [(&world, &without), (&cut_off, &waiting)] {
        let before = activities(&world.stores, &world.organization).await;
        assert_eq!(world.try_bid(lead, at(3)).await, AcceptBid::NoConnectedAccount);
        assert_eq!(world.status(lead).await, LeadStatus::New);
        assert_eq!(activities(&world.stores, &world.organization).await, before);
    }
    world.renew_token("another").await;
    cut_off.bid(&waiting, at(4)).await;
}

pub async fn a_status_other_than_new_is_told_before_a_missing_account(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    world.bid(&lead, at(1)).await;
    let id = account("acct_1").id;
    commit(
        &world.stores,
        &[ProvisioningChange::RemoveAccount(world.organization.clone(), id)],
    )
    .await;
    assert_eq!(
        world.try_bid(&lead, at(2)).await,
        AcceptBid::LeadNotNew(LeadStatus::Queued)
    );
}

pub async fn a_missing_account_is_told_before_the_quota(stores: Stores) {
    let acme = organization("org_acme")
        .limit(0)
        .campaign(campaign("camp").bids_with(None));
    let world = World::with(stores, acme).await;
    let lead = world.new_lead("1", at(0)).await;
    assert_eq!(world.try_bid(&lead, at(1)).await, AcceptBid::NoConnectedAccount);
}

pub async fn another_organizations_lead_cannot_be_bid_on(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    organization("org_two")
        .campaign(campaign("camp"))
        .provision(&world.stores)
        .await;
    let mut foreign = lead.clone();
    foreign.organization_id = organization_id("org_two");
    assert_eq!(world.try_bid(&foreign, at(1)).await, AcceptBid::LeadUnknown);
    foreign.organization_id = world.organization.clone();
    foreign.id = LeadId::parse("ld_9").unwrap();
    assert_eq!(world.try_bid(&foreign, at(1)).await, AcceptBid::LeadUnknown);
    assert_eq!(world.status(&lead).await, LeadStatus::New);
}

pub async fn a_lead_whose_campaign_was_removed_cannot_be_bid_on(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let removal = ProvisioningChange::RemoveCampaign(world.organization.clone(), world.campaign.clone());
    commit(&world.stores, &[removal]).await;
    assert_eq!(world.try_bid(&lead, at(1)).await, AcceptBid::LeadUnknown);
}

pub async fn a_paused_campaign_does_what_it_is_told(stores: Stores) {
    let acme = organization("org_acme").campaign(campaign("camp").paused());
    let world = World::with(stores, acme.clone()).await;
    let lead = world.new_lead("1", at(0)).await;
    world.bid(&lead, at(1)).await;
    // Bids already queued are submitted although the subscription has ended (decision D6).
    commit(
        &world.stores,
        &[acme.status(SubscriptionStatus::Canceled).put_organization()],
    )
    .await;
    assert_eq!(world.claim_one("me", at(2)).await.bid.lead_id, lead.id);
}

pub async fn the_account_is_frozen_with_the_bid(stores: Stores) {
    let acme = organization("org_acme")
        .account("acct_2")
        .campaign(campaign("camp"));
    let world = World::with(stores, acme).await;
    let lead = world.new_lead("1", at(0)).await;
    world.bid(&lead, at(1)).await;
    let other = campaign("camp").bids_with(Some("acct_2")).0;
    commit(
        &world.stores,
        &[ProvisioningChange::PutCampaign(
            world.organization.clone(),
            Box::new(other),
        )],
    )
    .await;
    let claimed = world.claim_one("me", at(2)).await;
    assert_eq!(claimed.bid.account_id.as_str(), "acct_1");
    assert_eq!(claimed.token, Some(token("token_acct_1")));
    assert_eq!(
        world.context(&lead).await.bid.unwrap().account_id.as_str(),
        "acct_1"
    );
}

pub async fn the_campaigns_files_are_frozen_with_the_bid(stores: Stores) {
    let with_files = campaign("camp")
        .attachment("portfolio.pdf")
        .attachment("rates.pdf");
    let world = World::with(stores, organization("org_acme").campaign(with_files.clone())).await;
    let lead = world.new_lead("1", at(0)).await;
    world.bid(&lead, at(1)).await;
    let without_files =
        ProvisioningChange::PutCampaign(world.organization.clone(), Box::new(campaign("camp").0));
    commit(&world.stores, &[without_files]).await;
    let claimed = world.claim_one("me", at(2)).await;
    let frozen: Vec<_> = claimed
        .bid
        .attachments
        .iter()
        .map(|file| (&file.name, &file.content_type, &file.blob))
        .collect();
    let expected: Vec<_> = with_files
        .0
        .attachments
        .iter()
        .map(|file| (&file.name, &file.content_type, &file.blob))
        .collect();
    assert_eq!(frozen, expected);
    assert_eq!(
        world.context(&lead).await.bid.unwrap().attachments,
        claimed.bid.attachments
    );
}

pub async fn of_many_bids_on_one_lead_one_is_accepted(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let answers = at_once(20, |_| {
        let (world, lead) = (world.clone(), lead.clone());
        async move { world.try_bid(&lead, at(1)).await }
    })
    .await;
    assert_eq!(how_many(&answers, &AcceptBid::Accepted), 1);
    let refused = AcceptBid::LeadNotNew(LeadStatus::Queued);
    assert_eq!(how_many(&answers, &refused), 19);
    assert_eq!(world.stores.submissions.queued_count().await, Ok(1));
    assert_eq!(activities(&world.stores, &world.organization).await.len(), 1);
}

async fn reopen(world: &World, lead: &LeadId) -> ReopenLead {
    let entry = activity(&world.organization, ActivityKind::Submission, "new", at(50));
    world.stores.leads.reopen(lead, &entry).await.unwrap()
}

pub async fn a_skipped_or_failed_lead_can_be_reopened(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(2, at(0)).await;
    for (lead, code) in leads
        .iter()
        .zip([ReasonCode::JobWarning, ReasonCode::DeadlineExceeded])
    {
        world.bid_to_the_end(lead, refused_bid(code), at(1)).await;
        let before = activities(&world.stores, &world.organization).await.len();
        assert_eq!(reopen(&world, &lead.id).await, ReopenLead::Reopened);
        let reopened = world.context(lead).await.lead.lead;
        assert_eq!((reopened.status, reopened.reason), (LeadStatus::New, None));
        assert_eq!(
            activities(&world.stores, &world.organization).await.len(),
            before + 1
        );
    }
}

pub async fn a_lead_in_any_other_status_cannot_be_reopened(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(4, at(0)).await;
    world
        .bid_to_the_end(&leads[0], submitted("p_1", at(1)), at(1))
        .await;
    world.bid(&leads[1], at(2)).await;
    let entry = activity(&world.organization, ActivityKind::Rejection, "accepted", at(3));
    world
        .stores
        .leads
        .reject(&Authorization::Subscription, &leads[2], None, &entry)
        .await
        .unwrap();
    let before = activities(&world.stores, &world.organization).await;
    for lead in &leads {
        let status = world.status(lead).await;
        assert_eq!(reopen(&world, &lead.id).await, ReopenLead::NotReopenable(status));
        assert_eq!(world.status(lead).await, status);
    }
    assert_eq!(
        reopen(&world, &LeadId::parse("ld_9").unwrap()).await,
        ReopenLead::LeadUnknown
    );
    assert_eq!(activities(&world.stores, &world.organization).await, before);
}

pub async fn a_reopened_lead_takes_a_new_bid_and_the_old_one_gives_way(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let first = world
        .bid_to_the_end(&lead, refused_bid(ReasonCode::JobWarning), at(1))
        .await;
    assert_eq!(world.context(&lead).await.bid.unwrap().id, first);
    reopen(&world, &lead.id).await;
    assert_eq!(world.claim("me", at(2)).await.len(), 0, "the old bid stays ended");
    let second = world.bid_to_the_end(&lead, submitted("p_1", at(3)), at(3)).await;
    assert_ne!(first, second);
    let context = world.context(&lead).await;
    assert_eq!(context.lead.lead.status, LeadStatus::Submitted);
    let record = context.bid.unwrap();
    assert_eq!(
        (record.id, record.status, record.reason),
        (second, LeadStatus::Submitted, None)
    );
}

pub async fn of_many_reopenings_one_counts(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    world
        .bid_to_the_end(&lead, refused_bid(ReasonCode::JobWarning), at(1))
        .await;
    let answers = at_once(8, |_| {
        let (world, lead) = (world.clone(), lead.id.clone());
        async move { reopen(&world, &lead).await }
    })
    .await;
    assert_eq!(how_many(&answers, &ReopenLead::Reopened), 1);
    let refused = ReopenLead::NotReopenable(LeadStatus::New);
    assert_eq!(how_many(&answers, &refused), 7);
}
