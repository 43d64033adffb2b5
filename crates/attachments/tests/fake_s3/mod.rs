//! As much of S3 as the storage uses, on the loopback: one bucket named `files`, whole objects, uploads in parts.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<String, Bytes>,
    uploads: BTreeMap<String, BTreeMap<u32, Bytes>>,
    most_uploads: usize,
    part_lengths: Vec<usize>,
    requests: Vec<String>,
    unsigned: usize,
    refused_part: Option<u32>,
}

/// A fake that lives as long as the test's runtime.
#[derive(Debug)]
pub(crate) struct FakeS3 {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl FakeS3 {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let served = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let state = Arc::clone(&served);
                let service = service_fn(move |request| {
                    let state = Arc::clone(&state);
                    async move { Ok::<_, Infallible>(answer(&state, request).await) }
                });
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(connection), service);
                tokio::spawn(connection);
            }
        });
        Self { address, state }
    }

    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        [
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "eu-central-1"),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ENDPOINT", &format!("http://{}", self.address)),
            ("HOME", "/nowhere"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Method and path of every request so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.state().requests.clone()
    }

    pub(crate) fn unsigned_requests(&self) -> usize {
        self.state().unsigned
    }

    pub(crate) fn part_lengths(&self) -> Vec<usize> {
        self.state().part_lengths.clone()
    }

    pub(crate) fn open_uploads(&self) -> usize {
        self.state().uploads.len()
    }

    /// The most uploads in parts that were open at once.
    pub(crate) fn most_uploads(&self) -> usize {
        self.state().most_uploads
    }

    pub(crate) fn refuse_part(&self, number: u32) {
        self.state().refused_part = Some(number);
    }
}

async fn answer(state: &Mutex<State>, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let query: BTreeMap<&str, &str> = head
        .uri
        .query()
        .unwrap_or_default()
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .collect();
    let mut state = state.lock().unwrap();
    state
        .requests
        .push(format!("{} {}", head.method, head.uri.path()));
    let authorization = head
        .headers
        .get("authorization")
        .map(|value| value.to_str().unwrap());
    let is_signed = authorization.is_some_and(|value| {
        value.starts_with("AWS4-HMAC-SHA256 Credential=test/")
            && value.contains("/eu-central-1/s3/aws4_request")
    });
    state.unsigned += usize::from(!is_signed);
    let is_list = head.method == Method::GET && query.get("list-type") == Some(&"2");
    if is_list && head.uri.path() == "/files" {
        return listed(&state.objects, &query);
    }
    let Some(key) = head.uri.path().strip_prefix("/files/").map(str::to_owned) else {
        return xml(
            StatusCode::NOT_FOUND,
            "<Error><Code>NoSuchBucket</Code></Error>".to_owned(),
        );
    };
    let part = query.get("partNumber").map(|number| number.parse().unwrap());
    match (head.method, query.get("uploadId").copied(), part) {
        (Method::POST, None, _) => {
            let id = format!("upload-{}", state.requests.len());
            let begun = format!(
                "<InitiateMultipartUploadResult><Bucket>files</Bucket><Key>{key}</Key><UploadId>{id}</UploadId>\
                 </InitiateMultipartUploadResult>"
            );
            state.uploads.insert(id, BTreeMap::new());
            state.most_uploads = state.most_uploads.max(state.uploads.len());
            xml(StatusCode::OK, begun)
        }
        (Method::PUT, Some(_), Some(number)) if state.refused_part == Some(number) => xml(
            StatusCode::BAD_REQUEST,
            "<Error><Code>BadDigest</Code></Error>".to_owned(),
        ),
        (Method::PUT, Some(id), Some(number)) => {
            state.part_lengths.push(body.len());
            state.uploads.get_mut(id).unwrap().insert(number, body);
            stored()
        }
        (Method::POST, Some(id), _) => {
            let parts = state.uploads.remove(id).unwrap();
            state.objects.insert(
                key.clone(),
                parts.into_values().collect::<Vec<_>>().concat().into(),
            );
            let completed = format!(
                "<CompleteMultipartUploadResult><Location>x</Location><Bucket>files</Bucket><Key>{key}</Key>\
                 <ETag>\"whole\"</ETag></CompleteMultipartUploadResult>"
            );
            xml(StatusCode::OK, completed)
        }
        (Method::DELETE, Some(id), _) => {
            state.uploads.remove(id);
            xml(StatusCode::NO_CONTENT, String::new())
        }
        (Method::PUT, None, _) => {
            state.objects.insert(key, body);
            stored()
        }
        (Method::DELETE, None, _) => {
            state.objects.remove(&key);
            xml(StatusCode::NO_CONTENT, String::new())
        }
        (Method::GET, None, _) => match state.objects.get(&key) {
            Some(object) => Response::builder()
                .header("etag", "\"whole\"")
                .header("last-modified", "Thu, 10 Sep 2026 10:00:00 GMT")
                .body(Full::new(object.clone()))
                .unwrap(),
            None => xml(
                StatusCode::NOT_FOUND,
                "<Error><Code>NoSuchKey</Code></Error>".to_owned(),
            ),
        },
        _ => xml(StatusCode::NOT_IMPLEMENTED, String::new()),
    }
}

/// A page of a list: S3 gives up to 1,000 keys at once, this one 100.
fn listed(objects: &BTreeMap<String, Bytes>, query: &BTreeMap<&str, &str>) -> Response<Full<Bytes>> {
    let decoded = |name: &str| query.get(name).unwrap_or(&"").replace("%2F", "/");
    let (prefix, after) = (decoded("prefix"), decoded("continuation-token"));
    let found = objects
        .keys()
        .filter(|key| key.starts_with(&prefix) && **key > after);
    let found: Vec<&String> = found.take(101).collect();
    let page = &found[..found.len().min(100)];
    let contents: Vec<String> = page
        .iter()
        .map(|key| {
            format!(
                "<Contents><Key>{key}</Key><Size>1</Size><ETag>\"whole\"</ETag>\
                 <LastModified>2026-09-10T10:00:00.000Z</LastModified></Contents>"
            )
        })
        .collect();
    let contents = contents.concat();
    let next = match page.last() {
        Some(last) if found.len() > page.len() => {
            format!("<NextContinuationToken>{last}</NextContinuationToken>")
        }
        _ => String::new(),
    };
    xml(
        StatusCode::OK,
        format!("<ListBucketResult>{contents}{next}</ListBucketResult>"),
    )
}

fn stored() -> Response<Full<Bytes>> {
    Response::builder()
        .header("etag", "\"part\"")
        .body(Full::default())
        .unwrap()
}

fn xml(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        .body(Full::new(body.into()))
        .unwrap()
}
