//! The lines of the live view: text and layout of each kind of event.

use bidloop_domain::model::{Activity, ActivityKind, ActivityOutcome, ActorKind};
use bidloop_simulator::caller::{Delivery, Reply, Signature};
use serde_json::Value;

use crate::lead_facts::{LeadFacts, usd};
use crate::screen::{Look, Style, cell, one_line};

/// An event, ready to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FeedLine {
    /// UNIX milliseconds.
    pub(crate) at: i64,
    /// Order within one millisecond: causes before effects.
    pub(crate) order: u8,
    pub(crate) event: &'static str,
    pub(crate) style: Style,
    pub(crate) title: String,
    pub(crate) campaign: String,
    pub(crate) details: String,
}

const TIME: usize = 12;
const EVENT: usize = 12;
const CAMPAIGN: usize = 9;
/// Approximate width of the details; titles leave room for them.
const DETAILS: usize = 46;

impl FeedLine {
    /// A delivery that the receiver received.
    pub(crate) fn of_delivery(delivery: &Delivery, lead: &LeadFacts) -> Self {
        let data = delivery.data();
        let (event, style, details) = match delivery.event() {
            "job.new" => ("job.new", Style::Cyan, lead.facts.clone()),
            "bid_complete" => ("bid_complete", Style::Dim, completion(data)),
            other => ("webhook", Style::Dim, one_line(other)),
        };
        let (event, style, details) = match delivery.signature() {
            Signature::Valid | Signature::NotChecked => (event, style, details),
            Signature::Refused(_) => ("forged?", Style::Red, "not signed with the secret".to_owned()),
        };
        Self {
            at: delivery.received_at(),
            order: if delivery.event() == "job.new" { 0 } else { 3 },
            event,
            style,
            title: lead.title.clone(),
            campaign: one_line(data["campaignId"].as_str().unwrap_or_default()),
            details,
        }
    }

    /// An entry of the Activity record; `None` if another event shows the same.
    pub(crate) fn of_activity(activity: &Activity, lead: &LeadFacts) -> Option<Self> {
        let accepted = activity.outcome == ActivityOutcome::Accepted;
        let message = one_line(&activity.message);
        let by_template = activity.actor.kind == ActorKind::Service;
        let (event, style, details) = match activity.kind {
            ActivityKind::Bid if accepted && activity.dry_run => ("dry run", Style::Blue, message),
            // The first event of an automatic campaign's lead: it shows the lead's facts.
            ActivityKind::Bid if accepted && by_template => (
                "bid queued",
                Style::Yellow,
                format!("{} · by template", lead.facts),
            ),
            ActivityKind::Bid if accepted => (
                "bid queued",
                Style::Yellow,
                format!("through the API, by {}", actor(activity)),
            ),
            ActivityKind::Bid if by_template => {
                let why = message
                    .strip_prefix("The lead stays parked: ")
                    .unwrap_or(&message)
                    .to_owned();
                ("parked", Style::Dim, why)
            }
            ActivityKind::Bid => ("bid refused", Style::Red, refusal(activity, &message)),
            ActivityKind::Rejection if accepted => ("rejected", Style::Yellow, message),
            ActivityKind::Rejection => ("not rejected", Style::Red, refusal(activity, &message)),
            ActivityKind::Upload if accepted => ("upload", Style::Blue, message),
            ActivityKind::Upload => ("not uploaded", Style::Red, refusal(activity, &message)),
            ActivityKind::Submission => submission(activity, message),
            // The receiver's event shows it.
            ActivityKind::Delivery if activity.outcome == ActivityOutcome::Delivered => return None,
            // The screen shows jobs. A change of settings is about none.
            ActivityKind::Change => return None,
            ActivityKind::Delivery => ("undelivered", Style::Red, message),
        };
        Some(Self {
            at: activity.at.as_millis(),
            order: if activity.kind == ActivityKind::Submission {
                2
            } else {
                1
            },
            event,
            style,
            title: lead.title.clone(),
            campaign: activity
                .campaign_id
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            details,
        })
    }

    /// A reply of the receiver that reached no lead; `None` for others, which Activity shows.
    pub(crate) fn of_reply(reply: &Reply, lead: &LeadFacts, at: i64) -> Option<Self> {
        let details = match reply.status {
            None => one_line(&reply.message),
            Some(status) if status == 401 || status == 404 || status >= 500 => {
                format!("answered {status}: {}", one_line(&reply.message))
            }
            Some(_) => return None,
        };
        Some(Self {
            at,
            order: 1,
            event: "reply failed",
            style: Style::Red,
            title: lead.title.clone(),
            campaign: String::new(),
            details,
        })
    }

    /// Renders time, event, title, campaign and details in columns.
    pub(crate) fn render(&self, look: Look) -> String {
        let fixed = TIME + EVENT + CAMPAIGN + DETAILS + 8;
        let title = look
            .columns
            .map_or(48, |columns| columns.saturating_sub(fixed).clamp(22, 56));
        let line = format!(
            "{}  {}  {}  {}  {}",
            look.paint(Style::Dim, &time_of_day(self.at)),
            look.paint(self.style, &cell(self.event, EVENT)),
            cell(&self.title, title),
            look.paint(Style::Dim, &cell(&self.campaign, CAMPAIGN)),
            self.details,
        );
        line.trim_end().to_owned()
    }
}

fn submission(activity: &Activity, message: String) -> (&'static str, Style, String) {
    let details = &activity.details;
    match activity.outcome {
        ActivityOutcome::Submitted => {
            let terms = details.get("terms").and_then(terms_text);
            let spent = connects(details.get("connectsSpent"));
            let boost = connects(details.get("boostConnects"));
            let mut parts: Vec<String> = terms.into_iter().collect();
            parts.push(format!("{spent} connects"));
            if boost > 0 {
                parts.push(format!("{boost} of them boost"));
            }
            ("submitted", Style::Green, parts.join(" · "))
        }
        outcome => {
            let reason = details
                .get("reason")
                .and_then(|reason| reason["message"].as_str())
                .map(one_line);
            let (event, style) = if outcome == ActivityOutcome::Skipped {
                ("skipped", Style::Yellow)
            } else {
                ("failed", Style::Red)
            };
            (event, style, reason.unwrap_or(message))
        }
    }
}

fn completion(data: &Value) -> String {
    let outcome = one_line(data["outcome"].as_str().unwrap_or_default());
    let mut parts = vec![if data["dryRun"] == true {
        format!("{outcome} (dry run)")
    } else {
        outcome
    }];
    match data["reason"]["code"].as_str() {
        Some(code) => parts.push(one_line(code)),
        None => parts.extend(terms_text(&data["terms"])),
    }
    if let Some(cost) = data["connectsCostUsd"].as_f64().filter(|cost| *cost > 0.0) {
        parts.push(format!("connects for {}", usd(cost)));
    }
    parts.join(" · ")
}

fn terms_text(terms: &Value) -> Option<String> {
    let amount = usd(terms["amount"].as_f64()?);
    Some(if terms["type"] == "hourly" {
        format!("{amount}/h")
    } else {
        format!("{amount} fixed")
    })
}

fn connects(value: Option<&Value>) -> u64 {
    value.and_then(Value::as_u64).unwrap_or(0)
}

fn actor(activity: &Activity) -> String {
    let name = activity.actor.name.as_deref().or(activity.actor.id.as_deref());
    one_line(name.unwrap_or("an unnamed key"))
}

fn refusal(activity: &Activity, message: &str) -> String {
    activity
        .http_status
        .map_or_else(|| message.to_owned(), |status| format!("{status}: {message}"))
}

/// The time of day in UTC, to the millisecond.
fn time_of_day(at: i64) -> String {
    let (seconds, millis) = (at.div_euclid(1000), at.rem_euclid(1000));
    let of_day = seconds.rem_euclid(86_400);
    format!(
        "{:02}:{:02}:{:02}.{millis:03}",
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60
    )
}

#[cfg(test)]
mod tests {
    use bidloop_domain::model::{ActivityId, Actor, CampaignId, LeadId, OrganizationId, Timestamp};
    use serde_json::json;

    use super::*;

    const PLAIN: Look = Look {
        colour: false,
        columns: None,
    };

    fn facts() -> LeadFacts {
        LeadFacts {
            title: "Rust developer".to_owned(),
            facts: "$30–60/h · Germany".to_owned(),
        }
    }

    fn activity(kind: ActivityKind, outcome: &str, message: &str, details: Value) -> Activity {
        let Value::Object(details) = details else {
            panic!("details are an object")
        };
        Activity {
            id: ActivityId(uuid::Uuid::nil()),
            at: Timestamp::from_millis(1_790_000_000_512),
            organization_id: OrganizationId::parse("org").unwrap(),
            campaign_id: Some(CampaignId::parse("software").unwrap()),
            lead_id: Some(LeadId::parse("ld_1").unwrap()),
            kind,
            actor: Actor::service(),
            outcome: outcome.parse().unwrap(),
            http_status: None,
            dry_run: false,
            message: message.to_owned(),
            details,
        }
    }

    fn shown(activity: &Activity) -> (&'static str, String) {
        let line = FeedLine::of_activity(activity, &facts()).unwrap();
        (line.event, line.details)
    }

    #[test]
    fn lines_have_aligned_columns() {
        let line = |event, title: &str, details: &str| FeedLine {
            at: 1_790_000_000_512,
            order: 0,
            event,
            style: Style::Green,
            title: title.to_owned(),
            campaign: "software".to_owned(),
            details: details.to_owned(),
        };
        let lines = [
            line("job.new", "Rust developer", "$30–60/h").render(PLAIN),
            line("submitted", &"long ".repeat(20), "$54/h").render(PLAIN),
        ];
        assert_eq!(
            lines,
            [
                "14:13:20.512  job.new       Rust developer                                    software   $30–60/h",
                "14:13:20.512  submitted     long long long long long long long long long lo…  software   $54/h",
            ]
        );
        let narrow = line("job.new", &"long ".repeat(20), "").render(Look {
            colour: false,
            columns: Some(80),
        });
        assert_eq!(
            narrow,
            "14:13:20.512  job.new       long long long long l…  software"
        );
    }

    #[test]
    fn colours_do_not_move_the_columns() {
        let line = FeedLine {
            at: 0,
            order: 0,
            event: "failed",
            style: Style::Red,
            title: "T".to_owned(),
            campaign: "c".to_owned(),
            details: "d".to_owned(),
        };
        let coloured = line.render(Look {
            colour: true,
            columns: Some(100),
        });
        let plain: String = coloured
            .replace("\u{1b}[2m", "")
            .replace("\u{1b}[31m", "")
            .replace("\u{1b}[0m", "");
        assert_eq!(
            plain,
            line.render(Look {
                colour: false,
                columns: Some(100)
            })
        );
        assert!(coloured.contains("\u{1b}[31mfailed"));
    }

    #[test]
    fn a_submission_shows_rate_connects_and_boost() {
        let details = json!({"terms": {"type": "hourly", "amount": 54}, "connectsSpent": 14, "boostConnects": 4, "reason": null});
        let entry = activity(ActivityKind::Submission, "submitted", "…", details);
        assert_eq!(
            shown(&entry),
            ("submitted", "$54/h · 14 connects · 4 of them boost".to_owned())
        );
        let details =
            json!({"terms": {"type": "fixed", "amount": 1200.5}, "connectsSpent": 9, "boostConnects": 0});
        let entry = activity(ActivityKind::Submission, "submitted", "…", details);
        assert_eq!(
            shown(&entry),
            ("submitted", "$1,200.50 fixed · 9 connects".to_owned())
        );
    }

    #[test]
    fn skipped_and_failed_bids_show_the_reason() {
        for outcome in ["skipped", "failed"] {
            let details =
                json!({"reason": {"code": "already_hired", "message": "The client already hired someone."}});
            let entry = activity(ActivityKind::Submission, outcome, "Bid …", details);
            assert_eq!(
                shown(&entry),
                (outcome, "The client already hired someone.".to_owned())
            );
        }
    }

    #[test]
    fn bids_show_the_actor_and_why_they_were_refused() {
        let by_template = activity(
            ActivityKind::Bid,
            "accepted",
            "Bid queued for submission.",
            json!({}),
        );
        assert_eq!(
            shown(&by_template),
            ("bid queued", "$30–60/h · Germany · by template".to_owned())
        );
        let parked = activity(
            ActivityKind::Bid,
            "refused",
            "The lead stays parked: no answer.",
            json!({}),
        );
        assert_eq!(shown(&parked), ("parked", "no answer.".to_owned()));
        let mut by_key = activity(
            ActivityKind::Bid,
            "accepted",
            "Bid queued for submission.",
            json!({}),
        );
        by_key.actor = Actor {
            kind: ActorKind::ApiKey,
            id: Some("key_demo".to_owned()),
            name: Some("Demo".to_owned()),
        };
        assert_eq!(
            shown(&by_key),
            ("bid queued", "through the API, by Demo".to_owned())
        );
        by_key.dry_run = true;
        assert_eq!(shown(&by_key).0, "dry run");
        by_key.outcome = ActivityOutcome::Refused;
        by_key.http_status = Some(409);
        by_key.message = "the lead is already queued".to_owned();
        assert_eq!(
            shown(&by_key),
            ("bid refused", "409: the lead is already queued".to_owned())
        );
    }

    #[test]
    fn a_delivery_that_arrived_is_shown_once() {
        let delivered = activity(
            ActivityKind::Delivery,
            "delivered",
            "job.new delivered.",
            json!({}),
        );
        assert_eq!(FeedLine::of_activity(&delivered, &facts()), None);
        let failed = activity(
            ActivityKind::Delivery,
            "failed",
            "job.new not delivered: timed out.",
            json!({}),
        );
        assert_eq!(
            shown(&failed),
            ("undelivered", "job.new not delivered: timed out.".to_owned())
        );
    }

    #[test]
    fn bid_complete_shows_the_outcome_and_its_cost() {
        let data = json!({
            "outcome": "submitted", "dryRun": false, "reason": null, "connectsCostUsd": 2.1,
            "terms": {"type": "hourly", "amount": 54},
        });
        assert_eq!(completion(&data), "submitted · $54/h · connects for $2.10");
        let data = json!({"outcome": "skipped", "reason": {"code": "job_warning"}, "terms": null, "connectsCostUsd": 0});
        assert_eq!(completion(&data), "skipped · job_warning");
        let data = json!({"outcome": "submitted", "dryRun": true, "reason": null, "terms": {"type": "hourly", "amount": null}});
        assert_eq!(completion(&data), "submitted (dry run)");
    }

    #[test]
    fn only_replies_that_reached_no_lead_are_shown() {
        let reply = |status| Reply {
            lead_id: "ld_1".to_owned(),
            bid_url: String::new(),
            status,
            message: "m".to_owned(),
            took: std::time::Duration::ZERO,
        };
        for status in [200, 400, 402, 409] {
            assert_eq!(
                FeedLine::of_reply(&reply(Some(status)), &facts(), 0),
                None,
                "{status}"
            );
        }
        assert_eq!(
            FeedLine::of_reply(&reply(Some(503)), &facts(), 0)
                .unwrap()
                .details,
            "answered 503: m"
        );
        assert_eq!(
            FeedLine::of_reply(&reply(None), &facts(), 0).unwrap().details,
            "m"
        );
    }
}
