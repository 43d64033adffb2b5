//! The ends of deliveries: each is recorded once, with its Activity entry and what is counted (decision C5).
//!
//! Ends that arrive at the same time share a transaction. If it fails, each of them is recorded alone.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use bidloop_domain::model::{
    Activity, DeliveryId, DeliveryState, EventKind, LeadId, OrganizationId, StatisticsStep, Tally, Timestamp,
};
use bidloop_domain::port::{DeliveryEnd, DeliveryFacts, DeliveryOutcome, LeaseOwner, StoreError};
use diesel::dsl::auto_type;
use diesel::expression::SqlLiteral;
use diesel::sql_types::Bool;

use super::super::prelude::*;
use super::super::statistics::count;
use super::{DELIVERIES, is_sending, payload};
use crate::grouping::{Grouped, Locks};
use crate::records::Delivery;

/// How many interrupted deliveries one transaction ends.
const SWEPT_AT_ONCE: i64 = 200;

/// The end of a delivery that was sent.
#[derive(Debug)]
pub(crate) struct EndCommand {
    pub(crate) end: Arc<DeliveryEnd>,
    pub(crate) owner: LeaseOwner,
}

impl EndCommand {
    /// The delivery and its owner.
    fn key(&self) -> (&str, DeliveryId, Option<&str>) {
        let delivery = &self.end.delivery;
        (
            delivery.organization_id.as_str(),
            delivery.id,
            Some(self.owner.as_str()),
        )
    }
}

/// The recording of ends in a store.
#[derive(Clone)]
pub(crate) struct Ends(pub(super) Store);

impl Ends {
    async fn record(
        &self,
        group: Vec<Arc<EndCommand>>,
        locks: Locks,
    ) -> Result<Option<Vec<bool>>, StoreError> {
        let work = async move |conn: &mut Conn| end_together(conn, &group).await;
        self.0.write_by_keys(locks, work).await
    }
}

impl Grouped for Ends {
    type Command = EndCommand;
    /// Whether the delivery was still its owner's.
    type Answer = bool;

    async fn together(
        &self,
        group: Vec<Arc<EndCommand>>,
        locks: Locks,
    ) -> Result<Option<Vec<Option<bool>>>, StoreError> {
        let recorded = self.record(group, locks).await?;
        Ok(recorded.map(|answers| answers.into_iter().map(Some).collect()))
    }

    async fn alone(&self, command: Arc<EndCommand>) -> Result<bool, StoreError> {
        let ended = self.record(vec![command], Locks::Patiently).await?;
        Ok(ended.is_some_and(|ended| ended == [true]))
    }
}

/// Not in the words of the partial index on deliveries that are being sent, which would be read whole.
const WAS_SENDING: &str = "deliveries.state || '' = 'sending'";

async fn end_together(conn: &mut Conn, group: &[Arc<EndCommand>]) -> Result<Vec<bool>, Failure> {
    // Of one owner's ends of a delivery the first counts. Rows are locked in the order of their keys.
    let mut first: BTreeMap<_, &EndCommand> = BTreeMap::new();
    for command in group {
        first.entry(command.key()).or_insert(command);
    }
    let commands: Vec<&EndCommand> = first.into_values().collect();
    let ends = Batch::of("deliveries", &commands)
        .with(deliveries::organization_id, |command| {
            command.end.delivery.organization_id.as_str()
        })
        .with(deliveries::id, |command| command.end.delivery.id.to_string())
        .with(deliveries::owner, |command| Some(command.owner.as_str()))
        .with(deliveries::state, |command| state(&command.end.outcome).as_str())
        .with(deliveries::reason, |command| command.end.outcome.reason())
        .with(deliveries::ended_at, |command| {
            Some(command.end.activity.at.as_millis())
        });
    let selected = (deliveries::organization_id, deliveries::id, deliveries::owner);
    let ended: Vec<(String, Col<DeliveryId>, Option<String>)> =
        write_returning(conn, ends, Write::UpdateIf(3, WAS_SENDING), selected).await?;
    let ended: HashSet<_> = ended
        .iter()
        .map(|(organization, Col(id), owner)| (organization.as_str(), *id, owner.as_deref()))
        .collect();
    let ended: Vec<&EndCommand> = commands
        .into_iter()
        .filter(|command| ended.contains(&command.key()))
        .collect();
    let ends: Vec<End<'_>> = ended
        .iter()
        .map(|command| End {
            facts: command.end.delivery.facts(),
            outcome: &command.end.outcome,
            activity: &command.end.activity,
            posted_at: command.end.delivery.posted_at(),
        })
        .collect();
    record(conn, &ends).await?;
    let counted: HashSet<*const EndCommand> = ended.into_iter().map(std::ptr::from_ref).collect();
    Ok(group
        .iter()
        .map(|command| counted.contains(&Arc::as_ptr(command)))
        .collect())
}

/// Ends deliveries that were not sent, or whose sender is gone, with the addresses of their endpoints.
pub(super) async fn fail(
    conn: &mut Conn,
    failed: &[(&Delivery, String)],
    outcome: &DeliveryOutcome,
    now: Timestamp,
) -> Result<(), Failure> {
    let activities: Vec<Activity> = failed
        .iter()
        .map(|(delivery, url)| facts(delivery, url).activity(outcome, now))
        .collect();
    let ends: Vec<End<'_>> = failed
        .iter()
        .zip(&activities)
        .map(|((delivery, url), activity)| End {
            facts: facts(delivery, url),
            outcome,
            activity,
            posted_at: None,
        })
        .collect();
    Batch::of("deliveries", &ends)
        .with(deliveries::organization_id, |end| {
            end.facts.organization_id.as_str()
        })
        .with(deliveries::id, |end| end.facts.id.to_string())
        .with(deliveries::state, |end| state(end.outcome).as_str())
        .with(deliveries::reason, |end| end.outcome.reason())
        .with(deliveries::ended_at, |end| end.activity.at.as_millis())
        .run(conn, Write::Update(2))
        .await?;
    record(conn, &ends).await
}

fn facts<'a>(delivery: &'a Delivery, url: &'a str) -> DeliveryFacts<'a> {
    DeliveryFacts {
        organization_id: &delivery.organization_id,
        campaign_id: &delivery.campaign_id,
        lead_id: &delivery.lead_id,
        id: delivery.id,
        event: delivery.event,
        dry_run: payload(delivery).is_some_and(|payload| payload.is_dry_run()),
        endpoint_id: &delivery.endpoint_id,
        url,
        is_test: delivery.is_test,
        sent_by: delivery.sent_by.as_ref(),
    }
}

/// Deliveries that are marked as being sent beyond their deadline, of those with a deadline from a moment on.
#[auto_type]
pub(super) fn overdue(from: i64, now: i64) -> _ {
    let is_sending: SqlLiteral<Bool> = is_sending();
    deliveries::table
        .filter(is_sending)
        .filter(deliveries::owner_until.ge(from))
        .filter(deliveries::owner_until.lt(now))
}

/// Ends some of the overdue deliveries as interrupted.
pub(super) async fn sweep(
    conn: &mut Conn,
    quarantine: &Quarantine,
    from: i64,
    now: Timestamp,
) -> Result<u64, Failure> {
    let overdue = overdue(from, now.as_millis())
        .order((deliveries::organization_id, deliveries::id))
        .limit(SWEPT_AT_ONCE + stored(quarantine.count(DELIVERIES)))
        .select(Tried::<Delivery>::as_select());
    let overdue: Vec<Tried<Delivery>> = for_update!(overdue).load(conn).await?;
    let overdue: Vec<Delivery> = overdue
        .into_iter()
        .filter_map(|row| row.or_aside(quarantine))
        .collect();
    let mut failed = Vec::with_capacity(overdue.len());
    for delivery in &overdue {
        let url: Option<Attempt<Col<String>>> = webhook_endpoints::table
            .find((delivery.organization_id.as_str(), delivery.endpoint_id.as_str()))
            .select(webhook_endpoints::url)
            .first(conn)
            .await
            .optional()?;
        let url = url.and_then(|url| url.0.ok());
        failed.push((delivery, url.map_or_else(String::new, |url| url.0)));
    }
    fail(conn, &failed, &DeliveryOutcome::Interrupted, now).await?;
    Ok(overdue.len() as u64)
}

/// The end of a delivery whose row is locked.
struct End<'e> {
    facts: DeliveryFacts<'e>,
    outcome: &'e DeliveryOutcome,
    activity: &'e Activity,
    /// When the job was posted, if it is known. Only what was delivered needs it.
    posted_at: Option<Timestamp>,
}

const fn state(outcome: &DeliveryOutcome) -> DeliveryState {
    if outcome.is_delivered() {
        DeliveryState::Delivered
    } else {
        DeliveryState::Failed
    }
}

/// Records ends that the rows of deliveries have.
async fn record(conn: &mut Conn, ends: &[End<'_>]) -> Result<(), Failure> {
    Batch::of("activities", ends)
        .with_record(|end| end.activity)?
        .run_at_commit(conn, Write::InsertNew)
        .await?;
    count_ends(conn, ends).await
}

/// Counts ends of deliveries. What people try from the console is not counted.
async fn count_ends(conn: &mut Conn, ends: &[End<'_>]) -> Result<(), Failure> {
    let counted = || ends.iter().filter(|end| !end.facts.is_test);
    let mut told: BTreeSet<(&OrganizationId, &LeadId)> = BTreeSet::new();
    for End { facts, outcome, .. } in counted() {
        if facts.event == EventKind::JobNew && outcome.is_delivered() {
            told.insert((facts.organization_id, facts.lead_id));
        }
    }
    let mut first_told = note_told(conn, &told).await?;
    let mut tallies: BTreeMap<Timestamp, Tally> = BTreeMap::new();
    for End {
        facts,
        outcome,
        activity,
        posted_at,
    } in counted()
    {
        let (organization, campaign, at) = (facts.organization_id, facts.campaign_id, activity.at);
        let tally = tallies.entry(StatisticsStep::Hour.start(at)).or_default();
        if facts.event == EventKind::JobNew {
            if !outcome.is_delivered() {
                tally.delivery_failed(organization, campaign);
            } else if first_told.remove(facts.lead_id) {
                tally.delivered(organization, campaign, at, *posted_at);
            }
        }
        if let Some(took) = outcome.was_sent() {
            tally.endpoint_sent(organization, facts.endpoint_id, outcome.is_delivered(), took);
        }
    }
    for (hour, tally) in tallies {
        count(conn, &tally, hour).await?;
    }
    Ok(())
}

/// Notes that the leads' `job.new` was delivered. Returns those for which it is the first time.
async fn note_told(
    conn: &mut Conn,
    told: &BTreeSet<(&OrganizationId, &LeadId)>,
) -> Result<HashSet<LeadId>, Failure> {
    let told: Vec<_> = told.iter().collect();
    let noted = Batch::of("told_leads", &told)
        .with(told_leads::organization_id, |(organization, _)| {
            organization.as_str()
        })
        .with(told_leads::lead_id, |(_, lead)| lead.as_str());
    let first: Vec<Col<LeadId>> = write_returning(conn, noted, Write::InsertNew, told_leads::lead_id).await?;
    Ok(first.into_iter().map(|Col(lead)| lead).collect())
}
