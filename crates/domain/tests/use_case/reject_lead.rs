//! Reject lead of the specification; decisions A1, B1, C8.

use bidloop_domain::model::{ActivityKind, FieldError, LeadId, LeadStatus};
use bidloop_domain::use_case::LeadError;
use bidloop_port_contracts::fixture::campaign_id;
use serde_json::json;

use crate::service::{Answered as _, Service, request};

async fn reject(
    service: &Service,
    lead: &LeadId,
    reason: Result<Option<String>, LeadError>,
) -> Result<(), LeadError> {
    service
        .reject_lead()
        .execute(&Service::requester(), &Service::campaign(), lead, reason)
        .await
}

#[tokio::test]
async fn a_new_lead_is_rejected_with_the_reason_and_who_gave_it() {
    let (service, lead) = Service::with_lead().await;
    reject(&service, &lead, Ok(Some("Too small".to_owned())))
        .await
        .unwrap();
    let stored = service.context(&lead).await.lead.lead;
    assert_eq!(stored.status, LeadStatus::Rejected);
    assert_eq!(stored.rejection_reason.as_deref(), Some("Too small"));
    let entries = service.activities(ActivityKind::Rejection).await;
    assert_eq!(entries.len(), 1);
    let entry = &entries[0];
    assert_eq!(
        (entry.outcome.as_str(), entry.http_status),
        ("accepted", Some(200))
    );
    assert_eq!(entry.actor, Service::caller().actor());
    assert_eq!(entry.details["reason"], json!("Too small"));
}

#[tokio::test]
async fn a_rejected_lead_is_never_bid_on() {
    let (service, lead) = Service::with_lead().await;
    reject(&service, &lead, Ok(None)).await.unwrap();
    let refused = crate::submit_bid::bid(&service, &lead, Ok(request()))
        .await
        .unwrap_err();
    assert_eq!(refused.http_status(), Some(409));
    assert!(refused.to_string().contains("rejected"));
    assert!(service.submit().await.is_empty());
}

#[tokio::test]
async fn only_a_new_lead_can_be_rejected_and_the_message_names_its_status() {
    let (service, lead) = Service::with_bid(request()).await;
    for status in ["queued", "submitted"] {
        let refused = reject(&service, &lead, Ok(Some("No".to_owned())))
            .await
            .unwrap_err();
        assert_eq!(refused.http_status(), Some(400));
        assert!(refused.to_string().contains(status), "{refused}");
        let entry = service.activities(ActivityKind::Rejection).await.remove(0);
        assert_eq!(
            (entry.outcome.as_str(), entry.http_status),
            ("refused", Some(400))
        );
        assert_eq!(entry.details["reason"], json!("No"));
        assert_eq!(service.context(&lead).await.lead.lead.rejection_reason, None);
        service.submit().await;
    }
}

#[tokio::test]
async fn the_size_is_judged_before_the_lead_and_the_shape_after_it() {
    let (service, lead) = Service::with_lead().await;
    let too_large = LeadError::TooLarge { limit_bytes: 1 };
    let shape = LeadError::Malformed(vec![FieldError::new(&["reason"], "is too long")]);
    let unknown = LeadId::parse("ld_unknown").unwrap();
    let refusals = [
        (reject(&service, &unknown, Err(too_large.clone())).await, 413),
        (reject(&service, &unknown, Err(shape.clone())).await, 404),
        (reject(&service, &unknown, Ok(None)).await, 404),
    ];
    for (refused, status) in refusals {
        assert_eq!(refused.unwrap_err().http_status(), Some(status));
    }
    assert!(
        service.activities(ActivityKind::Rejection).await.is_empty(),
        "no lead, no entry"
    );
    let elsewhere = service
        .reject_lead()
        .execute(&Service::requester(), &campaign_id("elsewhere"), &lead, Ok(None))
        .await;
    assert_eq!(elsewhere, Err(LeadError::CampaignUnknown));
    for (fault, status) in [(too_large, 413), (shape, 400)] {
        assert_eq!(
            reject(&service, &lead, Err(fault))
                .await
                .unwrap_err()
                .http_status(),
            Some(status)
        );
        let entry = service.activities(ActivityKind::Rejection).await.remove(0);
        assert_eq!(
            (entry.outcome.as_str(), entry.http_status),
            ("refused", Some(status))
        );
    }
    assert_eq!(service.status(&lead).await, LeadStatus::New);
}

#[tokio::test]
async fn of_many_rejections_and_bids_at_once_one_counts() {
    let (service, lead) = Service::with_lead().await;
    let service = std::sync::Arc::new(service);
    let counted = bidloop_port_contracts::fixture::at_once(16, move |number| {
        let (service, lead) = (service.clone(), lead.clone());
        async move {
            if number % 2 == 0 {
                reject(&service, &lead, Ok(None)).await.is_ok()
            } else {
                crate::submit_bid::bid(&service, &lead, Ok(request()))
                    .await
                    .is_ok()
            }
        }
    })
    .await;
    assert_eq!(counted.into_iter().filter(|counted| *counted).count(), 1);
}
