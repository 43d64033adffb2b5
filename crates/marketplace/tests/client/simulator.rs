//! The client and the simulator, written from the same contract and from nothing else in common.

use bidloop_domain::bidding::{LiveJobStatus, PaymentKind};
use bidloop_domain::model::Connects;
use bidloop_domain::port::{FeedCursor, FeedEntry, Marketplace as _, MarketplaceError, MarketplaceRefusal};
use bidloop_simulator::{Options, Simulator};
use serde_json::json;

use crate::fixtures::{TOKEN, client, file, hasty_client, job_id, key, proposal, token};

async fn simulator() -> Simulator {
    let simulator = Simulator::start("127.0.0.1:0", Options::default()).await.unwrap();
    simulator
        .put_account(
            TOKEN.expose(),
            json!({"id": "acct_1", "name": "Jane", "connectsBalance": 80, "profileHourlyRate": 45.5}),
        )
        .unwrap();
    simulator
        .publish(vec![
            json!({"id": "7", "title": "Rust", "questions": ["Why?"], "metadata": {"paymentType": "Hourly"}}),
            json!({"id": "8", "title": "Fixed", "metadata": {"paymentType": "Fixed-price", "fixedPrice": 900}}),
            json!({"id": "9", "title": "Third"}),
        ])
        .unwrap();
    simulator
}

#[tokio::test]
async fn the_feed_is_read_page_by_page() {
    let simulator = simulator().await;
    let client = client(simulator.base_url());
    let mut ids = Vec::new();
    let mut cursor: Option<FeedCursor> = None;
    loop {
        let page = client.feed(cursor.as_ref(), 2).await.unwrap();
        for entry in &page.entries {
            let FeedEntry::Job { post, json } = entry else {
                panic!("{entry:?}")
            };
            assert!(json.contains(&post.title));
            ids.push(post.id.to_string());
        }
        cursor = Some(page.cursor);
        if !page.has_more {
            break;
        }
    }
    assert_eq!(ids, ["7", "8", "9"]);
    assert!(
        client.feed(cursor.as_ref(), 2).await.unwrap().entries.is_empty(),
        "drained"
    );
    let refused = client
        .feed(Some(&FeedCursor("never given out".to_owned())), 2)
        .await;
    assert!(
        matches!(refused, Err(MarketplaceError::Refused { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_bid_goes_its_whole_way() {
    let simulator = simulator().await;
    let client = client(simulator.base_url());
    let live = client.job(&TOKEN, &job_id("7")).await.unwrap();
    assert_eq!(live.state.status, LiveJobStatus::Open);
    let account = client.account(&TOKEN).await.unwrap();
    assert_eq!(
        (account.connects_balance, account.profile_hourly_rate),
        (Connects::new(80), Some(45.5))
    );

    let attachment = client
        .upload(&TOKEN, file("Angebot \"für\" uns.txt", vec![Ok("hello".into())]))
        .await
        .unwrap();
    let mut sent = proposal("7");
    sent.attachments = vec![attachment.clone()];
    let submitted = client.submit(&TOKEN, key(), &sent).await.unwrap();
    let again = client.submit(&TOKEN, key(), &sent).await.unwrap();
    assert_eq!(submitted, again, "the same key has no further effect");

    let proposals = simulator.proposals();
    assert_eq!(proposals.len(), 1);
    assert_eq!(proposals[0]["idempotencyKey"], key().to_string());
    assert_eq!(proposals[0]["repeats"], 1);
    assert_eq!(proposals[0]["body"]["attachments"], json!([attachment]));
    let left = client.account(&TOKEN).await.unwrap().connects_balance;
    assert_eq!(left, Connects::new(80).minus(submitted.connects_spent));
}

#[tokio::test]
async fn each_refusal_has_its_own_meaning() {
    let simulator = simulator().await;
    let client = client(simulator.base_url());
    let refusal = |result: Result<_, MarketplaceError>| match result.unwrap_err() {
        MarketplaceError::Refused { refusal, .. } => refusal,
        other => panic!("{other:?}"),
    };
    let unknown = client.job(&TOKEN, &job_id("../account")).await.map(drop);
    assert_eq!(refusal(unknown), MarketplaceRefusal::NotFound);
    assert_eq!(
        client.account(&token("tk_unknown")).await,
        Err(MarketplaceError::InvalidToken)
    );

    let mut fixed = proposal("8");
    fixed.answers.clear();
    fixed.attachments.clear();
    let wrong_kind = client.submit(&TOKEN, key(), &fixed).await.map(drop);
    assert_eq!(refusal(wrong_kind), MarketplaceRefusal::Invalid);
    fixed.terms.kind = PaymentKind::Fixed;
    fixed.boost_connects = Connects::new(1000);
    let dear = client.submit(&TOKEN, key(), &fixed).await.map(drop);
    assert_eq!(refusal(dear), MarketplaceRefusal::InsufficientConnects);
}

#[tokio::test]
async fn a_proposal_whose_answer_was_lost_is_found_again_under_its_key() {
    let simulator = simulator().await;
    simulator
        .put_faults(&json!([{"call": "POST /api/proposals", "times": 1, "dropAfterCommit": true}]))
        .unwrap();
    let client = client(simulator.base_url());
    let mut sent = proposal("7");
    sent.attachments.clear();
    let lost = client.submit(&TOKEN, key(), &sent).await;
    assert!(matches!(lost, Err(MarketplaceError::NoAnswer(_))), "{lost:?}");
    client.submit(&TOKEN, key(), &sent).await.unwrap();
    assert_eq!(simulator.proposals().len(), 1);
}

#[tokio::test]
async fn each_fault_of_the_marketplace_has_its_own_error() {
    let simulator = simulator().await;
    simulator
        .put_faults(&json!([
            {"call": "GET /api/account", "times": 1, "status": 503},
            {"call": "GET /api/account", "times": 1, "malformed": true},
            {"call": "GET /api/account", "times": 1, "hang": true},
        ]))
        .unwrap();
    let client = hasty_client(simulator.base_url());
    let passing = client.account(&TOKEN).await;
    assert!(
        matches!(passing, Err(MarketplaceError::TryLater { .. })),
        "{passing:?}"
    );
    let malformed = client.account(&TOKEN).await;
    assert!(
        matches!(malformed, Err(MarketplaceError::Malformed(_))),
        "{malformed:?}"
    );
    let silent = client.account(&TOKEN).await;
    assert!(matches!(silent, Err(MarketplaceError::NoAnswer(_))), "{silent:?}");
}
