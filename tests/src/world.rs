//! A marketplace, a caller's webhook receiver and an installation, put together.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::WebhookSecret;
use bidloop_simulator::caller::{Delivery, Receiver, ReceiverOptions};
use bidloop_simulator::{Options, Simulator};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::api::Api;
use crate::database::Kind;
use crate::document::{self, KEY, SECRET, TOKEN};
use crate::installation::Installation;
use crate::own_server::OwnServer;
use crate::patience::{eventually, until};
use crate::service::Service;

/// How long the loop may take for one step on a busy machine.
pub const STEP: Duration = Duration::from_secs(20);

/// Everything that one test needs. Starts no service: that is the test's first step.
#[derive(Debug)]
pub struct World {
    /// The program.
    pub installation: Installation,
    /// The marketplace; its account of [`TOKEN`] has 100,000 connects and a profile rate of 50.
    pub simulator: Simulator,
    /// The caller's receiver, which checks signatures.
    pub receiver: Receiver,
    runtime: Runtime,
}

impl World {
    /// A world whose receiver answers every delivery and bids on nothing.
    pub fn new(kind: Kind) -> Self {
        Self::with(kind, Options::default(), None)
    }

    /// A world whose receiver answers each `job.new` with a bid.
    pub fn with_auto_reply(kind: Kind) -> Self {
        Self::with(kind, Options::default(), Some(KEY.to_owned()))
    }

    /// A world with this marketplace.
    pub fn with(kind: Kind, options: Options, auto_reply: Option<String>) -> Self {
        Self::around(Installation::new(kind), options, auto_reply)
    }

    /// A world on this server whose receiver answers every delivery and bids on nothing.
    pub fn on_server(server: &OwnServer) -> Self {
        Self::around(Installation::on_server(server), Options::default(), None)
    }

    fn around(mut installation: Installation, options: Options, auto_reply: Option<String>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let receiver_options = ReceiverOptions {
            secrets: vec![WebhookSecret::parse(SECRET).unwrap()],
            auto_reply,
            ..ReceiverOptions::default()
        };
        let (simulator, receiver) = runtime.block_on(async {
            let simulator = Simulator::start("127.0.0.1:0", options).await.unwrap();
            let receiver = Receiver::start("127.0.0.1:0", receiver_options, |_| {})
                .await
                .unwrap();
            (simulator, receiver)
        });
        simulator
            .put_account(
                TOKEN,
                json!({"id": "market-1", "connectsBalance": 100_000, "profileHourlyRate": 50}),
            )
            .unwrap();
        installation.set("marketplace.base_url", simulator.base_url());
        Self {
            installation,
            simulator,
            receiver,
            runtime,
        }
    }

    /// A second receiver, for endpoints that are to behave otherwise.
    pub fn another_receiver(&self, options: ReceiverOptions) -> Receiver {
        let started = Receiver::start("127.0.0.1:0", options, |_| {});
        self.runtime.block_on(started).unwrap()
    }

    /// An organization whose `bid_complete` goes to the receiver.
    pub fn organization(&self) -> Value {
        let mut organization = document::organization();
        organization["webhooks"] = json!([{
            "id": "wh_org", "url": self.receiver.url("/bids"), "events": ["bid_complete"], "active": true,
            "secret": SECRET,
        }]);
        organization
    }

    /// The document with these campaigns.
    pub fn document(&self, campaigns: &[Value]) -> Value {
        let mut organization = self.organization();
        organization["campaigns"] = json!(campaigns);
        document::document(organization)
    }

    /// Provisions these campaigns.
    #[track_caller]
    pub fn provision(&self, campaigns: &[Value]) {
        self.installation.apply(&self.document(campaigns));
    }

    /// An active External campaign whose `job.new` goes to the receiver.
    pub fn external(&self, id: &str, keywords: &str) -> Value {
        document::active(document::campaign(id, keywords), &self.receiver.url("/jobs"))
    }

    /// Publishes jobs and waits until the campaign lists `total` matches; answers the first page.
    #[track_caller]
    pub fn publish(&self, service: &Service, campaign: &str, posts: Vec<Value>, total: u64) -> Vec<Value> {
        self.simulator.publish(posts).unwrap();
        listed(&service.api(), campaign, total)
    }

    /// The proposals that the marketplace accepted.
    pub fn accepted(&self) -> Vec<Value> {
        let accepted = |proposal: &Value| proposal["status"] == 201;
        self.simulator.proposals().into_iter().filter(accepted).collect()
    }

    /// Waits until so many deliveries of an event have come, and answers them.
    #[track_caller]
    pub fn deliveries(&self, event: &str, count: usize) -> Vec<Arc<Delivery>> {
        let of_event = || {
            let all = self.receiver.deliveries().into_iter();
            all.filter(|delivery| delivery.event() == event)
                .collect::<Vec<_>>()
        };
        let what = format!("{count} deliveries of {event}");
        eventually(&what, STEP, || {
            Some(of_event()).filter(|come| come.len() >= count)
        })
    }

    /// Waits until the lead's `bid_complete` has come, and answers its data.
    #[track_caller]
    pub fn bid_complete(&self, lead: &str) -> Value {
        eventually(&format!("the bid_complete of {lead}"), STEP, || {
            let all = self.receiver.deliveries();
            let of_lead = |delivery: &&Arc<Delivery>| {
                delivery.event() == "bid_complete" && delivery.data()["leadId"] == lead
            };
            all.iter()
                .rev()
                .find(of_lead)
                .map(|delivery| delivery.data().clone())
        })
    }
}

/// Waits until a campaign lists so many matches, and answers the first page.
#[track_caller]
pub fn listed(api: &Api, campaign: &str, total: u64) -> Vec<Value> {
    let what = format!("{campaign} lists {total} matches");
    let page = eventually(&what, STEP, || {
        let page = api
            .get(&format!("/v1/campaigns/{campaign}/leads"))
            .expect(200)
            .json();
        (page["total"] == total).then_some(page)
    });
    page["data"].as_array().unwrap().clone()
}

/// Every lead of a campaign, page by page.
#[track_caller]
pub fn all_leads(api: &Api, campaign: &str) -> Vec<Value> {
    let mut leads = Vec::new();
    loop {
        let path = format!("/v1/campaigns/{campaign}/leads?offset={}", leads.len());
        let page = api.get(&path).expect(200).json();
        leads.extend(page["data"].as_array().unwrap().iter().cloned());
        if page["hasMore"] == false {
            assert_eq!(page["total"], leads.len());
            return leads;
        }
    }
}

/// Waits until a lead of a campaign has a status, and answers it.
#[track_caller]
pub fn lead_with_status(api: &Api, campaign: &str, lead: &str, status: &str) -> Value {
    eventually(&format!("{lead} is {status}"), STEP, || {
        let leads = all_leads(api, campaign);
        leads
            .into_iter()
            .find(|found| found["id"] == lead && found["status"] == status)
    })
}

/// The path of an operation on a lead.
pub fn path(campaign: &str, lead: &str, operation: &str) -> String {
    format!("/v1/campaigns/{campaign}/leads/{lead}/{operation}")
}

/// A lead's id.
#[track_caller]
pub fn id(lead: &Value) -> &str {
    lead["id"].as_str().unwrap_or_else(|| panic!("no id in {lead}"))
}

/// A bid on a job without questions.
pub fn bid() -> Value {
    json!({"coverLetter": "I have done this before.", "questionAnswerPairs": []})
}

/// Waits for nothing to come: the condition must hold over the whole time.
#[track_caller]
pub fn stays(what: &str, over: Duration, mut holds: impl FnMut() -> bool) {
    let started = std::time::Instant::now();
    until(what, over + STEP, || {
        assert!(holds(), "no longer holds: {what}");
        started.elapsed() >= over
    });
}
