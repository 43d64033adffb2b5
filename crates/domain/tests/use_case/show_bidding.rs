//! What a campaign's bids do, and what its template writes (decisions A7 and D3).

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::{AnswerTemplate, ConfigSource, Connects, MemberRole, ProposalTemplate};
use bidloop_domain::use_case::{CampaignBidding, ShowBidding};
use bidloop_fakes::PlaceholderProposalWriter;
use bidloop_port_contracts::fixture::{campaign, campaign_id};
use serde_json::json;

use crate::manage_organization::member;
use crate::service::{Service, bare_acme, config, job, job_with, links, request};

async fn service() -> Service {
    let mut own = campaign("camp").paused();
    own.0.bidding_config = config(json!({"maximumBoost": 5}));
    own.0.proposal = ProposalTemplate {
        cover_letter: Some("About {{ title }}".to_owned()),
        answers: vec![AnswerTemplate {
            question: "Why?".to_owned(),
            answer: "Because of {{ title }}".to_owned(),
        }],
    };
    Service::with(bare_acme().campaign(own)).await
}

fn show(service: &Service) -> ShowBidding {
    ShowBidding {
        provisioning: service.store.clone(),
        find: service.find_lead(),
        statistics: service.store.clone(),
        writer: Arc::new(PlaceholderProposalWriter),
        links: links(),
        clock: service.clock.clone(),
    }
}

async fn shown(service: &Service, draft: Option<&ProposalTemplate>) -> CampaignBidding {
    let show = show(service);
    let none = show
        .execute(&member(MemberRole::Member), &campaign_id("none"), None, None)
        .await;
    assert!(none.unwrap().is_none());
    let (ann, camp) = (member(MemberRole::Member), Service::campaign());
    let shown = show.execute(&ann, &camp, None, draft).await;
    shown.unwrap().unwrap()
}

#[tokio::test]
async fn each_value_tells_where_it_comes_from() {
    let shown = shown(&service().await, None).await;
    assert_eq!(shown.config.source_of("maximumBoost"), ConfigSource::Campaign);
    assert_eq!(shown.config.source_of("bidWithWarning"), ConfigSource::Default);
    assert_eq!(shown.account.unwrap().id.as_str(), "acct_1");
    assert_eq!(shown.accounts.len(), 1);
    assert_eq!(shown.preview, None, "there is nothing to write for");
}

#[tokio::test]
async fn the_template_is_previewed_on_the_newest_match_without_making_a_lead() {
    let service = service().await;
    service.publish(&job("1"));
    service.ingest().await;
    let preview = shown(&service, None).await.preview.unwrap();
    assert_eq!(preview.title, "Rust service");
    assert_eq!(preview.letter.as_deref(), Ok("About Rust service"));
    assert_eq!(preview.parked().count(), 0);
    assert!(!service.is_a_lead("1").await);
}

#[tokio::test]
async fn a_preview_tells_what_would_park_the_lead() {
    let service = service().await;
    service.publish(&job_with("1", json!({"questions": ["Why?", "When?"]})));
    service.ingest().await;
    let preview = shown(&service, None).await.preview.unwrap();
    assert_eq!(preview.answers[0].1.as_deref(), Ok("Because of Rust service"));
    let parked: Vec<&str> = preview.parked().collect();
    assert_eq!(parked, ["the campaign has no answer for the question “When?”"]);
    let draft = ProposalTemplate::default();
    let preview = shown(&service, Some(&draft)).await.preview.unwrap();
    assert_eq!(preview.parked().count(), 3);
}

#[tokio::test]
async fn another_lead_is_the_next_match_and_the_newest_comes_after_the_oldest() {
    let service = service().await;
    service.publish(&job("1"));
    service.ingest().await;
    let alone = shown(&service, None).await.preview.unwrap();
    assert_eq!(alone.another, None);
    for id in ["2", "3"] {
        service.publish(&job(id));
    }
    service.ingest().await;
    let (ann, camp) = (member(MemberRole::Member), Service::campaign());
    let (mut seen, mut next) = (Vec::new(), None);
    for _ in 0..4 {
        let show = show(&service);
        let bidding = show.execute(&ann, &camp, next.as_ref(), None).await.unwrap();
        let preview = bidding.unwrap().preview.unwrap();
        seen.push(preview.lead);
        next = preview.another;
    }
    assert_eq!(seen[0], seen[3]);
    assert!(
        seen[0] != seen[1] && seen[1] != seen[2] && seen[0] != seen[2],
        "{seen:?}"
    );
}

#[tokio::test]
async fn what_the_account_spent_is_counted_from_midnight_on() {
    let (service, lead) = Service::with_lead().await;
    assert_eq!(
        shown(&service, None).await.account.unwrap().spent_today,
        Connects::new(0)
    );
    service.bid(&lead, request()).await;
    service.submit().await;
    let spent = service.context(&lead).await.bid.unwrap().connects_spent;
    let today = shown(&service, None).await.account.unwrap().spent_today;
    assert_eq!(today, spent);
    assert!(today > Connects::new(0));
    service.clock.advance(Duration::from_secs(24 * 60 * 60));
    assert_eq!(
        shown(&service, None).await.account.unwrap().spent_today,
        Connects::new(0)
    );
}
