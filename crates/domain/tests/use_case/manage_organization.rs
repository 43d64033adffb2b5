//! What people change in the console: who may, what is refused, what is recorded (decisions D1, E1, E4, E5, E8).

use std::sync::Arc;

use bidloop_domain::model::{
    Activity, ActivityKind, CampaignMode, CampaignState, EmailKey, EndpointId, EventKind, FilterId,
    MarketplaceToken, Member, MemberRole, Membership, MissingPart, Person, Renewal, Secret, SessionToken,
    Subscription, SubscriptionStatus, Unauthorized,
};
use bidloop_domain::port::{
    Clock, NewSession, OrganizationRecord, ProvisioningChange, ProvisioningStore, UserRecord,
};
use bidloop_domain::use_case::{
    ApplyProvisioning, Changed, ConnectAccount, ConnectAccountError, ManageApiKeys, ManageApiKeysError,
    ManageOrganization, ManageOrganizationError, OrganizationChange, SignedIn,
};
use bidloop_fakes::{Call, Fault, PlaceholderProposalWriter, PlainPasswordHasher};
use bidloop_port_contracts::fixture::{activities, at, campaign, campaign_id, webhook};
use serde_json::{Map, Value, json};

use crate::service::{Service, TOKEN, acme, bare_acme};

pub(crate) fn member(role: MemberRole) -> Member {
    Member {
        person: Person {
            key: EmailKey::of("Ops@acme.test"),
            email: "Ops@acme.test".to_owned(),
            name: "Ops".to_owned(),
        },
        organization: Membership {
            organization_id: Service::organization(),
            organization_name: "Organization org_acme".to_owned(),
            role,
        },
        subscription: Subscription {
            status: SubscriptionStatus::Active,
            collection_paused: false,
            period_start: at(0),
            period_end: at(1),
            renewal: Renewal::SameLength,
            proposal_limit: Some(50),
            customer: None,
        },
    }
}

/// The person signed in anew, with this role.
pub(crate) async fn signed_in(service: &Service, role: MemberRole) -> SignedIn {
    let (member, token) = (member(role), SessionToken::from_random([role as u8; 32]));
    let user = UserRecord {
        email: member.person.email.clone(),
        name: member.person.name.clone(),
        password_hash: Some(Secret::new("hash".to_owned())),
        role,
    };
    service
        .commit(ProvisioningChange::PutUser(Service::organization(), user))
        .await;
    let new = NewSession {
        hash: token.hash(),
        person: member.person.key.clone(),
        at: service.clock.now(),
    };
    let sessions = &service.stores.sessions;
    let opened = sessions.open_session(&new, &Secret::new("hash".to_owned())).await;
    assert_eq!(opened, Ok(true));
    SignedIn {
        member,
        csrf: token.csrf(&Service::organization()),
        memberships: Vec::new(),
        session: token.hash(),
    }
}

pub(crate) fn manage(service: &Service) -> ManageOrganization {
    ManageOrganization {
        provisioning: ApplyProvisioning {
            store: service.store.clone(),
            blobs: service.blobs.clone(),
            templates: Arc::new(PlaceholderProposalWriter),
            passwords: Arc::new(PlainPasswordHasher::default()),
            clock: service.clock.clone(),
            entropy: service.entropy.clone(),
            signal: service.signal.clone(),
            pause: service.clock.clone(),
        },
        sender: service.sender.clone(),
        matches: service.store.clone(),
        pause: service.clock.clone(),
    }
}

async fn change_as(
    service: &Service,
    role: MemberRole,
    change: OrganizationChange,
) -> Result<Changed, ManageOrganizationError> {
    let person = signed_in(service, role).await;
    manage(service).change(&person, &change).await
}

async fn change(service: &Service, change: OrganizationChange) -> Result<Changed, ManageOrganizationError> {
    change_as(service, MemberRole::Member, change).await
}

pub(crate) async fn record(service: &Service) -> OrganizationRecord {
    let snapshot = service.store.snapshot(&[Service::organization()], &[]).await;
    snapshot.unwrap().organizations.remove(0)
}

pub(crate) async fn recorded(service: &Service) -> Vec<Activity> {
    let mut all = activities(&service.stores, &Service::organization()).await;
    all.retain(|entry| entry.kind == ActivityKind::Change);
    all
}

fn start() -> OrganizationChange {
    OrganizationChange::StartCampaign {
        campaign: Service::campaign(),
    }
}

fn conditions(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn paths(error: &ManageOrganizationError) -> Vec<Vec<String>> {
    match error {
        ManageOrganizationError::Faulty(faults) => faults.iter().map(|fault| fault.path.clone()).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_campaign_is_made_from_nothing_to_running_and_each_step_is_recorded() {
    let service = Service::with(bare_acme()).await;
    let made = change(
        &service,
        OrganizationChange::CreateCampaign {
            name: "Rust backend".to_owned(),
            mode: CampaignMode::External,
            account: None,
        },
    )
    .await
    .unwrap();
    assert_eq!(made.made.as_deref(), Some("camp_rust_backend"));
    let campaign = campaign_id("camp_rust_backend");
    let started = OrganizationChange::StartCampaign {
        campaign: campaign.clone(),
    };
    let refused = change(&service, started.clone()).await;
    assert_eq!(
        refused,
        Err(ManageOrganizationError::CannotStart(vec![MissingPart::Filter]))
    );
    let filter = OrganizationChange::PutFilter {
        campaign: campaign.clone(),
        filter: None,
        name: "Rust".to_owned(),
        conditions: conditions(json!({"keywords": "rust"})),
    };
    let put = change(&service, filter).await.unwrap();
    assert_eq!(put.made.as_deref(), Some("f_rust"));
    change(&service, started).await.unwrap();
    let running = record(&service).await;
    let running = running.campaign(&campaign).unwrap();
    assert_eq!(running.state, CampaignState::Active);
    let entries = recorded(&service).await;
    let messages: Vec<&str> = entries.iter().map(|entry| entry.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "Campaign \"Rust backend\" started.",
            "Filter \"Rust\" of campaign \"Rust backend\" created.",
            "Campaign \"Rust backend\" created.",
        ]
    );
    for entry in &entries {
        assert_eq!(entry.actor, member(MemberRole::Member).actor());
        assert_eq!(entry.campaign_id.as_ref(), Some(&campaign));
    }
    assert_eq!(
        entries[0].details["changes"],
        json!([{"type": "campaign", "id": "camp_rust_backend", "field": "state", "old": "paused", "new": "active"}])
    );
}

#[tokio::test]
async fn a_new_campaign_does_not_take_the_leads_of_a_removed_one() {
    let (service, _) = Service::with_lead().await;
    let delete = OrganizationChange::DeleteCampaign {
        campaign: Service::campaign(),
    };
    let create = || OrganizationChange::CreateCampaign {
        name: "!".to_owned(),
        mode: CampaignMode::External,
        account: None,
    };
    change_as(&service, MemberRole::Owner, delete).await.unwrap();
    let first = change(&service, create()).await.unwrap().made;
    assert_eq!(first.as_deref(), Some("camp_1"));
    let delete = OrganizationChange::DeleteCampaign {
        campaign: campaign_id("camp_1"),
    };
    change_as(&service, MemberRole::Owner, delete).await.unwrap();
    let second = change(&service, create()).await.unwrap().made;
    assert_eq!(
        second.as_deref(),
        Some("camp_2"),
        "camp_1 is in the Activity record"
    );
}

#[tokio::test]
async fn members_are_refused_what_only_owners_may() {
    let service = Service::new().await;
    let token = crate::service::token();
    let for_owners = [
        OrganizationChange::Rename {
            name: "New".to_owned(),
        },
        OrganizationChange::DeleteCampaign {
            campaign: Service::campaign(),
        },
        OrganizationChange::CreateWebhook {
            campaign: None,
            url: "https://hooks.test/new".to_owned(),
            events: vec![EventKind::JobNew],
        },
        OrganizationChange::RotateSecret {
            endpoint: EndpointId::parse("wh_all").unwrap(),
        },
        OrganizationChange::AddAccount {
            name: "Second".to_owned(),
            token,
        },
    ];
    for wanted in for_owners {
        let refused = change(&service, wanted.clone()).await;
        assert_eq!(refused, Err(Unauthorized::NotOwner.into()), "{wanted:?}");
        assert!(change_as(&service, MemberRole::Owner, wanted).await.is_ok());
    }
    assert_eq!(recorded(&service).await.len(), 5);
}

#[tokio::test]
async fn what_the_organization_does_not_have_is_unknown() {
    let service = Service::new().await;
    for wanted in [
        OrganizationChange::PauseCampaign {
            campaign: campaign_id("elsewhere"),
        },
        OrganizationChange::RemoveFilter {
            campaign: Service::campaign(),
            filter: FilterId::parse("f_9").unwrap(),
        },
        OrganizationChange::PutFilter {
            campaign: Service::campaign(),
            filter: Some(FilterId::parse("f_9").unwrap()),
            name: "F".to_owned(),
            conditions: Map::new(),
        },
    ] {
        let refused = change(&service, wanted).await;
        assert_eq!(refused, Err(ManageOrganizationError::Unknown));
    }
}

#[tokio::test]
async fn faults_lead_to_the_fields_of_the_thing_changed() {
    let service = Service::new().await;
    let campaign = Service::campaign();
    let filter = OrganizationChange::PutFilter {
        campaign: campaign.clone(),
        filter: None,
        name: " ".to_owned(),
        conditions: conditions(json!({"keywords": "rust AND", "client": {"minRating": "x"}})),
    };
    let mut of_filter = paths(&change(&service, filter).await.unwrap_err());
    of_filter.sort();
    assert_eq!(
        of_filter,
        [vec!["client", "minRating"], vec!["keywords"], vec!["name"]]
    );
    let bidding = OrganizationChange::SetBidding {
        campaign: campaign.clone(),
        fields: conditions(json!({"maximumBoost": -1})),
    };
    let of_bidding = paths(&change(&service, bidding).await.unwrap_err());
    assert_eq!(of_bidding, [["maximumBoost"]]);
    let hook = |url: &str, events: &[EventKind]| OrganizationChange::CreateWebhook {
        campaign: Some(campaign.clone()),
        url: url.to_owned(),
        events: events.to_vec(),
    };
    let of_events = paths(&change(&service, hook("https://a.test", &[])).await.unwrap_err());
    assert_eq!(of_events, [["events"]]);
    // As the sender would refuse it (decision E8).
    let of_url = paths(
        &change(&service, hook("ftp://a.test", &[EventKind::JobNew]))
            .await
            .unwrap_err(),
    );
    assert_eq!(of_url, [["url"]]);
    assert_eq!(recorded(&service).await, []);
}

#[tokio::test]
async fn a_filter_is_replaced_as_a_whole() {
    let service = Service::new().await;
    let put = |body: Value| OrganizationChange::PutFilter {
        campaign: Service::campaign(),
        filter: Some(FilterId::parse("f_camp").unwrap()),
        name: "Rust".to_owned(),
        conditions: conditions(body),
    };
    change(&service, put(json!({"client": {"minRating": 4, "minHires": 1}})))
        .await
        .unwrap();
    change(&service, put(json!({"client": {"minHires": 2}})))
        .await
        .unwrap();
    let now = record(&service).await;
    assert_eq!(
        now.campaigns[0].filters[0].body,
        json!({"client": {"minHires": 2}})
    );
    let entries = recorded(&service).await;
    assert_eq!(
        entries[0].message,
        "Filter \"Rust\" of campaign \"Campaign camp\" changed: client.minHires, client.minRating."
    );
    let unchanged = change(&service, put(json!({"client": {"minHires": 2}})))
        .await
        .unwrap();
    assert!(unchanged.unchanged);
    assert_eq!(recorded(&service).await.len(), entries.len());
}

#[tokio::test]
async fn a_change_of_filters_waits_for_the_new_list_and_says_when_it_is_not_there() {
    let service = Service::new().await;
    let put = OrganizationChange::PutFilter {
        campaign: Service::campaign(),
        filter: None,
        name: "Go".to_owned(),
        conditions: conditions(json!({"keywords": "go"})),
    };
    // Nothing backfills here, so the wait ends by itself.
    assert!(change(&service, put).await.unwrap().matching_goes_on);
}

#[tokio::test]
async fn an_active_campaign_keeps_what_it_needs() {
    let service = Service::new().await;
    let filter = OrganizationChange::RemoveFilter {
        campaign: Service::campaign(),
        filter: FilterId::parse("f_camp").unwrap(),
    };
    let hook = OrganizationChange::EditWebhook {
        endpoint: EndpointId::parse("wh_all").unwrap(),
        url: None,
        events: None,
        active: Some(false),
    };
    let needed = |part| {
        Err(ManageOrganizationError::StillNeeded(vec![(
            Service::campaign(),
            part,
        )]))
    };
    assert_eq!(
        change(&service, filter.clone()).await,
        needed(MissingPart::Filter)
    );
    let refused = change_as(&service, MemberRole::Owner, hook.clone()).await;
    assert_eq!(refused, needed(MissingPart::JobNewEndpoint));
    let pause = OrganizationChange::PauseCampaign {
        campaign: Service::campaign(),
    };
    change(&service, pause).await.unwrap();
    change(&service, filter).await.unwrap();
    change_as(&service, MemberRole::Owner, hook).await.unwrap();
}

#[tokio::test]
async fn switching_to_external_pauses_and_says_so() {
    let service = Service::with(bare_acme().campaign(campaign("camp").automatic())).await;
    let edit = OrganizationChange::EditCampaign {
        campaign: Service::campaign(),
        name: None,
        mode: Some(CampaignMode::External),
        account: None,
    };
    assert!(change(&service, edit).await.unwrap().paused);
    assert_eq!(
        recorded(&service).await[0].message,
        "Campaign \"Campaign camp\" changed: mode, state. Switching to External paused it."
    );
}

#[tokio::test]
async fn with_a_lapsed_subscription_nothing_starts_and_no_key_is_made() {
    let service = Service::with(acme().status(SubscriptionStatus::PastDue)).await;
    let pause = OrganizationChange::PauseCampaign {
        campaign: Service::campaign(),
    };
    change(&service, pause).await.unwrap();
    assert_eq!(
        change(&service, start()).await,
        Err(ManageOrganizationError::SubscriptionLapsed(
            SubscriptionStatus::PastDue
        ))
    );
    let owner = signed_in(&service, MemberRole::Owner).await;
    let refused = manage_api_keys(&service)
        .create_as(&(&owner).into(), "CI", None)
        .await;
    assert!(matches!(
        refused,
        Err(ManageApiKeysError::SubscriptionInactive(_))
    ));
}

#[tokio::test]
async fn a_rotated_secret_is_shown_once_and_never_recorded() {
    let hook = webhook(
        "wh_camp",
        Some("camp"),
        "https://hooks.test/camp",
        &[EventKind::JobNew],
    );
    let service = Service::with(acme().webhook(hook)).await;
    let endpoint = EndpointId::parse("wh_camp").unwrap();
    let before = record(&service).await;
    let rotated = change(
        &service,
        OrganizationChange::RotateSecret {
            endpoint: endpoint.clone(),
        },
    )
    .await;
    let shown = rotated.unwrap().secret.unwrap();
    let after = record(&service).await;
    let of = |record: &OrganizationRecord| {
        record
            .webhooks
            .iter()
            .find(|known| known.endpoint.id == endpoint)
            .unwrap()
            .clone()
    };
    assert_eq!(of(&after).secret.expose(), *shown.expose());
    let (previous, _) = of(&after).previous_secret.unwrap();
    assert_eq!(previous, of(&before).secret);
    let made = change(
        &service,
        OrganizationChange::CreateWebhook {
            campaign: Some(Service::campaign()),
            url: "https://hooks.test/secret-path".to_owned(),
            events: vec![EventKind::JobNew],
        },
    )
    .await
    .unwrap();
    assert_eq!(made.made.as_deref(), Some("wh_hooks_test"));
    let generated = made.secret.unwrap();
    let text = serde_json::to_string(&recorded(&service).await).unwrap();
    for secret in [
        shown.expose().clone(),
        generated.expose().clone(),
        previous.expose(),
    ] {
        assert!(!text.contains(&secret));
    }
}

pub(crate) fn manage_api_keys(service: &Service) -> ManageApiKeys {
    ManageApiKeys {
        keys: service.store.clone(),
        organizations: service.store.clone(),
        clock: service.clock.clone(),
        entropy: service.entropy.clone(),
        pause: service.clock.clone(),
    }
}

#[tokio::test]
async fn an_owners_keys_are_recorded_without_the_key_and_members_have_none_to_make() {
    let service = Service::new().await;
    let keys = manage_api_keys(&service);
    let other = signed_in(&service, MemberRole::Member).await;
    let refused = keys.create_as(&(&other).into(), "CI", None).await;
    assert_eq!(refused, Err(Unauthorized::NotOwner.into()));
    let owner = signed_in(&service, MemberRole::Owner).await;
    let created = keys
        .create_as(&(&owner).into(), "CI", Some(at(100)))
        .await
        .unwrap();
    assert_eq!(created.id.as_str(), "key_ci_2", "key_ci is in use");
    let found = service
        .stores
        .api_keys
        .find(&created.key.hash())
        .await
        .unwrap()
        .unwrap();
    assert!(found.works_at(at(50)) && !found.works_at(at(100)));
    let at_first = keys.revoke_as(&(&owner).into(), &created.id).await.unwrap();
    assert_eq!(keys.revoke_as(&(&owner).into(), &created.id).await, Ok(at_first));
    let found = service
        .stores
        .api_keys
        .find(&created.key.hash())
        .await
        .unwrap()
        .unwrap();
    assert!(!found.works_at(at(50)));
    let entries = recorded(&service).await;
    let messages: Vec<&str> = entries.iter().map(|entry| entry.message.as_str()).collect();
    assert_eq!(messages, ["API key \"CI\" revoked.", "API key \"CI\" created."]);
    assert!(
        !serde_json::to_string(&entries)
            .unwrap()
            .contains(created.key.expose())
    );
}

#[tokio::test]
async fn what_an_owner_asked_for_before_a_demotion_or_sign_out_is_not_done_after_it() {
    let service = Service::new().await;
    let before = record(&service).await;
    let add = OrganizationChange::AddAccount {
        name: "Jane".to_owned(),
        token: MarketplaceToken::parse(TOKEN).unwrap(),
    };
    let demoted = signed_in(&service, MemberRole::Owner).await;
    signed_in(&service, MemberRole::Member).await;
    let signed_out = signed_in(&service, MemberRole::Owner).await;
    let sessions = &service.stores.sessions;
    assert_eq!(sessions.end_session(&signed_out.session).await, Ok(()));
    for person in [demoted, signed_out] {
        let created = manage_api_keys(&service)
            .create_as(&(&person).into(), "CI", None)
            .await;
        assert_eq!(created, Err(Unauthorized::Ended.into()));
        let revoked = manage_api_keys(&service)
            .revoke_as(&(&person).into(), &before.api_keys[0].0.id)
            .await;
        assert_eq!(revoked, Err(Unauthorized::Ended.into()));
        let added = manage(&service).change(&person, &add).await;
        assert_eq!(added, Err(Unauthorized::Ended.into()));
    }
    let after = record(&service).await;
    assert_eq!(
        (after.api_keys, after.accounts),
        (before.api_keys, before.accounts)
    );
    assert_eq!(recorded(&service).await, []);
}

#[tokio::test]
async fn people_add_up_to_a_thousand_endpoints() {
    let mut many = acme();
    for number in 0..999 {
        let (id, url) = (format!("wh_{number}"), format!("https://hooks.test/{number}"));
        many = many.webhook(webhook(&id, Some("camp"), &url, &[EventKind::JobNew]));
    }
    let service = Service::with(many).await;
    let before = record(&service).await.webhooks.len();
    let add = OrganizationChange::CreateWebhook {
        campaign: Some(Service::campaign()),
        url: "https://hooks.test/more".to_owned(),
        events: vec![EventKind::JobNew],
    };
    for _ in before..1_000 {
        change(&service, add.clone()).await.unwrap();
    }
    let refused = change(&service, add).await;
    assert_eq!(refused, Err(ManageOrganizationError::TooMany("endpoints")));
    assert_eq!(record(&service).await.webhooks.len(), 1_000);
}

#[tokio::test]
async fn a_token_is_checked_with_the_marketplace() {
    let service = Service::new().await;
    let owner = member(MemberRole::Owner);
    let connect = ConnectAccount {
        marketplace: Some(service.marketplace.clone()),
    };
    let (_, account) = connect.check(&owner, TOKEN).await.unwrap();
    assert_eq!(account.id, "jane");
    assert_eq!(
        connect.check(&owner, "unknown").await,
        Err(ConnectAccountError::Refused)
    );
    let faulty = connect.check(&owner, "two\nlines").await;
    assert!(matches!(faulty, Err(ConnectAccountError::NotAToken(_))));
    service.marketplace.script(Call::Account, Fault::unreachable());
    let away = connect.check(&owner, TOKEN).await;
    assert!(matches!(away, Err(ConnectAccountError::Unreachable(_))));
    let refused = connect.check(&member(MemberRole::Member), TOKEN).await;
    assert_eq!(refused, Err(ConnectAccountError::NotOwner));
    let nobody = ConnectAccount { marketplace: None };
    assert_eq!(
        nobody.check(&owner, TOKEN).await,
        Err(ConnectAccountError::NoMarketplace)
    );
}
