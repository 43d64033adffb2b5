//! A simulated marketplace with jobs and an account, and checks of it.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bidloop_marketplace_check::{Finding, Report, Target, Verdict, check};
use bidloop_simulator::{Options, Simulator};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;

pub(crate) const TOKEN: &str = "token-of-the-account";
/// The job that a proposal may be made on.
pub(crate) const JOB: &str = "job-5";
/// The jobs of the market, as long as nothing else is published.
pub(crate) const JOBS: i64 = 12;

/// Runs a test; nothing in it may take longer than a minute.
pub(crate) fn run<F: Future<Output = ()>>(test: impl FnOnce() -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(60), test())
            .await
            .unwrap();
    });
}

#[expect(clippy::disallowed_methods, reason = "the simulator's clock is the machine's")]
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// A market with [`JOBS`] jobs, posted a minute apart, and an account with the token [`TOKEN`].
pub(crate) async fn simulator() -> Simulator {
    let simulator = Simulator::start("127.0.0.1:0", Options::default()).await.unwrap();
    let posts = (1..=JOBS).map(|number| {
        json!({
            "id": format!("job-{number}"), "title": "Rust developer", "questions": ["When?", "How?"],
            "postedAt": now_ms() - (JOBS - number + 1) * 60_000,
            "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 10, "max": 15}},
            "clientInfo": {"rating": 4.5, "numberOfHires": 3},
        })
    });
    simulator.publish(posts.collect()).unwrap();
    for job in [JOB, "job-12"] {
        simulator.patch_job(job, json!({"boosts": [30, 12, 5]})).unwrap();
    }
    let account = json!({"id": "acct_1", "name": "Jo", "connectsBalance": 80, "profileHourlyRate": 40});
    simulator.put_account(TOKEN, account).unwrap();
    simulator
}

/// A check with everything allowed.
pub(crate) fn target(base_url: &str) -> Target {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Target {
        base_url: base_url.to_owned(),
        token: Some(TOKEN.to_owned()),
        feed_token: None,
        allow_proposals: Some(JOB.to_owned()),
        timeout: Duration::from_secs(2),
        tls: Arc::new(tls),
        now_ms: now_ms(),
        run: "test".to_owned(),
    }
}

pub(crate) async fn checked(target: &Target) -> Report {
    check(target).await.unwrap()
}

/// The names of the rules with this result.
pub(crate) fn rules_that_are(report: &Report, verdict: Verdict) -> Vec<&'static str> {
    let rules = report.rules.iter().filter(|finding| finding.result == verdict);
    rules.map(|finding| finding.rule).collect()
}

/// What came of a rule.
pub(crate) fn finding<'r>(report: &'r Report, rule: &str) -> &'r Finding {
    let found = report.rules.iter().find(|finding| finding.rule == rule);
    found.unwrap()
}

#[track_caller]
pub(crate) fn assert_nothing_broken(report: &Report) {
    let broken = rules_that_are(report, Verdict::Broken);
    assert_eq!(broken, [""; 0], "{}", unheld(report));
}

/// What is not held, for the message of a failed test.
pub(crate) fn unheld(report: &Report) -> String {
    let rules = report
        .rules
        .iter()
        .filter(|finding| finding.result != Verdict::Held);
    let lines = rules.map(|finding| {
        let details =
            [&finding.expected, &finding.came, &finding.why].map(|text| text.as_deref().unwrap_or_default());
        format!("\n{} {}: {}", finding.result, finding.rule, details.join(" | "))
    });
    lines.collect()
}
