//! Billing: what the plan allows, and what is used.

use actix_web::HttpResponse;
use askama::Template;
use bidloop_domain::bidding::BillingPeriod;
use bidloop_domain::model::{Connects, Renewal, Timestamp};
use bidloop_domain::use_case::Billing;

use crate::page::{PageError, html};
use crate::parts::{Pill, pill};
use crate::shell::{Place, Quota, Setting, Shell, subscription_words};
use crate::visit::Visit;
use crate::words;

const HOUR: i64 = 60 * 60 * 1000;
const DAY: i64 = 24 * HOUR;

#[derive(Template)]
#[template(path = "billing.html")]
struct BillingPage {
    shell: Shell,
    billing: Billing,
    quota: Quota,
}

impl BillingPage {
    fn state(&self) -> Pill {
        if self.billing.subscription.is_active() {
            pill("ok", "check", "Active")
        } else {
            pill("failed", "x", "Not active")
        }
    }

    fn status(&self) -> String {
        subscription_words(&self.billing.subscription)
    }

    fn period(&self) -> String {
        period(self.billing.period)
    }

    /// "9 days left".
    fn time_left(&self) -> String {
        let left = self.billing.period.end.as_millis() - self.billing.now.as_millis();
        match left {
            ..=0 => "over".to_owned(),
            1..HOUR => "less than an hour left".to_owned(),
            HOUR..DAY => format!(
                "{} left",
                words::counted((left / HOUR).unsigned_abs(), "hour", "hours")
            ),
            _ => format!(
                "{} left",
                words::counted((left / DAY).unsigned_abs(), "day", "days")
            ),
        }
    }

    /// "At 36 a day you reach 1,000 on 28 Nov 2026."
    fn forecast(&self) -> Option<String> {
        let (a_day, at) = (self.billing.a_day?, self.billing.reached_at?);
        let limit = self.quota.limit_in_words();
        let on = words::date(at);
        Some(match a_day {
            0 => format!("At this pace you reach {limit} on {on}."),
            a_day => format!("At {} a day you reach {limit} on {on}.", words::count(a_day)),
        })
    }

    fn length(&self) -> String {
        if self.billing.subscription.renewal == Renewal::CalendarMonth {
            return "a calendar month".to_owned();
        }
        let period = self.billing.period;
        let length = period.end.as_millis() - period.start.as_millis();
        match length {
            DAY.. => words::counted((length / DAY).unsigned_abs(), "day", "days"),
            _ => words::duration(length),
        }
    }

    fn next(&self) -> String {
        words::utc(self.billing.period.end)
    }

    fn past(&self) -> Vec<(String, String)> {
        let past = self.billing.past_periods.iter();
        past.map(|(known, used)| (period(*known), words::count(*used)))
            .collect()
    }

    fn spent(&self) -> Vec<(String, String)> {
        let accounts = self.billing.connects.iter();
        accounts
            .map(|account| {
                let name = account.name.clone().unwrap_or_else(|| account.id.to_string());
                (name, cost(account.connects))
            })
            .collect()
    }

    fn spent_together(&self) -> String {
        cost(self.billing.connects_together())
    }
}

/// "412 · $61.80".
fn cost(connects: Connects) -> String {
    format!(
        "{} · {}",
        words::count(connects.get()),
        words::dollars(connects.cost().cents())
    )
}

/// "1 Nov 2026 to 1 Dec 2026".
fn period(period: BillingPeriod) -> String {
    let day = |at: Timestamp| words::date(at);
    format!("{} to {}", day(period.start), day(period.end))
}

/// `GET /settings/billing`.
pub(crate) async fn show(visit: Visit) -> Result<HttpResponse, PageError> {
    let shell = Shell::of(&visit, Place::Settings(Setting::Billing), "Billing").await?;
    let billing = visit.console.show_billing.execute(visit.member());
    let billing = visit.console.runtime.read(billing).await??;
    let billing = billing.ok_or(PageError::NotFound)?;
    html(&BillingPage {
        quota: Quota {
            used: billing.used,
            limit: billing.subscription.proposal_limit.map(u64::from),
        },
        shell,
        billing,
    })
}
