//! Write automatic bids: decision D3.

use std::time::Duration;

use bidloop_domain::model::{ActivityKind, Actor, AnswerTemplate, LeadStatus, ProposalTemplate};
use bidloop_domain::port::{ProvisioningChange, StoreError};
use bidloop_domain::use_case::AutomaticBidOutcome;
use bidloop_port_contracts::fixture::{CampaignBuilder, campaign};
use serde_json::json;

use crate::service::{Service, answer, bare_acme, config, job, job_with, request};

/// The automatic campaign `camp` with this letter and an answer to “Why?”.
fn automatic(letter: Option<&str>) -> CampaignBuilder {
    let mut automatic = campaign("camp").automatic();
    automatic.0.proposal = ProposalTemplate {
        cover_letter: letter.map(str::to_owned),
        answers: vec![AnswerTemplate {
            question: "Why?".to_owned(),
            answer: "For {{ title }}.".to_owned(),
        }],
    };
    automatic
}

const LETTER: &str = "About {{ title }} for {{ campaignName }}.";

async fn write(service: &Service) -> Vec<AutomaticBidOutcome> {
    let write = service.write_automatic_bids();
    let mut outcomes = Vec::new();
    for intent in write.claim(100).await.unwrap() {
        outcomes.push(write.execute(&intent).await.unwrap());
    }
    outcomes
}

async fn assert_parked(service: &Service, why: &str) {
    assert_eq!(write(service).await, [AutomaticBidOutcome::Parked], "{why}");
    assert_eq!(service.status(&Service::lead_of("1")).await, LeadStatus::New);
    let entries = service.activities(ActivityKind::Bid).await;
    assert_eq!(entries.len(), 1, "{why}");
    let entry = &entries[0];
    assert_eq!((entry.outcome.as_str(), entry.http_status), ("refused", None));
    assert_eq!(entry.actor, Actor::service());
    assert!(entry.message.contains(why), "{}", entry.message);
    assert!(write(service).await.is_empty(), "it is not tried again");
    assert_eq!(service.stores.submissions.queued_count().await, Ok(0));
}

#[tokio::test]
async fn a_lead_of_an_active_automatic_campaign_is_bid_on_by_template() {
    let service = Service::with(bare_acme().campaign(automatic(Some(LETTER)))).await;
    let lead = service
        .lead(&job_with("1", json!({"questions": ["Why?", "Why?"]})))
        .await;
    assert_eq!(write(&service).await, [AutomaticBidOutcome::Queued]);
    let entry = service.activities(ActivityKind::Bid).await.remove(0);
    assert_eq!(
        (entry.outcome.as_str(), entry.http_status, entry.actor),
        ("accepted", None, Actor::service())
    );
    service.submit().await;
    assert_eq!(service.status(&lead).await, LeadStatus::Submitted);
    let sent = service.marketplace.proposals().remove(0).proposal;
    assert_eq!(
        sent.cover_letter.as_str(),
        "About Rust service for Campaign camp."
    );
    assert_eq!(
        sent.answers,
        [
            answer("Why?", "For Rust service."),
            answer("Why?", "For Rust service.")
        ]
    );
    assert!(
        service.events("job.new").await.is_empty(),
        "an automatic campaign pushes nothing"
    );
    assert_eq!(service.bid_complete().await["outcome"], "submitted");
}

#[tokio::test]
async fn a_lead_that_the_template_cannot_serve_stays_parked() {
    for (letter, members, why) in [
        (Some(LETTER), json!({"questions": ["How?"]}), "How?"),
        (Some("{{ budget }}"), json!({}), "budget"),
        (Some(" {{ category }} "), json!({}), "empty letter"),
        (None, json!({}), "no cover letter template"),
    ] {
        let service = Service::with(bare_acme().campaign(automatic(letter))).await;
        service.lead(&job_with("1", members)).await;
        assert_parked(&service, why).await;
    }
}

#[tokio::test]
async fn a_lead_without_an_account_quota_or_figure_stays_parked() {
    let bare = automatic(Some(LETTER)).bids_with(None);
    let mut without_figure = automatic(Some(LETTER));
    without_figure.0.bidding_config = config(json!({"biddingHourlyRateStrategy": "fixed_rate"}));
    for (organization, why) in [
        (bare_acme().campaign(bare), "no connected bidder account"),
        (bare_acme().campaign(automatic(Some(LETTER))).limit(0), "limit"),
        (bare_acme().campaign(without_figure), "bidding rules"),
    ] {
        let service = Service::with(organization).await;
        service.lead(&job("1")).await;
        assert_parked(&service, why).await;
    }
}

#[tokio::test]
async fn a_campaign_that_was_paused_switched_or_unpaid_meanwhile_does_not_bid() {
    let lapsed = bare_acme().status(bidloop_domain::model::SubscriptionStatus::Unpaid);
    let put = |campaign: CampaignBuilder| {
        ProvisioningChange::PutCampaign(Service::organization(), Box::new(campaign.0))
    };
    let mut external = automatic(Some(LETTER));
    external.0.mode = bidloop_domain::model::CampaignMode::External;
    for (change, why) in [
        (put(automatic(Some(LETTER)).paused()), "active and automatic"),
        (put(external), "active and automatic"),
        (lapsed.put_organization(), "subscription"),
    ] {
        let service = Service::with(bare_acme().campaign(automatic(Some(LETTER)))).await;
        service.lead(&job("1")).await;
        service.commit(change).await;
        assert_parked(&service, why).await;
    }
}

#[tokio::test]
async fn a_lead_that_was_decided_on_meanwhile_is_left_alone_and_nothing_is_said() {
    for by_hand in [true, false] {
        let service = Service::with(bare_acme().campaign(automatic(Some(LETTER)))).await;
        let lead = service.lead(&job("1")).await;
        if by_hand {
            service.bid(&lead, request()).await;
        } else {
            service.reject(&lead).await;
        }
        let before = service.activities(ActivityKind::Bid).await;
        assert_eq!(write(&service).await, [AutomaticBidOutcome::Superseded]);
        assert_eq!(service.activities(ActivityKind::Bid).await, before);
        assert!(write(&service).await.is_empty());
    }
}

#[tokio::test]
async fn a_crash_between_queueing_and_settling_leads_to_one_bid() {
    let service = Service::with(bare_acme().campaign(automatic(Some(LETTER)))).await;
    let lead = service.lead(&job("1")).await;
    let crashing = service.write_automatic_bids();
    let intent = crashing.claim(1).await.unwrap().remove(0);
    // What `execute` does up to the crash: the bid is queued, the intent is not settled.
    service.bid(&lead, request()).await;
    assert!(
        write(&service).await.is_empty(),
        "the intent is the crashed process's for a while"
    );
    service.clock.advance(Duration::from_secs(10));
    assert_eq!(write(&service).await, [AutomaticBidOutcome::Superseded]);
    assert_eq!(
        crashing.execute(&intent).await,
        Ok(AutomaticBidOutcome::Superseded)
    );
    assert_eq!(service.stores.submissions.queued_count().await, Ok(1));
    assert_eq!(service.activities(ActivityKind::Bid).await.len(), 1);
}

#[tokio::test]
async fn a_store_that_is_away_settles_nothing() {
    let service = Service::with(bare_acme().campaign(automatic(Some(LETTER)))).await;
    service.lead(&job("1")).await;
    let away = service.write_automatic_bids();
    let intent = away.claim(1).await.unwrap().remove(0);
    service.store.set_available(false);
    assert!(matches!(
        away.execute(&intent).await,
        Err(StoreError::Unavailable(_))
    ));
    service.store.set_available(true);
    service.clock.advance(Duration::from_secs(10));
    assert_eq!(write(&service).await, [AutomaticBidOutcome::Queued]);
}
