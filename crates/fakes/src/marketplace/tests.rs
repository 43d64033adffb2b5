//! The fake marketplace keeps the protocol's rules as far as use cases can tell.

use bidloop_domain::bidding::{JobWarning, LiveJobStatus, PaymentKind, Terms};
use bidloop_domain::model::{CoverLetter, Timestamp, UsdCents};
use bidloop_domain::port::{FeedCursor, Marketplace, MarketplaceRefusal};
use futures::executor::block_on;
use uuid::Uuid;

use super::*;
use crate::SimulatedClock;

fn token() -> MarketplaceToken {
    MarketplaceToken::parse("token_1").unwrap()
}

fn marketplace() -> (FakeMarketplace, JobId) {
    let marketplace = FakeMarketplace::new(Arc::new(SimulatedClock::at(Timestamp::from_seconds(9))));
    marketplace.put_account(token().expose(), FakeAccount::new("jane"));
    let job = publish(&marketplace, "1");
    (marketplace, job)
}

fn publish(marketplace: &FakeMarketplace, id: &str) -> JobId {
    marketplace.publish(&format!(
        r#"{{"id": "{id}", "ciphertext": "~", "title": "T", "description": "D", "url": "/jobs/~", "postedAt": 1}}"#
    ))
}

fn proposal(job: &JobId, boost: u64) -> Proposal {
    Proposal {
        job_id: job.clone(),
        cover_letter: CoverLetter::parse("Hello".to_owned()).unwrap(),
        answers: Vec::new(),
        terms: Terms {
            kind: PaymentKind::Hourly,
            amount: UsdCents::from_cents(5_000),
        },
        boost_connects: Connects::new(boost),
        required_connects: FakeMarketplace::REQUIRED_CONNECTS,
        attachments: Vec::new(),
        accept_warnings: false,
        steps: Vec::new(),
    }
}

fn submit(
    marketplace: &FakeMarketplace,
    key: u128,
    proposal: &Proposal,
) -> Result<SubmittedProposal, MarketplaceError> {
    block_on(marketplace.submit(&token(), BidId(Uuid::from_u128(key)), proposal))
}

fn refusal(answer: Result<SubmittedProposal, MarketplaceError>) -> MarketplaceRefusal {
    match answer {
        Err(MarketplaceError::Refused { refusal, .. }) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_repeated_key_gives_the_same_answer_and_has_no_further_effect() {
    let (marketplace, job) = marketplace();
    let first = submit(&marketplace, 1, &proposal(&job, 0)).unwrap();
    assert_eq!(submit(&marketplace, 1, &proposal(&job, 0)), Ok(first));
    let received = marketplace.proposals();
    assert_eq!(received.len(), 1);
    assert_eq!(
        (received[0].repeated, received[0].repeated_with_changes),
        (1, false)
    );
    submit(&marketplace, 1, &proposal(&job, 4)).unwrap();
    assert!(marketplace.proposals()[0].repeated_with_changes);
    assert_eq!(
        block_on(marketplace.account(&token())).unwrap().connects_balance,
        Connects::new(98)
    );
}

#[test]
fn an_account_has_one_proposal_a_job() {
    let (marketplace, job) = marketplace();
    let first = submit(&marketplace, 1, &proposal(&job, 0)).unwrap();
    let second = submit(&marketplace, 2, &proposal(&job, 0));
    let proposal_id = Some(first.proposal_id);
    assert_eq!(
        refusal(second),
        MarketplaceRefusal::AlreadyApplied { proposal_id }
    );
}

#[test]
fn a_boost_costs_connects_and_stands_on_the_job_among_the_best_four() {
    let (marketplace, job) = marketplace();
    marketplace.edit_job(&job, |live| {
        live.state.boosts = [9, 7, 5, 1].map(Connects::new).to_vec();
    });
    let taken = submit(&marketplace, 1, &proposal(&job, 6)).unwrap();
    assert_eq!(taken.connects_spent, Connects::new(8));
    let live = block_on(marketplace.job(&token(), &job)).unwrap();
    assert_eq!(live.state.boosts, [9, 7, 6, 5].map(Connects::new));
}

#[test]
fn closed_jobs_warnings_and_empty_accounts_refuse_a_proposal() {
    let (marketplace, job) = marketplace();
    assert_eq!(
        refusal(submit(&marketplace, 1, &proposal(&job, 99))),
        MarketplaceRefusal::InsufficientConnects
    );
    let warning = JobWarning {
        code: "odd".to_owned(),
        message: "Odd.".to_owned(),
    };
    marketplace.edit_job(&job, |live| live.state.warnings.push(warning));
    let refused = refusal(submit(&marketplace, 1, &proposal(&job, 0)));
    assert_eq!(refused, MarketplaceRefusal::JobWarning);
    marketplace.edit_job(&job, |live| live.state.status = LiveJobStatus::Closed);
    let refused = refusal(submit(&marketplace, 1, &proposal(&job, 0)));
    assert_eq!(refused, MarketplaceRefusal::JobClosed);
    marketplace.revoke_token(token().expose());
    assert_eq!(
        submit(&marketplace, 1, &proposal(&job, 0)),
        Err(MarketplaceError::InvalidToken)
    );
    assert_eq!(
        (marketplace.proposals().len(), marketplace.calls(Call::Submit)),
        (0, 4)
    );
}

#[test]
fn faults_are_used_up_in_order_and_commit_or_not_as_scripted() {
    let (marketplace, job) = marketplace();
    marketplace.script(Call::Submit, Fault::no_answer());
    marketplace.script(Call::Submit, Fault::malformed_after_commit());
    let no_answer = submit(&marketplace, 1, &proposal(&job, 0));
    assert!(matches!(no_answer, Err(MarketplaceError::NoAnswer(_))));
    assert_eq!(marketplace.proposals().len(), 0);
    let malformed = submit(&marketplace, 1, &proposal(&job, 0));
    assert!(matches!(malformed, Err(MarketplaceError::Malformed(_))));
    assert_eq!(marketplace.proposals().len(), 1);
    submit(&marketplace, 1, &proposal(&job, 0)).unwrap();
}

#[test]
fn the_feed_is_read_page_by_page_strictly_after_the_cursor() {
    let (marketplace, _) = marketplace();
    marketplace.publish_malformed(Some("2"), "no title");
    publish(&marketplace, "3");
    let first = block_on(marketplace.feed(None, 2)).unwrap();
    assert_eq!((first.entries.len(), first.has_more), (2, true));
    let second = block_on(marketplace.feed(Some(&first.cursor), 2)).unwrap();
    assert!(matches!(&second.entries[..], [FeedEntry::Job { post, .. }] if post.id.as_str() == "3"));
    assert!(!second.has_more);
    let third = block_on(marketplace.feed(Some(&second.cursor), 2)).unwrap();
    assert_eq!((third.entries.len(), third.cursor), (0, second.cursor));
    let refused = block_on(marketplace.feed(Some(&FeedCursor("elsewhere".to_owned())), 2));
    assert!(matches!(
        refused,
        Err(MarketplaceError::Refused {
            refusal: MarketplaceRefusal::Invalid,
            ..
        })
    ));
}
