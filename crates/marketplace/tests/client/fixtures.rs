//! What every test needs: a client, a clock, ids, a proposal, a file.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bidloop_domain::model::{
    BidId, Connects, CoverLetter, JobId, MarketplaceToken, PaymentKind, Proposal, QuestionAnswerPair, Terms,
    Timestamp, TraceParent, UsdCents,
};
use bidloop_domain::port::{BlobError, Clock, CurrentTrace, Entropy, FileUpload};
use bidloop_marketplace::{HyperMarketplace, MarketplaceSettings};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use uuid::Uuid;

pub(crate) static TOKEN: LazyLock<MarketplaceToken> = LazyLock::new(|| token("tk_secret"));

pub(crate) fn token(text: &str) -> MarketplaceToken {
    MarketplaceToken::unchecked(text.to_owned())
}

/// Sun, 06 Nov 1994 08:49:37 GMT
const NOW: Timestamp = Timestamp::from_seconds(784_111_777);

#[derive(Debug)]
pub(crate) struct FixedSurroundings;

impl Clock for FixedSurroundings {
    fn now(&self) -> Timestamp {
        NOW
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// What calls belong to.
pub(crate) const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

impl CurrentTrace for FixedSurroundings {
    fn trace_parent(&self) -> Option<TraceParent> {
        TraceParent::parse(TRACE)
    }
}

impl Entropy for FixedSurroundings {
    fn uuid(&self) -> Uuid {
        Uuid::nil()
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        bytes.fill(0xAB);
    }

    fn fraction(&self) -> f64 {
        0.5
    }
}

pub(crate) fn settings(base_url: &str) -> MarketplaceSettings {
    MarketplaceSettings {
        base_url: base_url.to_owned(),
        feed_token: Some(token("tk_feed")),
        // Far beyond what any of these calls takes: only tests of time-outs wait for it, with less.
        timeout: Duration::from_secs(30),
        tls: tls_trusting(None),
    }
}

/// TLS settings that trust `root` and no other.
pub(crate) fn tls_trusting(root: Option<&CertificateDer<'static>>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    if let Some(root) = root {
        roots.add(root.clone()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

pub(crate) fn client_with(settings: &MarketplaceSettings) -> HyperMarketplace {
    HyperMarketplace::new(settings, Arc::new(FixedSurroundings), Arc::new(FixedSurroundings)).unwrap()
}

pub(crate) fn client(base_url: &str) -> HyperMarketplace {
    client_with(&settings(base_url))
}

/// A client whose calls last a quarter of a second at most.
pub(crate) fn hasty_client(base_url: &str) -> HyperMarketplace {
    client_with(&MarketplaceSettings {
        timeout: Duration::from_millis(250),
        ..settings(base_url)
    })
}

pub(crate) fn job_id(id: &str) -> JobId {
    JobId::parse(id).unwrap()
}

pub(crate) fn key() -> BidId {
    BidId(Uuid::from_u128(7))
}

pub(crate) fn proposal(job: &str) -> Proposal {
    Proposal {
        job_id: job_id(job),
        cover_letter: CoverLetter::parse("Hello,\n\"quoted\" – ünïcode".to_owned()).unwrap(),
        answers: vec![QuestionAnswerPair {
            question: "Why?".to_owned(),
            answer: "Because.".to_owned(),
        }],
        terms: Terms {
            kind: PaymentKind::Hourly,
            amount: UsdCents::from_f64(45.5).unwrap(),
        },
        boost_connects: Connects::new(3),
        required_connects: Connects::new(16),
        attachments: vec!["att_1".to_owned()],
        accept_warnings: true,
        steps: Vec::new(),
    }
}

pub(crate) fn file(name: &str, pieces: Vec<Result<Bytes, BlobError>>) -> FileUpload {
    FileUpload {
        name: name.to_owned(),
        content_type: "text/plain".to_owned(),
        size_bytes: pieces.iter().flatten().map(|piece| piece.len() as u64).sum(),
        content: stream::iter(pieces).boxed(),
    }
}

pub(crate) fn post_json(id: &str) -> String {
    format!(
        r#"{{"id":"{id}","ciphertext":"~{id}","title":"Title","description":"Text","url":"/jobs/~{id}","postedAt":1790000000000}}"#
    )
}

pub(crate) const ACCOUNT_JSON: &str =
    r#"{"id":"a1","name":"Jane","connectsBalance":80,"profileHourlyRate":null}"#;
pub(crate) const SUBMITTED_JSON: &str =
    r#"{"proposalId":"p1","connectsSpent":19,"submittedAt":1790000000001}"#;
