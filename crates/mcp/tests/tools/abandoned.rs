//! Calls over HTTP whose client leaves.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use actix_web::App;
use actix_web::dev::Service as _;
use actix_web::http::header;
use actix_web::test::{TestRequest, init_service};
use bidloop_domain::model::{ActivityOutcome, TokenScope};
use bidloop_mcp::http::{McpServer, OwnHosts, application};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::http::{Counted, call};
use crate::world::{MEMBER, World};

/// Calls that are worked on at once.
const CALLS: usize = 32;

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_client_leaves_ends_and_has_its_place_until_then() {
    let world = World::new().await;
    let (_, token) = world.token_until(MEMBER, TokenScope::Bid, None).await;
    let routes = application(McpServer {
        tools: world.server.clone(),
        hosts: OwnHosts::new(SocketAddr::from(([127, 0, 0, 1], 80)), &[]),
        metrics: Arc::new(Counted::default()),
    });
    let service = init_service(App::new().configure(routes)).await;
    let request = |message: Value| {
        let request = TestRequest::post()
            .uri("/mcp")
            .insert_header((header::HOST, "localhost"))
            .insert_header((header::AUTHORIZATION, format!("Bearer {}", token.expose())))
            .insert_header((header::ACCEPT, "application/json, text/event-stream"));
        request.set_json(message).to_request()
    };
    let held = world.store.hold_records();
    for number in 1..=CALLS {
        let mut refused = World::on("1");
        refused["reason"] = json!("x".repeat(501));
        let mut answer = pin!(service.call(request(call("reject_lead", refused))));
        while held.waiting() < number {
            let answer = timeout(Duration::from_millis(1), answer.as_mut()).await;
            assert!(answer.is_err(), "the call waits for its record");
        }
    }
    let read = || service.call(request(call("get_lead", World::on("1"))));
    let waits = timeout(Duration::from_millis(200), read()).await;
    assert!(waits.is_err(), "all places are taken");
    held.release();
    assert_eq!(read().await.unwrap().status(), 200);
    let refused = async || {
        let recorded = world.recorded().await;
        let refused = recorded
            .iter()
            .filter(|entry| entry.outcome == ActivityOutcome::Refused);
        refused.count()
    };
    let all = async {
        while refused().await < CALLS {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(10), all).await.unwrap();
}
