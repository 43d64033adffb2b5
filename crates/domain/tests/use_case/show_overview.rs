//! The numbers of the Overview, of the list of campaigns and of every page, from a loop that ran.

use std::time::Duration;

use bidloop_domain::model::{
    Connects, MemberRole, MissingPart, ReasonCode, StatisticsStep, SubscriptionStatus, UsdCents,
};
use bidloop_domain::port::{Clock as _, WebhookFailureKind};
use bidloop_domain::use_case::{
    Ending, ListCampaigns, MarketplaceReading, Overview, OverviewPeriod, ShowOverview, ShowShell, Trouble,
};
use bidloop_port_contracts::fixture::{at, campaign};
use serde_json::json;

use crate::manage_organization::member;
use crate::service::{HOOK, Service, acme, job, job_with, request};

fn show_overview(service: &Service) -> ShowOverview {
    ShowOverview {
        store: service.store.clone(),
        statistics: service.store.clone(),
        clock: service.clock.clone(),
    }
}

async fn overview(service: &Service, period: OverviewPeriod) -> Overview {
    let shown = show_overview(service)
        .execute(&member(MemberRole::Member), period)
        .await;
    shown.unwrap().unwrap()
}

/// A submitted bid, one on a closed job, and a queued one, of leads that were delivered 2 s after their posting.
async fn busy() -> Service {
    let service = Service::with(acme().campaign(campaign("rest").without_filters().paused())).await;
    for id in ["1", "2", "3"] {
        service.publish(&job(id));
    }
    service.publish(&job_with("4", json!({"title": "Go service"})));
    service.clock.advance(Duration::from_secs(2));
    service.ingest().await;
    service.deliver().await;
    service.clock.advance(Duration::from_secs(2));
    service.bid(&Service::lead_of("1"), request()).await;
    service.submit_all().await;
    service
        .marketplace
        .edit_job(&bidloop_port_contracts::fixture::job_id("2"), |live| {
            live.state.status = bidloop_domain::bidding::LiveJobStatus::Closed;
        });
    service.bid(&Service::lead_of("2"), request()).await;
    service.submit_all().await;
    service.deliver().await;
    service.bid(&Service::lead_of("3"), request()).await;
    service
}

#[tokio::test]
async fn the_overview_tells_what_the_loop_did() {
    let service = busy().await;
    for period in [OverviewPeriod::Day, OverviewPeriod::Week, OverviewPeriod::Month] {
        let shown = overview(&service, period).await;
        assert_eq!((shown.totals.bids, shown.totals.submitted), (3, 1));
        assert!(shown.totals.connects > Connects::ZERO);
        assert_eq!(shown.before.bids, 0);
        let funnel = shown.funnel;
        assert_eq!(
            (
                funnel.jobs_seen,
                funnel.matched,
                funnel.matched_paused,
                funnel.delivered,
                funnel.bids
            ),
            (4, 3, 0, 3, 3)
        );
        let ended = |reason, count| Ending { reason, count };
        assert_eq!(
            shown.endings,
            [ended(None, 1), ended(Some(ReasonCode::JobClosed), 1)]
        );
        assert_eq!(shown.queued, 1);
        let seconds = |time: Option<Duration>| time.unwrap().as_secs_f64();
        assert!((seconds(shown.delivery.p50) - 2.0).abs() < 0.1);
        assert!((seconds(shown.bid.p95) - 4.0).abs() < 0.2);
        assert_eq!(shown.totals.submission.p50, shown.totals.submission.slowest);
        assert_eq!(shown.series.len(), 1);
        assert_eq!(shown.series[0].delivery, shown.delivery);
        let camp = &shown.campaigns[0];
        assert_eq!(
            (camp.sign.id.as_str(), camp.submitted, camp.connects),
            ("camp", 1, shown.totals.connects)
        );
        assert_eq!(camp.matches.iter().sum::<u64>(), 3);
        assert_eq!(camp.matches.last(), Some(&3), "in the newest part");
        assert_eq!(shown.endpoints.len(), 1);
        assert_eq!((shown.endpoints[0].sent, shown.endpoints[0].failed), (5, 0));
        assert_eq!(shown.troubles, []);
    }
}

#[tokio::test]
async fn a_period_is_compared_with_the_one_before() {
    let service = busy().await;
    service.clock.advance(Duration::from_secs(24 * 60 * 60));
    let shown = overview(&service, OverviewPeriod::Day).await;
    assert_eq!(
        (shown.totals.bids, shown.before.bids, shown.before.submitted),
        (0, 3, 1)
    );
    assert!(shown.before.submission.p50.is_some());
    assert_eq!(shown.totals.submission.p50, None);
    assert_eq!(
        shown.from,
        StatisticsStep::Hour.shifted(StatisticsStep::Hour.start(shown.now), -23)
    );
    let week = overview(&service, OverviewPeriod::Week).await;
    assert_eq!(week.totals.bids, 3);
}

#[tokio::test]
async fn trouble_is_told() {
    let service = Service::with(acme().status(SubscriptionStatus::PastDue)).await;
    service.ingest().await;
    service.clock.advance(Duration::from_secs(300));
    let lapsed = Trouble::SubscriptionLapsed {
        status: SubscriptionStatus::PastDue,
        collection_paused: false,
    };
    let not_read = Trouble::MarketplaceNotRead { since: at(0) };
    assert_eq!(
        overview(&service, OverviewPeriod::Day).await.troubles,
        [lapsed, not_read]
    );

    let service = Service::new().await;
    for _ in 0..3 {
        service.sender.fail(HOOK, WebhookFailureKind::Timeout);
    }
    for id in ["1", "2", "3", "4"] {
        service.lead(&job(id)).await;
        service.deliver().await;
    }
    service.marketplace.revoke_token(crate::service::TOKEN);
    service.bid(&Service::lead_of("1"), request()).await;
    service.submit().await;
    let troubles = overview(&service, OverviewPeriod::Day).await.troubles;
    assert!(
        matches!(&troubles[..], [
            Trouble::AccountDisconnected { name, .. },
            Trouble::EndpointFailing { url, failed: 3, of: 4 | 5, .. },
        ] if name == "Account acct_1" && url == HOOK),
        "{troubles:?}"
    );
}

#[tokio::test]
async fn campaigns_are_listed_with_what_they_lack_and_brought_in() {
    let service = busy().await;
    let list = ListCampaigns {
        store: service.store.clone(),
        statistics: service.store.clone(),
        clock: service.clock.clone(),
    };
    let listed = list.execute(&member(MemberRole::Member)).await.unwrap().unwrap();
    let [camp, rest] = &listed[..] else {
        panic!("{listed:?}")
    };
    assert_eq!((camp.matches_today, camp.submitted, camp.filters), (3, 1, 1));
    assert!(camp.connects.cost() > UsdCents::from_cents(0) && camp.can_start());
    assert_eq!(
        (rest.matches_today, rest.submitted, rest.connects),
        (0, 0, Connects::ZERO)
    );
    assert_eq!(rest.missing, [MissingPart::Filter]);
    assert!(!rest.can_start());
}

#[tokio::test]
async fn every_page_tells_the_quota_and_whether_the_marketplace_is_read() {
    let service = busy().await;
    let shell = ShowShell {
        store: service.store.clone(),
        clock: service.clock.clone(),
    };
    let shown = async || shell.execute(&member(MemberRole::Member)).await.unwrap().unwrap();
    let now = shown().await;
    assert_eq!((now.used, now.subscription.proposal_limit), (2, Some(50)));
    assert_eq!(now.marketplace, MarketplaceReading::Current(at(2)));
    service.clock.advance(Duration::from_secs(120));
    assert_eq!(shown().await.marketplace, MarketplaceReading::Stale(at(2)));
    service.ingest().await;
    assert_eq!(
        shown().await.marketplace,
        MarketplaceReading::Current(service.clock.now())
    );
}
