//! The bodies in the interface description, compared with those that the code reads and writes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use bidloop_domain::attachment_rules::{ContentType, MAX_FILE_BYTES, MAX_FILES};
use bidloop_domain::matching::filter_schema;
use bidloop_domain::model::{
    AlreadyHiredAction, BidCompleteData, BidOutcome, BidWithWarning, BiddingConfig, CampaignId, Connects,
    DeliveryId, DeliveryTarget, EndpointId, EventKind, EventPayload, HourlyRateStrategy,
    InsufficientBoostConnectsAction, JobId, JobPost, Lead, LeadForm, LeadId, LeadStatus, LeadWithJob, Links,
    NewLead, OrganizationId, PAYLOAD_VERSION, PaymentKind, Reason, ReasonCode, SubscriptionStatus, Terms,
    TermsJson, Timestamp, TraceParent, UsdCents, VariantArray, WebhookSecret, lead_document,
};
use bidloop_domain::port::{ClaimedDelivery, Entropy, LeaseOwner, OutgoingWebhook};
use bidloop_domain::use_case::{DeliverWebhooks, InFlight, MAX_IN_FLIGHT, MAX_PAGE, MAX_REASON_CHARS};
use bidloop_fakes::{FakeWebhookSender, MemoryStore, SequentialEntropy, SimulatedClock};
use serde_json::{Map, Value, json};

use crate::described::Description;
use crate::upload::{self, Form};
use crate::world::{ORG, QUESTIONS, World, address_of, organization};

/// The bodies that callers send; the others are answers and webhooks.
const REQUESTS: [&str; 7] = [
    "SubmitBidRequest",
    "QuestionAnswerPair",
    "BiddingConfigOverride",
    "RejectLeadRequest",
    "UploadRequest",
    "UploadedFile",
    "SavedFilter",
];

fn types_of(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(kind) => vec![kind],
        kinds => kinds
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect(),
    }
}

/// A value with every field.
fn full_value(description: &Description, schema: &Value) -> Value {
    let schema = description.resolved(schema);
    if let Some(words) = schema["enum"].as_array() {
        return words[0].clone();
    }
    match types_of(schema)[0] {
        "object" => {
            let properties = schema["properties"].as_object().unwrap().iter();
            properties
                .map(|(name, property)| (name.clone(), full_value(description, property)))
                .collect()
        }
        "array" => json!([full_value(description, &schema["items"])]),
        "boolean" => json!(true),
        "string" => json!("text"),
        _ => json!(1),
    }
}

/// A job post with all fields of the protocol.
fn full_job() -> String {
    json!({
        "id": "1", "ciphertext": "~1", "title": "T", "description": "D", "url": "/jobs/~1", "postedAt": 1,
        "category": "c", "occupation": "o", "skills": [{"name": "rust"}], "questions": ["q"],
        "projectType": "p", "projectDuration": "d", "isFeatured": true, "region": "USOnly",
        "metadata": {
            "experienceLevel": "e", "paymentType": "Hourly", "hourlyRate": {"min": 1.5, "max": 2},
            "fixedPrice": 3, "duration": "d", "hours": "h",
        },
        "clientInfo": {
            "isPaymentVerified": true, "isPhoneVerified": true, "rating": 4.5, "numberOfReviews": 1,
            "country": "c", "region": "r", "totalSpent": 1.5, "numberOfHires": 1, "jobsPosted": 1,
            "hireRate": 50, "memberSince": "2020-01-01", "activeEngagements": 1, "openJobs": 1,
            "companyIndustry": "i", "companySize": "s", "enterpriseClient": false, "avgHourlyRatePaid": 30,
            "companyId": "id",
        },
        "attachments": [{"fileName": "f", "length": 1, "uri": "/u"}],
        "vendorQualifications": {
            "location": "Norway", "talentType": "ANY", "englishLevel": "BASIC", "minimumEarnings": 100,
            "jobSuccessScore": 80, "includeRisingTalent": true,
        },
        "clientReviews": [{"score": 5, "comment": "c"}],
        "openJobs": [{"id": "2", "ciphertext": "~2", "title": "T", "type": "FIXED", "isPtcPrivate": false}],
    })
    .to_string()
}

/// A job post whose objects are all empty.
fn bare_job() -> String {
    json!({
        "id": "1", "ciphertext": "~1", "title": "T", "description": "D", "url": "/jobs/~1", "postedAt": 1,
        "metadata": {"hourlyRate": {}}, "clientInfo": {}, "attachments": [{}], "vendorQualifications": {},
        "clientReviews": [{}], "openJobs": [{}],
    })
    .to_string()
}

fn lead() -> Lead {
    Lead {
        id: LeadId::parse("ld_1").unwrap(),
        organization_id: OrganizationId::parse(ORG).unwrap(),
        campaign_id: CampaignId::parse("camp").unwrap(),
        job_id: JobId::parse("1").unwrap(),
        created_at: Timestamp::from_seconds(1),
        status: LeadStatus::Skipped,
        reason: Some(Reason {
            code: ReasonCode::JobWarning,
            message: "m".to_owned(),
        }),
        rejection_reason: None,
        proposal_id: Some("p".to_owned()),
        bidding_config: BiddingConfig::default(),
    }
}

fn links() -> Links {
    Links::new("http://api.test", Some("http://market.test"))
}

/// The webhook that the service sends as a test.
fn sent_webhook(payload: EventPayload) -> OutgoingWebhook {
    let sender = Arc::new(FakeWebhookSender::new());
    let deliver = DeliverWebhooks {
        store: Arc::new(MemoryStore::new()),
        sender: sender.clone(),
        clock: Arc::new(SimulatedClock::at(Timestamp::from_seconds(1))),
        links: links(),
        owner: LeaseOwner::new("test"),
        max_in_flight: MAX_IN_FLIGHT,
        in_flight: InFlight::default(),
    };
    let lead = lead();
    let delivery = ClaimedDelivery {
        organization_id: lead.organization_id.clone(),
        id: DeliveryId(SequentialEntropy::new().uuid()),
        campaign_id: lead.campaign_id.clone(),
        lead_id: lead.id.clone(),
        campaign_name: Some("Campaign".to_owned()),
        target: DeliveryTarget {
            endpoint_id: EndpointId::parse("hook").unwrap(),
            url: "https://hooks.test".to_owned(),
            secrets: vec![WebhookSecret::generate([1; 32])],
        },
        payload,
        created_at: Timestamp::from_seconds(1),
        lead: Some(
            NewLead::read(LeadWithJob {
                lead,
                job_json: full_job(),
            })
            .unwrap(),
        ),
        is_test: true,
        sent_by: None,
        trace_parent: TraceParent::new(1, 2, true),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(deliver.send(delivery));
    sender.sent().remove(0)
}

fn bid_complete(outcome: &BidOutcome) -> EventPayload {
    let lead = lead();
    BidCompleteData::ended(
        &lead.organization_id,
        &lead.campaign_id,
        &lead.id,
        "http://market.test/jobs/~1",
        "T",
        outcome,
    )
    .payload()
}

/// Ends of bids, and a dry run.
fn bid_completes() -> Vec<EventPayload> {
    let submitted = BidOutcome::Submitted {
        proposal_id: "p".to_owned(),
        submitted_at: Timestamp::from_seconds(1),
        terms: Terms {
            kind: PaymentKind::Hourly,
            amount: UsdCents::from_cents(4_550),
        },
        boost_connects: Connects::new(2),
        connects_spent: Connects::new(16),
    };
    let skipped = BidOutcome::NotSubmitted {
        reason: lead().reason.unwrap(),
        terms: None,
        boost_connects: Connects::ZERO,
        existing_proposal_id: None,
    };
    let unknown = TermsJson {
        kind: PaymentKind::Fixed,
        amount: None,
    };
    let simulated =
        BidCompleteData::simulated(&lead(), "http://market.test/jobs/~1", "T", unknown, None).payload();
    vec![bid_complete(&submitted), bid_complete(&skipped), simulated]
}

/// Checks a webhook's body and headers.
fn check_webhook(description: &mut Description, event: &str, envelope: &str, webhook: &OutgoingWebhook) {
    description.check(envelope, &serde_json::from_slice(&webhook.body).unwrap());
    let described = &description.document["webhooks"][event]["post"];
    let parameters = described["parameters"].as_array().unwrap();
    let mut sent: BTreeMap<String, Value> = webhook
        .headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), json!(value)))
        .collect();
    assert_eq!(sent.remove("content-type"), Some(json!("application/json")));
    sent.remove("user-agent");
    for parameter in parameters {
        let parameter = description.resolved(parameter);
        let name = parameter["name"].as_str().unwrap().to_lowercase();
        let value = sent
            .remove(&name)
            .unwrap_or_else(|| panic!("{event} has no {name}"));
        assert_eq!(
            description.faults(&parameter["schema"], &value),
            [""; 0],
            "{name}"
        );
    }
    assert!(sent.is_empty(), "{event} has {sent:?}");
}

#[test]
fn answers_and_webhooks_have_the_described_fields_and_what_is_always_sent_is_required() {
    let mut description = Description::new();
    for job_json in [full_job(), bare_job()] {
        JobPost::parse(&job_json).unwrap();
        let stored = LeadWithJob {
            lead: lead(),
            job_json,
        };
        for (form, schema) in [(LeadForm::Listed, "ListedLead"), (LeadForm::Pushed, "Lead")] {
            let document = lead_document(&stored, Some("Campaign"), &links(), form).unwrap();
            description.check(schema, &serde_json::from_str(document.get()).unwrap());
        }
    }
    let world = World::new();
    let bid = |letter: &str, config: Value| json!({"coverLetter": letter, "questionAnswerPairs": [], "dryRun": true, "biddingConfig": config});
    let bid_on = |job, letter, config| world.post(&address_of(job, "bid"), &bid(letter, config)).json();
    description.check("LeadPage", &world.get("/v1/campaigns/camp/leads?limit=2").json());
    description.check("LeadActionAck", &bid_on(0, "Hi", json!({})));
    description.check("StandardError", &bid_on(0, "", json!({})));
    description.check("StandardError", &world.get("/v1/campaigns/unknown/leads").json());
    description.check("ValidationError", &bid_on(1, "Hi", json!({})));
    let without_rate = json!({"biddingHourlyRateStrategy": "fixed_rate"});
    description.check("ValidationError", &bid_on(0, "Hi", without_rate));
    let upload = upload::request(&address_of(0, "attachments"), Form::new().text("a.txt").bytes());
    description.check("LeadAttachment", &world.send(&upload).json()[0]);
    description.check(
        "LeadActionAck",
        &world.post(&address_of(1, "reject"), &json!({})).json(),
    );
    world.provision(&[organization(ORG, SubscriptionStatus::Active, 0)]);
    let real = json!({"coverLetter": "Hi", "questionAnswerPairs": []});
    description.check("QuotaError", &world.post(&address_of(0, "bid"), &real).json());

    check_webhook(
        &mut description,
        "job.new",
        "JobNewEnvelope",
        &sent_webhook(EventPayload::JobNew),
    );
    for payload in bid_completes() {
        check_webhook(
            &mut description,
            "bid_complete",
            "BidCompleteEnvelope",
            &sent_webhook(payload),
        );
    }

    for (name, schema) in description.schemas() {
        let fields = Description::own_fields(schema);
        if fields.is_empty() || REQUESTS.contains(&name.as_str()) {
            continue;
        }
        let seen = description
            .seen
            .get(name)
            .unwrap_or_else(|| panic!("{name} was not seen"));
        assert_eq!(*seen, fields, "{name}");
        assert_eq!(
            description.always[name],
            Description::required(schema),
            "{name}: always sent"
        );
    }
}

/// Checks that `post` accepts `full`, and refuses it with an unknown field or without a required field of the object at
/// `pointer`, which `schema` describes.
fn check_fields(
    description: &Description,
    schema: &str,
    full: &Value,
    pointer: &str,
    post: &dyn Fn(&Value) -> (u16, Vec<String>),
) {
    let place = pointer.trim_start_matches('/').replace('/', ".");
    let path = |field: &str| format!("{place}.{field}").trim_start_matches('.').to_owned();
    let with = |change: &dyn Fn(&mut Map<String, Value>)| {
        let mut body = full.clone();
        change(body.pointer_mut(pointer).unwrap().as_object_mut().unwrap());
        post(&body)
    };
    let fields = full.pointer(pointer).unwrap().as_object().unwrap();
    assert_eq!(
        fields.keys().cloned().collect::<BTreeSet<_>>(),
        Description::own_fields(&description.schemas()[schema])
    );
    let unknown = with(&|object| drop(object.insert("unknown".to_owned(), json!(1))));
    assert_eq!(unknown, (400, vec![path("unknown")]), "{schema}");
    let required = Description::required(&description.schemas()[schema]);
    for name in fields.keys() {
        let without = with(&|object| drop(object.remove(name)));
        if required.contains(name) {
            assert_eq!(without, (400, vec![path(name)]), "{schema}");
        } else {
            assert_eq!(without.0, 200, "{schema} without {name}");
        }
    }
}

#[test]
fn a_bid_takes_the_described_fields_and_no_others() {
    let description = Description::new();
    let world = World::new();
    let post = |body: &Value| {
        let answer = world.post(&address_of(1, "bid"), body);
        let paths = if answer.status == 400 {
            answer.error_paths()
        } else {
            Vec::new()
        };
        (answer.status, paths)
    };
    let mut full = full_value(&description, &description.schemas()["SubmitBidRequest"]);
    let pair = full["questionAnswerPairs"][0].clone();
    full["questionAnswerPairs"] = QUESTIONS
        .map(|question| {
            let mut pair = pair.clone();
            pair["question"] = json!(question);
            pair
        })
        .into();
    // The other strategies require further fields.
    full["biddingConfig"]["biddingHourlyRateStrategy"] = json!("smart_bidding");
    assert_eq!(full["dryRun"], true, "so that it can be repeated");
    assert_eq!(post(&full), (200, vec![]));
    for (schema, pointer) in [
        ("SubmitBidRequest", ""),
        ("QuestionAnswerPair", "/questionAnswerPairs/0"),
        ("BiddingConfigOverride", "/biddingConfig"),
    ] {
        check_fields(&description, schema, &full, pointer, &|body| {
            // A bid without a dry run would change the lead.
            let is_dry_run = body["dryRun"] == true;
            if is_dry_run { post(body) } else { (200, vec![]) }
        });
    }
}

#[test]
fn a_bidding_configuration_has_the_described_bounds_and_nulls_and_messages_name_the_bounds() {
    let description = Description::new();
    let world = World::new();
    let post = |name: &str, value: Value| {
        let body = json!({
            "coverLetter": "Hi", "questionAnswerPairs": [], "dryRun": true, "biddingConfig": {name: value},
        });
        world.post(&address_of(0, "bid"), &body)
    };
    let config = &description.schemas()["BiddingConfigOverride"]["properties"];
    for (name, property) in config.as_object().unwrap() {
        let property = description.resolved(property);
        let kinds = types_of(property);
        let takes_null = kinds.contains(&"null");
        assert_eq!(
            post(name, Value::Null).status,
            if takes_null { 200 } else { 400 },
            "{name}: null"
        );
        let step = match kinds[0] {
            "integer" => 1.0,
            "number" => 0.01,
            _ => continue,
        };
        for (keyword, inside, beyond) in [
            ("minimum", 0.0, -step),
            ("minimum", 0.0, -1e-300),
            ("exclusiveMinimum", 1e-300, 0.0),
            ("exclusiveMinimum", step, -step),
            ("maximum", 0.0, step),
        ] {
            let Some(bound) = property[keyword].as_f64() else {
                continue;
            };
            assert_eq!(
                post(name, json!(bound + inside)).status,
                200,
                "{name}: {bound} + {inside}"
            );
            let beyond = bound + beyond;
            let fits = description.faults(property, &json!(beyond)).is_empty();
            let answer = post(name, json!(beyond));
            assert_eq!(answer.status, if fits { 200 } else { 400 }, "{name}: {beyond}");
            if !fits {
                let message = answer.message();
                assert!(
                    message.contains(&property[keyword].to_string()),
                    "{name}: {message}"
                );
            }
        }
        assert!(property["maximum"].is_number(), "{name} has an upper bound");
    }
}

#[test]
fn texts_are_accepted_exactly_if_they_fit_their_patterns() {
    let description = Description::new();
    let world = World::new();
    let schemas = description.schemas();
    let letter = &schemas["SubmitBidRequest"]["properties"]["coverLetter"];
    let answer = &schemas["QuestionAnswerPair"]["properties"]["answer"];
    let reason = &schemas["RejectLeadRequest"]["properties"]["reason"];
    let odd = (0..=0x20).chain(0x7f..=0xa1).chain([
        0x1680, 0x180e, 0x2000, 0x200a, 0x200b, 0x2028, 0x2029, 0x202f, 0x205f, 0x2060, 0x3000, 0xfeff,
        0x1f600,
    ]);
    let texts = odd.map(|code| char::from_u32(code).unwrap().to_string());
    for text in texts.chain([
        String::new(),
        " a".to_owned(),
        "a\n".to_owned(),
        "\0a".to_owned(),
        "a\0\n".to_owned(),
    ]) {
        let fits = |schema: &Value| description.faults(schema, &json!(text)).is_empty();
        let bid = |letter: &str, answer: &str| {
            let pairs = QUESTIONS.map(|question| json!({"question": question, "answer": answer}));
            let body = json!({"coverLetter": letter, "questionAnswerPairs": pairs, "dryRun": true});
            world.post(&address_of(1, "bid"), &body).status == 200
        };
        assert_eq!(bid(&text, "a"), fits(letter), "letter {text:?}");
        assert_eq!(bid("a", &text), fits(answer), "answer {text:?}");
        let rejection = world.post(&address_of(1, "reject"), &json!({"reason": text, "x": 1}));
        let is_named = rejection.error_paths().contains(&"reason".to_owned());
        assert_eq!(!is_named, fits(reason), "reason {text:?}");
    }
    let id = &description.document["components"]["parameters"]["LeadId"]["schema"];
    for text in [
        "a",
        "A-z_0",
        "",
        "a b",
        "é",
        "a\n",
        &"x".repeat(64),
        &"x".repeat(65),
    ] {
        let fits = description.faults(id, &json!(text)).is_empty();
        assert_eq!(LeadId::parse(text).is_ok(), fits, "{text:?}");
    }
}

#[test]
fn a_rejection_takes_the_described_fields_and_no_others() {
    let description = Description::new();
    let world = World::new();
    let full = full_value(&description, &description.schemas()["RejectLeadRequest"]);
    let jobs = std::cell::Cell::new(0);
    let post = |body: &Value| {
        let answer = world.post(&address_of(jobs.get(), "reject"), body);
        if answer.status == 200 {
            jobs.set(jobs.get() + 1);
            return (200, vec![]);
        }
        (answer.status, answer.error_paths())
    };
    assert_eq!(post(&full), (200, vec![]));
    check_fields(&description, "RejectLeadRequest", &full, "", &post);
}

#[test]
fn the_described_limits_and_words_are_the_codes() {
    fn words<T: Display + VariantArray>() -> Value {
        T::VARIANTS.iter().map(ToString::to_string).collect()
    }
    let description = Description::new();
    assert_eq!(description.document["info"]["version"], PAYLOAD_VERSION);
    let schemas = description.schemas();
    for (name, words) in [
        ("LeadStatus", words::<LeadStatus>()),
        ("LeadReasonCode", words::<ReasonCode>()),
        ("TermsType", json!([PaymentKind::Hourly, PaymentKind::Fixed])),
        ("BiddingHourlyRateStrategy", words::<HourlyRateStrategy>()),
        ("BidOrSkip", words::<BidWithWarning>()),
        (
            "SkipOrBidWithoutBoost",
            words::<InsufficientBoostConnectsAction>(),
        ),
    ] {
        assert_eq!(schemas[name]["enum"], words, "{name}");
    }
    let mut hired = AlreadyHiredAction::VARIANTS.iter().map(ToString::to_string);
    assert!(hired.all(|word| {
        schemas["BidOrSkip"]["enum"]
            .as_array()
            .unwrap()
            .contains(&json!(word))
    }));

    let types: Vec<&str> = ContentType::VARIANTS.iter().map(|known| known.as_str()).collect();
    assert_eq!(schemas["FileType"]["enum"], json!(types));
    let upload =
        &description.document["paths"]["/v1/campaigns/{campaign_id}/leads/{lead_id}/attachments"]["post"];
    let encoding = &upload["requestBody"]["content"]["multipart/form-data"]["encoding"];
    assert_eq!(encoding["files"]["contentType"], types.join(", "));
    let events =
        ["JobNewEnvelope", "BidCompleteEnvelope"].map(|name| &schemas[name]["properties"]["event"]["const"]);
    let kinds = EventKind::VARIANTS.iter().map(ToString::to_string);
    assert_eq!(json!(events), json!(kinds.collect::<Vec<_>>()));
    assert_eq!(
        schemas["LeadAttachment"]["properties"]["sizeBytes"]["maximum"],
        MAX_FILE_BYTES
    );

    let parameters = &description.document["paths"]["/v1/campaigns/{campaign_id}/leads"]["get"]["parameters"];
    let limit = &parameters[1];
    assert_eq!(limit["name"], "limit");
    assert_eq!(
        (&limit["schema"]["maximum"], &limit["schema"]["default"]),
        (&json!(MAX_PAGE), &json!(MAX_PAGE))
    );
    assert_eq!(schemas["LeadPage"]["properties"]["limit"]["maximum"], MAX_PAGE);
    assert_eq!(
        schemas["RejectLeadRequest"]["properties"]["reason"]["maxLength"],
        MAX_REASON_CHARS
    );
    let files = &schemas["UploadRequest"]["properties"]["files"];
    assert_eq!(files["maxItems"], MAX_FILES);
    let described = files["description"].as_str().unwrap();
    assert!(described.contains(&format!("{} MB", MAX_FILE_BYTES / 1_048_576)));
    let world = World::new();
    let refused = upload::request(&address_of(0, "attachments"), Form::new().text("a.exe").bytes());
    let message = world.send(&refused).message();
    let (_, extensions) = message.split_once("use one of ").unwrap();
    for extension in extensions.split([' ', ',']).filter(|word| !word.is_empty()) {
        assert!(described.contains(extension.trim_matches('.')), "{extension}");
    }

    let filter = filter_schema();
    assert_eq!(schemas["SavedFilter"]["properties"], filter["properties"]);
    assert_eq!(schemas["SavedFilter"]["additionalProperties"], false);
}
