//! Failures of the service: 500 without internals, and nothing stops working.

use std::pin::pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use actix_web::dev::Service as _;
use actix_web::rt::{System, time};
use actix_web::test::{TestRequest, init_service, read_body};
use actix_web::{App, http::header};
use async_trait::async_trait;
use bidloop_domain::model::ActivityOutcome;
use bidloop_domain::port::{BlobError, BlobPath, BlobStore, StagedBlob};
use bidloop_domain::use_case::{Authenticate, KeyLeases, KeyUses};
use bidloop_fakes::{MemoryBlobStore, PanickingClock};
use bidloop_http_api::{BodyLimits, Offer, application};
use bytes::Bytes;
use futures::future::{Either, select};
use futures::stream::BoxStream;
use serde_json::json;

use crate::upload::{Form, request};
use crate::world::{World, address_of, key};

/// A storage with a fault of its own.
#[derive(Debug)]
enum FaultyBlobs {
    Panics,
    Loses,
}

#[async_trait]
impl BlobStore for FaultyBlobs {
    async fn stage(&self) -> Result<Box<dyn StagedBlob>, BlobError> {
        match self {
            Self::Panics => panic!("the secret is xyzzy"),
            Self::Loses => Err(BlobError::NotFound),
        }
    }

    async fn read(&self, _: &BlobPath) -> Result<BoxStream<'static, Result<Bytes, BlobError>>, BlobError> {
        Err(BlobError::NotFound)
    }

    async fn delete(&self, _: &BlobPath) -> Result<(), BlobError> {
        Ok(())
    }

    fn list(&self, _: &BlobPath) -> BoxStream<'static, Result<BlobPath, BlobError>> {
        Box::pin(futures::stream::empty())
    }
}

#[test]
fn a_panic_and_an_unforeseen_failure_are_500_without_internals() {
    for faulty in [FaultyBlobs::Panics, FaultyBlobs::Loses] {
        let world = World::with_blobs(Arc::new(faulty), MemoryBlobStore::new());
        for _ in 0..2 {
            let upload = request(&address_of(0, "attachments"), Form::new().text("a.txt").bytes());
            let answer = world.send(&upload);
            assert_eq!(answer.status, 500);
            assert_eq!(answer.json()["error"], "Internal Server Error");
            assert_eq!(answer.json()["statusCode"], 500);
            for internal in ["xyzzy", "panic", "blob", ".rs"] {
                assert!(!answer.message().contains(internal), "{}", answer.message());
            }
            assert_eq!(answer.header("retry-after"), None);
        }
        assert_eq!(
            world.get("/v1/campaigns/camp/leads").status,
            200,
            "the service goes on"
        );
    }
}

/// A request with the organization's key.
fn with_key(request: TestRequest) -> TestRequest {
    request.insert_header((header::AUTHORIZATION, format!("Bearer {}", key())))
}

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        time::sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn a_read_that_panics_is_500_of_its_request_alone() {
    let world = World::new();
    let mut api = world.api.clone();
    api.authenticate = Arc::new(Authenticate {
        keys: world.store.clone(),
        clock: Arc::new(PanickingClock),
        uses: KeyUses::default(),
        leases: KeyLeases::default(),
    });
    let routes = application(api, Offer::All, BodyLimits::DEFAULT);
    System::new().block_on(async {
        let service = init_service(App::new().configure(routes)).await;
        let list = with_key(TestRequest::get().uri("/v1/campaigns/camp/leads"));
        let answer = service.call(list.to_request()).await.unwrap();
        assert_eq!(answer.status(), 500);
        let body = read_body(answer).await;
        assert!(!String::from_utf8_lossy(&body).contains("xyzzy"), "{body:?}");
        let ready = TestRequest::get().uri("/readyz").to_request();
        assert_eq!(service.call(ready).await.unwrap().status(), 200);
    });
}

#[test]
fn a_command_ends_though_its_request_is_dropped() {
    let world = World::new();
    let held = world.store.hold_records();
    let routes = application(world.api.clone(), Offer::All, BodyLimits::DEFAULT);
    System::new().block_on(async {
        let service = init_service(App::new().configure(routes)).await;
        let reject = with_key(TestRequest::post().uri(&address_of(0, "reject")));
        let reject = reject.set_json(json!({"reason": "x".repeat(501)})).to_request();
        let (answer, waits) = (pin!(service.call(reject)), pin!(until(|| held.waiting() == 1)));
        assert!(matches!(select(answer, waits).await, Either::Right(_)));
    });
    held.release();
    let is_recorded = || {
        let recorded = world.activities();
        recorded
            .first()
            .is_some_and(|entry| entry.outcome == ActivityOutcome::Refused)
    };
    let recorded = (0..1_000).any(|_| {
        thread::sleep(Duration::from_millis(10));
        is_recorded()
    });
    assert!(recorded);
}
