//! The interface description: what it says of the specification's rules, its sentences and examples, and how it is served.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use bidloop_http_api::{Offer, openapi as document};
use serde_json::{Value, json};

use crate::client::Request;
use crate::described::Description;
use crate::world::{CAMPAIGN, SETTINGS, ServerSettings, World, key, lead_of};

/// A schema of the document, by name.
fn schema<'a>(document: &'a Value, name: &str) -> &'a Value {
    let schema = &document["components"]["schemas"][name];
    assert!(schema.is_object(), "{name} is described");
    schema
}

#[test]
fn the_description_is_openapi_3_1_of_the_specified_version() {
    let document = document();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    assert_eq!(document["info"]["version"], "2026-09-10");
    assert_eq!(
        document["components"]["securitySchemes"]["apiKey"]["scheme"],
        "bearer"
    );
    assert_eq!(document["security"], json!([{"apiKey": []}]));
}

#[test]
fn every_operation_names_every_status_it_answers_with() {
    let document = document();
    let statuses = |path: &str, method: &str| -> Vec<String> {
        let responses = document["paths"][path][method]["responses"].as_object().unwrap();
        responses.keys().cloned().collect()
    };
    let lead = "/v1/campaigns/{campaign_id}/leads/{lead_id}";
    assert_eq!(
        statuses("/v1/campaigns/{campaign_id}/leads", "get"),
        ["200", "304", "401", "404", "500", "503"]
    );
    assert_eq!(
        statuses(&format!("{lead}/bid"), "post"),
        [
            "200", "400", "401", "402", "404", "409", "413", "415", "500", "503"
        ]
    );
    for operation in ["reject", "attachments"] {
        assert_eq!(
            statuses(&format!("{lead}/{operation}"), "post"),
            ["200", "400", "401", "404", "413", "415", "500", "503"]
        );
    }
}

#[test]
fn every_path_takes_the_described_methods_and_no_others() {
    let world = World::new();
    for (path, described) in document()["paths"].as_object().unwrap() {
        let path = path
            .replace("{campaign_id}", CAMPAIGN)
            .replace("{lead_id}", &lead_of(0));
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let answer = world.send(&Request::new(method, &path).key(&key()));
            let is_described = described[method.to_lowercase()].is_object();
            assert_ne!(answer.status, 404, "{method} {path}");
            assert_eq!(answer.status != 405, is_described, "{method} {path}");
        }
    }
}

#[test]
fn unknown_fields_are_refused_where_the_specification_says_so() {
    let document = document();
    for name in [
        "SubmitBidRequest",
        "QuestionAnswerPair",
        "BiddingConfigOverride",
        "RejectLeadRequest",
        "LeadPage",
    ] {
        assert_eq!(schema(&document, name)["additionalProperties"], false, "{name}");
    }
    for name in [
        "Lead",
        "LeadActionAck",
        "LeadAttachment",
        "StandardError",
        "QuotaError",
    ] {
        assert!(
            schema(&document, name).get("additionalProperties").is_none(),
            "{name}"
        );
    }
}

#[test]
fn required_fields_and_nulls_are_the_specifications() {
    let document = document();
    let required = |name: &str| -> BTreeSet<String> {
        let required = schema(&document, name)["required"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        required
            .iter()
            .map(|field| field.as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        required("SubmitBidRequest"),
        ["coverLetter", "questionAnswerPairs"].map(str::to_owned).into()
    );
    assert!(required("BiddingConfigOverride").is_empty());
    assert!(required("RejectLeadRequest").is_empty());
    for (name, fields) in [
        (
            "Lead",
            &["id", "title", "jobUrl", "campaignId", "organizationId"][..],
        ),
        (
            "LeadActionAck",
            &["success", "leadId", "campaignId", "organizationId"],
        ),
        (
            "LeadAttachment",
            &["id", "originalName", "contentType", "sizeBytes"],
        ),
        ("LeadPage", &["data", "total", "offset", "limit", "hasMore"]),
        ("StandardError", &["statusCode", "message"]),
        ("ValidationError", &["message", "errors"]),
        ("QuotaError", &["message", "code"]),
    ] {
        // What else is always sent is required, too.
        let specified: BTreeSet<String> = fields.iter().map(|field| (*field).to_owned()).collect();
        assert!(required(name).is_superset(&specified), "{name}");
    }
    let lead = "/v1/campaigns/{campaign_id}/leads/{lead_id}";
    for (operation, is_required) in [("bid", true), ("reject", false), ("attachments", true)] {
        let body = &document["paths"][format!("{lead}/{operation}")]["post"]["requestBody"];
        assert_eq!(body["required"], is_required, "{operation}");
    }
    let config = &schema(&document, "BiddingConfigOverride")["properties"];
    assert_eq!(
        config.as_object().unwrap().len(),
        bidloop_domain::model::BIDDING_CONFIG_FIELDS.len()
    );
    for field in bidloop_domain::model::BIDDING_CONFIG_FIELDS {
        let described = &config[field];
        assert!(described.is_object(), "{field}");
        let nullable = described["type"]
            .as_array()
            .is_some_and(|types| types.contains(&json!("null")));
        let specified = !matches!(
            field,
            "bidWithWarning"
                | "biddingHourlyRateStrategy"
                | "insufficientBoostConnectsAction"
                | "alreadyHiredAction"
        );
        assert_eq!(nullable, specified, "{field}: {described}");
    }
    assert_eq!(config["biddingHourlyRatePercentage"]["maximum"], 100);
    assert_eq!(
        schema(&document, "RejectLeadRequest")["properties"]["reason"]["maxLength"],
        500
    );
    assert_eq!(
        schema(&document, "RejectLeadRequest")["properties"]["reason"]["type"],
        "string"
    );
}

#[test]
fn both_webhooks_are_described() {
    let document = document();
    for (event, envelope) in [
        ("job.new", "JobNewEnvelope"),
        ("bid_complete", "BidCompleteEnvelope"),
    ] {
        let content = &document["webhooks"][event]["post"]["requestBody"]["content"]["application/json"];
        assert_eq!(
            content["schema"]["$ref"],
            format!("#/components/schemas/{envelope}")
        );
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                    found.insert(reference.to_owned());
                }
                members.values().for_each(|member| references(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }
    let document = document();
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(found.len() > 10);
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

/// Calls `visit` with every object of the document, and the path to it.
fn visit_objects(value: &Value, path: &str, visit: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(members) => {
            visit(path, value);
            for (name, member) in members {
                // Examples are data.
                if name != "examples" && name != "example" {
                    visit_objects(member, &format!("{path}/{name}"), visit);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                visit_objects(item, &format!("{path}/{index}"), visit);
            }
        }
        _ => {}
    }
}

#[test]
fn everything_that_a_reader_meets_has_a_description_and_everything_sent_an_example() {
    let document = document();
    let is_text = |value: &Value| value.as_str().is_some_and(|text| text.len() > 3);
    let mut checked = 0;
    visit_objects(&document, "", &mut |path, object| {
        let parts: Vec<&str> = path.rsplit('/').collect();
        let parent = parts.get(1).copied().unwrap_or_default();
        let is_reference = object["$ref"].is_string();
        let is_named = matches!(
            parent,
            "properties" | "parameters" | "responses" | "headers" | "schemas" | "tags" | "securitySchemes"
        );
        // The conditions of a saved filter are described by their table; the parts of a condition are not.
        let is_of_a_filter = path.contains("/SavedFilter/") && path.matches("/properties/").count() > 1;
        if is_named && !is_reference && !is_of_a_filter {
            assert!(is_text(&object["description"]), "{path} has no description");
            checked += 1;
        }
        if parent == "content" {
            let examples = object["examples"]
                .as_object()
                .unwrap_or_else(|| panic!("{path} has no example"));
            assert!(
                examples.values().all(|example| is_text(&example["summary"])),
                "{path}"
            );
        }
        if object["responses"].is_object() && !path.ends_with("/components") {
            assert!(
                is_text(&object["summary"]) && is_text(&object["description"]),
                "{path}"
            );
            assert_eq!(object["tags"].as_array().map(Vec::len), Some(1), "{path}");
        }
    });
    assert!(checked > 200, "{checked}");
}

#[test]
fn every_example_is_as_its_schema_says() {
    let description = Description::new();
    let mut checked = 0;
    visit_objects(&description.document, "", &mut |path, object| {
        let schema = if object["schema"].is_object() {
            &object["schema"]
        } else {
            object
        };
        let named = object["examples"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(_, example)| &example["value"]);
        let listed = object["examples"].as_array().into_iter().flatten();
        for example in named.chain(listed).chain(object.get("example")) {
            assert_eq!(description.faults(schema, example), [""; 0], "{path}: {example}");
            checked += 1;
        }
    });
    assert!(checked > 200, "{checked}");
}

/// What programs depend on: everything but the sentences and the examples, a line each.
fn interface(document: &Value) -> String {
    fn write(value: &Value, path: &str, lines: &mut String) {
        const PROSE: [&str; 5] = ["description", "summary", "title", "examples", "example"];
        match value {
            Value::Object(members) if !members.is_empty() => {
                for (name, member) in members {
                    if !(PROSE.contains(&name.as_str())
                        && (member.is_string() || !path.ends_with("properties")))
                    {
                        write(member, &format!("{path} {name}"), lines);
                    }
                }
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                for (index, item) in items.iter().enumerate() {
                    write(item, &format!("{path} {index}"), lines);
                }
            }
            leaf => drop(writeln!(lines, "{} = {leaf}", path.trim_start())),
        }
    }
    let mut lines = String::new();
    write(document, "", &mut lines);
    lines
}

#[test]
fn the_interface_is_what_it_was() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/api/interface.txt");
    let now = interface(&document());
    if std::env::var_os("BIDLOOP_ACCEPT_INTERFACE").is_some() {
        std::fs::write(path, &now).unwrap();
    }
    let before = std::fs::read_to_string(path).unwrap();
    let (now, before): (BTreeSet<&str>, BTreeSet<&str>) = (now.lines().collect(), before.lines().collect());
    let added: Vec<_> = now.difference(&before).collect();
    let removed: Vec<_> = before.difference(&now).collect();
    assert!(
        added.is_empty() && removed.is_empty(),
        "the interface changed. If that is meant, run this test with BIDLOOP_ACCEPT_INTERFACE=1.\n\
         added: {added:#?}\nremoved: {removed:#?}"
    );
}

#[test]
fn the_description_is_served_without_a_key_and_with_the_services_address() {
    let world = World::new();
    let answer = world.send(&Request::new("GET", "/v1/openapi.json"));
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("application/json"))
    );
    let mut expected = document();
    expected["servers"][0]["url"] = json!("http://api.test");
    assert_eq!(answer.json(), expected);
}

#[test]
fn the_page_loads_its_style_sheet_and_nothing_else() {
    let world = World::new();
    let answer = world.send(&Request::new("GET", "/docs"));
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("text/html; charset=utf-8"))
    );
    let policy = answer.header("content-security-policy").unwrap();
    assert!(
        policy.contains("default-src 'none'") && policy.contains("style-src 'self'"),
        "{policy}"
    );
    let page = String::from_utf8(answer.body).unwrap();
    for refused in ["<script", "<style", " style=", " onclick=", "src=", "@import"] {
        assert!(!page.contains(refused), "{refused}");
    }
    assert_eq!(page.matches("<link ").count(), 1);
    assert!(page.contains("<link rel=\"stylesheet\" href=\"docs/style.css\">"));
    let sheet = world.send(&Request::new("GET", "/docs/style.css"));
    assert_eq!(
        (sheet.status, sheet.header("content-type")),
        (200, Some("text/css; charset=utf-8"))
    );
    assert!(!String::from_utf8(sheet.body).unwrap().contains("url("));
}

#[test]
fn what_describes_the_interface_is_only_read_and_needs_the_api_role_and_the_database() {
    let world = World::new();
    let apart = World::with_settings(ServerSettings {
        offer: Offer::OperabilityOnly,
        ..SETTINGS
    });
    for path in ["/v1/openapi.json", "/docs", "/docs/style.css"] {
        let answer = world.send(&Request::new("POST", path));
        assert_eq!(
            (answer.status, answer.header("allow")),
            (405, Some("GET, HEAD")),
            "{path}"
        );
        assert_eq!(apart.send(&Request::new("GET", path)).status, 404, "{path}");
    }
    world.send(&Request::new("GET", "/v1/openapi.json"));
    assert!(world.metrics.seen().contains(&("openapi", 200)));
    let away = World::new();
    away.store.set_available(false);
    for path in ["/v1/openapi.json", "/docs", "/docs/style.css"] {
        assert_eq!(away.send(&Request::new("GET", path)).status, 503, "{path}");
    }
}
