//! The Feed of the console (decisions E5 and E9).

use std::time::Duration;

use bidloop_domain::matching::Verdict;
use bidloop_domain::model::{LeadId, LeadStatus};
use bidloop_domain::use_case::{FEED_PAGE, FeedPart, FeedRequest, LeadAddress, LeadError, ShownFeed};
use bidloop_port_contracts::fixture::{at, campaign, campaign_id, job_id, organization_id};
use serde_json::json;

use crate::service::{Service, bare_acme, dry_run, job, job_with, request, request_with};

async fn feed(service: &Service, request: FeedRequest) -> ShownFeed {
    let shown = service
        .show_feed()
        .execute(&Service::organization(), &Service::campaign(), &request)
        .await;
    shown.unwrap().unwrap()
}

fn of(status: LeadStatus) -> FeedRequest {
    FeedRequest {
        status: Some(status),
        ..FeedRequest::default()
    }
}

fn search(words: &str, below: Option<u64>) -> FeedRequest {
    FeedRequest {
        search: words.to_owned(),
        below,
        ..FeedRequest::default()
    }
}

fn ids(shown: &ShownFeed) -> Vec<&str> {
    shown.cards.iter().map(|card| card.post.id.as_str()).collect()
}

async fn paused() -> Service {
    Service::with(bare_acme().account("acct_1").campaign(campaign("camp").paused())).await
}

#[tokio::test]
async fn the_feed_shows_posts_filters_and_counts_and_makes_no_lead() {
    let service = paused().await;
    service
        .put_filter(json!({"keywords": "rust", "client": {"minRating": 4}, "whenUnknown": "match"}))
        .await;
    service.publish(&job("1"));
    service.ingest().await;
    let shown = feed(&service, FeedRequest::default()).await;
    assert_eq!(shown.campaign_name, "Campaign camp");
    assert_eq!((shown.counts.all, shown.counts.new), (1, 1));
    assert_eq!(shown.part, FeedPart::Page { offset: 0, total: 1 });
    let card = &shown.cards[0];
    assert_eq!(card.post.title, "Rust service");
    assert_eq!(card.job_url, "https://market.test/jobs/~1");
    assert_eq!((card.is_stored, card.lead.status), (false, LeadStatus::New));
    let matched = card.matched.as_ref().unwrap();
    assert_eq!(matched.name, "Changed");
    let verdicts: Vec<Verdict> = matched
        .explanation
        .conditions
        .iter()
        .map(|known| known.result)
        .collect();
    assert_eq!(verdicts, [Verdict::Held, Verdict::Unknown]);
    assert!(!service.is_a_lead("1").await);
}

#[tokio::test]
async fn an_unknown_campaign_has_no_feed() {
    let service = Service::new().await;
    for (organization, campaign) in [("org_acme", "nothing"), ("org_other", "camp")] {
        let shown = service
            .show_feed()
            .execute(
                &organization_id(organization),
                &campaign_id(campaign),
                &FeedRequest::default(),
            )
            .await;
        assert_eq!(shown, Ok(None));
    }
}

#[tokio::test]
async fn a_status_shows_its_leads_with_their_bids() {
    let service = Service::new().await;
    let lead = service.lead(&job("1")).await;
    service.lead(&job("2")).await;
    service.bid(&lead, request()).await;
    service.submit_all().await;
    service.reject(&Service::lead_of("2")).await;
    let submitted = feed(&service, of(LeadStatus::Submitted)).await;
    assert_eq!(ids(&submitted), ["1"]);
    assert_eq!(submitted.part, FeedPart::Page { offset: 0, total: 1 });
    let card = &submitted.cards[0];
    let bid = card.bid.as_ref().unwrap();
    assert_eq!(card.connects_cost, bid.connects_spent.cost());
    assert!(bid.connects_spent.get() > 0);
    let rejected = feed(&service, of(LeadStatus::Rejected)).await;
    assert_eq!(rejected.cards[0].rejected_by, Some(Service::caller().actor()));
    assert!(feed(&service, of(LeadStatus::New)).await.cards.is_empty());
}

#[tokio::test]
async fn a_search_finds_whole_words_in_title_description_and_skills() {
    let service = paused().await;
    for (id, members) in [
        (
            "1",
            json!({"title": "Warehouse", "description": "An inventory in Rust"}),
        ),
        ("2", json!({"description": "Inventories of a warehouse"})),
        ("3", json!({"skills": [{"name": "Warehouse inventory"}]})),
    ] {
        service.publish(&job_with(id, members));
        service.ingest().await;
        service.clock.advance(Duration::from_secs(1));
    }
    let found = feed(&service, search("INVENTORY warehouse", None)).await;
    assert_eq!(ids(&found), ["3", "1"]);
    let everything = FeedPart::Found {
        searched: 3,
        older_below: None,
    };
    assert_eq!(found.part, everything);
    assert_eq!(found.counts.all, 3, "the counts are the campaign's");
    assert_eq!(
        ids(&feed(&service, search("inventor*", None)).await),
        ["3", "2", "1"]
    );
    assert!(feed(&service, search("cobol", None)).await.cards.is_empty());
    let none = FeedRequest {
        status: Some(LeadStatus::Rejected),
        ..search("warehouse", None)
    };
    assert!(feed(&service, none).await.cards.is_empty());
    assert_eq!(ids(&feed(&service, search(" ", None)).await), ["3", "2", "1"]);
}

#[tokio::test]
async fn a_search_goes_on_where_a_full_page_ended() {
    let service = paused().await;
    let count = u64::from(FEED_PAGE) + 7;
    for number in 0..count {
        service.publish(&job(&number.to_string()));
    }
    service.ingest().await;
    let first = feed(&service, search("rust", None)).await;
    assert_eq!(first.cards.len() as u64, u64::from(FEED_PAGE));
    let FeedPart::Found {
        searched,
        older_below: Some(below),
    } = first.part
    else {
        panic!("{:?}", first.part)
    };
    assert_eq!((searched, below), (u64::from(FEED_PAGE), 8));
    let rest = feed(&service, search("rust", Some(below))).await;
    assert_eq!(rest.cards.len(), 7);
    let end = FeedPart::Found {
        searched: 7,
        older_below: None,
    };
    assert_eq!(rest.part, end);
    let mut all: Vec<&str> = ids(&first);
    all.extend(ids(&rest));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len() as u64, count);
}

#[tokio::test]
async fn a_search_that_finds_nothing_ends_after_a_bounded_number_of_matches() {
    let service = paused().await;
    for number in 0..5_050 {
        service.publish(&job(&number.to_string()));
    }
    service.ingest().await;
    let bounded = feed(&service, search("cobol", None)).await;
    let part = FeedPart::Found {
        searched: 5_000,
        older_below: Some(51),
    };
    assert_eq!(bounded.part, part);
    let rest = feed(&service, search("cobol", Some(51))).await;
    let end = FeedPart::Found {
        searched: 50,
        older_below: None,
    };
    assert_eq!(rest.part, end);
}

#[tokio::test]
async fn an_accepted_action_on_a_card_makes_its_match_a_lead_and_a_refused_one_does_not() {
    let service = paused().await;
    service.publish(&job("1"));
    service.ingest().await;
    let lead = Service::lead_of("1");
    let (organization, campaign) = (Service::organization(), Service::campaign());
    let find = service.find_lead();
    for job in [None, Some(job_id("1")), Some(job_id("2"))] {
        let address = LeadAddress {
            lead: lead.clone(),
            job,
        };
        let found = find.find(&organization, &campaign, &address).await.unwrap();
        assert_eq!(found.unwrap().lead.lead.id, lead);
        assert!(!service.is_a_lead("1").await, "looking makes no lead");
    }
    let address = LeadAddress::of(lead.clone());
    let unknown = LeadAddress::of(LeadId::parse("ld_0").unwrap());
    assert_eq!(find.locate(&organization, &campaign, &unknown).await, Ok(None));
    let located = find.locate(&organization, &campaign, &address).await;
    let located = located.unwrap().unwrap();
    assert_eq!(located.job, Some(job_id("1")));

    let requester = Service::requester();
    let faulty = request_with(json!({"minBoost": 9, "maximumBoost": 2}));
    let (submit, reject) = (service.submit_bid(), service.reject_lead());
    let bid = async |request| submit.execute(&requester, &campaign, &located, Ok(request)).await;
    assert!(matches!(bid(faulty).await, Err(LeadError::Malformed(_))));
    assert!(bid(dry_run(request())).await.is_ok());
    assert!(
        !service.is_a_lead("1").await,
        "neither a fault nor a dry run makes a lead"
    );
    // The API acts on leads that have a record.
    let unlisted = reject.execute(&requester, &campaign, &lead, Ok(None)).await;
    assert_eq!(unlisted, Err(LeadError::LeadUnknown));
    let rejected = reject.execute(&requester, &campaign, &located, Ok(None)).await;
    assert_eq!(rejected, Ok(()));
    assert!(service.is_a_lead("1").await);
    let elsewhere = organization_id("org_other");
    assert!(
        find.find(&elsewhere, &campaign, &address)
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(service.context(&lead).await.lead.lead.created_at, at(0));
}
