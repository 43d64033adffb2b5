//! What the pages of endpoints, accounts and billing show.

use std::time::Duration;

use bidloop_domain::model::{EventKind, MemberRole, MissingPart, Renewal, Subscription, SubscriptionStatus};
use bidloop_domain::port::WebhookFailureKind;
use bidloop_domain::use_case::{
    Billing, Readiness, ShowAccounts, ShowBilling, ShowIntegrations, ShowReadiness,
};
use bidloop_port_contracts::fixture::{at, campaign, campaign_id, webhook};

use crate::manage_organization::member;
use crate::service::{HOOK, Service, acme, job, request};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn integrations(service: &Service) -> ShowIntegrations {
    ShowIntegrations {
        store: service.store.clone(),
        clock: service.clock.clone(),
    }
}

async fn billing(service: &Service) -> Billing {
    let show = ShowBilling {
        store: service.store.clone(),
        statistics: service.store.clone(),
        clock: service.clock.clone(),
    };
    let shown = show.execute(&member(MemberRole::Member)).await;
    shown.unwrap().unwrap()
}

#[tokio::test]
async fn a_campaigns_endpoints_come_before_the_organizations_and_others_are_left_out() {
    let to =
        |id: &str, scope: &str| webhook(id, Some(scope), "https://hooks.test/x", &[EventKind::BidComplete]);
    let organization = acme()
        .campaign(campaign("other").paused())
        .webhook(to("wh_camp", "camp"))
        .webhook(to("wh_other", "other"));
    let service = Service::with(organization).await;
    service.lead(&job("1")).await;
    service.sender.fail(HOOK, WebhookFailureKind::ConnectFailed);
    service.deliver().await;
    let ids = async |scope: Option<&str>| -> Option<Vec<(String, Vec<bool>)>> {
        let scope = scope.map(campaign_id);
        let shown = integrations(&service);
        let shown = shown.execute(&member(MemberRole::Member), scope.as_ref()).await;
        let endpoints = shown.unwrap()?.endpoints.into_iter();
        Some(
            endpoints
                .map(|known| (known.endpoint.id.to_string(), known.last))
                .collect(),
        )
    };
    let all = ("wh_all".to_owned(), vec![false]);
    assert_eq!(ids(None).await.unwrap(), std::slice::from_ref(&all));
    assert_eq!(
        ids(Some("camp")).await.unwrap(),
        [("wh_camp".to_owned(), Vec::new()), all]
    );
    assert_eq!(ids(Some("none")).await, None);
}

#[tokio::test]
async fn campaigns_that_no_endpoint_hears_of_are_told() {
    let service = Service::with(acme().campaign(campaign("auto").automatic())).await;
    let bids_only = webhook("wh_all", None, HOOK, &[EventKind::BidComplete]);
    let put = bidloop_domain::port::ProvisioningChange::PutWebhook(Service::organization(), bids_only);
    service.commit(put).await;
    let shown = integrations(&service)
        .execute(&member(MemberRole::Owner), None)
        .await;
    let without = shown.unwrap().unwrap().without_job_new;
    let without: Vec<&str> = without.iter().map(|sign| sign.id.as_str()).collect();
    assert_eq!(without, ["camp"]);
}

#[tokio::test]
async fn a_campaign_is_shown_with_what_it_bids_with_and_lacks() {
    let to = |id: &str, scope: &str, event| webhook(id, Some(scope), "https://hooks.test/x", &[event]);
    let organization = acme()
        .campaign(campaign("auto").automatic())
        .campaign(campaign("other").paused())
        .webhook(to("wh_camp", "camp", EventKind::JobNew))
        .webhook(to("wh_bids", "camp", EventKind::BidComplete))
        .webhook(to("wh_other", "other", EventKind::JobNew));
    let service = Service::with(organization).await;
    let shown = async |campaign: &str| {
        let show = ShowReadiness {
            store: service.store.clone(),
            clock: service.clock.clone(),
        };
        let member = member(MemberRole::Member);
        show.execute(&member, &campaign_id(campaign)).await.unwrap()
    };
    let receivers = |shown: &Readiness| -> Vec<String> {
        let endpoints = shown.endpoints.iter();
        endpoints.map(|known| known.endpoint.id.to_string()).collect()
    };
    let camp = shown("camp").await.unwrap();
    assert_eq!(receivers(&camp), ["wh_all", "wh_camp"]);
    let billing = billing(&service).await;
    assert_eq!(
        (camp.proposals_left, camp.until),
        (billing.left(), billing.period.end)
    );
    assert!(camp.account.is_some_and(|account| account.connected));
    let automatic = shown("auto").await.unwrap();
    assert_eq!(receivers(&automatic), Vec::<String>::new(), "it sends none");
    assert!(
        automatic.missing.contains(&MissingPart::CoverLetter),
        "{:?}",
        automatic.missing
    );
    assert_eq!(shown("none").await, None);
}

#[tokio::test]
async fn an_account_is_shown_with_the_campaigns_that_bid_with_it() {
    let service = Service::new().await;
    let show = ShowAccounts {
        store: service.store.clone(),
        clock: service.clock.clone(),
    };
    let (accounts, _) = show.execute(&member(MemberRole::Member)).await.unwrap().unwrap();
    assert_eq!(accounts.len(), 1);
    assert_eq!(accounts[0].facts.id.as_str(), "acct_1");
    let campaigns: Vec<&str> = accounts[0]
        .campaigns
        .iter()
        .map(|sign| sign.id.as_str())
        .collect();
    assert_eq!(campaigns, ["camp"]);
}

#[tokio::test]
async fn billing_tells_the_periods_use_its_connects_and_when_the_limit_is_reached() {
    let mut organization = acme();
    organization.0.subscription = Subscription {
        status: SubscriptionStatus::Active,
        collection_paused: false,
        period_start: at(0),
        period_end: at(0).plus(10 * DAY),
        renewal: Renewal::SameLength,
        proposal_limit: Some(4),
        customer: None,
    };
    let service = Service::with(organization).await;
    let lead = service.lead(&job("1")).await;
    service.bid(&lead, request()).await;
    service.submit_all().await;
    let early = billing(&service).await;
    assert_eq!(
        (early.used, early.left(), early.a_day, early.reached_at),
        (1, Some(3), None, None)
    );
    assert_eq!(early.connects.len(), 1);
    assert_eq!(early.connects[0].id.as_str(), "acct_1");
    assert!(early.connects[0].name.is_some());
    assert!(early.connects_together().get() > 0);
    service.clock.set(at(0).plus(2 * DAY));
    let later = billing(&service).await;
    assert_eq!(
        (later.a_day, later.reached_at),
        (Some(1), Some(at(0).plus(8 * DAY)))
    );
    service.clock.set(at(0).plus(4 * DAY));
    assert_eq!(billing(&service).await.reached_at, None, "the period ends before");
}
