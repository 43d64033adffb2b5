//! The loop over real job posts, where their file is present: what is listed is what the filter says.

use std::collections::BTreeSet;
use std::time::Duration;

use acceptance::document::{KEY, campaign};
use acceptance::world::all_leads;
use acceptance::{Kind, World, posts, until};
use bidloop_simulator::{Options, PostSource, Publishing};
use serde_json::{Value, json};

on_both_databases!(real_posts_are_listed_as_their_filters_match_and_bid_on_once_each,);

fn real_posts_are_listed_as_their_filters_match_and_bid_on_once_each(kind: Kind) {
    let folder = tempfile::tempdir().unwrap();
    let Some(file) = posts::real(folder.path()) else {
        return;
    };
    let publishing = Publishing {
        source: PostSource::from_file(&file).unwrap(),
        rate: None,
        fresh_times: false,
    };
    let options = Options {
        publishing: Some(publishing),
        ..Options::default()
    };
    let mut world = World::with(kind, options, Some(KEY.to_owned()));
    // Their times are old.
    world.installation.set("watch.act_within_minutes", "0");

    let filters = [
        ("words", json!({"keywords": "python OR javascript"})),
        (
            "phrases",
            json!({"keywords": "\"web development\" AND NOT title:wordpress"}),
        ),
        ("prefixes", json!({"keywords": "title:(design* -logo)"})),
        (
            "skills",
            json!({"skills": {"any": ["PHP", "React"], "none": ["WordPress"]}}),
        ),
        (
            "money",
            json!({"paymentTypes": ["fixed"], "fixedPrice": {"min": 100, "max": 500}, "whenUnknown": "reject"}),
        ),
        (
            "narrow",
            json!({"keywords": "title:(rust OR golang OR kotlin OR elixir)"}),
        ),
    ];
    let mut campaigns = Vec::new();
    let mut expected = Vec::new();
    let jobs = std::fs::read_to_string(&file).unwrap();
    for (name, filter) in &filters {
        let filter_file = world.installation.file("filter.json", filter.to_string());
        let tested = world
            .installation
            .run(&[
                "filters",
                "test",
                "--json",
                "--filter",
                &filter_file.display().to_string(),
                "--jobs",
                &file.display().to_string(),
            ])
            .expect(0)
            .json();
        assert_eq!(tested["jobs"], jobs.lines().count());
        assert_eq!(tested["matched"], tested["ids"].as_array().unwrap().len());
        let ids: BTreeSet<String> = texts(&tested["ids"]).collect();
        assert!(!ids.is_empty(), "{name} matches nothing, so it shows nothing");
        expected.push(ids);
        let mut made = if *name == "narrow" {
            world.external(name, "x")
        } else {
            campaign(name, "x")
        };
        made["filters"] = json!([filter.clone()]);
        made["filters"][0]["id"] = format!("f_{name}").into();
        made["filters"][0]["name"] = (*name).into();
        campaigns.push(made);
    }
    let ids_by_url: std::collections::BTreeMap<String, String> = jobs
        .lines()
        .map(|line| {
            let post: Value = serde_json::from_str(line).unwrap();
            (
                post["url"].as_str().unwrap().to_owned(),
                post["id"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    world.provision(&campaigns);
    let service = world.installation.serve();
    let api = service.api();
    for ((name, _), ids) in filters.iter().zip(&expected) {
        until(
            &format!("{name} lists {} jobs", ids.len()),
            Duration::from_secs(60),
            || {
                let page = api
                    .get(&format!("/v1/campaigns/{name}/leads?limit=1"))
                    .expect(200)
                    .json();
                page["total"] == ids.len()
            },
        );
        let leads = all_leads(&api, name);
        let listed: BTreeSet<String> = leads
            .iter()
            .map(|lead| {
                ids_by_url
                    .iter()
                    .find(|(url, _)| lead["jobUrl"].as_str().unwrap().ends_with(url.as_str()))
            })
            .map(|found| found.unwrap().1.clone())
            .collect();
        assert_eq!(leads.len(), ids.len(), "{name}: no job is listed twice");
        assert_eq!(&listed, ids, "{name}");
        let created: Vec<i64> = leads
            .iter()
            .map(|lead| lead["createdAt"].as_i64().unwrap())
            .collect();
        assert!(created.is_sorted_by(|a, b| a >= b), "{name}: newest first");
    }
    let narrow = &expected[filters.len() - 1];
    world.deliveries("bid_complete", narrow.len());
    let told = world.deliveries("job.new", narrow.len());
    assert_eq!(told.len(), narrow.len());
    let bid_on: BTreeSet<String> = world
        .simulator
        .proposals()
        .iter()
        .map(|p| p["jobId"].as_str().unwrap().to_owned())
        .collect();
    assert!(bid_on.is_subset(narrow) && bid_on.len() == world.simulator.proposals().len());
    assert!(!world.accepted().is_empty(), "some of them can be bid on");
}

fn texts(list: &Value) -> impl Iterator<Item = String> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap().to_owned())
}
