//! The client: its settings and the four operations.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::acknowledgement::Acknowledgement;
use crate::api_key::ApiKey;
use crate::attachment::{LeadAttachment, Upload};
use crate::base_url::{BaseUrl, BaseUrlError};
use crate::bid::Bid;
use crate::error::{Error, ErrorKind};
use crate::exchange::Exchange;
use crate::lead::LeadPage;
use crate::lead_ref::LeadRef;
use crate::outcome::{BidOutcome, RejectOutcome};
use crate::retry::RetryPolicy;

/// A client of the HTTP API. Cloning it is cheap, and clones share connections.
///
/// # Repeated attempts
///
/// Within the bounds of its [`RetryPolicy`] the client repeats what is safe to repeat, after a growing pause and not before
/// a `Retry-After` has passed:
///
/// - **listing**, a **bid** and a **rejection** if there was no connection, no complete answer, or the answer was 408, 429,
///   502, 503 or 504. The service takes a bid on a lead once, however often it is sent: see [`BidOutcome::AlreadyBid`];
/// - an **upload** only if the service cannot have the files: there was no connection, or a 503 with `Retry-After` came before
///   the body was sent whole. A file name is taken once, so a blind repetition would be refused.
///
/// If all attempts fail, [`Error::may_have_taken_effect`] says whether one of them may have been carried out.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    base: BaseUrl,
    exchange: Exchange,
}

/// Why a client cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The base URL is wrong.
    #[error("the base URL {0}")]
    BaseUrl(#[from] BaseUrlError),
    /// A further root certificate cannot be read.
    #[error("the root certificates cannot be read: {0}")]
    RootCertificates(String),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

/// The settings of a [`Client`].
#[derive(Debug, Clone)]
#[must_use]
pub struct ClientBuilder {
    base_url: String,
    key: ApiKey,
    timeout: Duration,
    upload_timeout: Duration,
    retry: RetryPolicy,
    root_certificates: Vec<u8>,
}

impl ClientBuilder {
    /// The time limit of one attempt, from the connect to the end of the answer; 30 s by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The time limit of one attempt to upload; 10 minutes by default.
    pub fn upload_timeout(mut self, timeout: Duration) -> Self {
        self.upload_timeout = timeout;
        self
    }

    /// How often calls are tried.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// Trusts these certificates too, in PEM, beside Mozilla's.
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificates = pem.into();
        self
    }

    /// Builds the client. Opens no connection.
    pub fn build(self) -> Result<Client, BuildError> {
        let base = BaseUrl::parse(&self.base_url)?;
        let tls = tls(&self.root_certificates)?;
        let exchange = Exchange::new(tls, self.key, self.timeout, self.upload_timeout, self.retry);
        Ok(Client {
            inner: Arc::new(Inner { base, exchange }),
        })
    }
}

fn tls(root_certificates: &[u8]) -> Result<ClientConfig, BuildError> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    for certificate in CertificateDer::pem_slice_iter(root_certificates) {
        let certificate = certificate.map_err(|error| BuildError::RootCertificates(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| BuildError::RootCertificates(error.to_string()))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| BuildError::Tls(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

impl Client {
    /// A client with the default settings. `base_url` is the service's address, such as `https://bids.example.com`.
    pub fn new(base_url: &str, key: ApiKey) -> Result<Self, BuildError> {
        Self::builder(base_url, key).build()
    }

    /// The settings of a client.
    pub fn builder(base_url: &str, key: ApiKey) -> ClientBuilder {
        ClientBuilder {
            base_url: base_url.to_owned(),
            key,
            timeout: Duration::from_secs(30),
            upload_timeout: Duration::from_secs(600),
            retry: RetryPolicy::default(),
            root_certificates: Vec::new(),
        }
    }

    /// One page of a campaign's leads, newest first. `limit` is 1 to 100. Each lead on the page is stored by the service.
    /// [`leads`](Self::leads) reads page after page.
    pub async fn leads_page(&self, campaign_id: &str, offset: u64, limit: u32) -> Result<LeadPage, Error> {
        let url = self.inner.base.leads(campaign_id, offset, limit);
        read(&self.inner.exchange.get(&url).await?)
    }

    /// Bids on a lead.
    pub async fn bid<'a>(&self, lead: impl Into<LeadRef<'a>>, bid: &Bid) -> Result<BidOutcome, Error> {
        self.bid_to(&self.operation(lead, "bid"), bid).await
    }

    /// Bids at a lead's `bidUrl`. It must lie below the client's base URL: the API key is sent nowhere else.
    pub async fn bid_at(&self, bid_url: &str, bid: &Bid) -> Result<BidOutcome, Error> {
        self.bid_to(&self.checked(bid_url)?, bid).await
    }

    async fn bid_to(&self, url: &Url, bid: &Bid) -> Result<BidOutcome, Error> {
        match self.inner.exchange.post(url, Some(bid)).await {
            Ok(answer) => read(&answer).map(BidOutcome::Accepted).map_err(done),
            Err(mut error) if bid.is_dry_run() => {
                error.effect_unknown = false;
                Err(error)
            }
            Err(error) if error.effect_unknown => BidOutcome::after_lost_answer(error),
            Err(error) => Err(error),
        }
    }

    /// Rejects a lead, with a reason of at most 500 characters or without one.
    pub async fn reject<'a>(
        &self,
        lead: impl Into<LeadRef<'a>>,
        reason: Option<&str>,
    ) -> Result<RejectOutcome, Error> {
        self.reject_to(&self.operation(lead, "reject"), reason).await
    }

    /// Rejects at a lead's `rejectUrl`. It must lie below the client's base URL: the API key is sent nowhere else.
    pub async fn reject_at(&self, reject_url: &str, reason: Option<&str>) -> Result<RejectOutcome, Error> {
        self.reject_to(&self.checked(reject_url)?, reason).await
    }

    async fn reject_to(&self, url: &Url, reason: Option<&str>) -> Result<RejectOutcome, Error> {
        let body = reason.map(|reason| Rejection { reason });
        match self.inner.exchange.post(url, body.as_ref()).await {
            Ok(answer) => read::<Acknowledgement>(&answer)
                .map(RejectOutcome::Rejected)
                .map_err(done),
            Err(error) if error.effect_unknown => RejectOutcome::after_lost_answer(error),
            Err(error) => Err(error),
        }
    }

    /// Uploads files for the proposal on a lead, all or none, in place of the campaign's. Call it before the bid. Returns
    /// all files of the lead.
    pub async fn upload<'a>(
        &self,
        lead: impl Into<LeadRef<'a>>,
        files: Vec<Upload>,
    ) -> Result<Vec<LeadAttachment>, Error> {
        let url = self.operation(lead, "attachments");
        read(&self.inner.exchange.upload(&url, files).await?).map_err(done)
    }

    fn operation<'a>(&self, lead: impl Into<LeadRef<'a>>, operation: &str) -> Url {
        self.inner.base.operation(lead.into(), operation)
    }

    fn checked(&self, address: &str) -> Result<Url, Error> {
        let url = self.inner.base.checked(address);
        url.ok_or_else(|| ErrorKind::ForeignUrl(address.to_owned()).into())
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = &self.inner.base;
        formatter
            .debug_struct("Client")
            .field("base", base)
            .finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Rejection<'a> {
    reason: &'a str,
}

fn read<T: DeserializeOwned>(answer: &Bytes) -> Result<T, Error> {
    serde_json::from_slice(answer).map_err(|error| ErrorKind::Malformed(error.to_string()).into())
}

/// The error of a call that was answered 200 with something unreadable.
fn done(mut error: Error) -> Error {
    error.effect_unknown = true;
    error
}
