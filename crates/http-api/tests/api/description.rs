//! The interface description.

use std::collections::BTreeSet;

use bidloop_http_api::openapi as document;
use serde_json::{Value, json};

use crate::client::Request;
use crate::world::{CAMPAIGN, World, key, lead_of};

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
        ["200", "401", "404", "500", "503"]
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
        let specified: BTreeSet<String> = fields.iter().map(|field| (*field).to_owned()).collect();
        assert_eq!(required(name), specified, "{name}");
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
