//! `bidloop filters test|explain`: one answer whichever way a filter is asked.

use acceptance::document::{EXTERNAL, campaign};
use acceptance::world::{all_leads, listed};
use acceptance::{Installation, Kind, World, posts};
use bidloop_simulator::Generator;
use serde_json::{Value, json};

on_both_databases!(
    the_list_the_stored_jobs_and_a_file_of_jobs_agree_on_every_filter,
    explain_says_which_conditions_held,
);

fn the_list_the_stored_jobs_and_a_file_of_jobs_agree_on_every_filter(kind: Kind) {
    let world = World::new(kind);
    let filters = [
        json!({}),
        json!({"keywords": "developer OR designer"}),
        json!({"keywords": "title:(web* OR app*) -wordpress", "whenUnknown": "match"}),
        json!({"paymentTypes": ["hourly"], "hourlyRate": {"min": 40}}),
        json!({"client": {"paymentVerified": true, "minRating": 4.5}}),
        json!({"maxQuestions": 0, "regions": ["Worldwide", "USOnly"]}),
        json!({"fixedPrice": {"max": 500}, "hourlyRate": {"max": 30}, "whenUnknown": "reject"}),
    ];
    let campaigns: Vec<Value> = filters
        .iter()
        .enumerate()
        .map(|(at, filter)| {
            let mut made = campaign(&format!("camp_{at}"), "x");
            made["filters"] = json!([filter.clone()]);
            made["filters"][0]["id"] = format!("f_{at}").into();
            made["filters"][0]["name"] = "F".into();
            made
        })
        .collect();
    world.provision(&campaigns);
    let service = world.installation.serve();
    let mut generator = Generator::new(23);
    let posts: Vec<Value> = (0..150)
        .map(|at| generator.next(1_790_000_000_000 + at))
        .collect();
    let published = world.simulator.publish(posts).unwrap();
    listed(&service.api(), "camp_0", 150);
    let lines: Vec<String> = published.iter().map(Value::to_string).collect();
    let jobs = world.installation.file("jobs.jsonl", lines.join("\n"));
    for (at, filter) in filters.iter().enumerate() {
        let file = world.installation.file("filter.json", filter.to_string());
        let file = file.display().to_string();
        let of_file = world
            .installation
            .run(&[
                "filters",
                "test",
                "--json",
                "--filter",
                &file,
                "--jobs",
                &jobs.display().to_string(),
            ])
            .expect(0)
            .json();
        let fields: Vec<&String> = of_file.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["ids", "jobs", "matched"]);
        let of_stored = world
            .installation
            .run(&["filters", "test", "--json", "--filter", &file])
            .expect(0)
            .json();
        assert_eq!(of_file, of_stored, "{filter}");
        let matched: Vec<&Value> = of_file["ids"].as_array().unwrap().iter().collect();
        let of_list = all_leads(&service.api(), &format!("camp_{at}"));
        let mut urls: Vec<&Value> = of_list.iter().map(|lead| &lead["jobUrl"]).collect();
        let mut expected: Vec<&Value> = published
            .iter()
            .filter(|post| matched.contains(&&post["id"]))
            .map(|post| &post["url"])
            .collect();
        urls.sort_by_key(ToString::to_string);
        expected.sort_by_key(ToString::to_string);
        assert_eq!(urls, expected, "{filter}");
        assert!(
            at == 0 || (!matched.is_empty() && matched.len() < 150),
            "{filter} tells nothing: {}",
            matched.len()
        );
    }
}

fn explain_says_which_conditions_held(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let job = world
        .simulator
        .publish(vec![posts::hourly("Senior Rust developer")])
        .unwrap()
        .remove(0);
    let job = world.installation.file("job.json", job.to_string());
    let explain = |filter: Value| {
        let filter = world.installation.file("filter.json", filter.to_string());
        let arguments = [
            "filters",
            "explain",
            "--json",
            "--filter",
            &filter.display().to_string(),
            "--job",
            &job.display().to_string(),
        ];
        world.installation.run(&arguments).expect(0).json()
    };
    let explained = explain(
        json!({"keywords": "rust -php", "client": {"minRating": 4}, "paymentTypes": ["fixed"], "hourlyRate": {"min": 20}}),
    );
    assert_eq!(explained["matches"], false);
    let result = |condition: &str| {
        let conditions = explained["conditions"].as_array().unwrap();
        let found = conditions.iter().find(|known| known["condition"] == condition);
        let found = found.unwrap_or_else(|| panic!("{condition} in {explained}"));
        assert!(found["detail"].is_string());
        found["result"].as_str().unwrap().to_owned()
    };
    assert_eq!(result("keywords"), "held");
    assert_eq!(result("client.minRating"), "unknown");
    assert_eq!(result("paymentTypes"), "failed");
    assert_eq!(result("hourlyRate"), "held");
    assert_eq!(
        explain(json!({"keywords": "title:(senior rust)"}))["matches"],
        true
    );
}

#[test]
fn a_faulty_filter_or_job_is_named_and_ends_with_status_1() {
    let installation = Installation::new(Kind::Sqlite);
    let jobs = installation.file("jobs.jsonl", format!("{}\n", posts::hourly("x")));
    let test = |filter: &str, jobs: &str| {
        let filter = installation.file("filter.json", filter);
        installation.run(&[
            "filters",
            "test",
            "--json",
            "--filter",
            &filter.display().to_string(),
            "--jobs",
            jobs,
        ])
    };
    let jobs = jobs.display().to_string();
    for (filter, named) in [
        ("{\"keywords\": \"rust AND\"}", "9"),
        ("{\"keywords\": \"colour:red\"}", "colour"),
        ("{\"keywords\": \"\"}", "keywords"),
        ("{\"keyword\": \"rust\"}", "keyword"),
        ("{\"maxQuestions\": \"two\"}", "maxQuestions"),
        ("[]", ""),
        ("{", ""),
    ] {
        let finished = test(filter, &jobs).expect(1);
        assert!(
            finished.err.contains(named) && finished.out.is_empty(),
            "{filter}: {}",
            finished.err
        );
    }
    // What a message repeats of the file cannot break its line or reach the terminal.
    for filter in [
        r#"{"x\ny: z": 1, "\u001b[31m": 2}"#,
        r#"{"keywords": "a\u001b:b"}"#,
        r#"{"featured": true, "client\r\n": {}}"#,
    ] {
        let finished = test(filter, &jobs).expect(1);
        let is_clean = |line: &str| line.contains("filter.json: ") && !line.contains(char::is_control);
        assert!(finished.err.lines().all(is_clean), "{filter}: {:?}", finished.err);
    }
    // A post without an id is no JobPost; its line is named.
    let finished = test("{}", &jobs).expect(1);
    assert!(finished.err.contains('1'), "{}", finished.err);
    test("{}", "missing.jsonl").expect(1);
    installation.run(&["filters", "test"]).expect(2);
}

#[test]
fn openapi_prints_the_description_of_four_operations() {
    let installation = Installation::new(Kind::Sqlite);
    let description = installation.run(&["openapi"]).expect(0).json();
    assert!(description["openapi"].as_str().unwrap().starts_with("3.1"));
    assert_eq!(description["info"]["version"], "2026-09-10");
    let mut operations: Vec<&str> = description["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|path| path.as_object().unwrap().values())
        .filter_map(|operation| operation["operationId"].as_str())
        .collect();
    operations.sort_unstable();
    assert_eq!(
        operations,
        [
            "listCampaignLeads",
            "rejectLead",
            "submitBid",
            "uploadLeadAttachments"
        ]
    );
}
