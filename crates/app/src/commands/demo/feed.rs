//! The live feed: brings together what the receiver heard and what the Activity record says, in the order in
//! which it happened, and prints it. The words of a line are `feed_line`'s.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::{Activity, ActivityId, ActivityQuery, LeadId, OrganizationId, Timestamp};
use bidloop_domain::port::{ActivityStore, LeadStore, StoreError};
use bidloop_simulator::caller::{Delivery, Event, Signature};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use super::feed_line::FeedLine;
use super::lead_facts::LeadFacts;
use super::screen::Screen;
use super::tally::Tally;
use super::to_try;
use crate::commands::Outcome;

/// Between two looks at what happened.
const PAUSE: Duration = Duration::from_millis(120);
/// Entries of the Activity record that are read at a time; if all of them are new, more are read.
const PAGE: u32 = 64;
const LARGEST_PAGE: u32 = 16_384;
/// Entries of the Activity record that are known to have been told.
const TOLD: usize = 4 * LARGEST_PAGE as usize;
/// Leads whose title and facts are remembered.
const REMEMBERED: usize = 4_096;
/// Every so many `job.new` that nobody answers, the command to bid is shown again.
const REMIND_EVERY: u64 = 25;

/// What the receiver heard, and when.
pub(super) type Heard = (Timestamp, Event);

/// The feed of one run.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) screen: Screen,
    pub(super) tally: Tally,
    organization: OrganizationId,
    activities: Arc<dyn ActivityStore>,
    leads: Arc<dyn LeadStore>,
    heard: mpsc::UnboundedReceiver<Heard>,
    auto_reply: bool,
    since: Timestamp,
    told: Told,
    known: KnownLeads,
}

/// Leads that were heard of lately.
#[derive(Debug, Default)]
struct KnownLeads {
    facts: HashMap<String, LeadFacts>,
    order: VecDeque<String>,
}

impl KnownLeads {
    fn remember(&mut self, id: &str, facts: &LeadFacts) {
        if self.facts.insert(id.to_owned(), facts.clone()).is_none() {
            self.order.push_back(id.to_owned());
        }
        while self.order.len() > REMEMBERED {
            if let Some(oldest) = self.order.pop_front() {
                self.facts.remove(&oldest);
            }
        }
    }
}

/// The entries of the Activity record that were told, the oldest of very many forgotten.
#[derive(Debug, Default)]
struct Told {
    ids: HashSet<ActivityId>,
    order: VecDeque<ActivityId>,
}

impl Told {
    fn contains(&self, id: ActivityId) -> bool {
        self.ids.contains(&id)
    }

    fn add(&mut self, id: ActivityId) {
        if self.ids.insert(id) {
            self.order.push_back(id);
        }
        while self.order.len() > TOLD {
            if let Some(oldest) = self.order.pop_front() {
                self.ids.remove(&oldest);
            }
        }
    }
}

/// A line and what is shown below it.
struct Entry {
    line: FeedLine,
    below: Option<String>,
}

impl Feed {
    /// Tells what happens from `since` on.
    pub(super) fn new(
        screen: Screen,
        organization: OrganizationId,
        (activities, leads): (Arc<dyn ActivityStore>, Arc<dyn LeadStore>),
        heard: mpsc::UnboundedReceiver<Heard>,
        auto_reply: bool,
        since: Timestamp,
    ) -> Self {
        Self {
            screen,
            tally: Tally::since(since),
            organization,
            activities,
            leads,
            heard,
            auto_reply,
            since,
            told: Told::default(),
            known: KnownLeads::default(),
        }
    }

    /// Prints until `stop` completes or nobody reads any more.
    pub(super) async fn run(&mut self, stop: impl Future<Output = ()>) -> Outcome {
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
    pub(super) async fn print_news(&mut self) -> Outcome {
        // What was heard is taken first: whatever led to it is then in the record already.
        let mut heard = Vec::new();
        while let Ok(event) = self.heard.try_recv() {
            heard.push(event);
        }
        let activities = match self.new_activities().await {
            Ok(activities) => activities,
            Err(error) => {
                tracing::warn!(%error, "the Activity record cannot be read");
                Vec::new()
            }
        };
        let mut entries = Vec::new();
        for (at, event) in heard {
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

    async fn entry_of_event(&mut self, at: Timestamp, event: Event) -> Option<Entry> {
        match event {
            Event::Delivered(delivery) => {
                self.tally.delivery(&delivery);
                let data = delivery.data();
                let lead = data["leadId"].as_str().unwrap_or_default();
                let facts = if data["lead"].is_object() {
                    let facts = LeadFacts::read(&data["lead"]);
                    self.known.remember(lead, &facts);
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

    /// The first lead, and some later ones, come with the commands to decide on them.
    fn commands_for(&self, delivery: &Delivery) -> Option<String> {
        if delivery.event() != "job.new" || delivery.signature() != Signature::Valid {
            return None;
        }
        let (data, look) = (delivery.data(), self.screen.look());
        match self.tally.job_new() {
            1 if self.auto_reply => Some(to_try::dry_run(data, look)),
            1 => Some(to_try::decisions(data, look)),
            count if !self.auto_reply && count.is_multiple_of(REMIND_EVERY) => Some(to_try::bid(data, look)),
            _ => None,
        }
    }

    /// Entries not told before, oldest first.
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
                .is_some_and(|last| self.told.contains(last.id) || last.at < self.since);
            if full && !reaches_back && limit < LARGEST_PAGE {
                limit *= 4;
                continue;
            }
            let mut new: Vec<Activity> = page
                .into_iter()
                .filter(|activity| activity.at >= self.since && !self.told.contains(activity.id))
                .collect();
            new.reverse();
            for activity in &new {
                self.told.add(activity.id);
            }
            return Ok(new);
        }
    }

    /// What is known of a lead, asked of the store where it was not heard of.
    async fn facts_of(&mut self, lead_id: &str) -> LeadFacts {
        if let Some(facts) = self.known.facts.get(lead_id) {
            return facts.clone();
        }
        let facts = match self.leads.find_anywhere(&LeadId::from_caller(lead_id)).await {
            Ok(Some(found)) => {
                let post: Value = serde_json::from_str(&found.lead.job_json).unwrap_or_default();
                LeadFacts::read(&post)
            }
            Ok(None) | Err(_) => LeadFacts::unknown(lead_id),
        };
        self.known.remember(lead_id, &facts);
        facts
    }
}
