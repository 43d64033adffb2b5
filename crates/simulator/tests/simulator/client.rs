//! A caller of the simulator over one keep-alive connection, and the posts and proposals that the tests send.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::SendRequest;
use hyper::{HeaderMap, Request};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::future::Future;
use std::time::Duration;
use tokio::net::TcpStream;

use bidloop_simulator::{Options, Simulator};

/// An answer as it was received.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// Status and code of a refusal.
    pub(crate) fn refusal(&self) -> (u16, String) {
        (
            self.status,
            self.json()["code"].as_str().unwrap_or_default().to_owned(),
        )
    }
}

#[derive(Debug)]
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    token: Option<String>,
}

impl Client {
    pub(crate) async fn connect(simulator: &Simulator) -> Self {
        let stream = TcpStream::connect(simulator.address()).await.unwrap();
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        Self { sender, token: None }
    }

    pub(crate) fn with_token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Received, hyper::Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "market.test");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await?.to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Ok(Received {
            status: parts.status.as_u16(),
            headers: parts.headers,
            text,
        })
    }

    pub(crate) async fn get(&mut self, path: &str) -> Received {
        self.send("GET", path, &[], "").await.unwrap()
    }

    pub(crate) async fn call(&mut self, method: &str, path: &str, body: &Value) -> Received {
        self.send(
            method,
            path,
            &[("content-type", "application/json")],
            body.to_string(),
        )
        .await
        .unwrap()
    }

    pub(crate) async fn propose(&mut self, key: &str, body: &Value) -> Received {
        self.try_propose(key, body).await.unwrap()
    }

    pub(crate) async fn try_propose(&mut self, key: &str, body: &Value) -> Result<Received, hyper::Error> {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        self.send("POST", "/api/proposals", &headers, body.to_string())
            .await
    }

    pub(crate) async fn upload(&mut self, content: &[u8]) -> Received {
        let head = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"cv.pdf\"\r\n\
                    Content-Type: application/pdf\r\n\r\n";
        let body = [head.as_bytes(), content, b"\r\n--b--\r\n"].concat();
        let headers = [("content-type", "multipart/form-data; boundary=b")];
        self.send("POST", "/api/attachments", &headers, body)
            .await
            .unwrap()
    }
}

/// Runs a test against a fresh simulator; nothing in it may take longer than 20 seconds.
pub(crate) fn with_simulator<F: Future<Output = ()>>(options: Options, test: impl FnOnce(Simulator) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let simulator = Simulator::start("127.0.0.1:0", options).await.unwrap();
        tokio::time::timeout(Duration::from_secs(20), test(simulator))
            .await
            .unwrap();
    });
}

/// An hourly job that costs 12 connects and asks two questions.
pub(crate) fn hourly_job(id: &str) -> Value {
    json!({
        "id": id, "title": "Rust developer", "questions": ["How long?", "How much?"],
        "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 10, "max": 15}},
    })
}

/// A proposal that such a job takes.
pub(crate) fn proposal(job_id: &str) -> Value {
    json!({
        "jobId": job_id, "coverLetter": "Hello",
        "answers": [{"question": "How much?", "answer": "20"}, {"question": "How long?", "answer": "A week"}],
        "terms": {"type": "hourly", "amount": 20.5}, "boostConnects": 0, "attachments": [], "acceptWarnings": false,
    })
}

/// The proposal with one member replaced.
pub(crate) fn changed(mut body: Value, name: &str, value: Value) -> Value {
    body[name] = value;
    body
}

/// A simulator's account `acct_1` behind the token `tok`.
pub(crate) fn put_account(simulator: &Simulator, connects: u64) {
    let account = json!({"id": "acct_1", "name": "Jo", "connectsBalance": connects, "profileHourlyRate": 40});
    simulator.put_account("tok", account).unwrap();
}
