//! `listCampaignLeads`.

use crate::client::Request;
use crate::world::{BARE_CAMPAIGN, CAMPAIGN, JOBS, ORG, World, key, lead_of};

const LEADS: &str = "/v1/campaigns/camp/leads";

#[test]
fn a_page_holds_the_leads_newest_first_and_nothing_else() {
    let world = World::new();
    let answer = world.get(LEADS);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let page = answer.json();
    let mut members: Vec<&String> = page.as_object().unwrap().keys().collect();
    members.sort();
    assert_eq!(members, ["data", "hasMore", "limit", "offset", "total"]);
    assert_eq!(page["total"], JOBS);
    assert_eq!((&page["offset"], &page["limit"]), (&0.into(), &100.into()));
    assert_eq!(page["hasMore"], false);
    let titles: Vec<&str> = page["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lead| lead["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["Job 4", "Job 3", "Job 2", "Job 1", "Job 0"]);
    let oldest = &page["data"][4];
    let lead = lead_of(0);
    assert_eq!(oldest["id"], lead);
    assert_eq!(oldest["status"], "new");
    assert_eq!(oldest["description"], "Zürich \"quoted\"");
    assert_eq!(
        oldest["bidUrl"],
        format!("http://api.test/v1/campaigns/{CAMPAIGN}/leads/{lead}/bid")
    );
    assert_eq!(oldest["organizationId"], ORG);
    assert_eq!(oldest["campaignName"], "camp's name");
}

#[test]
fn paging_tells_whether_there_is_more() {
    let world = World::new();
    for (query, ids, has_more) in [
        ("offset=0&limit=2", 2, true),
        ("offset=2&limit=2", 2, true),
        ("offset=4&limit=2", 1, false),
        ("offset=3&limit=2", 2, false),
        ("offset=5", 0, false),
        ("offset=99999999999999999999999", 0, false),
    ] {
        let page = world.get(&format!("{LEADS}?{query}")).json();
        assert_eq!(page["data"].as_array().unwrap().len(), ids, "{query}");
        assert_eq!(page["hasMore"], has_more, "{query}");
        assert_eq!(page["total"], JOBS, "{query}");
    }
}

#[test]
fn faulty_parameters_are_moved_into_bounds_and_told() {
    let world = World::new();
    for (query, offset, limit) in [
        ("limit=1000", 0, 100),
        ("limit=0", 0, 1),
        ("limit=-7&offset=-7", 0, 1),
        ("limit=ten&offset=five", 0, 100),
        ("limit=1.5&offset=1e1", 0, 100),
        ("limit=&offset=", 0, 100),
        ("limit=%zz&offset=%ff%fe", 0, 100),
        ("offset=1&offset=3&limit=2&limit=4", 1, 2),
        ("%00&&&=&unknown=1", 0, 100),
    ] {
        let answer = world.get(&format!("{LEADS}?{query}"));
        assert_eq!(answer.status, 200, "{query}");
        let page = answer.json();
        assert_eq!(
            (&page["offset"], &page["limit"]),
            (&offset.into(), &limit.into()),
            "{query}"
        );
    }
}

#[test]
fn every_campaign_of_the_organization_is_listed_with_the_same_key() {
    let world = World::new();
    let page = world
        .get(&format!("/v1/campaigns/{BARE_CAMPAIGN}/leads?limit=1"))
        .json();
    assert_eq!(page["data"][0]["campaignId"], BARE_CAMPAIGN);
    let encoded = world.get("/v1/campaigns/%63amp/leads");
    assert_eq!(encoded.status, 200, "a percent-encoded id is the same id");
}

#[test]
fn a_body_on_a_list_is_passed_over() {
    let world = World::new();
    let request = Request::new("GET", LEADS).key(&key()).body("{").declared(1);
    assert_eq!(world.send(&request).status, 200);
}
