//! Personal tokens, and who is calling with one (decision E7).

use std::time::Duration;

use bidloop_domain::model::MemberRole::{Member, Owner};
use bidloop_domain::model::{
    ActivityKind, LeadStatus, SubscriptionStatus, Timestamp, TokenScope, Unauthorized,
};
use bidloop_domain::use_case::{
    ActingMember, LeadError, MAX_TOKENS, MadeToken, NewPersonalToken, PeopleError, TokenHolder,
};
use bidloop_port_contracts::fixture::{activities, commit, organization, organization_id};
use serde_json::json;

use crate::manage_organization::manage_api_keys;
use crate::people::{ANN, Console, key};
use crate::service::{Service, acme, dry_run, job, request};

const BOB: &str = "bob@acme.test";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Ann owns `org_one`, Bob is a member of it.
async fn two() -> Console {
    let console = Console::with_ann().await;
    console.put("org_one", BOB, Member, true).await;
    console
}

fn holder(email: &str) -> TokenHolder {
    TokenHolder::by_command(organization_id("org_one"), key(email), "tokens create")
}

async fn make(console: &Console, email: &str, scope: TokenScope) -> Result<MadeToken, PeopleError> {
    make_until(console, email, scope, None).await
}

async fn make_until(
    console: &Console,
    email: &str,
    scope: TokenScope,
    expires_at: Option<Timestamp>,
) -> Result<MadeToken, PeopleError> {
    let new = NewPersonalToken {
        name: " Editor ",
        scope,
        expires_at,
    };
    console.tokens().make(&holder(email), new).await
}

/// What a tool with this token may be used for; `None` if it is refused.
async fn scope_of(console: &Console, token: &str) -> Option<TokenScope> {
    let caller = console.authenticate_token().execute(token).await.unwrap();
    caller.map(|caller| caller.scope)
}

#[tokio::test]
async fn a_token_is_its_persons_in_one_organization() {
    let console = two().await;
    let ann = console.member("org_one", ANN).await;
    let new = NewPersonalToken {
        name: " Editor ",
        scope: TokenScope::Bid,
        expires_at: None,
    };
    let made = console.tokens().make(&TokenHolder::of(&ann), new).await.unwrap();
    assert_eq!(
        (made.record.name.as_str(), made.record.scope),
        ("Editor", TokenScope::Bid)
    );
    let caller = console.authenticate_token().execute(made.token.expose()).await;
    let caller = caller.unwrap().unwrap();
    assert_eq!(caller.member, ann);
    assert!(caller.may(TokenScope::Read) && caller.may(TokenScope::Bid));
    assert!(!caller.may(TokenScope::Manage));
    let (actor, message, details) = console.recorded("org_one").await;
    assert_eq!(
        (actor.as_str(), message.as_str()),
        (
            ANN,
            "Personal token \"Editor\" of ann@acme.test made, with the scope bid."
        )
    );
    assert!(!details.contains(made.token.expose()), "{details}");
    for other in ["", "lt_", &format!("lt_{}", "0a".repeat(32))] {
        assert_eq!(scope_of(&console, other).await, None, "{other}");
    }
}

#[tokio::test]
async fn only_owners_have_tokens_to_manage_with() {
    let console = two().await;
    let refused = make(&console, BOB, TokenScope::Manage).await;
    assert_eq!(refused, Err(PeopleError::ScopeNeedsOwner));
    make(&console, BOB, TokenScope::Bid).await.unwrap();
    console.put("org_one", BOB, Owner, true).await;
    let (read, manage) = (
        make(&console, BOB, TokenScope::Read).await.unwrap(),
        make(&console, BOB, TokenScope::Manage).await.unwrap(),
    );
    assert_eq!(
        scope_of(&console, manage.token.expose()).await,
        Some(TokenScope::Manage)
    );
    console.put("org_one", BOB, Member, true).await;
    assert_eq!(scope_of(&console, manage.token.expose()).await, None);
    assert_eq!(
        scope_of(&console, read.token.expose()).await,
        Some(TokenScope::Read)
    );
}

#[tokio::test]
async fn what_a_persons_tool_does_is_recorded_as_the_persons_with_the_tokens_id() {
    let service = Service::with(acme().user(ANN, Owner)).await;
    let lead = service.lead(&job("1")).await;
    let console = Console {
        service,
        passwords: std::sync::Arc::default(),
    };
    let service = &console.service;
    let new = NewPersonalToken {
        name: "Agent",
        scope: TokenScope::Manage,
        expires_at: None,
    };
    let holder = TokenHolder::by_command(Service::organization(), key(ANN), "tokens create");
    let made = console.tokens().make(&holder, new).await.unwrap();
    let caller = console.authenticate_token().execute(made.token.expose()).await;
    let acting = ActingMember::from(&caller.unwrap().unwrap());
    let requester = acting.requester();
    let campaign = Service::campaign();
    let submit = service.submit_bid();
    for request in [dry_run(request()), request()] {
        submit
            .execute(&requester, &campaign, &lead, Ok(request))
            .await
            .unwrap();
    }
    let reject = service.reject_lead();
    let rejected = reject.execute(&requester, &campaign, &lead, Ok(None)).await;
    assert_eq!(rejected, Err(LeadError::RejectionTooLate(LeadStatus::Queued)));
    let keys = manage_api_keys(service);
    keys.create_as(&acting, "CI", None).await.unwrap();
    let token = json!(made.record.id);
    let entries = activities(&service.stores, &Service::organization()).await;
    let by_tool: Vec<_> = entries
        .iter()
        .filter(|entry| entry.details.get("personalToken") == Some(&token))
        .map(|entry| (entry.kind, entry.actor.name.as_deref()))
        .collect();
    let by_ann = |kind| (kind, Some(ANN));
    assert_eq!(
        by_tool,
        [
            by_ann(ActivityKind::Change),
            by_ann(ActivityKind::Rejection),
            by_ann(ActivityKind::Bid),
            by_ann(ActivityKind::Bid)
        ]
    );
    let owner = console.tokens().revoke(&holder, &made.record.id).await;
    owner.unwrap();
    let refused = keys.create_as(&acting, "CI", None).await;
    assert_eq!(refused, Err(Unauthorized::Ended.into()));
}

#[tokio::test]
async fn a_token_works_until_it_expires_is_revoked_or_its_person_leaves() {
    let console = two().await;
    let clock = &console.service.clock;
    let expiry = bidloop_domain::port::Clock::now(&**clock).plus(DAY);
    let expires = make_until(&console, BOB, TokenScope::Read, Some(expiry))
        .await
        .unwrap();
    clock.advance(Duration::from_secs(1));
    let stays = make(&console, BOB, TokenScope::Read).await.unwrap();
    assert_eq!(
        scope_of(&console, expires.token.expose()).await,
        Some(TokenScope::Read)
    );
    clock.advance(DAY);
    assert_eq!(scope_of(&console, expires.token.expose()).await, None);
    assert_eq!(
        scope_of(&console, stays.token.expose()).await,
        Some(TokenScope::Read)
    );
    let past = make_until(&console, BOB, TokenScope::Read, Some(expiry)).await;
    assert_eq!(past, Err(PeopleError::ExpiryPast));

    let tokens = console.tokens();
    let foreign = tokens.revoke(&holder(ANN), &stays.record.id).await;
    assert_eq!(foreign, Err(PeopleError::TokenUnknown));
    let revoked = tokens.revoke(&holder(BOB), &stays.record.id).await.unwrap();
    assert_eq!(scope_of(&console, stays.token.expose()).await, None);
    clock.advance(DAY);
    assert_eq!(tokens.revoke(&holder(BOB), &stays.record.id).await, Ok(revoked));
    assert_eq!(
        console.recorded("org_one").await.1,
        "Personal token \"Editor\" of bob@acme.test revoked."
    );
    let listed = tokens.list(&organization_id("org_one"), &key(BOB)).await.unwrap();
    let ids: Vec<_> = listed.iter().map(|token| &token.id).collect();
    assert_eq!(ids, [&stays.record.id, &expires.record.id]);

    let last = make(&console, BOB, TokenScope::Read).await.unwrap();
    let ann = console.member("org_one", ANN).await;
    console.members().remove(&ann, &key(BOB)).await.unwrap();
    assert_eq!(scope_of(&console, last.token.expose()).await, None);
    console.put("org_one", BOB, Member, true).await;
    assert_eq!(
        scope_of(&console, last.token.expose()).await,
        None,
        "it does not revive"
    );
}

#[tokio::test]
async fn a_use_is_written_at_most_once_a_minute() {
    let console = two().await;
    let made = make(&console, BOB, TokenScope::Read).await.unwrap();
    let start = bidloop_domain::port::Clock::now(&*console.service.clock);
    let used = async || {
        scope_of(&console, made.token.expose()).await;
        let listed = console
            .tokens()
            .list(&organization_id("org_one"), &key(BOB))
            .await;
        listed.unwrap()[0].last_used_at
    };
    assert_eq!(used().await, Some(start));
    console.service.clock.advance(Duration::from_secs(59));
    assert_eq!(used().await, Some(start));
    console.service.clock.advance(Duration::from_secs(1));
    assert_eq!(used().await, Some(start.plus(Duration::from_secs(60))));
}

#[tokio::test]
async fn tokens_are_bounded_and_of_those_that_work_no_more_the_last_are_kept() {
    let console = two().await;
    let tokens = console.tokens();
    for _ in 0..MAX_TOKENS {
        make(&console, BOB, TokenScope::Read).await.unwrap();
    }
    let refused = make(&console, BOB, TokenScope::Read).await;
    assert_eq!(refused, Err(PeopleError::TooMany("20 tokens that work")));
    make(&console, ANN, TokenScope::Read).await.unwrap();
    let organization = organization_id("org_one");
    for _ in 0..3 {
        for token in tokens.list(&organization, &key(BOB)).await.unwrap() {
            tokens.revoke(&holder(BOB), &token.id).await.unwrap();
        }
        for _ in 0..MAX_TOKENS {
            make(&console, BOB, TokenScope::Read).await.unwrap();
        }
    }
    let listed = tokens.list(&organization, &key(BOB)).await.unwrap();
    assert_eq!(listed.len(), 2 * MAX_TOKENS);
}

#[tokio::test]
async fn none_is_made_for_a_stranger_without_a_name_or_a_subscription() {
    let console = two().await;
    let stranger = make(&console, "eve@acme.test", TokenScope::Read).await;
    assert_eq!(stranger, Err(PeopleError::Unknown));
    let new = NewPersonalToken {
        name: " ",
        scope: TokenScope::Read,
        expires_at: None,
    };
    let unnamed = console.tokens().make(&holder(BOB), new).await;
    assert_eq!(unnamed, Err(PeopleError::Name));
    let lapsed = organization("org_one").status(SubscriptionStatus::Canceled);
    commit(&console.service.stores, &[lapsed.put_organization()]).await;
    let refused = make(&console, BOB, TokenScope::Read).await;
    assert_eq!(refused, Err(PeopleError::SubscriptionInactive));
}
