//! `docs/marketplace.yaml` against the answers of the simulator: every described answer is seen, and has its schema.

use std::collections::BTreeSet;

use bidloop_simulator::Simulator;
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::market::{JOB, TOKEN, run, simulator};

struct Description {
    document: Value,
    /// The answers that were compared: `GET /api/jobs 200`.
    seen: BTreeSet<String>,
}

impl Description {
    fn read() -> Self {
        Self {
            document: serde_saphyr::from_str(include_str!("../../../../docs/marketplace.yaml")).unwrap(),
            seen: BTreeSet::new(),
        }
    }

    /// Follows a reference within the document.
    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => self.document.pointer(reference.trim_start_matches('#')).unwrap(),
            None => value,
        }
    }

    /// Every described answer.
    fn answers(&self) -> BTreeSet<String> {
        let paths = self.document["paths"].as_object().unwrap().iter();
        let calls =
            paths.flat_map(|(path, calls)| calls.as_object().unwrap().iter().map(move |call| (path, call)));
        calls
            .flat_map(|(path, (method, operation))| {
                let statuses = operation["responses"].as_object().unwrap().keys();
                statuses.map(move |status| format!("{} {path} {status}", method.to_uppercase()))
            })
            .collect()
    }

    /// What departs from a schema of the document.
    fn faults(&self, schema: &Value, value: &Value) -> Vec<String> {
        let mut schema = schema.clone();
        schema["components"] = self.document["components"].clone();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let faults = validator.iter_errors(value);
        faults
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect()
    }

    /// Compares an answer with its description.
    fn compare(&mut self, method: &str, path: &str, answer: &Received) {
        let responses = &self.document["paths"][path][method.to_lowercase()]["responses"];
        let exact = answer.status.to_string();
        let status = if responses[&exact].is_null() {
            format!("{}XX", answer.status / 100)
        } else {
            exact
        };
        let response = self.resolved(&responses[&status]);
        assert!(
            response.is_object(),
            "{method} {path} {status} is not described: {}",
            answer.json
        );
        let schema = &response["content"]["application/json"]["schema"];
        assert_eq!(
            self.faults(schema, &answer.json),
            [""; 0],
            "{method} {path} {status}: {}",
            answer.json
        );
        assert_eq!(answer.headers["content-type"], "application/json");
        for (name, header) in response["headers"].as_object().into_iter().flatten() {
            assert!(
                header["required"] != true || answer.headers.contains_key(name),
                "{method} {path} {status}: {name}"
            );
        }
        self.seen.insert(format!("{method} {path} {status}"));
    }
}

struct Received {
    status: u16,
    headers: HeaderMap,
    json: Value,
}

async fn send(
    simulator: &Simulator,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Received {
    let stream = TcpStream::connect(simulator.address()).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "market.test");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body)).unwrap();
    let (head, body) = sender.send_request(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Received {
        status: head.status.as_u16(),
        headers: head.headers,
        json: serde_json::from_slice(&body).unwrap(),
    }
}

/// The calls of a comparison, by the path as it is described.
struct Comparison {
    simulator: Simulator,
    description: Description,
}

impl Comparison {
    async fn get(&mut self, described: &str, path: &str, token: &str) -> Value {
        let authorization = format!("Bearer {token}");
        let answer = send(
            &self.simulator,
            "GET",
            path,
            &[("authorization", &authorization)],
            Bytes::new(),
        )
        .await;
        self.description.compare("GET", described, &answer);
        answer.json
    }

    async fn propose(&mut self, token: &str, key: &str, body: &Value) {
        let headers = [
            ("authorization", &*format!("Bearer {token}")),
            ("idempotency-key", key),
            ("content-type", "application/json"),
        ];
        let body = Bytes::from(body.to_string());
        let answer = send(&self.simulator, "POST", "/api/proposals", &headers, body).await;
        self.description.compare("POST", "/api/proposals", &answer);
    }

    async fn upload(&mut self, token: &str, part: &str, size: usize) {
        let head =
            format!("--b\r\nContent-Disposition: form-data; name=\"{part}\"; filename=\"a.txt\"\r\n\r\n");
        let body = [head.as_bytes(), &vec![b'x'; size], b"\r\n--b--\r\n"].concat();
        let headers = [
            ("authorization", &*format!("Bearer {token}")),
            ("content-type", "multipart/form-data; boundary=b"),
        ];
        let answer = send(
            &self.simulator,
            "POST",
            "/api/attachments",
            &headers,
            Bytes::from(body),
        )
        .await;
        self.description.compare("POST", "/api/attachments", &answer);
    }

    /// Each call once, with a fault of every call.
    async fn under_a_fault(&mut self, status: u16) {
        let calls = [
            "GET /api/jobs",
            "GET /api/jobs/<id>",
            "GET /api/account",
            "POST /api/attachments",
            "POST /api/proposals",
        ];
        let faults = calls.map(|call| json!({"call": call, "times": 1, "status": status}));
        self.simulator.put_faults(&json!(faults)).unwrap();
        self.get("/api/jobs", "/api/jobs", TOKEN).await;
        self.get("/api/jobs/{id}", "/api/jobs/x", TOKEN).await;
        self.get("/api/account", "/api/account", TOKEN).await;
        self.upload(TOKEN, "file", 1).await;
        self.propose(TOKEN, "fault", &json!({})).await;
    }
}

#[test]
fn the_simulator_answers_as_described_and_gives_every_described_answer() {
    run(async || {
        let mut calls = Comparison {
            simulator: simulator().await,
            description: Description::read(),
        };
        let full = json!({
            "id": "full", "title": "T", "description": "D", "category": "c", "occupation": "o", "skills": [{"name": "s"}],
            "questions": [], "projectType": "p", "projectDuration": "d", "isFeatured": true, "region": "UKOnly",
            "metadata": {"experienceLevel": "Expert", "paymentType": "Fixed", "fixedPrice": 3, "hourlyRate": {"min": 1.5}},
            "clientInfo": {"isPaymentVerified": true, "rating": 4.5, "openJobs": 2, "memberSince": "2020-01-01"},
            "attachments": [{"fileName": "f", "length": 1, "uri": "/u"}],
            "vendorQualifications": {"location": {"any": 1}, "talentType": "ANY", "englishLevel": null},
            "clientReviews": [{"any": 1}],
            "openJobs": [{"id": "2", "ciphertext": "~2", "title": "T", "type": "FIXED", "isPtcPrivate": false}],
        });
        calls.simulator.publish(vec![full]).unwrap();
        calls
            .simulator
            .patch_job("full", json!({"warnings": [{"code": "c", "message": "m"}]}))
            .unwrap();

        let page = calls.get("/api/jobs", "/api/jobs?limit=500", TOKEN).await;
        assert!(page["jobs"].as_array().is_some_and(|jobs| jobs.len() == 13));
        calls.get("/api/jobs", "/api/jobs?after=unknown", TOKEN).await;
        for id in [JOB, "full", "unknown"] {
            calls
                .get("/api/jobs/{id}", &format!("/api/jobs/{id}"), TOKEN)
                .await;
        }
        calls
            .get("/api/jobs/{id}", &format!("/api/jobs/{JOB}"), "wrong")
            .await;
        for token in [TOKEN, "wrong"] {
            calls.get("/api/account", "/api/account", token).await;
            calls.upload(token, "file", 10).await;
        }
        calls.upload(TOKEN, "files", 10).await;
        calls.upload(TOKEN, "file", 25 * 1_048_576 + 1).await;

        let proposal = |job: &str| {
            json!({
                "jobId": job, "coverLetter": "Hello", "boostConnects": 1, "attachments": [], "acceptWarnings": false,
                "answers": [{"question": "When?", "answer": "Now"}, {"question": "How?", "answer": "So"}],
                "terms": {"type": "hourly", "amount": 20.5},
            })
        };
        let schema = json!({"$ref": "#/components/schemas/Proposal"});
        assert_eq!(calls.description.faults(&schema, &proposal(JOB)), [""; 0]);
        for (token, key, job) in [
            (TOKEN, "1", JOB),
            (TOKEN, "1", JOB),
            (TOKEN, "2", JOB),
            (TOKEN, "3", "full"),
            (TOKEN, "4", "unknown"),
            ("wrong", "5", JOB),
        ] {
            calls.propose(token, key, &proposal(job)).await;
        }
        calls.propose(TOKEN, "6", &json!({})).await;
        calls
            .simulator
            .put_account(TOKEN, json!({"connectsBalance": 1}))
            .unwrap();
        calls.propose(TOKEN, "7", &proposal("job-1")).await;
        calls.under_a_fault(429).await;
        calls.under_a_fault(503).await;

        // The simulator under test lets anybody read the feed.
        let mut expected = calls.description.answers();
        expected.remove("GET /api/jobs 401");
        assert_eq!(calls.description.seen, expected);
        calls.simulator.shutdown().await;
    });
}

#[test]
fn the_feed_of_a_simulator_with_a_token_is_refused_as_described() {
    run(async || {
        let options = bidloop_simulator::Options {
            feed_token: Some("feed".to_owned()),
            ..bidloop_simulator::Options::default()
        };
        let mut calls = Comparison {
            simulator: Simulator::start("127.0.0.1:0", options).await.unwrap(),
            description: Description::read(),
        };
        calls.get("/api/jobs", "/api/jobs", "wrong").await;
        assert!(calls.description.seen.contains("GET /api/jobs 401"));
        calls.simulator.shutdown().await;
    });
}

/// Every example beside a schema: `example`, or the values of `examples`.
fn examples<'a>(value: &'a Value, into: &mut Vec<(&'a Value, &'a Value)>) {
    if let Some(schema) = value.get("schema") {
        into.extend(value.get("example").map(|example| (schema, example)));
        let named = value
            .get("examples")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        into.extend(named.map(|(_, example)| (schema, &example["value"])));
    }
    match value {
        Value::Object(members) => members.values().for_each(|member| examples(member, into)),
        Value::Array(items) => items.iter().for_each(|item| examples(item, into)),
        _ => {}
    }
}

#[test]
fn every_example_has_the_schema_beside_it() {
    let description = Description::read();
    let mut found = Vec::new();
    examples(&description.document, &mut found);
    assert!(found.len() > 20, "{}", found.len());
    for (schema, example) in found {
        assert_eq!(description.faults(schema, example), [""; 0], "{example}");
    }
}

#[test]
fn a_departure_from_a_schema_is_noticed() {
    let description = Description::read();
    let schema = json!({"$ref": "#/components/schemas/JobWithState"});
    let mut answer = description.document["paths"]["/api/jobs/{id}"]["get"]["responses"]["200"]["content"]
        ["application/json"]["example"]
        .clone();
    assert_eq!(description.faults(&schema, &answer), [""; 0]);
    answer["state"]["boosts"][1] = json!("12");
    answer["job"]["region"] = json!("Mars");
    assert_eq!(description.faults(&schema, &answer).len(), 2);
}
