//! The rows of the record.

use std::collections::HashMap;

use bidloop_domain::model::{
    Activity, ActivityKind, ActivityOutcome, Actor, ActorKind, CampaignId, Timestamp,
};
use bidloop_domain::use_case::ActivityPage;
use serde_json::Value;

use super::query::ActivityQuery;
use crate::parts::{Pill, pill};
use crate::shell::Shell;
use crate::words;

pub(super) struct Row {
    pub(super) entry: Activity,
    pub(super) icon: &'static str,
    pub(super) kind: &'static str,
    pub(super) title: Option<String>,
    pub(super) href: Option<String>,
    pub(super) campaign: Option<String>,
    pub(super) by: String,
    pub(super) pill: Pill,
    /// Where the row is opened, or closed again.
    pub(super) toggle: String,
    pub(super) opened: Option<Opened>,
    pub(super) now: Timestamp,
}

/// What an opened row shows.
pub(super) struct Opened {
    pub(super) steps: Vec<String>,
    pub(super) is_refused: bool,
    pub(super) facts: Vec<(String, String)>,
}

pub(super) fn rows(page: ActivityPage, shell: &Shell, query: &ActivityQuery, path: &str) -> Vec<Row> {
    let names: HashMap<&CampaignId, &str> = shell
        .campaigns
        .iter()
        .map(|known| (&known.sign.id, known.sign.name.as_str()))
        .collect();
    let mut titles = page.titles;
    let rows = page.found.entries.into_iter().map(|entry| {
        let id = entry.id.to_string();
        let is_open = query.open == id;
        let href = match (&entry.campaign_id, &entry.lead_id) {
            (Some(campaign), Some(lead)) if names.contains_key(campaign) => {
                Some(format!("/campaigns/{campaign}/leads/{lead}"))
            }
            _ => None,
        };
        let title = entry
            .lead_id
            .as_ref()
            .and_then(|lead| titles.get_mut(lead))
            .cloned();
        let mut more = Vec::new();
        if !query.below.is_empty() {
            more.push(("below", query.below.as_str()));
        }
        if !is_open {
            more.push(("open", id.as_str()));
        }
        let toggle = format!("{path}{}", query.with(&more));
        let campaign = entry.campaign_id.as_ref();
        Row {
            icon: icon(entry.kind),
            kind: words::kind(entry.kind),
            title,
            href,
            campaign: campaign.map(|id| {
                names
                    .get(id)
                    .map_or_else(|| id.to_string(), |name| (*name).to_owned())
            }),
            by: by(&entry.actor),
            pill: outcome(&entry),
            toggle,
            opened: is_open.then(|| opened(&entry)),
            now: shell.now,
            entry,
        }
    });
    rows.collect()
}

impl Row {
    pub(super) fn anchor(&self) -> String {
        format!("a-{}", self.entry.id)
    }
}

pub(super) fn by(actor: &Actor) -> String {
    let name = actor.name.as_deref().unwrap_or_default();
    match actor.kind {
        ActorKind::ApiKey => format!("Key “{name}”"),
        ActorKind::User => name.to_owned(),
        ActorKind::Command => format!("Command {name}"),
        ActorKind::Service => "Service".to_owned(),
    }
}

const fn icon(kind: ActivityKind) -> &'static str {
    match kind {
        ActivityKind::Bid => "flag",
        ActivityKind::Rejection => "slash",
        ActivityKind::Upload => "up",
        ActivityKind::Delivery => "plug",
        ActivityKind::Submission => "send",
        ActivityKind::Change => "gear",
    }
}

/// How an entry ended: a word, or the status of an answer.
fn outcome(entry: &Activity) -> Pill {
    let status = match entry.kind {
        ActivityKind::Delivery => entry.details.get("responseStatus").and_then(Value::as_u64),
        _ => entry.http_status.map(u64::from),
    };
    let parked = entry.kind == ActivityKind::Bid && entry.actor.kind == ActorKind::Service;
    match (entry.outcome, status) {
        (ActivityOutcome::Accepted, _) => pill("ok", "check", "Accepted"),
        (ActivityOutcome::Refused, _) if parked => pill("warn", "pause", "Parked"),
        (ActivityOutcome::Refused, Some(status)) => pill("failed", "x", format!("Refused {status}")),
        (ActivityOutcome::Refused, None) => pill("failed", "x", "Refused"),
        (ActivityOutcome::Delivered, Some(status)) => pill("ok", "check", status.to_string()),
        (ActivityOutcome::Delivered, None) => pill("ok", "check", "Delivered"),
        (ActivityOutcome::New, _) => pill("new", "new", "New"),
        (ActivityOutcome::Submitted, _) => pill("submitted", "check", "Submitted"),
        (ActivityOutcome::Skipped, _) => pill("skipped", "skip", "Skipped"),
        (ActivityOutcome::Failed, Some(status)) => pill("failed", "x", status.to_string()),
        (ActivityOutcome::Failed, None) => pill("failed", "x", "Failed"),
    }
}

/// The most characters of a fact that is shown; the CSV file has all of it.
const FACT_CHARS: usize = 2_000;

fn opened(entry: &Activity) -> Opened {
    let mut steps = Vec::new();
    let mut facts = Vec::new();
    for (name, value) in &entry.details {
        let says: Option<Vec<String>> = value.as_array().and_then(|steps| {
            let says = |step: &Value| Some(step.get("says")?.as_str()?.to_owned());
            steps.iter().map(says).collect()
        });
        match says {
            Some(says) if !says.is_empty() => steps.extend(says),
            _ => facts.push((words::spelled(name), fact(value))),
        }
    }
    facts.push(("Record".to_owned(), entry.id.to_string()));
    Opened {
        steps,
        is_refused: !matches!(
            entry.outcome,
            ActivityOutcome::Accepted | ActivityOutcome::Delivered | ActivityOutcome::Submitted
        ),
        facts,
    }
}

fn fact(value: &Value) -> String {
    let text = match value {
        Value::Null => "–".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(FACT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_fact_is_cut() {
        let text = "ä".repeat(3_000);
        assert_eq!(fact(&Value::String(text)).chars().count(), FACT_CHARS + 1);
    }
}
