//! The rules of `ProvisioningStore` for reading, creating and replacing (decisions B3, B4, D1, D5 and D7). Removal has
//! a file of its own.

use bidloop_domain::model::{ActivityKind, CampaignMode, FilterId, MemberRole, Secret, SubscriptionStatus};
use bidloop_domain::port::{
    AccountRecord, CommitProvisioning, FilterRecord, OrganizationRecord, ProvisioningChange, RecordPage,
    UserRecord,
};
use serde_json::json;

use crate::Stores;
use crate::fixture::{
    OrganizationBuilder, World, account, activity, all_filters, at, at_once, campaign, campaign_id, commit,
    key, organization, organization_id, revision, token, webhook,
};

async fn snapshot(stores: &Stores, id: &str) -> Option<OrganizationRecord> {
    let mut found = stores
        .provisioning
        .snapshot(&[organization_id(id)], &[])
        .await
        .unwrap()
        .organizations;
    assert!(found.len() <= 1);
    found.pop().map(sorted)
}

/// With each kind of entity in the order of its ids, which a snapshot may give in any order.
fn sorted(mut record: OrganizationRecord) -> OrganizationRecord {
    record.users.sort_by(|one, other| one.email.cmp(&other.email));
    record.api_keys.sort_by(|one, other| one.0.id.cmp(&other.0.id));
    record
        .webhooks
        .sort_by(|one, other| one.endpoint.id.cmp(&other.endpoint.id));
    record.accounts.sort_by(|one, other| one.id.cmp(&other.id));
    record.campaigns.sort_by(|one, other| one.id.cmp(&other.id));
    for campaign in &mut record.campaigns {
        campaign.filters.sort_by(|one, other| one.id.cmp(&other.id));
    }
    record
}

fn user(email: &str, name: &str) -> UserRecord {
    UserRecord {
        email: email.to_owned(),
        name: name.to_owned(),
        password_hash: Some(Secret::new("$argon2id$x".to_owned())),
        role: MemberRole::Owner,
    }
}

/// An organization with something of everything.
fn everything(id: &str, number: u8) -> OrganizationBuilder {
    use bidloop_domain::model::{AnswerTemplate, Connects, EventKind, WebhookSecret};

    let mut full = campaign("camp")
        .automatic()
        .paused()
        .attachment("portfolio.pdf")
        .attachment("a.pdf");
    full = full.filter(
        "f_a",
        json!({"client": {"minRating": 4.5, "countries": {"include": ["Zürich"]}}}),
    );
    full.0.bidding_config.maximum_boost = Some(Connects::new(12));
    full.0.proposal.cover_letter = Some("Hello {{ title }}\n".to_owned());
    full.0.proposal.answers = vec![AnswerTemplate {
        question: "Why?".to_owned(),
        answer: "{{ region }}".to_owned(),
    }];
    let mut rotated = webhook(
        "wh_camp",
        Some("camp"),
        "https://hooks.test/camp",
        &[EventKind::JobNew],
    );
    rotated.previous_secret = Some((WebhookSecret::generate([9; 32]), at(99)));
    rotated.endpoint.active = false;
    let both = [EventKind::JobNew, EventKind::BidComplete];
    let mut organization = organization(id)
        .status(SubscriptionStatus::Trialing)
        .account("acct_2")
        .key("key_1", number)
        .campaign(full)
        .campaign(campaign("bare").without_filters().bids_with(None))
        .webhook(webhook("wh_all", None, "https://hooks.test/all", &both))
        .webhook(rotated);
    organization.0.name = "Acme „&“ Sons".to_owned();
    organization.0.subscription.collection_paused = true;
    organization.0.api_keys[0].0.expires_at = Some(at(500));
    organization.0.users = vec![
        user(&format!("a@{id}.test"), "A"),
        UserRecord {
            password_hash: None,
            role: MemberRole::Member,
            ..user(&format!("b@{id}.test"), "B")
        },
    ];
    organization
}

pub async fn a_snapshot_holds_the_organizations_whole(stores: Stores) {
    let acme = everything("org_acme", 1);
    acme.provision(&stores).await;
    everything("org_two", 2).provision(&stores).await;
    assert_eq!(snapshot(&stores, "org_acme").await, Some(sorted(acme.0)));
}

pub async fn a_snapshot_holds_the_asked_organizations_alone(stores: Stores) {
    organization("org_a").provision(&stores).await;
    organization("org_b").provision(&stores).await;
    let asked = [organization_id("org_b"), organization_id("org_9")];
    let snapshot = stores.provisioning.snapshot(&asked, &[]).await.unwrap();
    assert_eq!(snapshot.organizations, [organization("org_b").0]);
    assert_eq!(snapshot.revision, revision(&stores).await);
    assert_eq!(snapshot.taken_key_hashes, []);
}

pub async fn a_snapshot_tells_whose_keys_have_the_asked_digests(stores: Stores) {
    let acme = organization("org_acme").key("key_1", 1).provision(&stores).await;
    let two = organization("org_two").key("key_1", 2).provision(&stores).await;
    let digests = [1, 2, 3].map(|number| key("org_acme", "key_1", number, at(0)).1);
    stores
        .api_keys
        .revoke(&two, &key("org_two", "key_1", 2, at(0)).0.id, at(1))
        .await
        .unwrap();
    let mut taken = stores
        .provisioning
        .snapshot(&[], &digests)
        .await
        .unwrap()
        .taken_key_hashes;
    taken.sort_by(|one, other| one.1.cmp(&other.1));
    assert_eq!(taken, [(digests[0].clone(), acme), (digests[1].clone(), two)]);
    let of_second = stores
        .provisioning
        .snapshot(&[], &digests[1..2])
        .await
        .unwrap()
        .taken_key_hashes;
    assert_eq!(of_second.len(), 1);
}

pub async fn a_commit_on_an_older_state_changes_nothing(stores: Stores) {
    let before = revision(&stores).await;
    organization("org_acme").provision(&stores).await;
    let after = revision(&stores).await;
    let late = stores
        .provisioning
        .commit(before, &organization("org_two").changes(), at(1))
        .await;
    assert_eq!(late, Ok(CommitProvisioning::RevisionMoved));
    assert_eq!(snapshot(&stores, "org_two").await, None);
    assert_eq!(revision(&stores).await, after);
}

pub async fn of_many_commits_on_one_state_one_is_carried_out(stores: Stores) {
    let before = revision(&stores).await;
    let answers = at_once(8, |number| {
        let stores = stores.clone();
        async move {
            let changes = organization(&format!("org_{number}")).changes();
            stores.provisioning.commit(before, &changes, at(1)).await.unwrap()
        }
    })
    .await;
    let committed: Vec<usize> = (0..8)
        .filter(|number| answers[*number] == CommitProvisioning::Committed)
        .collect();
    assert_eq!(committed.len(), 1);
    for number in 0..8 {
        let exists = snapshot(&stores, &format!("org_{number}")).await.is_some();
        assert_eq!(exists, committed.contains(&number));
    }
}

pub async fn a_commit_that_fails_changes_nothing(stores: Stores) {
    let world = World::new(stores).await;
    let before = (
        revision(&world.stores).await,
        snapshot(&world.stores, "org_acme").await,
    );
    let filter = FilterRecord {
        id: FilterId::parse("f_9").unwrap(),
        name: "F".to_owned(),
        body: json!({}),
    };
    let nowhere = campaign_id("camp_9");
    let mut changes = organization("org_two").changes();
    changes.push(organization("org_acme").limit(1).put_organization());
    changes.push(ProvisioningChange::PutFilter(
        world.organization.clone(),
        nowhere,
        filter,
    ));
    let failed = world.stores.provisioning.commit(before.0, &changes, at(1)).await;
    assert!(failed.is_err(), "a filter without a campaign: {failed:?}");
    assert_eq!(
        (
            revision(&world.stores).await,
            snapshot(&world.stores, "org_acme").await
        ),
        before
    );
    assert_eq!(snapshot(&world.stores, "org_two").await, None);
}

pub async fn a_campaign_has_history_once_it_has_leads_or_entries(stores: Stores) {
    let world = World::new(stores).await;
    let has = async |campaign: &str| {
        let provisioning = &world.stores.provisioning;
        let has = provisioning
            .has_history(&world.organization, &campaign_id(campaign))
            .await;
        has.unwrap()
    };
    assert!(!has("camp").await);
    world.new_lead("1", at(0)).await;
    assert!(has("camp").await);
    let removal = ProvisioningChange::RemoveCampaign(world.organization.clone(), world.campaign.clone());
    commit(&world.stores, &[removal]).await;
    assert!(has("camp").await, "its leads stay");
    let mut entry = activity(&world.organization, ActivityKind::Change, "accepted", at(1));
    entry.campaign_id = Some(campaign_id("camp_9"));
    world.stores.activities.record(&entry).await.unwrap();
    assert!(has("camp_9").await);
    let elsewhere = organization("org_two").provision(&world.stores).await;
    let provisioning = &world.stores.provisioning;
    assert_eq!(
        provisioning.has_history(&elsewhere, &world.campaign).await,
        Ok(false)
    );
}

pub async fn changes_are_carried_out_in_their_order(stores: Stores) {
    let id = organization("org_acme").provision(&stores).await;
    let mut second = account("acct_2");
    second.name = "The second word".to_owned();
    let put = |record| ProvisioningChange::PutAccount(id.clone(), record);
    let remove = |account_id: &str| ProvisioningChange::RemoveAccount(id.clone(), account(account_id).id);
    let changes = [
        put(account("acct_2")),
        put(second.clone()),
        put(account("acct_3")),
        remove("acct_3"),
        remove("acct_1"),
        put(account("acct_1")),
    ];
    commit(&stores, &changes).await;
    assert_eq!(
        snapshot(&stores, "org_acme").await.unwrap().accounts,
        [account("acct_1"), second]
    );
}

pub async fn putting_an_organization_leaves_what_hangs_on_it(stores: Stores) {
    let mut acme = everything("org_acme", 1);
    acme.provision(&stores).await;
    acme.0.name = "Renamed".to_owned();
    acme = acme.limit(3).status(SubscriptionStatus::Active);
    commit(&stores, &[acme.put_organization()]).await;
    assert_eq!(snapshot(&stores, "org_acme").await, Some(sorted(acme.0)));
}

pub async fn putting_a_campaign_leaves_its_filters_and_matches(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    assert_eq!(world.list(0, 10).await.campaign_name, "Campaign camp");
    let mut changed = campaign("camp").automatic().paused().bids_with(None);
    changed.0.name = "Renamed".to_owned();
    let put = ProvisioningChange::PutCampaign(world.organization.clone(), Box::new(changed.0.clone()));
    commit(&world.stores, &[put]).await;
    assert_eq!(
        snapshot(&world.stores, "org_acme").await.unwrap().campaigns,
        [changed.0]
    );
    let page = world.list(0, 10).await;
    assert_eq!((page.total, page.campaign_name.as_str()), (1, "Renamed"));
    assert_eq!(page.leads[0].id, lead.id);
    assert_eq!(world.find(&lead.id).await.unwrap().lead.lead, lead);
    assert_eq!(
        world.context(&lead).await.campaign.unwrap().mode,
        CampaignMode::Automatic
    );
}

pub async fn putting_a_campaign_does_not_look_at_its_filters(stores: Stores) {
    let world = World::new(stores).await;
    let without = campaign("camp").without_filters();
    let put = ProvisioningChange::PutCampaign(world.organization.clone(), Box::new(without.0));
    let other = ProvisioningChange::PutCampaign(world.organization.clone(), Box::new(campaign("other").0));
    commit(&world.stores, &[put, other]).await;
    let filters = all_filters(&world.stores).await;
    let ids: Vec<&str> = filters.iter().map(|filter| filter.id.as_str()).collect();
    assert_eq!(ids, ["f_camp"]);
}

pub async fn putting_a_filter_replaces_it(stores: Stores) {
    let world = World::new(stores).await;
    let body = json!({"keywords": "go", "maxQuestions": 3});
    let filter = FilterRecord {
        id: FilterId::parse("f_camp").unwrap(),
        name: "Go".to_owned(),
        body: body.clone(),
    };
    let put =
        ProvisioningChange::PutFilter(world.organization.clone(), world.campaign.clone(), filter.clone());
    commit(&world.stores, &[put]).await;
    assert_eq!(
        snapshot(&world.stores, "org_acme").await.unwrap().campaigns[0].filters,
        [filter]
    );
    assert_eq!(all_filters(&world.stores).await[0].body, body.to_string());
}

pub async fn a_users_email_is_compared_without_regard_to_case(stores: Stores) {
    let id = organization("org_acme").provision(&stores).await;
    let put = |user| ProvisioningChange::PutUser(id.clone(), user);
    commit(
        &stores,
        &[
            put(user("ops@acme.test", "Ops")),
            put(user("eve@acme.test", "Eve")),
        ],
    )
    .await;
    commit(&stores, &[put(user("OPS@acme.test", "Operations"))]).await;
    let users = snapshot(&stores, "org_acme").await.unwrap().users;
    let names: Vec<&str> = users.iter().map(|user| user.name.as_str()).collect();
    assert_eq!(names.len(), 2);
    assert!(names.contains(&"Operations") && names.contains(&"Eve"));
    commit(
        &stores,
        &[ProvisioningChange::RemoveUser(id, "Ops@Acme.test".to_owned())],
    )
    .await;
    assert_eq!(
        snapshot(&stores, "org_acme").await.unwrap().users,
        [user("eve@acme.test", "Eve")]
    );
}

pub async fn replacing_a_key_keeps_its_last_use_and_ends_its_old_digest(stores: Stores) {
    let id = organization("org_acme").key("key_1", 1).provision(&stores).await;
    let (mut record, old) = key("org_acme", "key_1", 1, at(0));
    stores
        .api_keys
        .record_uses(&[(id.clone(), record.id.clone(), at(40))])
        .await
        .unwrap();
    record.name = "Renamed".to_owned();
    let (_, new) = key("org_acme", "key_1", 2, at(0));
    commit(
        &stores,
        &[ProvisioningChange::PutApiKey(id, record.clone(), new.clone())],
    )
    .await;
    assert_eq!(stores.api_keys.find(&old).await, Ok(None));
    let found = stores.api_keys.find(&new).await.unwrap().unwrap().record;
    assert_eq!(
        (found.name.as_str(), found.last_used_at),
        ("Renamed", Some(at(40)))
    );
}

pub async fn replacing_an_endpoint_moves_its_secrets(stores: Stores) {
    use bidloop_domain::model::{EventKind, WebhookSecret};

    let endpoint = webhook("wh_1", None, "https://hooks.test/a", &[EventKind::JobNew]);
    let id = organization("org_acme")
        .campaign(campaign("camp"))
        .webhook(endpoint.clone())
        .provision(&stores)
        .await;
    let mut rotated = webhook(
        "wh_1",
        Some("camp"),
        "https://hooks.test/b",
        &[EventKind::BidComplete],
    );
    rotated.secret = WebhookSecret::generate([3; 32]);
    rotated.previous_secret = Some((endpoint.secret, at(60)));
    commit(
        &stores,
        &[ProvisioningChange::PutWebhook(id.clone(), rotated.clone())],
    )
    .await;
    assert_eq!(
        snapshot(&stores, "org_acme").await.unwrap().webhooks,
        std::slice::from_ref(&rotated)
    );
    rotated.previous_secret = None;
    commit(&stores, &[ProvisioningChange::PutWebhook(id, rotated.clone())]).await;
    assert_eq!(snapshot(&stores, "org_acme").await.unwrap().webhooks, [rotated]);
}

/// A world whose account was disconnected, and the account.
async fn disconnected(stores: Stores) -> (World, AccountRecord) {
    let (world, lead) = World::with_lead(stores).await;
    world.bid(&lead, at(1)).await;
    let claimed = world.claim_one("me", at(2)).await;
    let submissions = &world.stores.submissions;
    assert_eq!(
        submissions
            .disconnect_account(
                &world.organization,
                claimed.bid.id,
                &claimed.owner,
                &token("token_acct_1")
            )
            .await,
        Ok(true)
    );
    let record = snapshot(&world.stores, "org_acme")
        .await
        .unwrap()
        .accounts
        .remove(0);
    assert!(!record.connected);
    (world, record)
}

pub async fn an_account_with_another_token_is_connected_again(stores: Stores) {
    let (world, mut record) = disconnected(stores).await;
    record.token = token("another");
    world.put_account(record.clone()).await;
    record.connected = true;
    assert_eq!(
        snapshot(&world.stores, "org_acme").await.unwrap().accounts,
        [record]
    );
}

pub async fn an_account_with_the_same_token_stays_as_it_was(stores: Stores) {
    let (world, mut record) = disconnected(stores).await;
    record.name = "Renamed".to_owned();
    world.put_account(record.clone()).await;
    assert_eq!(
        snapshot(&world.stores, "org_acme").await.unwrap().accounts,
        [record]
    );
}

pub async fn what_was_committed_holds_for_every_later_call(stores: Stores) {
    let world = World::new(stores).await;
    for round in 0..20_i64 {
        let paused = round % 2 == 0;
        let camp = if paused {
            campaign("camp").paused()
        } else {
            campaign("camp")
        };
        let put = ProvisioningChange::PutCampaign(world.organization.clone(), Box::new(camp.0));
        commit(&world.stores, &[put]).await;
        let page = world
            .page(at(round), vec![world.job(&round.to_string(), at(round))])
            .await;
        let recorded = world.stores.jobs.record_page(&page).await.unwrap();
        assert!(matches!(recorded, RecordPage::Recorded(counts) if (counts.deliveries == 0) == paused));
    }
}

pub async fn the_urls_of_active_endpoints_are_read_page_by_page(stores: Stores) {
    use bidloop_domain::model::EventKind;

    let hook = |id: &str| webhook(id, None, &format!("https://{id}.test/"), &[EventKind::JobNew]);
    let mut inactive = hook("wh_b");
    inactive.endpoint.active = false;
    organization("org_a")
        .webhook(hook("wh_c"))
        .webhook(inactive)
        .webhook(hook("wh_a"))
        .provision(&stores)
        .await;
    organization("org_b")
        .webhook(hook("wh_a"))
        .provision(&stores)
        .await;
    let (mut read, mut after) = (Vec::new(), None);
    loop {
        let page = stores.provisioning.webhook_urls(after.as_ref(), 2).await.unwrap();
        let Some(last) = page.last() else { break };
        assert!(page.len() <= 2);
        after = Some((last.organization_id.clone(), last.id.clone()));
        read.extend(page);
    }
    let read: Vec<_> = read
        .iter()
        .map(|url| (url.organization_id.as_str(), url.id.as_str(), url.url.as_str()))
        .collect();
    assert_eq!(
        read,
        [
            ("org_a", "wh_a", "https://wh_a.test/"),
            ("org_a", "wh_c", "https://wh_c.test/"),
            ("org_b", "wh_a", "https://wh_a.test/"),
        ]
    );
}
