//! A server in front of the simulator that plants one fault into what passes through it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use bidloop_simulator::Simulator;

use crate::market::TOKEN;

pub(crate) const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A request on its way to the marketplace.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    /// `GET /api/jobs`
    pub(crate) call: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The number of the connection, and of the request on it.
    pub(crate) connection: (u32, u32),
}

impl Sent {
    pub(crate) fn is(&self, call: &str) -> bool {
        match call.strip_suffix("<id>") {
            Some(start) => self.call.starts_with(start),
            None => self.call == call,
        }
    }

    pub(crate) fn header(&self, name: &HeaderName) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn set_header(&mut self, name: HeaderName, value: &str) {
        self.headers.insert(name, HeaderValue::from_str(value).unwrap());
    }

    pub(crate) fn has_right_token(&self) -> bool {
        self.header(&AUTHORIZATION) == format!("Bearer {TOKEN}")
    }

    pub(crate) fn after(&self) -> Option<&String> {
        self.query.get("after")
    }
}

/// An answer on its way back.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) json: Value,
    /// Sent instead of `json`.
    pub(crate) text: Option<String>,
    pub(crate) delay: Duration,
    /// Closes the connection instead of answering.
    pub(crate) is_cut: bool,
}

impl Reply {
    pub(crate) fn set(&mut self, status: u16, json: Value) {
        self.status = status;
        self.json = json;
    }

    pub(crate) fn error(&mut self, status: u16, code: &str) {
        self.set(status, json!({"code": code, "message": "planted"}));
    }

    pub(crate) fn jobs(&mut self) -> Option<&mut Vec<Value>> {
        self.json.get_mut("jobs")?.as_array_mut()
    }
}

/// What a fault may remember between calls.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) counts: HashMap<String, u32>,
    pub(crate) values: HashMap<String, Value>,
}

impl Memory {
    /// Counts something, and returns how often it has been counted.
    pub(crate) fn count(&mut self, what: &str) -> u32 {
        let count = self.counts.entry(what.to_owned()).or_default();
        *count += 1;
        *count
    }
}

/// A fault: the rule that it breaks, and what it does to requests and answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) name: &'static str,
    pub(crate) breaks: &'static str,
    pub(crate) request: fn(&mut Sent, &mut Memory),
    pub(crate) reply: fn(&Sent, &mut Reply, &mut Memory),
}

/// Starts the translator and returns its base address. It ends with the runtime.
pub(crate) async fn start(simulator: &Simulator, fault: Fault) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let translator = Arc::new(Translator {
        upstream: simulator.address().to_string(),
        fault,
        memory: Mutex::default(),
    });
    tokio::spawn(async move {
        for number in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            let (first_is_passed_on, mut passed_on) = mpsc::unbounded_channel();
            tokio::spawn(serve(stream, number, Arc::clone(&translator), first_is_passed_on));
            // Connections whose client has gone are worked on in the order in which they were opened.
            passed_on.recv().await;
        }
    });
    format!("http://{address}")
}

async fn serve(
    stream: TcpStream,
    number: u32,
    translator: Arc<Translator>,
    passed_on: mpsc::UnboundedSender<()>,
) {
    let requests = Mutex::new(0);
    let service = service_fn(|request: Request<Incoming>| {
        let request_number = {
            let mut requests = requests.lock().unwrap();
            *requests += 1;
            *requests
        };
        let (translator, passed_on) = (Arc::clone(&translator), passed_on.clone());
        async move {
            let sent = read(request, (number, request_number)).await?;
            // In a task of its own, since hyper drops the service of a client that has gone.
            let answered = tokio::spawn(async move { translator.answer(sent, passed_on).await });
            answered.await.unwrap_or(Err(Cut)).map_err(|Cut| "cut".to_owned())
        }
    });
    let connection =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // A connection that is cut on purpose ends with an error.
    let _ended = connection.await;
}

struct Cut;

async fn read(request: Request<Incoming>, connection: (u32, u32)) -> Result<Sent, String> {
    let (head, body) = request.into_parts();
    let query = url_query(head.uri.query().unwrap_or_default());
    Ok(Sent {
        call: format!("{} {}", head.method, head.uri.path()),
        query,
        headers: head.headers,
        body: body
            .collect()
            .await
            .map_err(|error| error.to_string())?
            .to_bytes(),
        connection,
    })
}

fn url_query(query: &str) -> BTreeMap<String, String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

struct Translator {
    upstream: String,
    fault: Fault,
    memory: Mutex<Memory>,
}

impl Translator {
    async fn answer(
        &self,
        mut sent: Sent,
        passed_on: mpsc::UnboundedSender<()>,
    ) -> Result<Response<Full<Bytes>>, Cut> {
        (self.fault.request)(&mut sent, &mut self.memory.lock().unwrap());
        let mut reply = self.pass_on(&sent).await;
        (self.fault.reply)(&sent, &mut reply, &mut self.memory.lock().unwrap());
        let _ = passed_on.send(());
        tokio::time::sleep(reply.delay).await;
        if reply.is_cut {
            return Err(Cut);
        }
        let text = reply.text.unwrap_or_else(|| reply.json.to_string());
        let mut response = Response::new(Full::new(Bytes::from(text)));
        *response.status_mut() = StatusCode::from_u16(reply.status).unwrap();
        *response.headers_mut() = reply.headers;
        Ok(response)
    }

    async fn pass_on(&self, sent: &Sent) -> Reply {
        let stream = TcpStream::connect(&self.upstream).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        let (method, path) = sent.call.split_once(' ').unwrap();
        let query: Vec<String> = sent
            .query
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mut request = Request::builder()
            .method(method.parse::<Method>().unwrap())
            .uri(format!("{path}?{}", query.join("&")))
            .body(Full::new(sent.body.clone()))
            .unwrap();
        *request.headers_mut() = sent.headers.clone();
        request.headers_mut().remove(CONTENT_LENGTH);
        request
            .headers_mut()
            .insert(HOST, HeaderValue::from_static("market.test"));
        let (head, body) = sender.send_request(request).await.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let mut headers = head.headers;
        for name in [CONTENT_LENGTH, CONNECTION, TRANSFER_ENCODING] {
            headers.remove(name);
        }
        assert_eq!(headers[CONTENT_TYPE], "application/json");
        Reply {
            status: head.status.as_u16(),
            headers,
            json: serde_json::from_slice(&body).unwrap(),
            text: None,
            delay: Duration::ZERO,
            is_cut: false,
        }
    }
}
