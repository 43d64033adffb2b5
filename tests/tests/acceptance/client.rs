//! The Rust client against the program: what it reads, sends and verifies is what the service writes, takes and signs.

use acceptance::document::{EXTERNAL, KEY, SECRET, document};
use acceptance::{Kind, Service, World, eventually, posts};
use bidloop_client::{
    ApiKey, Bid, BidOutcome, BiddingConfig, Client, Event, HourlyRateStrategy, Lead, LeadStatus, Outcome,
    Refusal, RejectOutcome, RuleCode, SignatureHeaders, TermsKind, Upload, WebhookVerifier,
};
use futures::TryStreamExt as _;
use serde_json::json;

use acceptance::world::STEP;

on_both_databases!(
    the_client_bids_rejects_uploads_and_reads_every_event,
    the_client_reads_every_shape_of_error,
);

/// What the tests await.
fn run<T>(call: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(call)
}

fn client(service: &Service) -> Client {
    let base_url = format!("http://{}", service.address());
    Client::new(&base_url, ApiKey::parse(KEY).unwrap()).unwrap()
}

fn events(world: &World) -> Vec<Event> {
    let verifier = WebhookVerifier::new([SECRET]).unwrap();
    let read = |delivery: &std::sync::Arc<bidloop_simulator::caller::Delivery>| {
        let headers = SignatureHeaders::find(|name| delivery.header(name)).unwrap();
        verifier.verify(headers, delivery.body()).unwrap().event
    };
    world.receiver.deliveries().iter().map(read).collect()
}

/// The leads of the External campaign, once there are so many.
async fn leads(client: &Client, count: u64) -> Vec<Lead> {
    loop {
        if client.leads_page(EXTERNAL, 0, 1).await.unwrap().total == count {
            return client.leads(EXTERNAL).try_collect().await.unwrap();
        }
        tokio::task::yield_now().await;
    }
}

fn the_client_bids_rejects_uploads_and_reads_every_event(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    world.simulator.publish(posts::many("Rust", 130)).unwrap();
    let client = client(&service);
    run(async {
        let leads = tokio::time::timeout(STEP, leads(&client, 130)).await.unwrap();
        let titles: std::collections::BTreeSet<&str> = leads.iter().map(|lead| lead.title.as_str()).collect();
        assert_eq!((leads.len(), titles.len()), (130, 130));
        let [first, second, third] = &leads[..3] else {
            panic!("{leads:?}")
        };
        assert_eq!(first.status, Some(LeadStatus::New));
        assert_eq!(first.metadata.hourly_rate.unwrap().max, Some(60.0));

        let files = vec![Upload::from_bytes(
            "notes.txt",
            "text/plain",
            "What I did before.",
        )];
        let attachments = client.upload(first, files).await.unwrap();
        assert_eq!(attachments[0].original_name, "notes.txt");

        let bid = Bid::new("I have done this before.").config(BiddingConfig {
            bidding_hourly_rate_strategy: Some(HourlyRateStrategy::FixedRate),
            bidding_fixed_hourly_rate: Some(52.5),
            ..BiddingConfig::default()
        });
        let BidOutcome::Accepted(ack) = client.bid(first, &bid).await.unwrap() else {
            panic!("not accepted")
        };
        assert_eq!((&ack.lead_id, ack.dry_run), (&first.id, false));
        let dry_run = client.bid(second, &bid.clone().dry_run()).await.unwrap();
        assert!(matches!(dry_run, BidOutcome::Accepted(ack) if ack.dry_run));
        let at = second.bid_url.as_deref().unwrap();
        assert!(matches!(
            client.bid_at(at, &bid).await,
            Ok(BidOutcome::Accepted(_))
        ));
        let rejected = client.reject(third, Some("too small")).await.unwrap();
        assert!(matches!(rejected, RejectOutcome::Rejected(_)));

        let conflict = client.bid(third, &bid).await.unwrap_err();
        assert_eq!((conflict.status(), conflict.attempts()), (Some(409), 1));
    });

    let ends = eventually("three ends of bids", STEP, || {
        let ends: Vec<_> = events(&world)
            .into_iter()
            .filter_map(|event| match event {
                Event::BidComplete(end) => Some(end),
                _ => None,
            })
            .collect();
        (ends.len() == 3).then_some(ends)
    });
    for end in ends {
        assert_eq!(end.outcome, Outcome::Submitted);
        let terms = end.terms.unwrap();
        assert_eq!((terms.kind, terms.amount), (TermsKind::Hourly, Some(52.5)));
        assert_eq!(end.proposal_id.is_none(), end.dry_run);
    }
    eventually("every job.new", STEP, || {
        let all = events(&world);
        let told = all
            .iter()
            .filter(|event| matches!(event, Event::JobNew(job) if job.lead.id == job.lead_id));
        (told.count() == 130).then_some(())
    });
}

fn the_client_reads_every_shape_of_error(kind: Kind) {
    let world = World::new(kind);
    let mut campaign = world.external(EXTERNAL, "rust");
    campaign["biddingConfig"] = json!({"biddingHourlyRateStrategy": "fixed_rate"});
    let mut organization = world.organization();
    organization["campaigns"] = json!([campaign]);
    organization["subscription"]["proposalLimit"] = json!(0);
    world.installation.apply(&document(organization));
    let service = world.installation.serve();
    let mut asking = posts::hourly("Rust");
    asking["questions"] = json!(["When can you begin?"]);
    world.simulator.publish(vec![asking]).unwrap();
    let client = client(&service);
    run(async {
        let leads = tokio::time::timeout(STEP, leads(&client, 1)).await.unwrap();
        let lead = &leads[0];
        let bid = Bid::new("Hello");

        let broken = client.bid(lead, &bid).await.unwrap_err();
        let Some(Refusal::Validation(refusal)) = broken.refusal() else {
            panic!("{broken:?}")
        };
        let codes: Vec<&RuleCode> = refusal.errors.iter().map(|fault| &fault.code).collect();
        assert!(
            codes.contains(&&RuleCode::QuestionMismatch) && codes.contains(&&RuleCode::FixedRateRequired)
        );

        let blank = client.bid(lead, &Bid::new(" ")).await.unwrap_err();
        let Some(Refusal::Standard(refusal)) = blank.refusal() else {
            panic!("{blank:?}")
        };
        assert_eq!(
            (refusal.status_code, refusal.errors[0].path[0].as_str()),
            (Some(400), "coverLetter")
        );

        let complete = bid
            .answer_all(lead, |_| "On Monday.".to_owned())
            .config(BiddingConfig {
                bidding_fixed_hourly_rate: Some(50.0),
                ..BiddingConfig::default()
            });
        let used_up = client.bid(lead, &complete).await.unwrap_err();
        let Some(Refusal::Quota(refusal)) = used_up.refusal() else {
            panic!("{used_up:?}")
        };
        assert_eq!(
            (refusal.code.as_str(), refusal.limit),
            ("proposal_limit_reached", Some(0))
        );

        let unknown = client.bid((EXTERNAL, "ld_none"), &complete).await.unwrap_err();
        assert_eq!(unknown.to_string(), "404: lead not found");
        let stranger = ApiKey::parse(&format!("lk_{}", "0".repeat(64))).unwrap();
        let stranger = Client::new(&format!("http://{}", service.address()), stranger).unwrap();
        let refused = stranger.leads_page(EXTERNAL, 0, 1).await.unwrap_err();
        assert_eq!((refused.status(), refused.attempts()), (Some(401), 1));
    });
}
