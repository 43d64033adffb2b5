//! The rules of `ProvisioningStore` and `SubmissionStore` for what a person changes: the session and the role are checked
//! again in the transaction that makes the change (decisions D7, E1 and E2).

use bidloop_domain::model::{
    Activity, ActivityKind, Authorization, LeadStatus, MemberRole, SubscriptionStatus, Unauthorized,
};
use bidloop_domain::port::{
    ByPerson, ClaimUnanswered, CommitProvisioning, FinishBy, LeaseOwner, ProvisioningChange,
};

use crate::Stores;
use crate::fixture::{
    OrganizationBuilder, World, activities, activity, at, campaign, commit, finish, organization,
    password_hash, proposal, revision, session, submitted, user,
};

const ANN: &str = "ann@acme.test";

fn acme(role: MemberRole) -> OrganizationBuilder {
    organization("org_acme")
        .user(ANN, role)
        .campaign(campaign("camp"))
}

async fn world(stores: Stores, role: MemberRole) -> World {
    World::with(stores, acme(role)).await
}

/// Opens Ann's session with this number, in the organization that she saw last.
async fn sign_in(world: &World, number: u8) -> Authorization {
    let (new, sessions) = (session(ANN, number, at(0)), &world.stores.sessions);
    let opened = sessions.open_session(&new, &password_hash(ANN)).await;
    assert_eq!(opened, Ok(true));
    Authorization::Session(new.hash)
}

async fn sign_out(world: &World, number: u8) {
    let hash = session(ANN, number, at(0)).hash;
    assert_eq!(world.stores.sessions.end_session(&hash).await, Ok(()));
}

async fn give(world: &World, role: MemberRole) {
    let put = ProvisioningChange::PutUser(world.organization.clone(), user(ANN, role));
    commit(&world.stores, &[put]).await;
}

async fn remove_ann(world: &World) {
    let remove = ProvisioningChange::RemoveUser(world.organization.clone(), ANN.to_owned());
    commit(&world.stores, &[remove]).await;
}

fn entry(world: &World, second: i64) -> Activity {
    activity(&world.organization, ActivityKind::Change, "accepted", at(second))
}

/// Ann changes the limit, on the present state.
async fn change(
    world: &World,
    authorization: &Authorization,
    needs_owner: bool,
    second: i64,
) -> CommitProvisioning {
    let by = ByPerson {
        authorization: authorization.clone(),
        needs_owner,
        entry: entry(world, second),
    };
    let put = [organization("org_acme").limit(7).put_organization()];
    loop {
        let revision = revision(&world.stores).await;
        let provisioning = &world.stores.provisioning;
        let committed = provisioning
            .commit_by(revision, &put, Some(&by), at(second))
            .await;
        match committed.unwrap() {
            CommitProvisioning::RevisionMoved => {}
            committed => return committed,
        }
    }
}

async fn assert_refused(world: &World, authorization: &Authorization, needs_owner: bool, why: Unauthorized) {
    let before = (
        revision(&world.stores).await,
        activities(&world.stores, &world.organization).await,
    );
    let refused = change(world, authorization, needs_owner, 2).await;
    assert_eq!(refused, CommitProvisioning::NotAuthorized(why));
    let after = (
        revision(&world.stores).await,
        activities(&world.stores, &world.organization).await,
    );
    assert_eq!(before, after, "nothing changed");
}

pub async fn a_members_change_is_recorded_with_it_or_not_at_all(stores: Stores) {
    let world = world(stores, MemberRole::Member).await;
    let authorization = sign_in(&world, 1).await;
    let before = revision(&world.stores).await;
    let by = |entry| ByPerson {
        authorization: authorization.clone(),
        needs_owner: false,
        entry,
    };
    let (made, late) = (by(entry(&world, 1)), by(entry(&world, 2)));
    let put = [organization("org_acme").limit(7).put_organization()];
    let provisioning = &world.stores.provisioning;
    let committed = provisioning.commit_by(before, &put, Some(&made), at(1)).await;
    assert_eq!(committed, Ok(CommitProvisioning::Committed));
    let late = provisioning.commit_by(before, &put, Some(&late), at(2)).await;
    assert_eq!(late, Ok(CommitProvisioning::RevisionMoved));
    assert_eq!(activities(&world.stores, &world.organization).await, [made.entry]);
}

pub async fn what_needs_an_owner_is_changed_by_owners_alone(stores: Stores) {
    let world = world(stores, MemberRole::Member).await;
    let member = sign_in(&world, 1).await;
    assert_refused(&world, &member, true, Unauthorized::NotOwner).await;
    give(&world, MemberRole::Owner).await;
    let owner = sign_in(&world, 2).await;
    assert_eq!(
        change(&world, &owner, true, 3).await,
        CommitProvisioning::Committed
    );
}

pub async fn settings_are_changed_without_an_active_subscription(stores: Stores) {
    let world = world(stores, MemberRole::Member).await;
    let authorization = sign_in(&world, 1).await;
    let canceled = organization("org_acme").status(SubscriptionStatus::Canceled);
    commit(&world.stores, &[canceled.put_organization()]).await;
    assert_eq!(
        change(&world, &authorization, false, 1).await,
        CommitProvisioning::Committed
    );
}

pub async fn nothing_is_changed_on_a_session_that_ended_since(stores: Stores) {
    let world = world(stores, MemberRole::Owner).await;
    let signed_out = sign_in(&world, 1).await;
    sign_out(&world, 1).await;
    assert_refused(&world, &signed_out, false, Unauthorized::Ended).await;
    let demoted = sign_in(&world, 2).await;
    give(&world, MemberRole::Member).await;
    assert_refused(&world, &demoted, true, Unauthorized::Ended).await;
    let removed = sign_in(&world, 3).await;
    remove_ann(&world).await;
    assert_refused(&world, &removed, false, Unauthorized::Ended).await;
}

pub async fn a_session_that_showed_another_organization_meanwhile_has_the_role_of_now(stores: Stores) {
    let world = world(stores, MemberRole::Owner).await;
    let other = organization("org_two").user(ANN, MemberRole::Owner);
    let other = other.provision(&world.stores).await;
    let authorization = sign_in(&world, 1).await;
    let hash = session(ANN, 1, at(0)).hash;
    let sessions = &world.stores.sessions;
    for organization in [&world.organization, &other] {
        let shown = sessions.show_organization(&hash, organization, at(1)).await;
        assert_eq!(shown, Ok(true));
    }
    assert_refused(&world, &authorization, false, Unauthorized::Ended).await;
    give(&world, MemberRole::Member).await;
    let shown = sessions
        .show_organization(&hash, &world.organization, at(1))
        .await;
    assert_eq!(shown, Ok(true));
    assert_refused(&world, &authorization, true, Unauthorized::NotOwner).await;
    assert_eq!(
        change(&world, &authorization, false, 2).await,
        CommitProvisioning::Committed
    );
}

pub async fn nothing_is_changed_after_a_sign_out_among_many_changes_was_reported(stores: Stores) {
    let world = world(stores, MemberRole::Owner).await;
    let authorization = sign_in(&world, 1).await;
    nothing_changes_after(&world, &authorization, sign_out(&world, 1)).await;
}

pub async fn nothing_is_changed_after_a_demotion_among_many_changes_was_reported(stores: Stores) {
    let world = world(stores, MemberRole::Owner).await;
    let authorization = sign_in(&world, 1).await;
    let demote = async {
        // Others commit meanwhile, too.
        let put = ProvisioningChange::PutUser(world.organization.clone(), user(ANN, MemberRole::Member));
        loop {
            let revision = revision(&world.stores).await;
            let provisioning = &world.stores.provisioning;
            let put = std::slice::from_ref(&put);
            match provisioning.commit(revision, put, at(0)).await.unwrap() {
                CommitProvisioning::RevisionMoved => {}
                committed => return assert_eq!(committed, CommitProvisioning::Committed),
            }
        }
    };
    nothing_changes_after(&world, &authorization, demote).await;
}

/// Changes settings several times at once while the authorization ends, and compares what is recorded at the report of
/// its end with what is once every change has its answer.
async fn nothing_changes_after(
    world: &World,
    authorization: &Authorization,
    ending: impl Future<Output = ()>,
) {
    let changes: Vec<_> = (0..8)
        .map(|second| {
            let (world, authorization) = (world.clone(), authorization.clone());
            tokio::spawn(async move { change(&world, &authorization, true, second).await })
        })
        .collect();
    ending.await;
    let reported = activities(&world.stores, &world.organization).await.len();
    let mut accepted = 0;
    for change in changes {
        match change.await.unwrap() {
            CommitProvisioning::Committed => accepted += 1,
            answer => assert_eq!(answer, CommitProvisioning::NotAuthorized(Unauthorized::Ended)),
        }
    }
    assert_eq!(
        reported, accepted,
        "what was accepted had been when the end was reported"
    );
    assert_eq!(
        activities(&world.stores, &world.organization).await.len(),
        reported
    );
}

pub async fn a_bid_is_settled_on_a_live_session_whatever_the_subscription(stores: Stores) {
    let world = world(stores, MemberRole::Member).await;
    let lead = world.new_leads(1, at(0)).await.remove(0);
    let id = world.bid(&lead, at(1)).await;
    let sending = world.claim_one("submitter", at(2)).await;
    let submissions = &world.stores.submissions;
    let sent = proposal(&lead.job_id, "Dear client");
    let begun = submissions.begin_attempt(&world.organization, id, &sending.owner, &sent);
    assert_eq!(begun.await, Ok(true));
    let postponed = submissions.postpone(&world.organization, id, &sending.owner, at(5), Some(true));
    assert_eq!(postponed.await, Ok(true));
    let canceled = organization("org_acme").status(SubscriptionStatus::Canceled);
    commit(&world.stores, &[canceled.put_organization()]).await;
    let owner = LeaseOwner::new("settle");
    let claimed = submissions
        .claim_unanswered(id, &owner, at(10), at(20))
        .await
        .unwrap();
    let ClaimUnanswered::Claimed(claimed) = claimed else {
        panic!("the bid was not claimed")
    };
    let end = finish(&claimed.bid, submitted("p_1", at(11)), at(11));
    let ended = sign_in(&world, 1).await;
    sign_out(&world, 1).await;
    let refused = submissions.finish_by(&ended, &end, &owner).await;
    assert_eq!(refused, Ok(FinishBy::NotAuthorized(Unauthorized::Ended)));
    assert_eq!(world.status(&lead).await, LeadStatus::Queued);
    let live = sign_in(&world, 2).await;
    assert_eq!(
        submissions
            .finish_by(&live, &end, &LeaseOwner::new("other"))
            .await,
        Ok(FinishBy::NotHeld)
    );
    assert_eq!(
        submissions.finish_by(&live, &end, &owner).await,
        Ok(FinishBy::Ended)
    );
    assert_eq!(world.status(&lead).await, LeadStatus::Submitted);
}
