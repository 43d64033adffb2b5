//! The ends of deliveries: each is recorded once, with its Activity entry and what is counted (decision C5).
//!
//! Ends that arrive at the same time share a transaction. If it fails, each of them is recorded alone.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use bidloop_domain::model::{
    Activity, DeliveryId, DeliveryState, EventKind, LeadId, OrganizationId, StatisticsStep, Tally, Timestamp,
};
use bidloop_domain::port::{DeliveryFacts, DeliveryOutcome, LeaseOwner, StoreError};
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
    pub(crate) organization: OrganizationId,
    pub(crate) delivery: DeliveryId,
    pub(crate) outcome: DeliveryOutcome,
    pub(crate) owner: LeaseOwner,
    pub(crate) activity: Activity,
}

impl EndCommand {
    fn key(&self) -> (String, String, Option<String>) {
        let owner = self.owner.as_str().to_owned();
        (
            self.organization.to_string(),
            self.delivery.to_string(),
            Some(owner),
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

type EndedRow = (String, String, Option<String>, Tried<Delivery>);

async fn end_together(conn: &mut Conn, group: &[Arc<EndCommand>]) -> Result<Vec<bool>, Failure> {
    // Of one owner's ends of a delivery the first counts. Rows are locked in the order of their keys.
    let mut first: BTreeMap<_, &EndCommand> = BTreeMap::new();
    for command in group {
        let key = (
            command.organization.as_str(),
            command.delivery.0,
            command.owner.as_str(),
        );
        first.entry(key).or_insert(command);
    }
    let commands: Vec<&EndCommand> = first.into_values().collect();
    let ends = Batch::of("deliveries", &commands)
        .with(deliveries::organization_id, |end| end.organization.as_str())
        .with(deliveries::id, |end| end.delivery.to_string())
        .with(deliveries::owner, |end| Some(end.owner.as_str()))
        .with(deliveries::state, |end| state(&end.outcome).as_str())
        .with(deliveries::reason, |end| end.outcome.reason())
        .with(deliveries::ended_at, |end| Some(end.activity.at.as_millis()));
    let selected = (
        deliveries::organization_id,
        deliveries::id,
        deliveries::owner,
        Tried::<Delivery>::as_select(),
    );
    let ended: Vec<EndedRow> = write_returning(conn, ends, Write::UpdateIf(3, WAS_SENDING), selected).await?;
    let mut ended: HashMap<_, Tried<Delivery>> = ended
        .into_iter()
        .map(|(organization, id, owner, delivery)| ((organization, id, owner), delivery))
        .collect();
    let ended: Vec<(&EndCommand, Option<Delivery>)> = commands
        .into_iter()
        // One that cannot be read has an end, too.
        .filter_map(|command| Some((command, ended.remove(&command.key())?.0.ok())))
        .collect();
    let ends: Vec<End<'_>> = ended
        .iter()
        .map(|(command, delivery)| End {
            organization: &command.organization,
            id: command.delivery,
            delivery: delivery.as_ref(),
            outcome: &command.outcome,
            activity: &command.activity,
        })
        .collect();
    record(conn, &ends).await?;
    let counted: HashSet<*const EndCommand> = ended
        .iter()
        .map(|(command, _)| std::ptr::from_ref(*command))
        .collect();
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
        .map(|((delivery, _), activity)| End {
            organization: &delivery.organization_id,
            id: delivery.id,
            delivery: Some(delivery),
            outcome,
            activity,
        })
        .collect();
    Batch::of("deliveries", &ends)
        .with(deliveries::organization_id, |end| end.organization.as_str())
        .with(deliveries::id, |end| end.id.to_string())
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
    organization: &'e OrganizationId,
    id: DeliveryId,
    /// `None` if it cannot be read.
    delivery: Option<&'e Delivery>,
    outcome: &'e DeliveryOutcome,
    activity: &'e Activity,
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
    let counted: Vec<(&End<'_>, &Delivery)> = ends
        .iter()
        .filter_map(|end| Some((end, end.delivery?)))
        .filter(|(_, delivery)| !delivery.is_test)
        .collect();
    let mut told: BTreeSet<(&OrganizationId, &LeadId)> = BTreeSet::new();
    for (end, delivery) in &counted {
        if delivery.event == EventKind::JobNew && end.outcome.is_delivered() {
            told.insert((&delivery.organization_id, &delivery.lead_id));
        }
    }
    let mut first_told = note_told(conn, &told).await?;
    let mut tallies: BTreeMap<Timestamp, Tally> = BTreeMap::new();
    for (end, delivery) in counted {
        let (organization, campaign) = (&delivery.organization_id, &delivery.campaign_id);
        let at = end.activity.at;
        let tally = tallies.entry(StatisticsStep::Hour.start(at)).or_default();
        if delivery.event == EventKind::JobNew {
            if !end.outcome.is_delivered() {
                tally.delivery_failed(organization, campaign);
            } else if let Some(posted_at) = first_told.remove(&delivery.lead_id) {
                tally.delivered(organization, campaign, at, posted_at);
            }
        }
        if let Some(took) = end.outcome.was_sent() {
            tally.endpoint_sent(
                organization,
                &delivery.endpoint_id,
                end.outcome.is_delivered(),
                took,
            );
        }
    }
    for (hour, tally) in tallies {
        count(conn, &tally, hour).await?;
    }
    Ok(())
}

/// Notes that the leads' `job.new` was delivered. Returns those for which it is the first time, with when their jobs were
/// posted.
async fn note_told(
    conn: &mut Conn,
    told: &BTreeSet<(&OrganizationId, &LeadId)>,
) -> Result<HashMap<LeadId, Option<Timestamp>>, Failure> {
    let told: Vec<_> = told.iter().collect();
    let noted = Batch::of("told_leads", &told)
        .with(told_leads::organization_id, |(organization, _)| {
            organization.as_str()
        })
        .with(told_leads::lead_id, |(_, lead)| lead.as_str());
    let posted_at = leads::table
        .inner_join(jobs::table.on(jobs::id.eq(leads::job_id)))
        .filter(leads::organization_id.eq(told_leads::organization_id))
        .filter(leads::id.eq(told_leads::lead_id))
        .select(jobs::posted_at);
    let selected = (told_leads::lead_id, posted_at.single_value());
    let first: Vec<(String, Option<i64>)> = write_returning(conn, noted, Write::InsertNew, selected).await?;
    let first: HashMap<String, Option<i64>> = first.into_iter().collect();
    let first = told.iter().filter_map(|(_, lead)| {
        let posted_at = first.get(lead.as_str())?;
        Some(((*lead).clone(), posted_at.map(Timestamp::from_millis)))
    });
    Ok(first.collect())
}
