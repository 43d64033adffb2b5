//! `bidloop backup`: a copy of the SQLite database while the service runs.

use acceptance::document::{EXTERNAL, campaign};
use acceptance::world::{all_leads, bid, id, lead_with_status, path};
use acceptance::{Installation, Kind, World, posts};

#[test]
fn a_backup_of_a_running_service_is_restored_by_putting_it_in_the_databases_place() {
    let mut world = World::new(Kind::Sqlite);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 12), 12);
    let lead = id(&leads[0]);
    let api = service.api();
    api.post_json(&path(EXTERNAL, lead, "bid"), &bid()).expect(200);
    lead_with_status(&api, EXTERNAL, lead, "submitted");
    let before = all_leads(&api, EXTERNAL);

    let report = world
        .installation
        .run(&["backup", "copy.db", "--json"])
        .expect(0)
        .json();
    let copy = world.installation.folder().join("copy.db");
    assert_eq!(report["file"], "copy.db");
    assert_eq!(report["bytes"], copy.metadata().unwrap().len());
    let again = world.installation.run(&["backup", "copy.db"]).expect(1);
    assert!(again.err.contains("copy.db exists already"), "{}", again.err);
    world.publish(&service, EXTERNAL, posts::many("rust", 1), 13);
    assert!(service.stop().success());

    world
        .installation
        .set("database.url", &format!("sqlite://{}", copy.display()));
    world.installation.unset("marketplace.base_url");
    let restored = world.installation.serve();
    assert_eq!(all_leads(&restored.api(), EXTERNAL), before);
}

#[test]
fn a_servers_backup_is_left_to_pg_dump() {
    let installation = Installation::new(Kind::Postgres);
    let refused = installation.run(&["backup", "copy.db"]).expect(1);
    assert!(refused.err.contains("pg_dump"), "{}", refused.err);
    assert!(!installation.folder().join("copy.db").exists());
}
