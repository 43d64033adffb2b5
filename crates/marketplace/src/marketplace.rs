//! The marketplace as a port: each method writes one request and reads its answer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::model::{BidId, JobId, MarketplaceToken, Proposal};
use bidloop_domain::port::{
    Clock, Entropy, FeedPage, FileUpload, LiveAccount, LiveJob, Marketplace, MarketplaceError,
    SubmittedProposal,
};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::answer::fit_for_log;
use crate::base_url::{BaseUrl, BaseUrlError, percent_encode};
use crate::connections::Connections;
use crate::exchange::Exchange;
use crate::request_body::RequestBody;
use crate::upload::MultipartFile;
use crate::wire;

/// The largest page of the feed that is read. A page of 500 posts of 100 KB fits.
const MAX_PAGE_BYTES: usize = 64 << 20;

/// The largest other answer that is read.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Most entries a page, by the protocol.
const MAX_PAGE_LIMIT: u32 = 500;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What a [`HyperMarketplace`] needs to know.
#[derive(Debug, Clone)]
pub struct MarketplaceSettings {
    /// `marketplace.base_url`: http or https, perhaps with a path; a slash at its end makes no difference.
    pub base_url: String,
    /// `marketplace.token`: the watcher's own, for the feed; without it the feed is read without a token.
    pub feed_token: Option<MarketplaceToken>,
    /// `marketplace.timeout_ms`: one call, from connect to the answer's end.
    pub timeout: Duration,
    /// PEM certificates trusted beside the bundled roots.
    pub extra_roots_pem: Option<Vec<u8>>,
}

/// Which setting cannot be used, and why. Never repeats a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MarketplaceSettingsError {
    /// The base address.
    #[error("marketplace.base_url {0}")]
    BaseUrl(#[from] BaseUrlError),
    /// The watcher's token.
    #[error("marketplace.token holds characters that a header cannot carry (only visible ASCII can)")]
    Token,
    /// The extra roots.
    #[error("the extra root certificates cannot be used: {0}")]
    Roots(String),
}

/// The marketplace, over HTTP/1.1.
pub struct HyperMarketplace {
    base_url: BaseUrl,
    feed_token: Option<MarketplaceToken>,
    exchange: Exchange,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl fmt::Debug for HyperMarketplace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HyperMarketplace")
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

impl HyperMarketplace {
    /// Checks the settings; connects only when a method is called. `clock` gives a `Retry-After` date its meaning,
    /// `entropy` the boundaries of uploads.
    pub fn new(
        settings: &MarketplaceSettings,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, MarketplaceSettingsError> {
        let base_url = BaseUrl::parse(&settings.base_url)?;
        if let Some(token) = &settings.feed_token {
            authorization(token).ok_or(MarketplaceSettingsError::Token)?;
        }
        let tls = tls_config(settings.extra_roots_pem.as_deref())?;
        let connections = Connections::new(base_url.origin().clone(), tls, settings.timeout);
        Ok(Self {
            base_url,
            feed_token: settings.feed_token.clone(),
            exchange: Exchange::new(connections, settings.timeout),
            clock,
            entropy,
        })
    }

    /// A request without a body yet; its path is below the base address.
    fn request(
        &self,
        method: Method,
        path: &str,
        token: Option<&MarketplaceToken>,
    ) -> Result<Request<RequestBody>, MarketplaceError> {
        let target: Uri = self.base_url.target(path).parse().map_err(|_| {
            MarketplaceError::Unreachable("the request cannot be written: its path is too long".to_owned())
        })?;
        let mut request = Request::new(RequestBody::EMPTY);
        *request.method_mut() = method;
        *request.uri_mut() = target;
        let headers = request.headers_mut();
        headers.insert(HOST, self.base_url.host_header().clone());
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("bidloop/", env!("CARGO_PKG_VERSION"))),
        );
        if let Some(token) = token {
            let Some(authorization) = authorization(token) else {
                // The marketplace cannot know a token that no request can carry.
                tracing::warn!("a marketplace token holds characters that a header cannot carry");
                return Err(MarketplaceError::InvalidToken);
            };
            headers.insert(AUTHORIZATION, authorization);
        }
        Ok(request)
    }

    /// The body of the answer, if that is one of `successes`.
    async fn call(
        &self,
        request: Request<RequestBody>,
        successes: &[StatusCode],
        most: usize,
    ) -> Result<Bytes, MarketplaceError> {
        self.exchange
            .run(request, most)
            .await?
            .success(successes, self.clock.now())
    }
}

#[async_trait]
impl Marketplace for HyperMarketplace {
    async fn feed(&self, cursor: Option<&str>, limit: u32) -> Result<FeedPage, MarketplaceError> {
        let limit = limit.clamp(1, MAX_PAGE_LIMIT);
        let path = match cursor {
            Some(cursor) => format!("/api/jobs?after={}&limit={limit}", percent_encode(cursor)),
            None => format!("/api/jobs?limit={limit}"),
        };
        let token = self.feed_token.as_ref();
        let page = async {
            let request = self.request(Method::GET, &path, token)?;
            let body = self.call(request, &[StatusCode::OK], MAX_PAGE_BYTES).await?;
            wire::feed_page(&body, cursor)
        };
        page.await.map_err(|error| fit_for_log(error, token))
    }

    async fn job(&self, token: &MarketplaceToken, id: &JobId) -> Result<LiveJob, MarketplaceError> {
        let path = format!("/api/jobs/{}", percent_encode(id.as_str()));
        let job = async {
            let request = self.request(Method::GET, &path, Some(token))?;
            let body = self.call(request, &[StatusCode::OK], MAX_ANSWER_BYTES).await?;
            wire::live_job(&body, id)
        };
        job.await.map_err(|error| fit_for_log(error, Some(token)))
    }

    async fn account(&self, token: &MarketplaceToken) -> Result<LiveAccount, MarketplaceError> {
        let account = async {
            let request = self.request(Method::GET, "/api/account", Some(token))?;
            let body = self.call(request, &[StatusCode::OK], MAX_ANSWER_BYTES).await?;
            wire::live_account(&body)
        };
        account.await.map_err(|error| fit_for_log(error, Some(token)))
    }

    async fn upload(&self, token: &MarketplaceToken, file: FileUpload) -> Result<String, MarketplaceError> {
        let uploaded = async {
            let mut request = self.request(Method::POST, "/api/attachments", Some(token))?;
            let mut random = [0; 16];
            self.entropy.fill_random(&mut random);
            let boundary = format!("bidloop-{}", hex::encode(random));
            let content_type = format!("multipart/form-data; boundary={boundary}");
            if let Ok(content_type) = HeaderValue::try_from(content_type) {
                request.headers_mut().insert(CONTENT_TYPE, content_type);
            }
            *request.body_mut() = RequestBody::File(Box::new(MultipartFile::new(file, &boundary)));
            let body = self
                .call(request, &[StatusCode::CREATED, StatusCode::OK], MAX_ANSWER_BYTES)
                .await?;
            wire::uploaded(&body)
        };
        uploaded.await.map_err(|error| fit_for_log(error, Some(token)))
    }

    async fn submit(
        &self,
        token: &MarketplaceToken,
        key: BidId,
        proposal: &Proposal,
    ) -> Result<SubmittedProposal, MarketplaceError> {
        let submitted = async {
            let mut request = self.request(Method::POST, "/api/proposals", Some(token))?;
            let headers = request.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            if let Ok(key) = HeaderValue::try_from(key.to_string()) {
                headers.insert(IDEMPOTENCY_KEY, key);
            }
            *request.body_mut() = RequestBody::Whole(Some(wire::proposal_json(proposal).into()));
            // 200 when the marketplace had it already under this key.
            let body = self
                .call(request, &[StatusCode::CREATED, StatusCode::OK], MAX_ANSWER_BYTES)
                .await?;
            wire::submitted(&body)
        };
        submitted.await.map_err(|error| fit_for_log(error, Some(token)))
    }
}

/// The header that carries the token; `None` if none can.
fn authorization(token: &MarketplaceToken) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn tls_config(extra_roots_pem: Option<&[u8]>) -> Result<ClientConfig, MarketplaceSettingsError> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    if let Some(pem) = extra_roots_pem {
        let mut found = 0;
        for certificate in CertificateDer::pem_slice_iter(pem) {
            found += 1;
            let fault = |cause: &dyn fmt::Display| {
                MarketplaceSettingsError::Roots(format!("certificate {found}: {cause}"))
            };
            let certificate = certificate.map_err(|cause| fault(&cause))?;
            roots.add(certificate).map_err(|cause| fault(&cause))?;
        }
        if found == 0 {
            return Err(MarketplaceSettingsError::Roots(
                "there is no certificate in them".to_owned(),
            ));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|cause| MarketplaceSettingsError::Roots(cause.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
