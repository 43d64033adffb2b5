//! Following a payment provider (decisions B3, D6 and D7).

use bidloop_domain::model::{
    ActivityKind, Actor, BilledState, BilledSubscriptionId, BillingEvents, CustomerId, InvoiceId,
    InvoiceReport, OrganizationId, Renewal, Subscription, SubscriptionReport, SubscriptionStatus,
};
use bidloop_domain::port::{Clock as _, ProvisioningChange};
use bidloop_domain::use_case::{BillingEvent, FollowBilling, FollowBillingError, Followed};
use bidloop_port_contracts::fixture::{activities, at, commit, organization, organization_id};
use serde_json::json;

use crate::service::{Service, acme};

use SubscriptionStatus::{Active, Canceled, PastDue};

/// A subscription of the provider, as a report describes it.
#[derive(Clone)]
struct Billed {
    id: &'static str,
    event: &'static str,
    second: i64,
    state: BilledState,
}

/// `sub_1` of `org_acme`, active for 7 proposals, reported after a second.
fn billed() -> Billed {
    Billed {
        id: "sub_1",
        event: "evt_1",
        second: 1,
        state: BilledState {
            status: Active,
            collection_paused: false,
            period_start: at(0),
            period_end: at(1_000),
            proposal_limit: Some(7),
            organization: Some(organization_id("org_acme")),
            customer: CustomerId::parse("cus_1").unwrap(),
            created_at: at(0),
            latest_invoice: InvoiceId::parse("in_1").ok(),
        },
    }
}

impl Billed {
    fn event(self) -> BillingEvent {
        let report = SubscriptionReport {
            event: self.event.to_owned(),
            at: at(self.second),
            state: self.state,
            before: None,
            begins: false,
        };
        BillingEvent::Subscription(BilledSubscriptionId::parse(self.id).unwrap(), report)
    }

    fn reported(mut self, event: &'static str, second: i64) -> Self {
        (self.event, self.second) = (event, second);
        self
    }

    fn with(mut self, change: impl FnOnce(&mut BilledState)) -> Self {
        change(&mut self.state);
        self
    }

    fn status(self, status: SubscriptionStatus) -> Self {
        self.with(|state| state.status = status)
    }
}

fn follow(service: &Service) -> FollowBilling {
    FollowBilling {
        store: service.stores.billing.clone(),
        clock: service.clock.clone(),
        entropy: service.entropy.clone(),
        pause: service.clock.clone(),
    }
}

async fn send(service: &Service, billed: Billed) -> Result<Followed, FollowBillingError> {
    follow(service).execute(&billed.event()).await
}

async fn subscription(service: &Service, id: &str) -> Subscription {
    let ids = [organization_id(id)];
    let found = service.stores.billing.billed_organizations(&ids, None).await;
    found.unwrap()[0].subscription.clone()
}

#[expect(clippy::unnecessary_wraps, reason = "answers are compared with it")]
fn of_acme() -> Result<Followed, FollowBillingError> {
    Ok(Followed::Organization(organization_id("org_acme")))
}

#[tokio::test]
async fn a_report_becomes_the_organizations_subscription_and_is_recorded() {
    let service = Service::with(acme()).await;
    assert_eq!(send(&service, billed()).await, of_acme());
    let expected = Subscription {
        status: Active,
        collection_paused: false,
        period_start: at(0),
        period_end: at(1_000),
        renewal: Renewal::SameLength,
        proposal_limit: Some(7),
        customer: None,
    };
    assert_eq!(subscription(&service, "org_acme").await, expected);
    let recorded = activities(&service.stores, &organization_id("org_acme")).await;
    assert_eq!(recorded.len(), 1);
    let entry = &recorded[0];
    assert_eq!(
        (entry.kind, &entry.actor),
        (ActivityKind::Change, &Actor::billing())
    );
    assert_eq!(entry.details["stripeSubscription"], "sub_1");
    let limit = json!({"type": "organization", "id": "org_acme", "field": "subscription.proposalLimit",
        "old": 50, "new": 7});
    assert!(
        entry.details["changes"].as_array().unwrap().contains(&limit),
        "{entry:?}"
    );
    assert!(
        entry.message.contains("proposalLimit from 50 to 7"),
        "{}",
        entry.message
    );
}

#[tokio::test]
async fn a_repeated_report_changes_nothing_whatever_was_provisioned_since() {
    let service = Service::with(acme()).await;
    send(&service, billed()).await.unwrap();
    commit(&service.stores, &[acme().limit(99).put_organization()]).await;
    assert_eq!(send(&service, billed()).await, of_acme());
    assert_eq!(subscription(&service, "org_acme").await.proposal_limit, Some(99));
    assert_eq!(
        activities(&service.stores, &organization_id("org_acme"))
            .await
            .len(),
        1
    );
}

#[tokio::test]
async fn an_end_is_reported_only_when_no_lease_of_a_key_can_be_alive() {
    let service = Service::with(acme()).await;
    let waited = async |billed: Billed| {
        let before = service.clock.now();
        send(&service, billed).await.unwrap();
        service.clock.now().since(before).as_millis()
    };
    assert_eq!(waited(billed()).await, 0);
    let late = billed().reported("evt_2", 2).status(PastDue);
    assert_eq!(waited(late.clone()).await, 1_000);
    assert_eq!(
        waited(late).await,
        1_000,
        "it may be followed elsewhere at this moment"
    );
    assert_eq!(waited(billed().reported("evt_3", 3)).await, 0);
    let paused = billed()
        .reported("evt_4", 4)
        .with(|state| state.collection_paused = true);
    assert_eq!(waited(paused).await, 1_000);
}

#[tokio::test]
async fn a_report_for_an_organization_that_does_not_exist_is_kept_and_asked_for_again() {
    let service = Service::with(organization("org_other")).await;
    let unknown = FollowBillingError::UnknownOrganization(organization_id("org_acme"));
    assert_eq!(send(&service, billed()).await, Err(unknown.clone()));
    assert_eq!(
        send(&service, billed()).await,
        Err(unknown),
        "nobody provisioned it"
    );
    organization("org_acme").provision(&service.stores).await;
    assert_eq!(
        send(&service, billed()).await,
        of_acme(),
        "sent again, it is found"
    );
    assert_eq!(subscription(&service, "org_acme").await.proposal_limit, Some(7));
}

#[tokio::test]
async fn an_end_outlives_that_its_organization_is_provisioned_later() {
    let service = Service::with(organization("org_other")).await;
    let ended = billed().reported("evt_2", 2).status(Canceled);
    assert_eq!(
        send(&service, ended).await,
        Ok(Followed::Kept),
        "nothing to be lost"
    );
    organization("org_acme").provision(&service.stores).await;
    assert_eq!(send(&service, billed()).await, of_acme());
    assert_eq!(subscription(&service, "org_acme").await.status, Canceled);
}

#[tokio::test]
async fn without_a_name_the_customers_only_organization_is_meant() {
    let service = Service::with(acme().customer("cus_1")).await;
    let nameless = || billed().with(|state| state.organization = None);
    assert_eq!(send(&service, nameless()).await, of_acme());
    let customer = subscription(&service, "org_acme").await.customer;
    assert_eq!(
        customer,
        CustomerId::parse("cus_1").ok(),
        "it stays as it was provisioned"
    );

    organization("org_two")
        .customer("cus_1")
        .provision(&service.stores)
        .await;
    let ambiguous = Billed {
        id: "sub_2",
        ..nameless()
    };
    let customer = CustomerId::parse("cus_1").unwrap();
    assert_eq!(
        send(&service, ambiguous).await,
        Err(FollowBillingError::NoOrganization(customer))
    );
}

#[tokio::test]
async fn what_names_nothing_of_this_installation_is_foreign() {
    let service = Service::with(acme()).await;
    let foreign = billed().with(|state| (state.organization, state.proposal_limit) = (None, None));
    let id = BilledSubscriptionId::parse(foreign.id).unwrap();
    assert_eq!(send(&service, foreign.clone()).await, Ok(Followed::Foreign));
    assert_eq!(service.stores.billing.billed(&id).await.unwrap().1, None);
    let limited = foreign.with(|state| state.proposal_limit = Some(7));
    let customer = limited.state.customer.clone();
    assert_eq!(
        send(&service, limited).await,
        Err(FollowBillingError::NoOrganization(customer)),
        "its price has a limit of proposals"
    );
}

#[tokio::test]
async fn an_invoice_counts_although_it_came_before_its_subscription() {
    let service = Service::with(acme()).await;
    let failed = BillingEvent::Invoice {
        subscription: BilledSubscriptionId::parse("sub_1").unwrap(),
        organization: Some(organization_id("org_acme")),
        customer: CustomerId::parse("cus_1").unwrap(),
        report: InvoiceReport {
            invoice: InvoiceId::parse("in_1").unwrap(),
            at: at(5),
            paid: false,
        },
    };
    assert_eq!(follow(&service).execute(&failed).await, Ok(Followed::Kept));
    assert!(subscription(&service, "org_acme").await.is_active());
    assert_eq!(send(&service, billed()).await, of_acme());
    assert_eq!(subscription(&service, "org_acme").await.status, PastDue);
}

#[tokio::test]
async fn of_several_subscriptions_an_active_one_counts_then_the_newest() {
    let service = Service::with(acme()).await;
    let second = |event, second, status| {
        Billed {
            id: "sub_2",
            ..billed()
        }
        .reported(event, second)
        .status(status)
        .with(|state| (state.created_at, state.proposal_limit) = (at(100), Some(9)))
    };
    let limit = async || subscription(&service, "org_acme").await.proposal_limit;
    send(&service, billed()).await.unwrap();
    send(&service, second("evt_2", 100, PastDue)).await.unwrap();
    assert_eq!(limit().await, Some(7), "the older one is active");
    send(&service, second("evt_3", 200, Active)).await.unwrap();
    assert_eq!(limit().await, Some(9), "both are active");
    send(&service, second("evt_4", 300, Canceled)).await.unwrap();
    assert_eq!(limit().await, Some(7));
    send(&service, billed().reported("evt_5", 400).status(Canceled))
        .await
        .unwrap();
    let last = subscription(&service, "org_acme").await;
    assert_eq!((last.status, last.proposal_limit), (Canceled, Some(9)));
}

#[tokio::test]
async fn a_subscription_that_moves_to_another_organization_leaves_the_first_one_without() {
    let service = Service::with(acme()).await;
    organization("org_two").provision(&service.stores).await;
    send(&service, billed()).await.unwrap();
    let moved = billed()
        .reported("evt_2", 2)
        .with(|state| state.organization = Some(organization_id("org_two")));
    let two = OrganizationId::parse("org_two").unwrap();
    assert_eq!(send(&service, moved).await, Ok(Followed::Organization(two)));
    assert_eq!(subscription(&service, "org_acme").await.status, Canceled);
    assert_eq!(subscription(&service, "org_two").await.proposal_limit, Some(7));
}

#[tokio::test]
async fn what_is_sent_from_several_places_at_once_is_followed_once() {
    let service = Service::with(acme()).await;
    let follow = follow(&service);
    let events: Vec<BillingEvent> = (0..8).map(|_| billed().event()).collect();
    let answers = futures::future::join_all(events.iter().map(|event| follow.execute(event))).await;
    assert!(answers.iter().all(|answer| *answer == of_acme()), "{answers:?}");
    assert_eq!(
        activities(&service.stores, &organization_id("org_acme"))
            .await
            .len(),
        1
    );
}

#[tokio::test]
async fn a_removed_organizations_reports_are_kept_for_nobody() {
    let service = Service::with(acme()).await;
    send(&service, billed()).await.unwrap();
    let acme = organization_id("org_acme");
    commit(
        &service.stores,
        &[ProvisioningChange::RemoveOrganization(acme.clone())],
    )
    .await;
    let renewed = billed().reported("evt_2", 2);
    assert_eq!(
        send(&service, renewed).await,
        Err(FollowBillingError::UnknownOrganization(acme))
    );
    let id = BilledSubscriptionId::parse("sub_1").unwrap();
    let kept = service.stores.billing.billed(&id).await.unwrap().1.unwrap();
    assert_eq!(kept.organization_id, None);
    assert_ne!(kept.events, BillingEvents::default());
}
