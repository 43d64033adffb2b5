//! The implementation of the port: each method writes one request and reads its answer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::model::{BidId, JobId, MarketplaceToken, Proposal, TRACE_PARENT_HEADER};
use bidloop_domain::port::{
    Clock, CurrentTrace, Entropy, FeedCursor, FeedPage, FileUpload, LiveAccount, LiveJob, Marketplace,
    MarketplaceError, SubmittedProposal,
};
use futures::TryStreamExt as _;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use rustls::ClientConfig;

use crate::answer::{fit_for_log, is_temporary};
use crate::base_url::{BaseUrl, BaseUrlError, percent_encode};
use crate::connections::Connections;
use crate::exchange::Exchange;
use crate::hanging_read::read_beside_a_hanging_read;
use crate::request_body::{RequestBody, empty_body, json_body};
use crate::upload::multipart;
use crate::wire;

/// The largest page of the feed, in bytes. A page of 500 posts of 100 KB fits.
const MAX_PAGE_BYTES: usize = 64 << 20;

/// The largest other answer, in bytes.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// How long the feed is waited for before it is read a second time: with the watcher's pauses, the feed is asked again
/// within 5 s of the marketplace's return even if a read hangs since before (decision D4).
const HANGING_AFTER: Duration = Duration::from_secs(4);

/// The protocol's limit of entries per page.
const MAX_PAGE_LIMIT: u32 = 500;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TRACE_PARENT: HeaderName = HeaderName::from_static(TRACE_PARENT_HEADER);

/// The settings of a [`HyperMarketplace`].
#[derive(Debug, Clone)]
pub struct MarketplaceSettings {
    /// `marketplace.base_url`: http or https, optionally with a path. A slash at its end makes no difference.
    pub base_url: String,
    /// `marketplace.token`: the token for the feed, which is read without one if it is absent.
    pub feed_token: Option<MarketplaceToken>,
    /// `marketplace.timeout_ms`: the time limit of one call, from the connect to the end of the answer.
    pub timeout: Duration,
    /// The TLS settings, without ALPN protocols.
    pub tls: Arc<ClientConfig>,
}

/// The marketplace, over HTTP/1.1.
pub struct HyperMarketplace {
    base_url: BaseUrl,
    feed_token: Option<MarketplaceToken>,
    exchange: Exchange,
    timeout: Duration,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    trace: Option<Arc<dyn CurrentTrace>>,
}

impl fmt::Debug for HyperMarketplace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HyperMarketplace")
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

impl HyperMarketplace {
    /// Checks the base address. Connects only when a method is called. `clock` is for dates in `Retry-After`, `entropy` for
    /// the boundaries of uploads.
    pub fn new(
        settings: &MarketplaceSettings,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, BaseUrlError> {
        let base_url = BaseUrl::parse(&settings.base_url)?;
        let tls = settings.tls.as_ref().clone();
        let connections = Connections::new(base_url.origin().clone(), tls, settings.timeout);
        Ok(Self {
            base_url,
            feed_token: settings.feed_token.clone(),
            exchange: Exchange::new(connections, settings.timeout),
            timeout: settings.timeout,
            clock,
            entropy,
            trace: None,
        })
    }

    /// Passes the trace that a call belongs to on with it.
    #[must_use]
    pub fn with_trace(mut self, trace: Arc<dyn CurrentTrace>) -> Self {
        self.trace = Some(trace);
        self
    }

    fn request(&self, call: Call<'_>) -> Result<Request<RequestBody>, MarketplaceError> {
        let mut request = Request::builder()
            .method(call.method)
            .uri(self.base_url.target(&call.path))
            .header(HOST, self.base_url.host_header())
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("bidloop/", env!("CARGO_PKG_VERSION")));
        if let Some(token) = call.token {
            let Some(authorization) = authorization(token) else {
                // The marketplace cannot know a token that no request can carry.
                tracing::warn!("a marketplace token contains characters that a header cannot carry");
                return Err(MarketplaceError::InvalidToken);
            };
            request = request.header(AUTHORIZATION, authorization);
        }
        for (name, value) in call.headers {
            request = request.header(name, value);
        }
        if let Some(trace) = self.trace.as_ref().and_then(|trace| trace.trace_parent()) {
            request = request.header(TRACE_PARENT, trace.to_string());
        }
        request
            .body(call.body)
            .map_err(|error| MarketplaceError::Unreachable(format!("the request cannot be written: {error}")))
    }

    /// Sends the call, and reads the body of a success with `read`.
    async fn send<T>(
        &self,
        call: Call<'_>,
        read: impl FnOnce(&[u8]) -> Result<T, MarketplaceError>,
    ) -> Result<T, MarketplaceError> {
        let Call {
            token,
            successes,
            largest_answer,
            own_words,
            ..
        } = call;
        let answered = async {
            let mut answer = self.exchange.run(self.request(call)?, largest_answer).await?;
            let now = self.clock.now();
            if own_words.are_required_of(answer.status) {
                answer = answer.require_protocol_body(now)?;
            }
            read(&answer.success(successes, now)?)
        };
        answered.await.map_err(|error| fit_for_log(error, token))
    }
}

/// One request of the protocol.
struct Call<'a> {
    method: Method,
    /// Path and query, below the base address.
    path: String,
    token: Option<&'a MarketplaceToken>,
    headers: Vec<(HeaderName, String)>,
    body: RequestBody,
    successes: &'static [StatusCode],
    /// In bytes.
    largest_answer: usize,
    /// Which errors count only with the protocol's error body.
    own_words: OwnWords,
}

/// The errors that count only in the marketplace's own words. Any other answer, such as a gateway's page, does not say
/// what the marketplace says (decision B4).
#[derive(Debug, Clone, Copy)]
enum OwnWords {
    /// Of a proposal: each error says that nothing was taken.
    Always,
    /// Of the other calls of a submission: a refusal ends the bid.
    RefusalsOnly,
    /// Of the feed: it is read again whatever the error is.
    Never,
}

impl OwnWords {
    fn are_required_of(self, status: StatusCode) -> bool {
        match self {
            Self::Always => true,
            Self::RefusalsOnly => status.is_client_error() && !is_temporary(status),
            Self::Never => false,
        }
    }
}

impl<'a> Call<'a> {
    fn get(path: String, token: Option<&'a MarketplaceToken>) -> Self {
        Self {
            method: Method::GET,
            path,
            token,
            headers: Vec::new(),
            body: empty_body(),
            successes: &[StatusCode::OK],
            largest_answer: MAX_ANSWER_BYTES,
            own_words: OwnWords::RefusalsOnly,
        }
    }

    fn post(
        path: &str,
        token: &'a MarketplaceToken,
        headers: Vec<(HeaderName, String)>,
        body: RequestBody,
    ) -> Self {
        Self {
            method: Method::POST,
            headers,
            body,
            // A proposal that the marketplace has already received under its key is answered with 200.
            successes: &[StatusCode::CREATED, StatusCode::OK],
            ..Self::get(path.to_owned(), Some(token))
        }
    }
}

#[async_trait]
impl Marketplace for HyperMarketplace {
    async fn feed(&self, cursor: Option<&FeedCursor>, limit: u32) -> Result<FeedPage, MarketplaceError> {
        let limit = limit.clamp(1, MAX_PAGE_LIMIT);
        let path = match cursor {
            Some(cursor) => format!("/api/jobs?after={}&limit={limit}", percent_encode(&cursor.0)),
            None => format!("/api/jobs?limit={limit}"),
        };
        let read = || {
            let call = Call {
                largest_answer: MAX_PAGE_BYTES,
                own_words: OwnWords::Never,
                ..Call::get(path.clone(), self.feed_token.as_ref())
            };
            self.send(call, |body| wire::feed_page(body, cursor))
        };
        let hanging_after = (self.timeout * 2 / 5).min(HANGING_AFTER);
        read_beside_a_hanging_read(read, hanging_after).await
    }

    async fn job(&self, token: &MarketplaceToken, id: &JobId) -> Result<LiveJob, MarketplaceError> {
        let path = format!("/api/jobs/{}", percent_encode(id.as_str()));
        let call = Call::get(path, Some(token));
        self.send(call, |body| wire::live_job(body, id)).await
    }

    async fn account(&self, token: &MarketplaceToken) -> Result<LiveAccount, MarketplaceError> {
        let call = Call::get("/api/account".to_owned(), Some(token));
        self.send(call, wire::live_account).await
    }

    async fn upload(&self, token: &MarketplaceToken, file: FileUpload) -> Result<String, MarketplaceError> {
        let mut random = [0; 16];
        self.entropy.fill_random(&mut random);
        let boundary = format!("bidloop-{}", hex::encode(random));
        let (length, pieces) = multipart(file, &boundary);
        let headers = vec![
            (CONTENT_TYPE, format!("multipart/form-data; boundary={boundary}")),
            (CONTENT_LENGTH, length.to_string()),
        ];
        let body = StreamBody::new(pieces.map_ok(Frame::data)).boxed_unsync();
        let call = Call::post("/api/attachments", token, headers, body);
        self.send(call, wire::uploaded).await
    }

    async fn submit(
        &self,
        token: &MarketplaceToken,
        key: BidId,
        proposal: &Proposal,
    ) -> Result<SubmittedProposal, MarketplaceError> {
        let headers = vec![
            (CONTENT_TYPE, "application/json".to_owned()),
            (IDEMPOTENCY_KEY, key.to_string()),
        ];
        let body = json_body(wire::proposal_json(proposal));
        let call = Call {
            own_words: OwnWords::Always,
            ..Call::post("/api/proposals", token, headers, body)
        };
        self.send(call, wire::submitted).await
    }
}

/// The header for the token; `None` if it cannot be written in a header.
fn authorization(token: &MarketplaceToken) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose())).ok()?;
    value.set_sensitive(true);
    Some(value)
}
