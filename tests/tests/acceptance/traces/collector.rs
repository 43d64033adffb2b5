//! A collector of traces: takes OTLP over HTTP and keeps the spans.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{Span, span::SpanKind, status::StatusCode};
use prost::Message as _;

/// A span as it was exported.
#[derive(Debug, Clone)]
pub(super) struct Exported {
    pub(super) trace: String,
    pub(super) id: String,
    /// Empty for the first span of a trace.
    pub(super) parent: String,
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) attributes: BTreeMap<String, String>,
    pub(super) is_error: bool,
}

/// All that has come.
#[derive(Debug, Clone, Default)]
pub(super) struct Received {
    pub(super) spans: Vec<Exported>,
    /// The heads of the requests.
    pub(super) heads: Vec<String>,
    services: BTreeSet<String>,
}

impl Received {
    pub(super) fn service_names(&self) -> Vec<&str> {
        self.services.iter().map(String::as_str).collect()
    }
}

pub(super) struct Collector {
    address: SocketAddr,
    received: Arc<Mutex<Received>>,
}

impl Collector {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::<Mutex<Received>>::default();
        let shared = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream, &shared));
            }
        });
        Self { address, received }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn received(&self) -> Received {
        self.received.lock().unwrap().clone()
    }
}

/// Answers each request of a connection, until the caller closes it.
fn serve(mut stream: &TcpStream, received: &Mutex<Received>) {
    let mut reader = BufReader::new(stream);
    while let Some((head, body)) = read(&mut reader) {
        let export = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
        received.lock().unwrap().take(head, export);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
    }
}

fn read(reader: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.trim_end().to_owned();
    let length = head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

impl Received {
    fn take(&mut self, head: String, export: ExportTraceServiceRequest) {
        self.heads.push(head);
        for of_resource in export.resource_spans {
            let resource = texts(of_resource.resource.unwrap_or_default().attributes);
            self.services.extend(resource.get("service.name").cloned());
            let spans = of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
            self.spans.extend(spans.map(exported));
        }
    }
}

fn exported(span: Span) -> Exported {
    let is_error = span
        .status
        .as_ref()
        .is_some_and(|status| status.code() == StatusCode::Error);
    Exported {
        kind: match span.kind() {
            SpanKind::Server => "server",
            SpanKind::Client => "client",
            SpanKind::Internal => "internal",
            other => panic!("{other:?}"),
        },
        trace: hex::encode(&span.trace_id),
        id: hex::encode(&span.span_id),
        parent: hex::encode(&span.parent_span_id),
        name: span.name,
        attributes: texts(span.attributes),
        is_error,
    }
}

fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |attribute: KeyValue| {
        let value = match attribute.value?.value? {
            Value::StringValue(text) => text,
            Value::IntValue(number) => number.to_string(),
            other => panic!("{other:?}"),
        };
        Some((attribute.key, value))
    };
    attributes.into_iter().filter_map(text).collect()
}
