//! Streamable HTTP at `/mcp`, on a server of its own.
//!
//! Every request carries its token and stands alone: there are no sessions, so any replica answers, nothing is held between
//! requests, and a token that ends is refused at the next one. A request is checked in this order: the host and the page it
//! comes from, its address, its token, its method, its length.

mod endpoint;
mod own_hosts;
mod refusal;

use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use bidloop_domain::port::Entropy;
use bidloop_http_server::{RequestBody, RequestObserver};

pub use own_hosts::OwnHosts;

use crate::ToolServer;
use endpoint::Endpoint;

/// Counts requests.
pub trait CallMetrics: Send + Sync + std::fmt::Debug {
    /// Counts a request whose answer begins. `operation` is `mcp`, or `none` for a request elsewhere.
    fn answered(&self, operation: &'static str, status: u16, duration: Duration);
}

/// The parts of the HTTP side.
#[derive(Debug, Clone)]
pub struct McpServer {
    /// The tools.
    pub tools: ToolServer,
    /// The hosts that requests may name.
    pub hosts: OwnHosts,
    /// Counts every request.
    pub metrics: Arc<dyn CallMetrics>,
}

/// The only address.
const PATH: &str = "/mcp";

/// Returns what adds the tool server to an application.
pub fn application(server: McpServer) -> impl Fn(&mut web::ServiceConfig) + Clone + Send {
    let endpoint = web::Data::new(Endpoint::new(server));
    move |config| {
        config.app_data(endpoint.clone()).default_service(web::to(answer));
    }
}

async fn answer(request: HttpRequest, payload: web::Payload, endpoint: web::Data<Endpoint>) -> HttpResponse {
    let body = RequestBody::new(payload, &request);
    let answer = endpoint.answer(&request, &body).await;
    let answer = answer.unwrap_or_else(refusal::Refusal::into_response);
    bidloop_http_server::answer_holding(body, answer)
}

/// Watches the server's requests.
#[derive(Debug)]
pub struct Observer {
    /// Counts them.
    pub metrics: Arc<dyn CallMetrics>,
    /// Makes ids of those without one.
    pub entropy: Arc<dyn Entropy>,
}

impl RequestObserver for Observer {
    fn new_id(&self) -> String {
        self.entropy.uuid().to_string()
    }

    fn operation(&self, request: &HttpRequest) -> &'static str {
        if request.path() == PATH { "mcp" } else { "none" }
    }

    fn answered(&self, operation: &'static str, status: u16, duration: Duration) {
        self.metrics.answered(operation, status, duration);
    }
}
