//! The rules of `ProvisioningStore` for removing: what goes with an entity, and what stays.

use bidloop_domain::model::{EventKind, FilterId, LeadStatus, MarketplaceToken};
use bidloop_domain::port::{AcceptBid, LeadLookup, LeaseOwner, ProvisioningChange, SwitchMatches};

use crate::Stores;
use crate::fixture::{
    World, account, all_filters, at, campaign, commit, finish, key, organization, organization_id, submitted,
    webhook,
};

async fn remove_campaign(world: &World) {
    let change = ProvisioningChange::RemoveCampaign(world.organization.clone(), world.campaign.clone());
    commit(&world.stores, &[change]).await;
}

pub async fn removing_what_is_absent_is_no_fault(stores: Stores) {
    let id = organization("org_acme")
        .campaign(campaign("camp"))
        .provision(&stores)
        .await;
    let before = stores
        .provisioning
        .snapshot(std::slice::from_ref(&id), &[])
        .await
        .unwrap()
        .organizations;
    let nothing = campaign("camp_9").0;
    let changes = [
        ProvisioningChange::RemoveUser(id.clone(), "nobody@acme.test".to_owned()),
        ProvisioningChange::RemoveApiKey(id.clone(), key("org_acme", "key_9", 9, at(0)).0.id),
        ProvisioningChange::RemoveWebhook(
            id.clone(),
            webhook("wh_9", None, "https://x.test", &[]).endpoint.id,
        ),
        ProvisioningChange::RemoveAccount(id.clone(), account("acct_9").id),
        ProvisioningChange::RemoveFilter(id.clone(), campaign("camp").0.id, FilterId::parse("f_9").unwrap()),
        ProvisioningChange::RemoveCampaign(id.clone(), nothing.id),
    ];
    commit(&stores, &changes).await;
    let after = stores
        .provisioning
        .snapshot(&[id], &[])
        .await
        .unwrap()
        .organizations;
    assert_eq!(after, before);
}

pub async fn campaigns_of_a_removed_account_are_without_one(stores: Stores) {
    let acme = organization("org_acme")
        .account("acct_2")
        .campaign(campaign("camp"))
        .campaign(campaign("other").bids_with(Some("acct_2")));
    let world = World::with(stores, acme).await;
    let lead = world.new_lead("1", at(0)).await;
    let removal = ProvisioningChange::RemoveAccount(world.organization.clone(), account("acct_1").id);
    commit(&world.stores, &[removal]).await;
    assert!(world.context(&lead).await.campaign.unwrap().account.is_none());
    assert_eq!(world.try_bid(&lead, at(1)).await, AcceptBid::NoConnectedAccount);
    let other = world.campaign("other");
    let lead = other.new_lead("2", at(2)).await;
    other.bid(&lead, at(3)).await;
    // An account made again under the old id is nobody's until a campaign is given it.
    world.put_account(account("acct_1")).await;
    let record = world
        .stores
        .provisioning
        .snapshot(&[world.organization], &[])
        .await
        .unwrap();
    let of_camp = record.organizations[0]
        .campaigns
        .iter()
        .find(|known| known.id == world.campaign);
    assert_eq!(of_camp.unwrap().account_id, None);
}

pub async fn a_removed_key_is_not_found(stores: Stores) {
    let id = organization("org_acme")
        .key("key_1", 1)
        .key("key_2", 2)
        .provision(&stores)
        .await;
    let (record, hash) = key("org_acme", "key_1", 1, at(0));
    commit(
        &stores,
        &[ProvisioningChange::RemoveApiKey(id.clone(), record.id)],
    )
    .await;
    assert_eq!(stores.api_keys.find(&hash).await, Ok(None));
    let left = stores.api_keys.list(&id).await.unwrap().unwrap();
    assert_eq!(left, [key("org_acme", "key_2", 2, at(0)).0]);
}

pub async fn the_digest_of_a_removed_or_replaced_key_is_kept(stores: Stores) {
    let id = organization("org_acme")
        .key("key_1", 1)
        .key("key_2", 2)
        .key("key_3", 3)
        .provision(&stores)
        .await;
    let (removed, _) = key("org_acme", "key_1", 1, at(0));
    let (replaced, new) = key("org_acme", "key_2", 4, at(0));
    let (renamed, same) = key("org_acme", "key_3", 3, at(0));
    let changes = [
        ProvisioningChange::RemoveApiKey(id.clone(), removed.id),
        ProvisioningChange::PutApiKey(id.clone(), replaced, new),
        ProvisioningChange::PutApiKey(id.clone(), renamed, same),
    ];
    commit(&stores, &changes).await;
    let digests = [1, 2, 3, 4].map(|number| key("org_acme", "key", number, at(0)).1);
    let mut kept = stores
        .provisioning
        .snapshot(&[], &digests)
        .await
        .unwrap()
        .removed_key_hashes;
    kept.sort();
    let mut expected = digests[..2].to_vec();
    expected.sort();
    assert_eq!(kept, expected);
}

pub async fn a_removed_filter_is_gone(stores: Stores) {
    let two = campaign("camp").filter("f_2", serde_json::json!({"featured": true}));
    let world = World::with(stores, organization("org_acme").campaign(two)).await;
    let id = FilterId::parse("f_camp").unwrap();
    let removal = ProvisioningChange::RemoveFilter(world.organization.clone(), world.campaign.clone(), id);
    commit(&world.stores, &[removal]).await;
    let filters = all_filters(&world.stores).await;
    let ids: Vec<&str> = filters.iter().map(|filter| filter.id.as_str()).collect();
    assert_eq!(ids, ["f_2"]);
}

pub async fn a_removed_endpoint_gets_nothing_more(stores: Stores) {
    let world = World::new(stores).await;
    let endpoint = webhook("wh_all", None, World::URL, &[]).endpoint.id;
    commit(
        &world.stores,
        &[ProvisioningChange::RemoveWebhook(
            world.organization.clone(),
            endpoint,
        )],
    )
    .await;
    let counts = world.ingest(at(1), vec![world.job("1", at(0))]).await;
    assert_eq!((counts.matches, counts.deliveries), (1, 0));
}

pub async fn a_removed_campaign_is_unknown(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    remove_campaign(&world).await;
    let (organization, campaign) = (&world.organization, &world.campaign);
    assert_eq!(
        world.stores.leads.page(organization, campaign, 0, 10).await,
        Ok(None)
    );
    let found = world
        .stores
        .leads
        .find(organization, campaign, &lead.id)
        .await
        .unwrap();
    assert!(matches!(found, LeadLookup::CampaignUnknown));
    let record = world
        .stores
        .provisioning
        .snapshot(&[world.organization], &[])
        .await
        .unwrap();
    assert_eq!(record.organizations[0].campaigns, []);
}

pub async fn a_removed_campaign_takes_its_filters_endpoints_and_intents_along(stores: Stores) {
    let url = "https://hooks.test/camp";
    let acme = organization("org_acme")
        .campaign(campaign("camp").automatic())
        .campaign(campaign("other").automatic())
        .webhook(webhook("wh_camp", Some("camp"), url, &[EventKind::BidComplete]));
    let world = World::with(stores.clone(), acme).await;
    let other = world.campaign("other");
    let two = World::bare(
        stores,
        organization("org_two").campaign(campaign("camp").automatic()),
    )
    .await;
    for (world, id) in [(&world, "1"), (&other, "2"), (&two, "3")] {
        world.new_lead(id, at(0)).await;
    }
    remove_campaign(&world).await;
    let filters = all_filters(&world.stores).await;
    assert_eq!(filters.len(), 2);
    assert!(filters.iter().all(|filter| {
        (&filter.organization_id, &filter.campaign_id) != (&world.organization, &world.campaign)
    }));
    let record = world
        .stores
        .provisioning
        .snapshot(&[organization_id("org_acme")], &[])
        .await
        .unwrap();
    let endpoints: Vec<&str> = record.organizations[0]
        .webhooks
        .iter()
        .map(|webhook| webhook.endpoint.id.as_str())
        .collect();
    assert_eq!(endpoints, ["wh_all"]);
    let left = world
        .stores
        .automatic_bids
        .claim(&LeaseOwner::new("me"), at(9), at(99), 10)
        .await
        .unwrap();
    let campaigns: Vec<_> = left
        .iter()
        .map(|intent| (intent.organization_id.as_str(), intent.campaign_id.as_str()))
        .collect();
    assert_eq!(campaigns, [("org_acme", "other"), ("org_two", "camp")]);
}

pub async fn the_leads_and_bids_of_a_removed_campaign_stay(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let id = world.bid(&lead, at(1)).await;
    remove_campaign(&world).await;
    let context = world.stores.leads.find_anywhere(&lead.id).await.unwrap().unwrap();
    assert_eq!(
        (context.lead.lead.status, context.campaign.is_none()),
        (LeadStatus::Queued, true)
    );
    assert_eq!(context.bid.unwrap().id, id);
    let claimed = world.claim_one("me", at(2)).await;
    assert_eq!(
        (
            claimed.bid.id,
            claimed.token.as_ref().map(MarketplaceToken::expose)
        ),
        (id, Some("token_acct_1"))
    );
    let end = finish(&claimed.bid, submitted("p_1", at(3)), at(3));
    assert_eq!(
        world
            .stores
            .submissions
            .finish(&end, &LeaseOwner::new("me"))
            .await,
        Ok(true)
    );
    let context = world.stores.leads.find_anywhere(&lead.id).await.unwrap().unwrap();
    assert_eq!(context.lead.lead.status, LeadStatus::Submitted);
    assert_eq!(
        world.stores.deliveries.pending_count().await,
        Ok(2),
        "job.new, and the organization's bid_complete"
    );
}

pub async fn a_campaign_made_again_has_no_matches_and_finds_its_leads(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    remove_campaign(&world).await;
    commit(
        &world.stores,
        &organization("org_acme").campaign(campaign("camp")).changes(),
    )
    .await;
    assert_eq!(world.total().await, 0);
    assert_eq!(world.context(&lead).await.lead.lead, lead);
    let due = world.stores.matches.due_backfills().await.unwrap();
    assert_eq!(due.campaigns.len(), 1);
    let kept = world
        .stores
        .matches
        .stored_jobs(due.watermark, None, 10)
        .await
        .unwrap();
    let switched = world
        .stores
        .matches
        .switch(&due.campaigns[0], due.watermark, &[kept[0].seq], at(90))
        .await;
    assert_eq!(switched, Ok(SwitchMatches::Switched { total: 1 }));
    assert_eq!(world.listed().await, [("1".to_owned(), lead.created_at)]);
}
