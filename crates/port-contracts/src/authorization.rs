//! The rules of `LeadStore` for what a request is accepted on: the key and the subscription, checked again when the
//! request is accepted (decisions D5 and D6).

use bidloop_domain::model::{
    ActivityKind, Actor, Authorization, BiddingConfig, EmailKey, EventId, EventPayload, Lead, LeadStatus,
    MemberRole, NewEvent, PersonalToken, PersonalTokenId, PersonalTokenRecord, SubscriptionStatus, Timestamp,
    TokenScope, Unauthorized,
};
use bidloop_domain::port::{
    AcceptBid, AddAttachments, BeginTry, ConfigureLead, LeaseOwner, NewTry, PeopleChange, ProvisioningChange,
    RecordDryRun, RejectLead, ReopenLead, RevokeApiKey, TriedReceivers,
};

use crate::Stores;
use crate::fixture::{
    OrganizationBuilder, World, activities, activity, at, bid, campaign, clock_at, commit, ended, fresh_uuid,
    key, organization, password_hash, seconds, session, user,
};
use crate::lead_attachments::file;

const KEY: u8 = 1;
const ANN: &str = "ann@acme.test";

/// `org_acme` with the key `key_1` and leads.
async fn world(stores: Stores, leads: usize) -> (World, Vec<Lead>) {
    let world = World::with(stores, acme()).await;
    let leads = world.new_leads(leads, at(0)).await;
    (world, leads)
}

fn acme() -> OrganizationBuilder {
    organization("org_acme")
        .key("key_1", KEY)
        .user(ANN, MemberRole::Member)
        .campaign(campaign("camp"))
}

/// Opens Ann's session with this number.
async fn sign_in(world: &World, number: u8) -> Authorization {
    let new = session(ANN, number, at(0));
    let opened = world
        .stores
        .sessions
        .open_session(&new, &password_hash(ANN))
        .await;
    assert_eq!(opened, Ok(true));
    Authorization::Session(new.hash)
}

fn remove_ann() -> ProvisioningChange {
    ProvisioningChange::RemoveUser(organization("org_acme").0.id, ANN.to_owned())
}

async fn sign_out(world: &World, number: u8) {
    let hash = session(ANN, number, at(0)).hash;
    assert_eq!(world.stores.sessions.end_session(&hash).await, Ok(()));
}

/// Gives Ann a token with this number.
async fn give_token(world: &World, number: u8, expires_at: Option<Timestamp>) -> Authorization {
    let token = PersonalToken::from_random([number; 32]);
    let record = PersonalTokenRecord {
        id: PersonalTokenId::parse(&format!("token_{number}")).unwrap(),
        organization_id: world.organization.clone(),
        user: EmailKey::of(ANN),
        name: "Agent".to_owned(),
        scope: TokenScope::Bid,
        created_at: at(0),
        last_used_at: None,
        expires_at,
        revoked_at: None,
    };
    let id = record.id.clone();
    change_people(world, PeopleChange::PutToken(record, token.hash())).await;
    Authorization::PersonalToken(id)
}

async fn change_people(world: &World, change: PeopleChange) {
    let people = &world.stores.people;
    let known = people.organization_people(&world.organization, &[]).await;
    let revision = known.unwrap().unwrap().revision;
    let changes = [change];
    assert_eq!(people.commit_people(revision, &changes, &[]).await, Ok(true));
}

async fn revoke_token(world: &World, token: &Authorization) {
    let Authorization::PersonalToken(id) = token else {
        panic!("{token:?}")
    };
    let revoke = PeopleChange::RevokeToken(world.organization.clone(), id.clone(), at(1));
    change_people(world, revoke).await;
}

fn by_key(number: u8) -> Authorization {
    Authorization::ApiKey(key("org_acme", "key_1", number, at(0)).1)
}

async fn revoke(world: &World) {
    let id = key("org_acme", "key_1", KEY, at(0)).0.id;
    let revoked = world
        .stores
        .api_keys
        .revoke(&world.organization, &id, at(1))
        .await;
    assert_eq!(revoked, Ok(RevokeApiKey::Revoked));
}

async fn end_subscription(world: &World) {
    let canceled = acme().status(SubscriptionStatus::Canceled).put_organization();
    commit(&world.stores, &[canceled]).await;
}

async fn try_bid(world: &World, authorization: &Authorization, lead: &Lead, second: i64) -> AcceptBid {
    let entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(second));
    let new = bid(lead, at(second));
    let leads = &world.stores.leads;
    leads.accept_bid(authorization, &new, &entry).await.unwrap()
}

/// That nothing is accepted on the authorization, whatever is asked, and nothing changes.
async fn assert_refused(world: &World, authorization: &Authorization, lead: &Lead, why: Unauthorized) {
    let leads = &world.stores.leads;
    let before = activities(&world.stores, &world.organization).await.len();
    let pending = world.pending().await.len();
    let entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(2));
    assert_eq!(
        leads.accept_bid(authorization, &bid(lead, at(2)), &entry).await,
        Ok(AcceptBid::NotAuthorized(why))
    );
    assert_eq!(
        leads.reject(authorization, lead, None, &entry).await,
        Ok(RejectLead::NotAuthorized(why))
    );
    let files = [file("a.txt", at(2))];
    let added = leads.add_attachments(authorization, lead, &files, &entry);
    assert_eq!(added.await, Ok(AddAttachments::NotAuthorized(why)));
    let event = NewEvent {
        id: EventId(fresh_uuid()),
        organization_id: world.organization.clone(),
        campaign_id: lead.campaign_id.clone(),
        lead_id: lead.id.clone(),
        payload: ended(bid(lead, at(2)).id),
        trace_parent: None,
    };
    assert_eq!(
        leads.record_dry_run(authorization, &entry, &event).await,
        Ok(RecordDryRun::NotAuthorized(why))
    );
    let triggered = NewEvent {
        payload: EventPayload::JobNew,
        ..event
    };
    let (owner, clock) = (LeaseOwner::new("console"), clock_at(at(2)));
    let deliveries = &world.stores.deliveries;
    let begun = deliveries
        .begin_try(
            authorization,
            NewTry {
                event: &triggered,
                job: &lead.job_id,
                to: TriedReceivers::All,
                by: &Actor::service(),
            },
            &owner,
            &clock,
            seconds(14),
        )
        .await;
    assert!(
        matches!(begun, Ok(BeginTry::NotAuthorized(known)) if known == why),
        "{begun:?}"
    );
    assert_eq!(
        leads
            .reopen_as(authorization, &world.organization, &lead.id, &entry)
            .await,
        Ok(ReopenLead::NotAuthorized(why))
    );
    let config = BiddingConfig {
        boosting_enabled: Some(true),
        ..BiddingConfig::default()
    };
    let configured = leads.configure_as(authorization, lead, &config, &entry);
    assert_eq!(configured.await, Ok(ConfigureLead::NotAuthorized(why)));
    let context = world.context(lead).await;
    assert_eq!(
        (context.lead.lead.status, context.attachments),
        (LeadStatus::New, Vec::new())
    );
    assert_eq!(context.lead.lead.bidding_config, BiddingConfig::default());
    assert_eq!(world.stores.submissions.queued_count().await, Ok(0));
    assert_eq!(world.pending().await.len(), pending);
    assert_eq!(activities(&world.stores, &world.organization).await.len(), before);
}

pub async fn a_working_key_and_an_active_subscription_are_accepted_on(stores: Stores) {
    let (world, leads) = world(stores, 3).await;
    assert_eq!(
        try_bid(&world, &by_key(KEY), &leads[0], 1).await,
        AcceptBid::Accepted
    );
    let service = Authorization::Subscription;
    assert_eq!(try_bid(&world, &service, &leads[1], 1).await, AcceptBid::Accepted);
    let entry = activity(&world.organization, ActivityKind::Rejection, "accepted", at(1));
    let authorization = by_key(KEY);
    let rejected = world.stores.leads.reject(&authorization, &leads[2], None, &entry);
    assert_eq!(rejected.await, Ok(RejectLead::Rejected));
}

pub async fn nothing_is_accepted_on_a_key_that_was_revoked_since(stores: Stores) {
    let (world, leads) = world(stores, 1).await;
    revoke(&world).await;
    assert_refused(&world, &by_key(KEY), &leads[0], Unauthorized::Ended).await;
}

pub async fn nothing_is_accepted_on_a_key_that_was_removed_or_replaced_since(stores: Stores) {
    let (world, leads) = world(stores, 1).await;
    let (record, _) = key("org_acme", "key_1", KEY, at(0));
    let (_, other) = key("org_acme", "key_1", 2, at(0));
    let put = ProvisioningChange::PutApiKey(world.organization.clone(), record.clone(), other);
    commit(&world.stores, &[put]).await;
    assert_refused(&world, &by_key(KEY), &leads[0], Unauthorized::Ended).await;
    let remove = ProvisioningChange::RemoveApiKey(world.organization.clone(), record.id);
    commit(&world.stores, &[remove]).await;
    assert_refused(&world, &by_key(2), &leads[0], Unauthorized::Ended).await;
}

pub async fn nothing_is_accepted_on_a_key_that_has_expired_since(stores: Stores) {
    let (world, leads) = world(stores, 2).await;
    let (mut record, hash) = key("org_acme", "key_2", 2, at(0));
    record.expires_at = Some(at(2));
    world.stores.api_keys.create(&record, &hash).await.unwrap();
    assert_eq!(
        try_bid(&world, &by_key(2), &leads[0], 1).await,
        AcceptBid::Accepted
    );
    assert_eq!(
        try_bid(&world, &by_key(2), &leads[1], 2).await,
        AcceptBid::NotAuthorized(Unauthorized::Ended)
    );
}

pub async fn nothing_is_accepted_on_another_organizations_key(stores: Stores) {
    let (world, leads) = world(stores, 1).await;
    organization("org_two")
        .key("key_1", 9)
        .provision(&world.stores)
        .await;
    assert_refused(&world, &by_key(9), &leads[0], Unauthorized::Ended).await;
}

pub async fn nothing_is_accepted_once_the_subscription_has_ended(stores: Stores) {
    let (world, leads) = world(stores, 1).await;
    end_subscription(&world).await;
    for authorization in [by_key(KEY), Authorization::Subscription] {
        assert_refused(
            &world,
            &authorization,
            &leads[0],
            Unauthorized::SubscriptionLapsed,
        )
        .await;
    }
}

pub async fn a_members_live_session_is_accepted_on(stores: Stores) {
    let (world, leads) = world(stores, 1).await;
    let session = sign_in(&world, 1).await;
    assert_eq!(try_bid(&world, &session, &leads[0], 1).await, AcceptBid::Accepted);
}

pub async fn nothing_is_accepted_on_a_session_that_ended_since(stores: Stores) {
    let (world, leads) = world(stores, 1).await;
    let unknown = Authorization::Session(session(ANN, 9, at(0)).hash);
    assert_refused(&world, &unknown, &leads[0], Unauthorized::Ended).await;
    let session = sign_in(&world, 1).await;
    sign_out(&world, 1).await;
    assert_refused(&world, &session, &leads[0], Unauthorized::Ended).await;
    let session = sign_in(&world, 2).await;
    let idle = 12 * 60 * 60;
    assert_eq!(
        try_bid(&world, &session, &leads[0], idle).await,
        AcceptBid::NotAuthorized(Unauthorized::Ended)
    );
    assert_eq!(
        try_bid(&world, &session, &leads[0], idle - 1).await,
        AcceptBid::Accepted
    );
}

pub async fn nothing_is_accepted_on_the_session_of_a_person_who_is_no_member_any_more(stores: Stores) {
    let (world, leads) = world(stores, 1).await;
    let session = sign_in(&world, 1).await;
    commit(&world.stores, &[remove_ann()]).await;
    assert_refused(&world, &session, &leads[0], Unauthorized::Ended).await;
}

pub async fn nothing_is_accepted_on_a_session_after_another_password_or_role(stores: Stores) {
    let (world, leads) = world(stores, 1).await;
    for (number, role, password) in [(1, MemberRole::Owner, ANN), (2, MemberRole::Owner, "another")] {
        let session = sign_in(&world, number).await;
        let mut changed = user(ANN, role);
        changed.password_hash = Some(password_hash(password));
        let put = ProvisioningChange::PutUser(world.organization.clone(), changed);
        commit(&world.stores, &[put]).await;
        assert_refused(&world, &session, &leads[0], Unauthorized::Ended).await;
    }
}

pub async fn nothing_is_accepted_on_a_session_that_shows_another_organization(stores: Stores) {
    let (world, leads) = world(stores, 1).await;
    let other = organization("org_two").user(ANN, MemberRole::Owner);
    let other = other.provision(&world.stores).await;
    let session_hash = session(ANN, 1, at(0)).hash;
    let session = sign_in(&world, 1).await;
    let sessions = &world.stores.sessions;
    assert_eq!(
        sessions.show_organization(&session_hash, &other, at(1)).await,
        Ok(true)
    );
    assert_refused(&world, &session, &leads[0], Unauthorized::Ended).await;
}

pub async fn nothing_is_accepted_on_a_session_once_the_subscription_has_ended(stores: Stores) {
    let (world, leads) = world(stores, 1).await;
    let session = sign_in(&world, 1).await;
    end_subscription(&world).await;
    assert_refused(&world, &session, &leads[0], Unauthorized::SubscriptionLapsed).await;
}

pub async fn a_members_working_token_is_accepted_on(stores: Stores) {
    let (world, leads) = world(stores, 3).await;
    let token = give_token(&world, 1, Some(at(2))).await;
    assert_eq!(try_bid(&world, &token, &leads[0], 1).await, AcceptBid::Accepted);
    let entry = activity(&world.organization, ActivityKind::Rejection, "accepted", at(1));
    let rejected = world.stores.leads.reject(&token, &leads[1], None, &entry);
    assert_eq!(rejected.await, Ok(RejectLead::Rejected));
    assert_eq!(
        try_bid(&world, &token, &leads[2], 2).await,
        AcceptBid::NotAuthorized(Unauthorized::Ended),
        "it has expired"
    );
}

pub async fn nothing_is_accepted_on_a_token_that_was_revoked_or_is_unknown(stores: Stores) {
    let (world, leads) = world(stores, 1).await;
    let unknown = Authorization::PersonalToken(PersonalTokenId::parse("token_9").unwrap());
    assert_refused(&world, &unknown, &leads[0], Unauthorized::Ended).await;
    let token = give_token(&world, 1, None).await;
    revoke_token(&world, &token).await;
    assert_refused(&world, &token, &leads[0], Unauthorized::Ended).await;
}

pub async fn nothing_is_accepted_on_another_organizations_token(stores: Stores) {
    let (world, leads) = world(stores, 1).await;
    let other = organization("org_two").user(ANN, MemberRole::Owner);
    let other = World {
        organization: other.provision(&world.stores).await,
        ..world.clone()
    };
    let foreign = give_token(&other, 1, None).await;
    assert_refused(&world, &foreign, &leads[0], Unauthorized::Ended).await;
}

pub async fn nothing_is_accepted_on_the_token_of_a_person_who_is_no_member_any_more(stores: Stores) {
    let (world, leads) = world(stores, 1).await;
    let token = give_token(&world, 1, None).await;
    commit(&world.stores, &[remove_ann()]).await;
    assert_refused(&world, &token, &leads[0], Unauthorized::Ended).await;
}

pub async fn nothing_is_accepted_on_a_token_once_the_subscription_has_ended(stores: Stores) {
    let (world, leads) = world(stores, 1).await;
    let token = give_token(&world, 1, None).await;
    end_subscription(&world).await;
    assert_refused(&world, &token, &leads[0], Unauthorized::SubscriptionLapsed).await;
}

pub async fn nothing_is_accepted_after_a_tokens_revocation_among_many_bids_was_reported(stores: Stores) {
    let (world, leads) = world(stores, 40).await;
    let token = give_token(&world, 1, None).await;
    nothing_changes_after(&world, &leads, &token, revoke_token(&world, &token)).await;
}

pub async fn nothing_is_accepted_after_a_sign_out_among_many_bids_was_reported(stores: Stores) {
    let (world, leads) = world(stores, 40).await;
    let session = sign_in(&world, 1).await;
    nothing_changes_after(&world, &leads, &session, sign_out(&world, 1)).await;
}

pub async fn nothing_is_accepted_after_a_members_removal_among_many_bids_was_reported(stores: Stores) {
    let (world, leads) = world(stores, 40).await;
    let session = sign_in(&world, 1).await;
    let remove = remove_ann();
    let removal = commit(&world.stores, std::slice::from_ref(&remove));
    nothing_changes_after(&world, &leads, &session, removal).await;
}

pub async fn the_end_of_the_authorization_is_told_before_the_leads_status(stores: Stores) {
    let (world, leads) = world(stores, 1).await;
    assert_eq!(
        try_bid(&world, &by_key(KEY), &leads[0], 1).await,
        AcceptBid::Accepted
    );
    revoke(&world).await;
    assert_eq!(
        try_bid(&world, &by_key(KEY), &leads[0], 2).await,
        AcceptBid::NotAuthorized(Unauthorized::Ended)
    );
}

pub async fn nothing_is_accepted_after_a_revocation_among_many_bids_was_reported(stores: Stores) {
    let (world, leads) = world(stores, 40).await;
    nothing_changes_after(&world, &leads, &by_key(KEY), revoke(&world)).await;
}

pub async fn nothing_is_accepted_after_the_end_of_a_subscription_among_many_bids_was_reported(
    stores: Stores,
) {
    let (world, leads) = world(stores, 40).await;
    let service = Authorization::Subscription;
    nothing_changes_after(&world, &leads, &service, end_subscription(&world)).await;
}

/// Bids on all leads at once while the authorization ends, and compares the leads at the report of its end with what they
/// are once every bid has its answer.
async fn nothing_changes_after(
    world: &World,
    leads: &[Lead],
    authorization: &Authorization,
    ending: impl Future<Output = ()>,
) {
    let bids: Vec<_> = leads
        .iter()
        .map(|lead| {
            let (world, authorization, lead) = (world.clone(), authorization.clone(), lead.clone());
            tokio::spawn(async move { try_bid(&world, &authorization, &lead, 1).await })
        })
        .collect();
    ending.await;
    let reported = statuses(world).await;
    let mut accepted = 0;
    for bid in bids {
        match bid.await.unwrap() {
            AcceptBid::Accepted => accepted += 1,
            AcceptBid::NotAuthorized(_) => {}
            answer => panic!("{answer:?}"),
        }
    }
    let queued = reported
        .iter()
        .filter(|status| **status == LeadStatus::Queued)
        .count();
    assert_eq!(
        queued, accepted,
        "what was accepted had been when the end was reported"
    );
    assert_eq!(statuses(world).await, reported);
}

async fn statuses(world: &World) -> Vec<LeadStatus> {
    let page = world.list(0, 1000).await;
    page.leads.into_iter().map(|known| known.status).collect()
}
