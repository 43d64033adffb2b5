//! One request: its checks, and its way into the protocol and back.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{self, HeaderMap};
use actix_web::http::uri::Authority;
use actix_web::{HttpRequest, HttpResponse};
use bidloop_domain::model::Secret;
use bidloop_domain::use_case::TokenCaller;
use bidloop_http_server::{BodyFault, BytePool, ByteShare, Holding, NoRoom, RequestBody, declared_length};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::refusal::Refusal;
use super::{McpServer, PATH};
use crate::handler::{Handler, MAX_MESSAGE_BYTES, PresentedToken};
use crate::tool_error::ToolError;

/// All bytes of requests that the server holds at once: ten of the largest messages.
const MESSAGES_BYTES: u64 = 32 * MB;
/// All bytes of long answers that clients have not read yet.
const ANSWERS_BYTES: u64 = 128 * MB;
/// Answers up to this length are always sent: that of a call that acted must arrive.
const SHORT_ANSWER_BYTES: usize = 64 * 1024;
/// Calls that are worked on at once.
const CALLS: usize = 32;
/// How long a call waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);
const MB: u64 = 1_048_576;

/// The address of the tool server.
pub(super) struct Endpoint {
    server: McpServer,
    messages: Arc<BytePool>,
    answers: Arc<BytePool>,
    calls: Arc<Semaphore>,
    protocol: StreamableHttpService<Handler, NeverSessionManager>,
}

impl Endpoint {
    pub(super) fn new(server: McpServer) -> Self {
        let handler = Handler::over_http(server.tools.clone());
        // Hosts, origins and lengths are checked before; here they are known to be right.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(MAX_MESSAGE_BYTES);
        Self {
            protocol: StreamableHttpService::new(move || Ok(handler.clone()), Arc::default(), config),
            server,
            messages: BytePool::of(MESSAGES_BYTES),
            answers: BytePool::of(ANSWERS_BYTES),
            calls: Arc::new(Semaphore::new(CALLS)),
        }
    }

    pub(super) async fn answer(
        &self,
        request: &HttpRequest,
        body: &RequestBody,
    ) -> Result<HttpResponse, Refusal> {
        self.check_hosts(request)?;
        if request.path() != PATH {
            return Err(Refusal::new(
                StatusCode::NOT_FOUND,
                "no such address: the tool server is at /mcp",
            ));
        }
        let (caller, token) = self.authenticate(request).await?;
        if request.method() != actix_web::http::Method::POST {
            return Err(Refusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "the tool server takes POST requests alone: it keeps no session and sends nothing by itself",
            ));
        }
        let (message, _share) = self.read(request, body, &caller).await?;
        self.speak(request.headers(), message, (caller, token)).await
    }

    /// Before everything else, so that a foreign page learns nothing.
    fn check_hosts(&self, request: &HttpRequest) -> Result<(), Refusal> {
        let hosts = &self.server.hosts;
        let host = only(request.headers(), header::HOST);
        let named = request.uri().authority().map(Authority::as_str);
        let is_own = matches!(host, Ok(Some(host)) if hosts.takes_host(host))
            && named.is_none_or(|named| hosts.takes_host(named));
        if !is_own {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "the request names a host that is not the tool server's: set mcp.base_url to the URL that clients use",
            ));
        }
        match only(request.headers(), header::ORIGIN) {
            Ok(None) => Ok(()),
            Ok(Some(origin)) if hosts.takes_origin(origin) => Ok(()),
            _ => Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "the request comes from a page that is not the tool server's",
            )),
        }
    }

    async fn authenticate(&self, request: &HttpRequest) -> Result<(TokenCaller, PresentedToken), Refusal> {
        let refused = |error: ToolError| Refusal::of(&error, &self.server.tools.api);
        let Some(token) = bearer(request.headers()) else {
            return Err(refused(ToolError::TokenRefused));
        };
        let tools = &self.server.tools;
        let (authenticate, presented) = (tools.authenticate.clone(), token.clone());
        // It notes the token's use.
        let found = tools
            .runtime
            .run(async move { authenticate.execute(presented.0.expose()).await });
        let found = found.await.map_err(|fault| refused(fault.into()))?;
        let caller = found.map_err(|error| refused(error.into()))?;
        let caller = caller.ok_or_else(|| refused(ToolError::TokenRefused))?;
        let organization = caller.member.organization_id().as_str();
        tracing::Span::current().record("organization", organization);
        Ok((caller, token))
    }

    /// Reads the message. What it holds of the pool is held until it is answered.
    async fn read(
        &self,
        request: &HttpRequest,
        body: &RequestBody,
        caller: &TokenCaller,
    ) -> Result<(Bytes, ByteShare), Refusal> {
        let most = MAX_MESSAGE_BYTES as u64;
        if declared_length(request.headers()).is_some_and(|length| length > most) {
            return Err(too_large());
        }
        let organization = caller.member.organization_id().clone();
        let mut share = self.messages.share_of(organization, caller.token.clone());
        let read = body
            .read(most, |bytes| share.take(bytes).map_err(ReadFault::from))
            .await;
        let message = read.map_err(|fault| match fault {
            ReadFault::NoRoom => overloaded(),
            ReadFault::Body(BodyFault::TooLarge { .. }) => too_large(),
            ReadFault::Body(fault) => Refusal::new(StatusCode::BAD_REQUEST, &format!("the message {fault}")),
        })?;
        Ok((message, share))
    }

    /// Hands the message to the protocol. The call, also one that only reads, runs to its end even if the connection
    /// closes: until then it has its place among the calls in flight.
    async fn speak(
        &self,
        headers: &HeaderMap,
        message: Bytes,
        (caller, token): (TokenCaller, PresentedToken),
    ) -> Result<HttpResponse, Refusal> {
        let turn = timeout(PATIENCE, Arc::clone(&self.calls).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(overloaded());
        };
        let organization = caller.member.organization_id().clone();
        let mut share = self.answers.share_of(organization, caller.token.clone());
        let mut request = Request::new(Full::new(message));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = http::Uri::from_static(PATH);
        for (name, value) in headers {
            let name = http::HeaderName::from_bytes(name.as_str().as_bytes());
            let value = http::HeaderValue::from_bytes(value.as_bytes());
            if let (Ok(name), Ok(value)) = (name, value)
                && name != http::header::AUTHORIZATION
            {
                request.headers_mut().append(name, value);
            }
        }
        request.extensions_mut().insert(token);
        let protocol = self.protocol.clone();
        let spoken = async move {
            let (head, body) = protocol.handle(request).await.into_parts();
            let Ok(body) = body.collect().await;
            drop(turn);
            (head, body.to_bytes())
        };
        let tools = &self.server.tools;
        let spoken = tools.runtime.start(spoken).await;
        let (head, body) = spoken.map_err(|fault| Refusal::of(&fault.into(), &tools.api))?;
        if body.len() > SHORT_ANSWER_BYTES {
            share.take(body.len()).map_err(|_| overloaded())?;
        }
        let status = actix_web::http::StatusCode::from_u16(head.status.as_u16());
        let mut response = HttpResponse::build(status.unwrap_or_default());
        for (name, value) in &head.headers {
            response.append_header((name.as_str(), value.as_bytes()));
        }
        response.insert_header((header::CACHE_CONTROL, "no-store"));
        // What it holds of the pool is held until the client has read it.
        let answer = response
            .body(body)
            .map_body(|_, answer| Holding::new(share, answer));
        Ok(answer.map_into_boxed_body())
    }
}

/// Why a message was not read.
enum ReadFault {
    Body(BodyFault),
    NoRoom,
}

impl From<BodyFault> for ReadFault {
    fn from(fault: BodyFault) -> Self {
        Self::Body(fault)
    }
}

impl From<NoRoom> for ReadFault {
    fn from(_: NoRoom) -> Self {
        Self::NoRoom
    }
}

fn overloaded() -> Refusal {
    let message = "too many calls are being worked on; try again later";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message)
}

fn too_large() -> Refusal {
    Refusal::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        &format!("the message is larger than {MAX_MESSAGE_BYTES} bytes"),
    )
}

/// The one value of a header.
///
/// # Errors
/// If there are several, or it is no text.
fn only(headers: &HeaderMap, name: header::HeaderName) -> Result<Option<&str>, ()> {
    let mut values = headers.get_all(name);
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        _ => Err(()),
    }
}

/// The credential of the one `Authorization` header, if its scheme is `Bearer`.
fn bearer(headers: &HeaderMap) -> Option<PresentedToken> {
    let (scheme, credential) = only(headers, header::AUTHORIZATION).ok()??.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| PresentedToken(Secret::new(credential.trim_matches(' ').to_owned())))
}
