//! One lead by its id: shown, configured, reopened.

use std::sync::Mutex;

use async_trait::async_trait;
use futures::executor::block_on;
use serde_json::json;

use super::*;
use crate::model::{
    Campaign, CampaignId, CampaignMode, CampaignState, JobId, Lead, LeadWithJob, NewBid, NewEvent,
    OrganizationId, ProposalTemplate, Subscription, SubscriptionStatus, Timestamp,
};
use crate::port::{AcceptBid, AddAttachments, LeadLookup, LeadPage, NewAttachment, RejectLead};
use crate::provisioning::tests::world::CountingIds;

#[derive(Debug)]
struct Leads {
    lead: Mutex<Lead>,
    recorded: Mutex<Vec<Activity>>,
}

const JOB: &str = r#"{"id":"1","ciphertext":"~1","title":"Rust","description":"d","url":"/1","postedAt":5}"#;

impl Leads {
    fn with(status: LeadStatus) -> Self {
        let (organization_id, campaign_id) = (
            OrganizationId::parse("o").unwrap(),
            CampaignId::parse("c").unwrap(),
        );
        let lead = Lead {
            id: LeadId::from_caller("ld_1"),
            organization_id,
            campaign_id,
            job_id: JobId::parse("1").unwrap(),
            created_at: Timestamp::from_millis(7),
            status,
            reason: None,
            rejection_reason: None,
            proposal_id: None,
            bidding_config: config(&json!({"minBoost": 2})),
        };
        Self {
            lead: Mutex::new(lead),
            recorded: Mutex::default(),
        }
    }
}

fn config(value: &Value) -> BiddingConfig {
    BiddingConfig::from_value(value, &[""; 0]).unwrap()
}

#[async_trait]
impl LeadStore for Leads {
    async fn find_anywhere(&self, id: &LeadId) -> Result<Option<LeadContext>, StoreError> {
        let lead = self.lead.lock().unwrap().clone();
        if lead.id != *id {
            return Ok(None);
        }
        let campaign = Campaign {
            organization_id: lead.organization_id.clone(),
            id: lead.campaign_id.clone(),
            name: "C".to_owned(),
            mode: CampaignMode::External,
            state: CampaignState::Paused,
            bidding_config: config(&json!({"maximumBoost": 5})),
            proposal: ProposalTemplate::default(),
            account: None,
            subscription: Subscription {
                status: SubscriptionStatus::Active,
                collection_paused: false,
                period_start: Timestamp::from_millis(0),
                period_end: Timestamp::from_millis(1),
                proposal_limit: 1,
            },
        };
        Ok(Some(LeadContext {
            lead: LeadWithJob {
                lead,
                job_json: JOB.to_owned(),
            },
            campaign: Some(campaign),
            attachments: Vec::new(),
            bid: None,
        }))
    }

    async fn configure(&self, _: &LeadId, config: &BiddingConfig) -> Result<bool, StoreError> {
        self.lead.lock().unwrap().bidding_config = config.clone();
        Ok(true)
    }

    async fn reopen(&self, _: &LeadId, activity: &Activity) -> Result<ReopenLead, StoreError> {
        let mut lead = self.lead.lock().unwrap();
        if !lead.status.is_reopenable() {
            return Ok(ReopenLead::NotReopenable(lead.status));
        }
        lead.status = LeadStatus::New;
        self.recorded.lock().unwrap().push(activity.clone());
        Ok(ReopenLead::Reopened)
    }

    async fn page(
        &self,
        _: &OrganizationId,
        _: &CampaignId,
        _: u64,
        _: u32,
    ) -> Result<Option<LeadPage>, StoreError> {
        unreachable!("an operator's command does not list")
    }

    async fn find(&self, _: &OrganizationId, _: &CampaignId, _: &LeadId) -> Result<LeadLookup, StoreError> {
        unreachable!("an operator's command knows the lead's id alone")
    }

    async fn accept_bid(&self, _: &NewBid, _: &Activity) -> Result<AcceptBid, StoreError> {
        unreachable!("an operator's command does not bid")
    }

    async fn reject(
        &self,
        _: &OrganizationId,
        _: &LeadId,
        _: Option<&str>,
        _: &Activity,
    ) -> Result<RejectLead, StoreError> {
        unreachable!("an operator's command does not reject")
    }

    async fn add_attachments(
        &self,
        _: &OrganizationId,
        _: &LeadId,
        _: &[NewAttachment],
        _: &Activity,
    ) -> Result<AddAttachments, StoreError> {
        unreachable!("an operator's command does not upload")
    }

    async fn record_dry_run(&self, _: &Activity, _: &NewEvent) -> Result<(), StoreError> {
        unreachable!("an operator's command does not bid")
    }
}

#[derive(Debug)]
struct At(Timestamp);

impl Clock for At {
    fn now(&self) -> Timestamp {
        self.0
    }
}

fn operate(status: LeadStatus) -> (Arc<Leads>, OperateLeads) {
    let leads = Arc::new(Leads::with(status));
    let clock = Arc::new(At(Timestamp::from_millis(9)));
    let links = Links::new("https://api.test", None);
    (
        leads.clone(),
        OperateLeads::new(leads, clock, Arc::new(CountingIds::default()), links),
    )
}

fn lead() -> LeadId {
    LeadId::from_caller("ld_1")
}

#[test]
fn a_lead_is_shown_with_its_configuration_and_what_is_in_force() {
    let (_, operate) = operate(LeadStatus::New);
    let shown = serde_json::to_value(block_on(operate.show(&lead())).unwrap()).unwrap();
    assert_eq!(shown["lead"]["id"], "ld_1");
    assert_eq!(shown["lead"]["campaignName"], "C");
    assert_eq!(
        shown["lead"]["bidUrl"],
        "https://api.test/v1/campaigns/c/leads/ld_1/bid"
    );
    assert_eq!(shown["status"], "new");
    assert_eq!(shown["biddingConfig"], json!({"minBoost": 2}));
    let effective = &shown["effectiveBiddingConfig"];
    assert_eq!(
        (&effective["minBoost"], &effective["maximumBoost"]),
        (&json!(2), &json!(5))
    );
    assert_eq!(effective["bidWithWarning"], "skip");
    assert_eq!(shown["bid"], Value::Null);
    assert_eq!(shown.as_object().unwrap().len(), 5);
}

#[test]
fn configuring_replaces_the_whole_configuration_and_an_empty_one_clears_it() {
    let (leads, operate) = operate(LeadStatus::New);
    for file in [json!({"bidWithWarning": "bid"}), json!({})] {
        block_on(operate.configure(&lead(), &file)).unwrap();
        assert_eq!(
            serde_json::to_value(&leads.lead.lock().unwrap().bidding_config).unwrap(),
            file
        );
    }
}

#[test]
fn a_faulty_configuration_changes_nothing_and_is_told_with_all_its_faults() {
    let (leads, operate) = operate(LeadStatus::New);
    let refused = |file: Value| {
        block_on(operate.configure(&lead(), &file))
            .unwrap_err()
            .to_string()
    };
    let lines = refused(json!({"minBoost": -1, "bidWithWarning": null}));
    assert_eq!(
        lines,
        "bidWithWarning: must be one of \"bid\", \"skip\"\nminBoost: must be an integer from 0, or null"
    );
    let line = refused(json!({"minBoost": 6}));
    assert!(
        line.starts_with("minBoost: must be at most maximumBoost in the effective configuration"),
        "{line}"
    );
    assert_eq!(refused(json!([])), "must be an object");
    assert_eq!(
        leads.lead.lock().unwrap().bidding_config,
        config(&json!({"minBoost": 2}))
    );
}

#[test]
fn a_skipped_or_failed_lead_is_reopened_and_recorded() {
    for status in [LeadStatus::Skipped, LeadStatus::Failed] {
        let (leads, operate) = operate(status);
        block_on(operate.reopen(&lead(), Actor::command("leads reopen"))).unwrap();
        assert_eq!(leads.lead.lock().unwrap().status, LeadStatus::New);
        let recorded = leads.recorded.lock().unwrap();
        let line = serde_json::to_value(&recorded[0]).unwrap();
        assert_eq!(
            (&line["kind"], &line["outcome"]),
            (&json!("submission"), &json!("new"))
        );
        assert_eq!(line["actor"]["type"], "command");
        assert_eq!(line["details"]["reopenedFrom"], status.as_str());
    }
}

#[test]
fn a_lead_of_any_other_status_stays_as_it_is() {
    for status in [
        LeadStatus::New,
        LeadStatus::Queued,
        LeadStatus::Submitted,
        LeadStatus::Rejected,
    ] {
        let (leads, operate) = operate(status);
        let error = block_on(operate.reopen(&lead(), Actor::command("leads reopen"))).unwrap_err();
        assert!(error.to_string().contains(status.as_str()), "{error}");
        assert_eq!(leads.lead.lock().unwrap().status, status);
    }
}

#[test]
fn an_unknown_lead_is_named() {
    let (_, operate) = operate(LeadStatus::New);
    let nobody = LeadId::from_caller("ld_x");
    let message = "there is no lead \"ld_x\": List leads and `job.new` name the leads there are";
    assert_eq!(block_on(operate.show(&nobody)).unwrap_err().to_string(), message);
    assert_eq!(
        block_on(operate.configure(&nobody, &json!({})))
            .unwrap_err()
            .to_string(),
        message
    );
    let reopened = block_on(operate.reopen(&nobody, Actor::service()));
    assert_eq!(reopened.unwrap_err().to_string(), message);
}
