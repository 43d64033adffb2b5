//! Deliver webhooks: Events of the specification; decisions C2 to C5, C7 and C8.

use std::collections::HashSet;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::{
    ActivityKind, ActivityOutcome, EventKind, TraceParent, WebhookSecret, webhook_signature,
};
use bidloop_domain::port::{
    OutgoingWebhook, ProvisioningChange, WebhookAttempt, WebhookFailure, WebhookFailureKind, WebhookRecord,
    WebhookSender,
};
use bidloop_domain::use_case::{DeliverWebhooks, MAX_IN_FLIGHT, Requester, SentDelivery};
use bidloop_port_contracts::fixture::{at, campaign, organization, webhook};
use serde_json::{Value, json};

use crate::service::{HOOK, Service, acme, bare_acme, dry_run, job, job_with, request};
use crate::stepping::Pass;

fn body(webhook: &OutgoingWebhook) -> Value {
    serde_json::from_slice(&webhook.body).unwrap()
}

fn header<'a>(webhook: &'a OutgoingWebhook, name: &str) -> &'a str {
    let found: Vec<&str> = webhook
        .headers
        .iter()
        .filter(|(known, _)| *known == name)
        .map(|(_, value)| &**value)
        .collect();
    assert_eq!(found.len(), 1, "{name}");
    found[0]
}

fn is_signed_with(webhook: &OutgoingWebhook, secret: &WebhookSecret, service: &Service) -> bool {
    let signed_at = service.now().as_seconds();
    assert_eq!(header(webhook, "webhook-timestamp"), signed_at.to_string());
    let id = header(webhook, "webhook-id");
    let signature = webhook_signature::sign(slice::from_ref(secret), id, signed_at, &webhook.body);
    header(webhook, "webhook-signature")
        .split(' ')
        .any(|one| one == signature)
}

fn put(record: WebhookRecord) -> ProvisioningChange {
    ProvisioningChange::PutWebhook(Service::organization(), record)
}

fn hook() -> WebhookRecord {
    webhook("wh_all", None, HOOK, &[EventKind::JobNew, EventKind::BidComplete])
}

#[tokio::test]
async fn job_new_is_the_specifications_payload() {
    let service = Service::new().await;
    let qualifications = json!({"location": null, "talentType": "ANY", "englishLevel": null, "minimumEarnings": null,
                                "jobSuccessScore": 0, "includeRisingTalent": true});
    let open =
        json!([{"id": "9", "ciphertext": "~9", "title": "Other", "type": "FIXED", "isPtcPrivate": false}]);
    let members =
        json!({"vendorQualifications": qualifications, "clientReviews": [], "openJobs": open, "new": 1});
    let lead = service.lead(&job_with("1", members)).await;
    service.clock.set(at(7));
    service.deliver().await;
    let sent = service.sender.sent_to(HOOK);
    assert_eq!(sent.len(), 1);
    let mut envelope = body(&sent[0]);
    let id = envelope["id"].take();
    assert_eq!(
        uuid::Uuid::parse_str(id.as_str().unwrap()).unwrap().to_string(),
        id
    );
    let url = |operation: &str| format!("https://bids.test/v1/campaigns/camp/leads/{lead}/{operation}");
    assert_eq!(
        envelope,
        json!({
            "id": null, "event": "job.new", "version": "2026-09-10", "createdAt": at(0).as_seconds(),
            "data": {
                "organizationId": "org_acme", "campaignId": "camp", "leadId": lead,
                "bidUrl": url("bid"), "rejectUrl": url("reject"),
                "lead": {
                    "id": lead, "status": "new", "createdAt": at(0).as_millis(), "datetime": at(0).as_millis(),
                    "title": "Rust service", "description": "Build it.",
                    "jobUrl": "https://market.test/jobs/~1", "ciphertext": "~1", "category": null,
                    "occupation": null, "skills": [], "questions": [], "projectType": null,
                    "projectDuration": null, "isFeatured": null, "region": null,
                    "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 40, "max": 60}}, "clientInfo": {},
                    "attachments": null, "vendorQualifications": qualifications, "clientReviews": [],
                    "openJobs": open, "campaignId": "camp", "campaignName": "Campaign camp",
                    "organizationId": "org_acme", "proposalId": null,
                },
            },
        })
    );
}

#[tokio::test]
async fn every_delivery_carries_its_id_and_a_standard_webhooks_signature() {
    let (service, lead) = Service::with_lead().await;
    crate::submit_bid::bid(&service, &lead, Ok(dry_run(request())))
        .await
        .unwrap();
    service.clock.set(at(7));
    service.deliver().await;
    let sent = service.sender.sent_to(HOOK);
    assert_eq!(sent.len(), 2);
    for webhook in &sent {
        let id = body(webhook)["id"].as_str().unwrap().to_owned();
        assert_eq!(
            (
                header(webhook, "webhook-id"),
                header(webhook, "x-service-delivery-id")
            ),
            (&*id, &*id)
        );
        assert_eq!(
            header(webhook, "webhook-timestamp"),
            at(7).as_seconds().to_string()
        );
        assert_eq!(header(webhook, "content-type"), "application/json");
        assert!(is_signed_with(webhook, &hook().secret, &service));
        assert!(!is_signed_with(
            webhook,
            &WebhookSecret::generate([8; 32]),
            &service
        ));
    }
    assert_eq!(body(&sent[1])["event"], "bid_complete");
}

#[tokio::test]
async fn the_activity_of_a_dry_runs_delivery_says_that_it_was_one() {
    let (service, lead) = Service::with_lead().await;
    crate::submit_bid::bid(&service, &lead, Ok(dry_run(request())))
        .await
        .unwrap();
    service.deliver().await;
    let mut told: Vec<(Value, bool)> = service
        .activities(ActivityKind::Delivery)
        .await
        .into_iter()
        .map(|entry| (entry.details["event"].clone(), entry.dry_run))
        .collect();
    told.sort_by_key(|(event, _)| event.to_string());
    assert_eq!(told, [(json!("bid_complete"), true), (json!("job.new"), false)]);
}

#[tokio::test]
async fn what_follows_from_a_bid_carries_the_trace_of_its_request_and_nothing_else_does() {
    let (service, lead) = Service::with_lead().await;
    let trace = TraceParent::new(7, 8, true).unwrap();
    let requester = Requester {
        trace_parent: Some(trace),
        ..Service::requester()
    };
    for bid in [dry_run(request()), request()] {
        let submit_bid = service.submit_bid();
        let campaign = Service::campaign();
        let accepted = submit_bid.execute(&requester, &campaign, &lead, Ok(bid));
        accepted.await.unwrap();
    }
    service.submit().await;
    service.deliver().await;
    let sent = service.sender.sent_to(HOOK);
    assert_eq!(sent.len(), 3);
    for webhook in sent {
        let is_of_bid = body(&webhook)["event"] == "bid_complete";
        let mut headers = webhook.headers.iter();
        let told = headers.find(|(name, _)| *name == "traceparent");
        let told = told.map(|(_, value)| value.clone());
        assert_eq!(told, is_of_bid.then(|| trace.to_string()));
    }
}

#[tokio::test]
async fn both_secrets_sign_until_the_overlap_ends() {
    let service = Service::new().await;
    let (old, new) = (hook().secret, WebhookSecret::generate([9; 32]));
    let rotated = WebhookRecord {
        secret: new.clone(),
        previous_secret: Some((old.clone(), at(60))),
        ..hook()
    };
    service.commit(put(rotated)).await;
    for (second, old_signs) in [(59, true), (60, false)] {
        service.publish(&job(&second.to_string()));
        service.ingest().await;
        service.clock.set(at(second));
        service.deliver().await;
        let sent = service.sender.sent_to(HOOK).pop().unwrap();
        assert!(is_signed_with(&sent, &new, &service));
        assert_eq!(is_signed_with(&sent, &old, &service), old_signs);
    }
}

#[tokio::test]
async fn an_event_goes_once_a_url_to_whoever_subscribes() {
    let (new, complete) = (&[EventKind::JobNew][..], &[EventKind::BidComplete][..]);
    let mut inactive = webhook("wh_off", None, "https://hooks.test/off", new);
    inactive.endpoint.active = false;
    let service = Service::with(
        organization("org_acme")
            .campaign(campaign("camp"))
            .campaign(campaign("other").without_filters())
            .webhook(webhook("wh_org", None, "https://hooks.test/one", new))
            .webhook(webhook("wh_camp", Some("camp"), "https://hooks.test/one", new))
            .webhook(webhook("wh_two", None, "https://hooks.test/two", new))
            .webhook(webhook(
                "wh_complete",
                None,
                "https://hooks.test/complete",
                complete,
            ))
            .webhook(webhook(
                "wh_other",
                Some("other"),
                "https://hooks.test/other",
                new,
            ))
            .webhook(inactive),
    )
    .await;
    service.lead(&job("1")).await;
    service.deliver().await;
    let mut urls: Vec<String> = service
        .sender
        .sent()
        .into_iter()
        .map(|webhook| webhook.url)
        .collect();
    urls.sort();
    assert_eq!(urls, ["https://hooks.test/one", "https://hooks.test/two"]);
    let ids: HashSet<String> = service
        .sender
        .sent()
        .iter()
        .map(|sent| header(sent, "webhook-id").to_owned())
        .collect();
    assert_eq!(ids.len(), 2, "an id an endpoint and event");
    let entries = service.activities(ActivityKind::Delivery).await;
    let mut endpoints: Vec<&str> = entries
        .iter()
        .map(|entry| entry.details["endpointId"].as_str().unwrap())
        .collect();
    endpoints.sort_unstable();
    assert_eq!(
        endpoints,
        ["wh_camp", "wh_two"],
        "the campaign's endpoint of one URL"
    );
}

#[tokio::test]
async fn a_failed_delivery_is_recorded_and_not_repeated_and_the_next_goes_out_normally() {
    let service = Service::new().await;
    service.sender.answer_status(HOOK, 503, "busy");
    service.sender.fail(HOOK, WebhookFailureKind::Timeout);
    for id in ["1", "2", "3"] {
        service.lead(&job(id)).await;
        service.deliver().await;
        service.clock.advance(Duration::from_secs(1));
    }
    service.clock.advance(Duration::from_secs(3_600));
    service.deliver().await;
    assert_eq!(service.sender.sent().len(), 3);
    let entries = service.activities(ActivityKind::Delivery).await;
    let told: Vec<Value> = entries
        .iter()
        .rev()
        .map(|entry| {
            let details = &entry.details;
            json!([
                entry.outcome,
                details["responseStatus"],
                details["responseBody"],
                details["reason"],
                details["durationMs"],
                details["event"],
                details["url"],
                details["endpointId"]
            ])
        })
        .collect();
    assert_eq!(
        told,
        [
            json!([
                "failed",
                503,
                "busy",
                "unexpected_status",
                20,
                "job.new",
                HOOK,
                "wh_all"
            ]),
            json!(["failed", null, "", "timeout", 20, "job.new", HOOK, "wh_all"]),
            json!(["delivered", 200, "", null, 20, "job.new", HOOK, "wh_all"]),
        ]
    );
    assert!(
        entries
            .iter()
            .all(|entry| entry.details["deliveryId"].is_string() && entry.lead_id.is_some())
    );
}

/// Two deliveries, each to an endpoint of its own.
async fn slow_and_prompt() -> (Service, &'static str) {
    let prompt = "https://hooks.test/prompt";
    let service =
        Service::with(acme().webhook(webhook("wh_prompt", None, prompt, &[EventKind::JobNew]))).await;
    (service, prompt)
}

/// Begins to send all that may be in flight: what then still is, and how many have ended.
async fn begin_all(deliver: &Arc<DeliverWebhooks>) -> (Vec<Pass<SentDelivery>>, usize) {
    let (mut sending, mut ended) = (Vec::new(), 0);
    loop {
        let begun = deliver.claim().await.unwrap();
        if begun.is_empty() {
            return (sending, ended);
        }
        for delivery in begun {
            let deliver = Arc::clone(deliver);
            let mut send = Pass::new(async move { deliver.send(delivery).await });
            match send.step() {
                None => sending.push(send),
                Some(_) => ended += 1,
            }
        }
    }
}

#[tokio::test]
async fn a_slow_receiver_delays_no_other() {
    let (service, prompt) = slow_and_prompt().await;
    let held: Vec<_> = (0..100).map(|_| service.sender.hold(HOOK)).collect();
    for number in 0..100 {
        service.publish(&job(&number.to_string()));
    }
    service.ingest().await;
    let deliver = Arc::new(service.deliver_webhooks(MAX_IN_FLIGHT));
    let (mut sending, _) = begin_all(&deliver).await;
    assert_eq!(service.sender.sent_to(prompt).len(), 100);
    assert!(sending.len() <= 32, "{} to one endpoint at once", sending.len());
    assert_eq!(
        service.stores.deliveries.pending_count().await,
        Ok(100 - sending.len() as u64),
        "not marked before their time"
    );
    drop(held);
    for send in &mut sending {
        assert!(send.step().unwrap().end.outcome.is_delivered());
    }
    assert!(!deliver.claim().await.unwrap().is_empty(), "room again");
}

#[tokio::test]
async fn an_endpoint_gets_more_when_a_quarter_of_its_places_is_taken() {
    let service = Service::new().await;
    let mut held: Vec<_> = (0..15).map(|_| service.sender.hold(HOOK)).collect();
    for number in 0..40 {
        service.publish(&job(&number.to_string()));
    }
    service.ingest().await;
    let deliver = Arc::new(service.deliver_webhooks(512));
    let (mut sending, _) = begin_all(&deliver).await;
    assert_eq!(sending.len(), 15, "a thirty-second of what is free");
    let (held_on, last) = (held.split_off(12), held.pop());
    drop(held);
    for send in &mut sending[..11] {
        assert!(!send.step().unwrap().makes_room);
    }
    assert!(deliver.claim().await.unwrap().is_empty(), "4 are in flight");
    drop(last);
    assert!(sending[11].step().unwrap().makes_room);
    assert_eq!(deliver.claim().await.unwrap().len(), 12);
    drop(held_on);
}

#[tokio::test]
async fn a_free_place_calls_for_a_look_only_if_deliveries_may_be_left() {
    for (max_in_flight, claimed, some_are_left) in [(1, 1, true), (MAX_IN_FLIGHT, 2, false)] {
        let service = Service::new().await;
        for number in 0..2 {
            service.lead(&job(&number.to_string())).await;
        }
        let deliver = service.deliver_webhooks(max_in_flight);
        let mut begun = deliver.claim().await.unwrap();
        assert_eq!(begun.len(), claimed);
        assert_eq!(deliver.send(begun.remove(0)).await.makes_room, some_are_left);
    }
}

#[tokio::test]
async fn forty_slow_receivers_leave_room_for_a_prompt_one() {
    let slow = |number: usize| format!("https://hooks.test/slow/{number}");
    let mut organization = organization("org_acme").campaign(campaign("camp"));
    for number in 0..40 {
        organization = organization.webhook(webhook(
            &format!("slow_{number}"),
            None,
            &slow(number),
            &[EventKind::JobNew],
        ));
    }
    let service = Service::with(organization).await;
    for number in 0..30 {
        service.publish(&job(&number.to_string()));
    }
    service.ingest().await;
    let held: Vec<_> = (0..40 * 30)
        .map(|place| service.sender.hold(&slow(place % 40)))
        .collect();
    let deliver = Arc::new(service.deliver_webhooks(MAX_IN_FLIGHT));
    let (sending, ended) = begin_all(&deliver).await;
    assert_eq!(ended, 0);
    service.commit(put(hook())).await;
    service.publish(&job("prompt"));
    service.ingest().await;
    let begun = deliver.claim().await.unwrap();
    assert!(
        begun.iter().any(|delivery| delivery.target.url == HOOK),
        "{} are in flight",
        sending.len()
    );
    drop(held);
}

#[tokio::test]
async fn a_removed_or_inactive_endpoint_gets_nothing_and_activity_says_why() {
    let mut inactive = hook();
    inactive.endpoint.active = false;
    for change in [
        put(inactive),
        ProvisioningChange::RemoveWebhook(Service::organization(), hook().endpoint.id),
    ] {
        let (service, _) = Service::with_lead().await;
        service.commit(change).await;
        service.deliver().await;
        assert!(service.sender.sent().is_empty());
        let entry = service.activities(ActivityKind::Delivery).await.remove(0);
        assert_eq!(
            (entry.outcome.as_str(), &entry.details["reason"]),
            ("failed", &json!("endpoint_removed"))
        );
    }
}

#[tokio::test]
async fn a_delivery_goes_where_its_endpoint_is_now() {
    let (service, _) = Service::with_lead().await;
    let mut moved = hook();
    moved.endpoint.url = "https://hooks.test/moved".to_owned();
    service.commit(put(moved)).await;
    service.deliver().await;
    assert_eq!(service.sender.sent()[0].url, "https://hooks.test/moved");
}

#[tokio::test]
async fn a_lead_is_told_as_it_stands_at_dispatch_and_a_removed_campaigns_name_is_null() {
    let (service, lead) = Service::with_lead().await;
    service.reject(&lead).await;
    service
        .commit(ProvisioningChange::RemoveCampaign(
            Service::organization(),
            Service::campaign(),
        ))
        .await;
    let told = service.events("job.new").await.remove(0)["data"]["lead"].take();
    assert_eq!(
        (&told["campaignName"], &told["status"]),
        (&Value::Null, &json!("rejected"))
    );
}

/// A dispatcher's whole pass over one delivery, stopping where the answer is awaited.
fn dispatch(deliver: DeliverWebhooks) -> Pass<()> {
    Pass::new(async move {
        for delivery in deliver.claim().await.unwrap() {
            let sent = deliver.send(delivery).await;
            assert!(deliver.record(&sent).await.unwrap());
        }
    })
}

#[tokio::test]
async fn a_delivery_that_a_crash_interrupted_is_never_sent_again_and_the_backlog_is() {
    let service = Service::with(bare_acme().campaign(campaign("camp"))).await;
    service.publish(&job("1"));
    service.publish(&job("2"));
    service.ingest().await;
    let _held = service.sender.hold(HOOK);
    let one_at_a_time = 1;
    let mut crashing = dispatch(service.deliver_webhooks(one_at_a_time));
    assert!(crashing.step().is_none());
    drop(crashing);
    assert_eq!(service.sender.sent().len(), 1);
    let interrupted = header(&service.sender.sent()[0], "webhook-id").to_owned();
    service.deliver().await;
    assert_eq!(
        service.sender.sent().len(),
        2,
        "the backlog is sent after the restart"
    );
    let restarted = service.deliver_webhooks(MAX_IN_FLIGHT);
    assert_eq!(
        restarted.interrupt_overdue().await,
        Ok(0),
        "its owner may be alive"
    );
    service.clock.advance(Duration::from_secs(21));
    assert_eq!(restarted.interrupt_overdue().await, Ok(1));
    service.deliver().await;
    assert_eq!(service.sender.sent().len(), 2);
    let entries = service.activities(ActivityKind::Delivery).await;
    let entry = entries
        .iter()
        .find(|entry| entry.details["deliveryId"] == json!(interrupted))
        .unwrap();
    assert_eq!(
        (entry.outcome.as_str(), &entry.details["reason"]),
        ("failed", &json!("interrupted"))
    );
}

#[tokio::test]
async fn an_outcome_that_comes_after_the_interruption_is_not_recorded() {
    let (service, _) = Service::with_lead().await;
    let deliver = service.deliver_webhooks(MAX_IN_FLIGHT);
    let begun = deliver.claim().await.unwrap();
    let sent = deliver.send(begun[0].clone()).await;
    service.clock.advance(Duration::from_secs(21));
    assert_eq!(deliver.interrupt_overdue().await, Ok(1));
    assert_eq!(deliver.record(&sent).await, Ok(false));
    let entries = service.activities(ActivityKind::Delivery).await;
    assert_eq!(
        (entries.len(), &entries[0].details["reason"]),
        (1, &json!("interrupted"))
    );
}

#[tokio::test]
async fn an_outcome_waits_for_a_store_that_is_away_and_the_mark_outlasts_the_attempt() {
    let (service, _) = Service::with_lead().await;
    let deliver = service.deliver_webhooks(MAX_IN_FLIGHT);
    let begun = deliver.claim().await.unwrap();
    let sent = deliver.send(begun[0].clone()).await;
    service.store.set_available(false);
    assert!(deliver.record(&sent).await.is_err());
    service.store.set_available(true);
    service.clock.advance(Duration::from_secs(12));
    assert_eq!(deliver.interrupt_overdue().await, Ok(0));
    assert_eq!(deliver.record(&sent).await, Ok(true));
    assert_eq!(
        service.activities(ActivityKind::Delivery).await[0].outcome,
        ActivityOutcome::Delivered
    );
}

#[tokio::test]
async fn of_two_dispatchers_one_sends_a_delivery() {
    let (service, _) = Service::with_lead().await;
    let (one, other) = (
        service.deliver_webhooks(MAX_IN_FLIGHT),
        service.deliver_webhooks(MAX_IN_FLIGHT),
    );
    let begun = one.claim().await.unwrap();
    assert_eq!(begun.len(), 1);
    assert!(other.claim().await.unwrap().is_empty());
    one.send(begun[0].clone()).await;
    assert_eq!(service.sender.sent().len(), 1);
}

#[tokio::test]
async fn a_delivered_job_new_tells_how_long_its_posting_took() {
    let service = Service::new().await;
    service.lead(&job("1")).await;
    service.clock.set(at(4));
    let deliver = service.deliver_webhooks(MAX_IN_FLIGHT);
    let begun = deliver.claim().await.unwrap();
    let sent = deliver.send(begun[0].clone()).await;
    assert_eq!(
        (sent.end.delivery.payload.kind(), sent.since_posting),
        (EventKind::JobNew, Some(Duration::from_secs(4)))
    );
    assert!(sent.end.outcome.is_delivered());
}

/// Panics in the middle of each attempt.
#[derive(Debug)]
struct PanickingSender;

#[async_trait::async_trait]
impl WebhookSender for PanickingSender {
    async fn send(&self, _webhook: OutgoingWebhook) -> WebhookAttempt {
        tokio::task::yield_now().await;
        panic!("an injected panic");
    }

    fn check_target(&self, _url: &str) -> Result<(), WebhookFailure> {
        Ok(())
    }
}

#[tokio::test]
async fn a_panic_while_sending_frees_the_endpoints_place() {
    let service = Service::new().await;
    for number in 0..3 {
        service.lead(&job(&number.to_string())).await;
    }
    let mut deliver = service.deliver_webhooks(1);
    deliver.sender = Arc::new(PanickingSender);
    let deliver = Arc::new(deliver);
    for _ in 0..3 {
        let claimed = deliver.claim().await.unwrap();
        assert_eq!(claimed.len(), 1);
        let sending = Arc::clone(&deliver);
        let sent = tokio::spawn(async move { sending.send(claimed[0].clone()).await });
        assert!(sent.await.unwrap_err().is_panic());
    }
    assert_eq!(deliver.claim().await.unwrap().len(), 0, "each was tried once");
}
