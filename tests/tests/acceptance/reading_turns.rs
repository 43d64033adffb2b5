//! Decision D4 with several processes: one of them reads the feed, and another goes on within 5 s of its end.

use std::time::Duration;

use acceptance::installation::free_address;
use acceptance::world::STEP;
use acceptance::{Api, Kind, World, posts, until};

on_both_databases!(one_process_reads_the_feed_and_another_goes_on_when_it_dies);

const TAKES_OVER_WITHIN: Duration = Duration::from_secs(5);

fn reads(api: &Api) -> bool {
    api.metric("bidloop_feed_reader ") == Some(1.0)
}

fn one_process_reads_the_feed_and_another_goes_on_when_it_dies(kind: Kind) {
    let mut world = World::with_auto_reply(kind);
    world.provision(&[world.external("external", "rust")]);
    let first = world.installation.serve();
    until("the first process reads", STEP, || reads(&first.api()));
    let address = free_address();
    world.installation.set("server.listen", &address.to_string());
    let second = world.installation.start(&["serve"]);
    let standing_by = Api::new(address, None);
    until("the second process is ready", STEP, || {
        standing_by
            .try_call("GET", "/readyz", &[], b"")
            .is_ok_and(|answer| answer.status == 200)
    });
    world.simulator.publish(posts::many("rust", 30)).unwrap();
    world.deliveries("job.new", 30);
    assert!(reads(&first.api()) && !reads(&standing_by));
    let calls = "bidloop_marketplace_call_duration_seconds_count{call=\"feed\"";
    assert!(first.api().metric(calls) > Some(0.0));
    assert_eq!(standing_by.metric(calls), None, "it has not asked once");
    first.kill();
    until("the second process reads", TAKES_OVER_WITHIN, || {
        reads(&standing_by)
    });
    world.simulator.publish(posts::many("rust again", 30)).unwrap();
    world.deliveries("job.new", 60);
    assert!(second.stop().success());
}
