//! The bodies in the interface description, compared with those that the code reads and writes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use bidloop_domain::attachment_rules::{MAX_FILE_BYTES, MAX_FILES};
use bidloop_domain::matching::filter_schema;
use bidloop_domain::model::{
    AlreadyHiredAction, BidCompleteData, BidOutcome, BidWithWarning, BiddingConfig, CampaignId, Connects,
    DeliveryId, DeliveryTarget, EndpointId, EventPayload, HourlyRateStrategy,
    InsufficientBoostConnectsAction, JobId, JobPost, Lead, LeadForm, LeadId, LeadStatus, LeadWithJob, Links,
    OrganizationId, PAYLOAD_VERSION, PaymentKind, Reason, ReasonCode, SubscriptionStatus, Terms, Timestamp,
    UsdCents, VariantArray, WebhookSecret, lead_document,
};
use bidloop_domain::port::{ClaimedDelivery, Entropy, LeaseOwner};
use bidloop_domain::use_case::{DeliverWebhooks, DeliveryLimits, InFlight, MAX_PAGE, MAX_REASON_CHARS};
use bidloop_fakes::{FakeWebhookSender, MemoryStore, SequentialEntropy, SimulatedClock};
use bidloop_http_api::openapi;
use serde_json::{Map, Value, json};

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

/// The interface description, and the fields that have been seen of its schemas.
struct Description {
    document: Value,
    seen: BTreeMap<String, BTreeSet<String>>,
}

impl Description {
    fn new() -> Self {
        Self {
            document: openapi(),
            seen: BTreeMap::new(),
        }
    }

    fn schemas(&self) -> &Map<String, Value> {
        self.document["components"]["schemas"].as_object().unwrap()
    }

    /// Follows a reference.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(reference) => &self.schemas()[name_in(reference)],
            None => schema,
        }
    }

    fn fields_of(&self, name: &str) -> BTreeSet<String> {
        let properties = self.schemas()[name]["properties"].as_object().unwrap();
        properties.keys().cloned().collect()
    }

    /// Checks a value against a schema of the description, and notes which fields it has.
    fn check(&mut self, name: &str, value: &Value) {
        if let Some(fields) = value.as_object() {
            let seen = self.seen.entry(name.to_owned()).or_default();
            seen.extend(fields.keys().cloned());
        }
        let schema = self.schemas()[name].clone();
        self.check_inline(&schema, value, name);
    }

    fn check_inline(&mut self, schema: &Value, value: &Value, at: &str) {
        if let Some(reference) = schema["$ref"].as_str() {
            return self.check(name_in(reference), value);
        }
        if let Some(alternatives) = schema["oneOf"].as_array() {
            if let (false, Some(schema)) = (value.is_null(), alternatives.first()) {
                self.check_inline(schema, value, at);
            }
            return;
        }
        let types = types_of(schema);
        assert!(
            types.iter().any(|kind| is_of(kind, value)),
            "{at} is {types:?}: {value}"
        );
        if let Some(words) = schema["enum"].as_array() {
            assert!(words.contains(value), "{at}: {value}");
        }
        if let (Some(properties), Some(fields)) = (schema["properties"].as_object(), value.as_object()) {
            for (name, field) in fields {
                let place = format!("{at}.{name}");
                let property = properties.get(name);
                let property = property.unwrap_or_else(|| panic!("{place} is not described"));
                self.check_inline(property, field, &place);
            }
            for name in required_in(schema) {
                assert!(fields.contains_key(&name), "{at}.{name} is required");
            }
        }
        for item in value.as_array().into_iter().flatten() {
            self.check_inline(&schema["items"], item, at);
        }
    }

    /// A value with every field.
    fn example(&self, schema: &Value) -> Value {
        let schema = self.resolved(schema);
        if let Some(words) = schema["enum"].as_array() {
            return words[0].clone();
        }
        match types_of(schema)[0] {
            "object" => schema["properties"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, property)| (name.clone(), self.example(property)))
                .collect(),
            "array" => json!([self.example(&schema["items"])]),
            "boolean" => json!(true),
            "string" => json!("text"),
            "integer" | "number" => json!(bounds(schema).0.unwrap_or(1)),
            other => panic!("{other}"),
        }
    }
}

fn name_in(reference: &str) -> &str {
    reference.strip_prefix("#/components/schemas/").unwrap()
}

fn types_of(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => panic!("{schema} has no type"),
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => value.is_null(),
    }
}

fn required_in(schema: &Value) -> BTreeSet<String> {
    let names = schema["required"].as_array().into_iter().flatten();
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// The least and the greatest integer that a number may be.
fn bounds(schema: &Value) -> (Option<i64>, Option<i64>) {
    let above = schema["exclusiveMinimum"].as_i64().map(|bound| bound + 1);
    (above.or(schema["minimum"].as_i64()), schema["maximum"].as_i64())
}

/// A job post with all fields of the protocol.
fn full_job() -> String {
    json!({
        "id": "1", "ciphertext": "~1", "title": "T", "description": "D", "url": "/jobs/~1", "postedAt": 1,
        "category": "c", "occupation": "o", "skills": [{"name": "rust"}], "questions": ["q"],
        "projectType": "p", "projectDuration": "d", "isFeatured": true, "region": "r",
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
        "vendorQualifications": {"talentType": "ANY"}, "clientReviews": [{"any": 1}],
        "openJobs": [{"id": "2", "ciphertext": "~2", "title": "T", "type": "FIXED", "isPtcPrivate": false}],
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

/// The body of the webhook that the service sends.
fn sent_webhook(payload: EventPayload) -> Value {
    let sender = Arc::new(FakeWebhookSender::new());
    let deliver = DeliverWebhooks {
        store: Arc::new(MemoryStore::new()),
        sender: sender.clone(),
        clock: Arc::new(SimulatedClock::at(Timestamp::from_seconds(1))),
        links: links(),
        owner: LeaseOwner::new("test"),
        limits: DeliveryLimits::default(),
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
        lead: Some(LeadWithJob {
            lead,
            job_json: full_job(),
        }),
        is_test: false,
        sent_by: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(deliver.send(&delivery));
    serde_json::from_slice(&sender.sent()[0].body).unwrap()
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

#[test]
fn answers_and_webhooks_have_the_described_fields_and_no_others() {
    let mut description = Description::new();
    JobPost::parse(&full_job()).unwrap();
    let stored = LeadWithJob {
        lead: lead(),
        job_json: full_job(),
    };
    for form in [LeadForm::Listed, LeadForm::Pushed] {
        let document = lead_document(&stored, Some("Campaign"), &links(), form).unwrap();
        description.check("Lead", &serde_json::from_str(document.get()).unwrap());
    }
    let world = World::new();
    let bid = |letter: &str| json!({"coverLetter": letter, "questionAnswerPairs": [], "dryRun": true});
    let bid_on = |job, letter| world.post(&address_of(job, "bid"), &bid(letter)).json();
    description.check("LeadPage", &world.get("/v1/campaigns/camp/leads?limit=2").json());
    description.check("LeadActionAck", &bid_on(0, "Hi"));
    description.check("StandardError", &bid_on(0, ""));
    description.check("ValidationError", &bid_on(1, "Hi"));
    let upload = upload::request(&address_of(0, "attachments"), Form::new().text("a.txt").bytes());
    description.check("LeadAttachment", &world.send(&upload).json()[0]);
    world.provision(&[organization(ORG, SubscriptionStatus::Active, 0)]);
    let real = json!({"coverLetter": "Hi", "questionAnswerPairs": []});
    description.check("QuotaError", &world.post(&address_of(0, "bid"), &real).json());

    description.check("JobNewEnvelope", &sent_webhook(EventPayload::JobNew));
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
    for outcome in [submitted, skipped] {
        let sent = sent_webhook(bid_complete(&outcome));
        description.check("BidCompleteEnvelope", &sent);
    }

    let answered: Vec<&String> = description
        .schemas()
        .iter()
        .filter(|(name, schema)| schema["properties"].is_object() && !REQUESTS.contains(&name.as_str()))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(answered, description.seen.keys().collect::<Vec<_>>());
    for (name, fields) in &description.seen {
        assert_eq!(*fields, description.fields_of(name), "{name}");
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
        description.fields_of(schema)
    );
    let unknown = with(&|object| drop(object.insert("unknown".to_owned(), json!(1))));
    assert_eq!(unknown, (400, vec![path("unknown")]), "{schema}");
    let required = required_in(&description.schemas()[schema]);
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
    let mut full = description.example(&description.schemas()["SubmitBidRequest"]);
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
fn a_bidding_configuration_has_the_described_bounds_and_nulls() {
    let description = Description::new();
    let world = World::new();
    let status = |name: &str, value: Value| {
        let body = json!({
            "coverLetter": "Hi", "questionAnswerPairs": [], "dryRun": true, "biddingConfig": {name: value},
        });
        world.post(&address_of(0, "bid"), &body).status
    };
    for (name, property) in description.schemas()["BiddingConfigOverride"]["properties"]
        .as_object()
        .unwrap()
    {
        let property = description.resolved(property);
        let takes_null = types_of(property).contains(&"null");
        assert_eq!(
            status(name, Value::Null),
            if takes_null { 200 } else { 400 },
            "{name}: null"
        );
        let (least, greatest) = bounds(property);
        for (bound, beyond) in [(least, -1), (greatest, 1)] {
            if let Some(bound) = bound {
                assert_eq!(status(name, json!(bound)), 200, "{name}: {bound}");
                assert_eq!(
                    status(name, json!(bound + beyond)),
                    400,
                    "{name}: {bound} + {beyond}"
                );
            }
        }
    }
}

#[test]
fn a_rejection_takes_the_described_fields_and_no_others() {
    let description = Description::new();
    let world = World::new();
    let full = description.example(&description.schemas()["RejectLeadRequest"]);
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

    let parameters = &description.document["paths"]["/v1/campaigns/{campaign_id}/leads"]["get"]["parameters"];
    let limit = &parameters[2];
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

    assert_eq!(schemas["SavedFilter"], filter_schema());
}
