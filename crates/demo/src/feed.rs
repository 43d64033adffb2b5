//! The live view: merges the receiver's events and the Activity record in order of time, and prints them.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::{Activity, ActivityId, ActivityQuery, LeadId, OrganizationId, Timestamp};
use bidloop_domain::port::{ActivityStore, LeadStore, StoreError};
use bidloop_simulator::caller::{Delivery, Event, Signature};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use crate::DemoError;
use crate::RunningService;
use crate::feed_line::FeedLine;
use crate::introduction;
use crate::lead_facts::LeadFacts;
use crate::screen::Screen;
use crate::setup::ORGANIZATION;
use crate::tally::Tally;

/// Pause between two reads of the Activity record.
const PAUSE: Duration = Duration::from_millis(120);
/// Entries of the Activity record in one read. If all of them are new, a larger page is read.
const PAGE: u32 = 64;
const LARGEST_PAGE: u32 = 16_384;
/// How many printed entries of the Activity record are remembered.
const PRINTED: usize = 4 * LARGEST_PAGE as usize;
/// How many leads' titles and facts are remembered.
const LEADS: usize = 4_096;
/// The command to bid is shown again after this many `job.new`.
const REMIND_EVERY: u64 = 25;

/// An event of the receiver, with its time.
pub(crate) type ReceiverEvent = (Timestamp, Event);

/// The feed of one run.
#[derive(Debug)]
pub(crate) struct Feed {
    pub(crate) screen: Screen,
    tally: Tally,
    organization: OrganizationId,
    activities: Arc<dyn ActivityStore>,
    leads: Arc<dyn LeadStore>,
    events: mpsc::UnboundedReceiver<ReceiverEvent>,
    auto_reply: bool,
    since: Timestamp,
    printed: Recent<ActivityId, (), PRINTED>,
    known: Recent<String, LeadFacts, LEADS>,
}

/// A map that keeps the newest `LIMIT` entries.
#[derive(Debug)]
struct Recent<K, V, const LIMIT: usize> {
    entries: HashMap<K, V>,
    order: VecDeque<K>,
}

impl<K: Clone + Eq + Hash, V, const LIMIT: usize> Recent<K, V, LIMIT> {
    fn new() -> Self {
        Self {
            entries: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    fn insert(&mut self, key: K, value: V) {
        if self.entries.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > LIMIT
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }
}

/// A line and the text below it.
struct Entry {
    line: FeedLine,
    below: Option<String>,
}

impl Feed {
    /// Shows what happens from `since` on.
    pub(crate) fn new(
        screen: Screen,
        service: &RunningService,
        events: mpsc::UnboundedReceiver<ReceiverEvent>,
        auto_reply: bool,
        since: Timestamp,
    ) -> Result<Self, DemoError> {
        Ok(Self {
            screen,
            tally: Tally::since(since),
            organization: OrganizationId::parse(ORGANIZATION)
                .map_err(|error| DemoError::Failed(error.to_string()))?,
            activities: Arc::clone(&service.activities),
            leads: Arc::clone(&service.leads),
            events,
            auto_reply,
            since,
            printed: Recent::new(),
            known: Recent::new(),
        })
    }

    /// Prints until `stop` completes or standard output is closed.
    pub(crate) async fn run(&mut self, stop: impl Future<Output = ()>) -> Result<(), DemoError> {
        let mut stop = std::pin::pin!(stop);
        let mut ticks = tokio::time::interval(PAUSE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = &mut stop => return Ok(()),
                _ = ticks.tick() => self.print_news().await?,
            }
        }
    }

    /// Prints what has happened since the last time.
    async fn print_news(&mut self) -> Result<(), DemoError> {
        // The receiver's events are taken first: their causes are then in the record already.
        let mut events = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            events.push(event);
        }
        let activities = match self.new_activities().await {
            Ok(activities) => activities,
            Err(error) => {
                tracing::warn!(%error, "the Activity record cannot be read");
                Vec::new()
            }
        };
        let mut entries = Vec::new();
        for (at, event) in events {
            entries.extend(self.entry_of_event(at, event).await);
        }
        for activity in activities {
            self.tally.activity(&activity);
            let lead = activity
                .lead_id
                .as_ref()
                .map(LeadId::as_str)
                .unwrap_or_default()
                .to_owned();
            let facts = self.facts_of(&lead).await;
            entries.extend(FeedLine::of_activity(&activity, &facts).map(|line| Entry { line, below: None }));
        }
        entries.sort_by_key(|entry| (entry.line.at, entry.line.order));
        let look = self.screen.look();
        for entry in entries {
            self.screen.show(&entry.line.render(look))?;
            if let Some(below) = entry.below {
                self.screen.show(&below)?;
            }
        }
        Ok(())
    }

    /// Prints the last events and the summary.
    pub(crate) async fn sum_up(&mut self, jobs: u64, matches: u64, ran: Duration) -> Result<(), DemoError> {
        self.print_news().await?;
        let summary = self.tally.render(jobs, matches, ran, self.screen.look());
        self.screen.show(&summary)
    }

    async fn entry_of_event(&mut self, at: Timestamp, event: Event) -> Option<Entry> {
        match event {
            Event::Delivered(delivery) => {
                self.tally.delivery(&delivery);
                let data = delivery.data();
                let lead = data["leadId"].as_str().unwrap_or_default();
                let facts = if data["lead"].is_object() {
                    let facts = LeadFacts::read(&data["lead"]);
                    self.known.insert(lead.to_owned(), facts.clone());
                    facts
                } else {
                    self.facts_of(lead).await
                };
                let below = self.commands_for(&delivery);
                Some(Entry {
                    line: FeedLine::of_delivery(&delivery, &facts),
                    below,
                })
            }
            Event::Replied(reply) => {
                let facts = self.facts_of(&reply.lead_id).await;
                let line = FeedLine::of_reply(&reply, &facts, at.as_millis())?;
                Some(Entry { line, below: None })
            }
        }
    }

    /// The commands to decide on a lead, for the first one and every few later ones.
    fn commands_for(&self, delivery: &Delivery) -> Option<String> {
        if delivery.event() != "job.new" || delivery.signature() != Signature::Valid {
            return None;
        }
        let (data, look) = (delivery.data(), self.screen.look());
        match self.tally.job_new() {
            1 if self.auto_reply => Some(introduction::dry_run(data, look)),
            1 => Some(introduction::decisions(data, look)),
            count if !self.auto_reply && count.is_multiple_of(REMIND_EVERY) => {
                Some(introduction::bid(data, look))
            }
            _ => None,
        }
    }

    /// Entries not printed before, oldest first.
    async fn new_activities(&mut self) -> Result<Vec<Activity>, StoreError> {
        let mut limit = PAGE;
        loop {
            let query = ActivityQuery {
                organization_id: Some(self.organization.clone()),
                limit,
                ..ActivityQuery::default()
            };
            let page = self.activities.list(&query).await?;
            let full = page.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
            let reaches_back = page
                .last()
                .is_some_and(|last| self.printed.entries.contains_key(&last.id) || last.at < self.since);
            if full && !reaches_back && limit < LARGEST_PAGE {
                limit *= 4;
                continue;
            }
            let mut new: Vec<Activity> = page
                .into_iter()
                .filter(|activity| {
                    activity.at >= self.since && !self.printed.entries.contains_key(&activity.id)
                })
                .collect();
            new.reverse();
            for activity in &new {
                self.printed.insert(activity.id, ());
            }
            return Ok(new);
        }
    }

    /// A lead's title and facts, from the store if no event carried them.
    async fn facts_of(&mut self, lead_id: &str) -> LeadFacts {
        if let Some(facts) = self.known.entries.get(lead_id) {
            return facts.clone();
        }
        let found = match LeadId::parse(lead_id) {
            Ok(id) => self.leads.find_anywhere(&id).await.ok().flatten(),
            Err(_) => None,
        };
        let facts = match found {
            Some(found) => {
                let post: Value = serde_json::from_str(&found.lead.job_json).unwrap_or_default();
                LeadFacts::read(&post)
            }
            None => LeadFacts::unknown(lead_id),
        };
        self.known.insert(lead_id.to_owned(), facts.clone());
        facts
    }
}
