//! Requests whose key ends after they began (decision D5).

use bidloop_domain::model::{ActivityKind, ActivityOutcome, LeadId, LeadStatus, Unauthorized};
use bidloop_domain::use_case::{LeadError, PartHead};
use bidloop_port_contracts::fixture::at;
use bytes::Bytes;
use futures::stream;

use crate::service::{Answered as _, Service, dry_run, request};

/// A lead, and the key revoked.
async fn revoked() -> (Service, LeadId) {
    let (service, lead) = Service::with_lead().await;
    let caller = Service::caller();
    let keys = &service.stores.api_keys;
    keys.revoke(&caller.organization_id, &caller.key_id, at(0))
        .await
        .unwrap();
    (service, lead)
}

#[tokio::test]
async fn a_bid_a_dry_run_and_a_rejection_are_refused_as_a_wrong_key_is_and_recorded() {
    let (service, lead) = revoked().await;
    for asked in [request(), dry_run(request())] {
        let bid = service
            .submit_bid()
            .execute(&Service::requester(), &Service::campaign(), &lead, Ok(asked))
            .await;
        assert_eq!(bid, Err(LeadError::NotAuthorized(Unauthorized::Ended)));
    }
    let rejected = service
        .reject_lead()
        .execute(&Service::requester(), &Service::campaign(), &lead, Ok(None))
        .await;
    assert_eq!(rejected, Err(LeadError::NotAuthorized(Unauthorized::Ended)));
    assert_eq!(
        LeadError::NotAuthorized(Unauthorized::Ended).http_status(),
        Some(401)
    );
    assert_eq!(service.status(&lead).await, LeadStatus::New);
    assert!(service.events("bid_complete").await.is_empty());
    for (kind, count) in [(ActivityKind::Bid, 2), (ActivityKind::Rejection, 1)] {
        let entries = service.activities(kind).await;
        assert_eq!(entries.len(), count);
        for entry in entries {
            assert_eq!(
                (entry.outcome, entry.http_status),
                (ActivityOutcome::Refused, Some(401))
            );
        }
    }
}

#[tokio::test]
async fn an_upload_is_refused_and_leaves_no_file_behind() {
    let (service, lead) = revoked().await;
    let mut session = service
        .upload_attachments()
        .begin(&Service::requester(), &Service::campaign(), &lead, Ok(()))
        .await
        .unwrap();
    let part = PartHead {
        name: "files".to_owned(),
        file_name: Some("a.txt".to_owned()),
        content_type: Some("text/plain".to_owned()),
    };
    let piece = Ok(Bytes::from_static(b"A piece"));
    session.add_file(part, stream::iter([piece])).await.unwrap();
    assert_eq!(
        session.finish().await,
        Err(LeadError::NotAuthorized(Unauthorized::Ended))
    );
    assert!(service.context(&lead).await.attachments.is_empty());
    assert!(service.blobs.paths().is_empty());
}
