//! `bidloop doctor`, and a service beside rows that it cannot read.

use acceptance::document::EXTERNAL;
use acceptance::world::{STEP, bid, id, path};
use acceptance::{Kind, World, posts, until};
use serde_json::{Value, json};

on_both_databases!(the_doctor_lists_unreadable_rows_and_the_service_goes_on_beside_them,);

fn the_doctor_lists_unreadable_rows_and_the_service_goes_on_beside_them(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let sound = world.installation.run(&["doctor"]).expect(0);
    assert!(sound.out.contains(", 0 unreadable."), "{}", sound.out);

    let service = world.installation.serve();
    let mut jobs = posts::many("rust", 2);
    jobs.push(posts::hourly("rust broken"));
    let leads = world.publish(&service, EXTERNAL, jobs, 3);
    world.deliveries("job.new", 3);
    assert!(service.stop().success());
    world
        .installation
        .damage(("jobs", "json"), "\"rust broken\"", "\"rust broken:");

    let service = world.installation.serve();
    let api = service.api();
    let page = api
        .get(&format!("/v1/campaigns/{EXTERNAL}/leads"))
        .expect(200)
        .json();
    assert_eq!(page["data"].as_array().unwrap().len(), 2, "the others are listed");
    assert_eq!((&page["total"], &page["hasMore"]), (&json!(3), &json!(false)));
    let is_broken = |lead: &&Value| lead["title"] == "rust broken";
    let broken = id(leads.iter().find(is_broken).unwrap());
    let other = id(leads.iter().find(|lead| !is_broken(lead)).unwrap());
    api.post_json(&path(EXTERNAL, broken, "bid"), &bid()).expect(500);
    api.post_json(&path(EXTERNAL, other, "bid"), &bid()).expect(200);
    until("the other bid is submitted", STEP, || world.accepted().len() == 1);
    let metrics = api.get("/metrics").text();
    assert!(
        metrics.contains("bidloop_unreadable_rows{table=\"jobs\"} 1"),
        "{metrics}"
    );

    let found = world
        .installation
        .run(&["doctor", "--json"])
        .expect(1)
        .json_lines();
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0]["table"], "jobs");
    assert_eq!(found[1]["unreadable"], 1);
    let log = service.log();
    assert_eq!(log.matches("a stored row cannot be read").count(), 1, "{log}");
}
