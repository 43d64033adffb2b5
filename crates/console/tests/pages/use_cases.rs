//! How pages run use cases.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use actix_web::App;
use actix_web::dev::Service as _;
use actix_web::test::{TestRequest, init_service, read_body};
use bidloop_console::application;
use bidloop_domain::use_case::ShowBilling;
use bidloop_fakes::PanickingClock;
use tokio::time::{sleep, timeout};

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_panics_is_500_of_its_page_alone() {
    let mut world = World::new().await;
    world.console.show_billing = Arc::new(ShowBilling {
        store: world.store.clone(),
        statistics: world.store.clone(),
        clock: Arc::new(PanickingClock),
    });
    let service = init_service(App::new().configure(application(world.console.clone()))).await;
    let get = |path| world.by_owner(TestRequest::get().uri(path)).to_request();
    for _ in 0..2 {
        let answer = service.call(get("/settings/billing")).await.unwrap();
        assert_eq!(answer.status(), 500);
        let page = read_body(answer).await;
        let page = String::from_utf8_lossy(&page);
        assert!(
            page.contains("Something went wrong") && !page.contains("xyzzy"),
            "{page}"
        );
    }
    assert_eq!(service.call(get("/campaigns")).await.unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_ends_though_its_request_is_dropped() {
    let world = World::new().await;
    let service = init_service(App::new().configure(application(world.console.clone()))).await;
    let path = format!("{}/reject", world.lead);
    let reject = || {
        let reject = TestRequest::post().uri(&path).set_form([("reason", "")]);
        service.call(world.by_owner(reject).to_request())
    };
    assert_eq!(reject().await.unwrap().status(), 303);
    // A second rejection is refused, which is recorded.
    let held = world.store.hold_records();
    {
        let mut answer = pin!(reject());
        while held.waiting() == 0 {
            let answer = timeout(Duration::from_millis(1), answer.as_mut()).await;
            assert!(answer.is_err(), "{:?}", answer.unwrap().unwrap().status());
        }
    }
    held.release();
    let recorded = async {
        while world.refused().await == 0 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(10), recorded).await.unwrap();
}
