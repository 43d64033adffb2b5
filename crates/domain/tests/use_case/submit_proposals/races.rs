//! Several submitters, random faults, stops and crashes: whatever the order, one proposal a bid and account (decision
//! B4).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::bidding::LiveJobStatus;
use bidloop_domain::model::{BidId, LeadId, LeadStatus};
use bidloop_domain::use_case::{SubmissionOutcome, SubmitProposals};
use bidloop_fakes::{Call, FakeAccount, Fault};
use bidloop_port_contracts::fixture::{campaign, campaign_id, job_id, lead_id};
use proptest::prelude::*;

use crate::service::{Service, TOKEN, acme, job, request};
use crate::stepping::{Pass, pass, stepping_submitter};

const PROCESSES: usize = 3;

#[derive(Debug, Clone)]
enum Event {
    /// The process goes on by so many pauses; begins a pass if it is on none.
    Go(usize, usize),
    /// The process crashes, and starts anew when it goes on.
    Crash(usize),
    Pass(u64),
    Fault(Call, Fault),
    Close(&'static str),
    RevokeToken,
    RenewToken,
}

fn event() -> impl Strategy<Value = Event> {
    let fault = prop_oneof![
        Just(Fault::no_answer()),
        Just(Fault::no_answer_after_commit()),
        Just(Fault::malformed_after_commit()),
        Just(Fault::unreachable()),
        Just(Fault::unavailable()),
        Just(Fault::try_later(Some(Duration::from_secs(20)))),
    ];
    prop_oneof![
        12 => (0..PROCESSES, 1..25_usize).prop_map(|(process, pauses)| Event::Go(process, pauses)),
        3 => (0..PROCESSES).prop_map(Event::Crash),
        6 => (50..12_000_u64).prop_map(Event::Pass),
        1 => Just(Event::Pass(200_000)),
        3 => fault.clone().prop_map(|fault| Event::Fault(Call::Submit, fault)),
        1 => fault.prop_map(|fault| Event::Fault(Call::Account, fault)),
        1 => prop_oneof![Just("1"), Just("2")].prop_map(Event::Close),
        1 => Just(Event::RevokeToken),
        1 => Just(Event::RenewToken),
    ]
}

struct Race {
    service: Service,
    /// Every lead with its bid: jobs 1 to 3 in the campaign `camp`, job 3 in `second` too.
    bids: Vec<(LeadId, BidId)>,
    processes: Vec<Arc<SubmitProposals>>,
    passes: Vec<Option<Pass<Vec<SubmissionOutcome>>>>,
    tokens: u32,
}

impl Race {
    async fn start() -> Self {
        let service = Service::with(acme().campaign(campaign("second"))).await;
        for id in ["1", "2", "3"] {
            service.publish(&job(id));
        }
        service.ingest().await;
        let mut bids = Vec::new();
        for (name, id) in [("camp", "1"), ("camp", "2"), ("camp", "3"), ("second", "3")] {
            let lead = lead_id("org_acme", name, id);
            let bidder = Service::requester();
            let submit = service.submit_bid();
            submit
                .execute(&bidder, &campaign_id(name), &lead, Ok(request()))
                .await
                .unwrap();
            let found = service.stores.leads.find_anywhere(&lead).await.unwrap().unwrap();
            bids.push((lead, found.bid.unwrap().id));
        }
        let processes: Vec<_> = (0..PROCESSES)
            .map(|number| stepping_submitter(&service, &format!("process-{number}")))
            .collect();
        Self {
            service,
            bids,
            passes: processes.iter().map(|_| None).collect(),
            processes,
            tokens: 0,
        }
    }

    async fn apply(&mut self, event: Event) {
        let service = &self.service;
        match event {
            Event::Go(process, pauses) => {
                let mut going = self.passes[process]
                    .take()
                    .unwrap_or_else(|| pass(&self.processes[process]));
                let done = (0..pauses).any(|_| going.step().is_some());
                self.passes[process] = (!done).then_some(going);
            }
            Event::Crash(process) => self.passes[process] = None,
            Event::Pass(millis) => {
                service.clock.advance(Duration::from_millis(millis));
            }
            Event::Fault(call, fault) => service.marketplace.script(call, fault),
            Event::Close(id) => service
                .marketplace
                .edit_job(&job_id(id), |job| job.state.status = LiveJobStatus::Closed),
            Event::RevokeToken => {
                service.marketplace.revoke_token(TOKEN);
                for number in 1..=self.tokens {
                    service.marketplace.revoke_token(&format!("token_{number}"));
                }
            }
            Event::RenewToken => {
                self.tokens += 1;
                service.renew_token(&format!("token_{}", self.tokens)).await;
            }
        }
    }

    /// What holds at any time.
    async fn assert_sound(&self) {
        let received = self.service.marketplace.proposals();
        let jobs: BTreeSet<String> = received
            .iter()
            .map(|one| one.proposal.job_id.to_string())
            .collect();
        assert_eq!(jobs.len(), received.len(), "one proposal a job");
        for one in &received {
            assert!(
                !one.repeated_with_changes,
                "the stored proposal is sent unchanged"
            );
        }
        for (lead, bid) in &self.bids {
            let found = self
                .service
                .stores
                .leads
                .find_anywhere(lead)
                .await
                .unwrap()
                .unwrap();
            let taken = received.iter().find(|one| one.key == *bid);
            match found.lead.lead.status {
                LeadStatus::Submitted => assert_eq!(
                    found.lead.lead.proposal_id.as_ref(),
                    taken.map(|one| &one.answer.proposal_id)
                ),
                LeadStatus::Queued => {
                    assert!(taken.is_none() || found.bid.unwrap().answer_outstanding);
                }
                _ => assert!(taken.is_none(), "no end without a proposal hides one"),
            }
        }
    }

    async fn finish(mut self) {
        self.passes.clear();
        self.tokens += 1;
        self.service.renew_token(&format!("token_{}", self.tokens)).await;
        self.service
            .marketplace
            .put_account(TOKEN, FakeAccount::new("jane"));
        self.service.clock.advance(Duration::from_secs(60));
        self.service.submit_all().await;
        self.assert_sound().await;
        let told = self.service.events("bid_complete").await;
        let mut leads: Vec<&str> = told
            .iter()
            .map(|event| event["data"]["leadId"].as_str().unwrap())
            .collect();
        leads.sort_unstable();
        let mut all: Vec<&str> = self.bids.iter().map(|(lead, _)| lead.as_str()).collect();
        all.sort_unstable();
        assert_eq!(leads, all, "every bid ends, and is told once");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_there_is_one_proposal_a_bid(events in prop::collection::vec(event(), 1..60)) {
        futures::executor::block_on(async {
            let mut race = Race::start().await;
            for event in events {
                race.apply(event).await;
                race.assert_sound().await;
            }
            race.finish().await;
        });
    }
}
