//! The HTTP client of the export. Its calls belong to no trace.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use opentelemetry_http::{HttpClient, HttpError, Request, Response};

use crate::trust_roots::{bundled_roots, client_config};

const CONNECT_WITHIN: Duration = Duration::from_secs(3);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// What an answer says is of little interest.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct HyperClient(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

impl HyperClient {
    pub(super) fn new() -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_WITHIN));
        let tls = client_config(bundled_roots());
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls.as_ref().clone())
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(connector);
        Self(client)
    }
}

#[async_trait]
impl HttpClient for HyperClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answered = async {
            let (head, body) = self.0.request(request.map(Full::new)).await?.into_parts();
            let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        tokio::time::timeout(ANSWER_WITHIN, answered).await?
    }
}
