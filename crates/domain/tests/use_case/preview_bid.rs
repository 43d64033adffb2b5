//! Bids as they are computed before they are sent (decisions B4 to B7, C1).

use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::bidding::LiveJobStatus;
use bidloop_domain::model::{BiddingConfig, ConfigSource, Connects, LeadId, ReasonCode};
use bidloop_domain::port::Pause;
use bidloop_domain::use_case::{
    AskMarketplace, BidPreview, LeadAddress, LiveLooks, PreviewBasis, PreviewBid,
};
use bidloop_fakes::{Call, Fault};
use bidloop_port_contracts::fixture::{campaign, job_id, organization_id};
use serde_json::json;

use crate::service::{Service, bare_acme, config, job, request_with};

/// Waits for ever.
#[derive(Debug)]
struct Patient;

#[async_trait]
impl Pause for Patient {
    async fn pause(&self, _: Duration) {
        std::future::pending::<()>().await;
    }
}

fn preview_bid(service: &Service) -> PreviewBid {
    PreviewBid {
        find: service.find_lead(),
        marketplace: Some(service.marketplace.clone()),
        clock: service.clock.clone(),
        pause: std::sync::Arc::new(Patient),
        looks: std::sync::Arc::new(LiveLooks::default()),
    }
}

async fn preview(
    previews: &PreviewBid,
    lead: &LeadId,
    overrides: BiddingConfig,
    ask: AskMarketplace,
) -> BidPreview {
    let address = LeadAddress::of(lead.clone());
    let (organization, campaign) = (Service::organization(), Service::campaign());
    let shown = previews
        .execute(&organization, &campaign, &address, &overrides, ask)
        .await;
    shown.unwrap().unwrap()
}

fn budget() -> BiddingConfig {
    config(json!({"biddingHourlyRateStrategy": "match_job_budget", "biddingHourlyRatePercentage": 90}))
}

#[tokio::test]
async fn a_preview_is_what_submission_would_decide_from_the_same_state() {
    let (service, lead) = Service::with_lead().await;
    service.marketplace.edit_job(&job_id("1"), |live| {
        live.state.required_connects = Connects::new(16);
        live.state.boosts = vec![Connects::new(10), Connects::new(3)];
    });
    let overrides = json!({
        "biddingHourlyRateStrategy": "match_job_budget", "biddingHourlyRatePercentage": 90,
        "boostingEnabled": true, "maximumBoost": 25,
    });
    let shown = preview(
        &preview_bid(&service),
        &lead,
        config(overrides.clone()),
        AskMarketplace::Yes,
    )
    .await;
    assert_eq!(shown.basis, PreviewBasis::Live(service.now()));
    let proposal = shown.proposal.unwrap().unwrap();
    assert_eq!(proposal.terms.amount.unwrap().to_string(), "54.00");
    assert_eq!(proposal.required_connects, Some(Connects::new(16)));
    let (connects, cost) = proposal.cost.unwrap();
    assert_eq!((connects.get(), cost.to_string()), (27, "4.05".to_owned()));
    assert_eq!(shown.config.source_of("boostingEnabled"), ConfigSource::Request);
    assert_eq!(shown.config.source_of("bidWithWarning"), ConfigSource::Default);
    assert_eq!(
        shown.account.unwrap().reading.unwrap().connects_balance.get(),
        100
    );
    assert_eq!(service.marketplace.proposals().len(), 0);

    service.bid(&lead, request_with(overrides)).await;
    service.submit_all().await;
    let sent = &service.marketplace.proposals()[0];
    assert_eq!(Some(sent.proposal.terms.amount), proposal.terms.amount);
    assert_eq!(sent.proposal.boost_connects, proposal.boost.unwrap().connects);
    let steps: Vec<String> = shown.steps.into_iter().map(|step| step.step).collect();
    assert_eq!(service.steps().await[..steps.len()], steps[..]);
}

#[tokio::test]
async fn a_preview_tells_why_nothing_would_be_sent() {
    let (service, lead) = Service::with_lead().await;
    service
        .marketplace
        .edit_job(&job_id("1"), |live| live.state.status = LiveJobStatus::Closed);
    let shown = preview(&preview_bid(&service), &lead, budget(), AskMarketplace::Yes).await;
    let reason = shown.proposal.unwrap().unwrap_err();
    assert_eq!(reason.code, ReasonCode::JobClosed);
    assert_eq!(shown.steps.last().unwrap().says, "The job is closed.");
}

#[tokio::test]
async fn without_asking_a_preview_knows_what_a_dry_run_knows() {
    let (service, lead) = Service::with_lead().await;
    let previews = preview_bid(&service);
    let shown = preview(&previews, &lead, budget(), AskMarketplace::No).await;
    assert_eq!(shown.basis, PreviewBasis::Known("the marketplace was not asked"));
    let proposal = shown.proposal.unwrap().unwrap();
    assert_eq!(proposal.terms.amount.unwrap().to_string(), "54.00");
    assert_eq!((proposal.required_connects, proposal.cost), (None, None));
    assert_eq!(service.marketplace.calls(Call::Job), 0);
    let unknown = preview(&previews, &lead, BiddingConfig::default(), AskMarketplace::No).await;
    assert_eq!(
        unknown.proposal.unwrap().unwrap().terms.amount,
        None,
        "the profile rate is unknown"
    );
}

#[tokio::test]
async fn the_marketplace_is_asked_once_in_two_seconds_for_a_lead() {
    let (service, lead) = Service::with_lead().await;
    let previews = preview_bid(&service);
    for expected in [1, 1, 2] {
        let shown = preview(&previews, &lead, budget(), AskMarketplace::Yes).await;
        assert!(matches!(shown.basis, PreviewBasis::Live(_)));
        assert_eq!(service.marketplace.calls(Call::Job), expected);
        service.clock.advance(Duration::from_secs(1));
    }
}

#[tokio::test]
async fn a_marketplace_that_does_not_answer_leaves_a_preview_of_what_is_known() {
    let (service, lead) = Service::with_lead().await;
    let previews = preview_bid(&service);
    service.marketplace.script(Call::Job, Fault::unavailable());
    let shown = preview(&previews, &lead, budget(), AskMarketplace::Yes).await;
    let failed = "the marketplace did not tell the job's state";
    assert_eq!(shown.basis, PreviewBasis::Known(failed));
    assert!(shown.proposal.unwrap().is_ok());
    let again = preview(&previews, &lead, budget(), AskMarketplace::Yes).await;
    assert!(
        matches!(again.basis, PreviewBasis::Known(_)),
        "it is left alone for two seconds"
    );
    assert_eq!(service.marketplace.calls(Call::Job), 1);
    let none = PreviewBid {
        marketplace: None,
        ..preview_bid(&service)
    };
    let shown = preview(&none, &lead, budget(), AskMarketplace::Yes).await;
    assert_eq!(shown.basis, PreviewBasis::Known("no marketplace is set up"));
}

#[tokio::test]
async fn a_campaign_without_a_connected_account_asks_nothing() {
    let service = Service::with(bare_acme().campaign(campaign("camp").bids_with(None))).await;
    let lead = service.lead(&job("1")).await;
    let shown = preview(&preview_bid(&service), &lead, budget(), AskMarketplace::Yes).await;
    assert_eq!(shown.account, None);
    let why = "the campaign has no connected bidder account";
    assert_eq!(shown.basis, PreviewBasis::Known(why));
    assert_eq!(service.marketplace.calls(Call::Job), 0);
}

#[tokio::test]
async fn faults_of_the_configuration_are_told_and_nothing_is_computed() {
    let (service, lead) = Service::with_lead().await;
    let previews = preview_bid(&service);
    let bounds = config(json!({"minBoost": 9, "maximumBoost": 3}));
    let shown = preview(&previews, &lead, bounds, AskMarketplace::Yes).await;
    assert!(shown.shape_fault.is_some() && shown.proposal.is_none());
    let no_rate = config(json!({"biddingHourlyRateStrategy": "fixed_rate"}));
    let shown = preview(&previews, &lead, no_rate, AskMarketplace::Yes).await;
    assert!(shown.rate_fault.is_some() && shown.proposal.is_none());
    assert_eq!(service.marketplace.calls(Call::Job), 0);
}

#[tokio::test]
async fn the_files_are_the_leads_or_else_the_campaigns() {
    let service = Service::with(bare_acme().campaign(campaign("camp").attachment("portfolio.pdf"))).await;
    let lead = service.lead(&job("1")).await;
    let shown = preview(&preview_bid(&service), &lead, budget(), AskMarketplace::No).await;
    assert!(!shown.attachments_are_the_leads);
    assert_eq!(shown.attachments.len(), 1);
}

#[tokio::test]
async fn a_match_without_a_record_has_a_preview_and_another_organizations_has_none() {
    let service = Service::with(bare_acme().account("acct_1").campaign(campaign("camp").paused())).await;
    service.publish(&job("1"));
    service.ingest().await;
    let previews = preview_bid(&service);
    let lead = Service::lead_of("1");
    assert!(
        preview(&previews, &lead, budget(), AskMarketplace::No)
            .await
            .proposal
            .is_some()
    );
    assert!(!service.is_a_lead("1").await);
    let elsewhere = previews
        .execute(
            &organization_id("org_other"),
            &Service::campaign(),
            &LeadAddress::of(lead),
            &budget(),
            AskMarketplace::No,
        )
        .await;
    assert_eq!(elsewhere, Ok(None));
}
