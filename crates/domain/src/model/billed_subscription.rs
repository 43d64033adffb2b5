//! What a payment provider reported of one of its subscriptions, and what follows from it.
//!
//! Reports arrive in any order, late, and several times. Each is a snapshot with the second in which it was made. So what
//! is kept is a function of the set of reports, never of their order: the snapshots of the newest second, and what
//! happened to invoices after it. The end of a subscription is final.

use serde::{Deserialize, Serialize};

use super::{CustomerId, InvoiceId, OrganizationId, SubscriptionStatus, Timestamp};

/// A subscription as a report describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BilledState {
    /// Its status.
    pub status: SubscriptionStatus,
    /// Whether collection is paused.
    pub collection_paused: bool,
    /// The first moment of its period.
    pub period_start: Timestamp,
    /// The first moment after its period.
    pub period_end: Timestamp,
    /// How many real bids one period allows; `None`: any number.
    pub proposal_limit: Option<u32>,
    /// The organization that it names.
    pub organization: Option<OrganizationId>,
    /// Who pays.
    pub customer: CustomerId,
    /// When it was created.
    pub created_at: Timestamp,
    /// The invoice that decides about its status.
    pub latest_invoice: Option<InvoiceId>,
}

impl BilledState {
    /// Whether it makes keys work (decision D6).
    pub fn is_active(&self) -> bool {
        self.status == SubscriptionStatus::Active && !self.collection_paused
    }
}

/// One report of a subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionReport {
    /// The event's id, the same each time that it is sent.
    pub event: String,
    /// When it was made, in whole seconds.
    pub at: Timestamp,
    /// The subscription after the event.
    pub state: BilledState,
    /// The subscription before the event, if the report tells.
    pub before: Option<BilledState>,
    /// Whether the subscription began with it.
    pub begins: bool,
}

impl SubscriptionReport {
    /// Reports of a higher rank replace those of a lower one. A subscription that has ended stays so.
    fn rank(&self) -> (bool, Timestamp) {
        (self.ends(), self.at)
    }

    fn ends(&self) -> bool {
        self.state.status == SubscriptionStatus::Canceled
    }

    /// Whether this report of the same second was made later than `other`.
    fn follows(&self, other: &Self) -> bool {
        let begins_there = self.before.as_ref() == Some(&other.state) && self.state != other.state;
        begins_there || (other.begins && !self.begins)
    }
}

/// What happened to an invoice of a subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InvoiceReport {
    /// The invoice.
    pub invoice: InvoiceId,
    /// When it happened, in whole seconds.
    pub at: Timestamp,
    /// Whether it was paid; else an automatic payment failed.
    pub paid: bool,
}

/// The reports of one subscription that count.
///
/// ```
/// use bidloop_domain::model::{
///     BilledState, BillingEvents, CustomerId, SubscriptionReport, SubscriptionStatus, Timestamp,
/// };
///
/// let report = |event: &str, second, status| SubscriptionReport {
///     event: event.to_owned(),
///     at: Timestamp::from_seconds(second),
///     state: BilledState {
///         status,
///         collection_paused: false,
///         period_start: Timestamp::from_seconds(0),
///         period_end: Timestamp::from_seconds(1_000),
///         proposal_limit: Some(50),
///         organization: None,
///         customer: CustomerId::parse("cus_1").unwrap(),
///         created_at: Timestamp::from_seconds(0),
///         latest_invoice: None,
///     },
///     before: None,
///     begins: false,
/// };
/// let mut events = BillingEvents::default();
/// events.add(report("evt_2", 20, SubscriptionStatus::PastDue));
/// events.add(report("evt_1", 10, SubscriptionStatus::Active));
/// assert_eq!(events.state().unwrap().status, SubscriptionStatus::PastDue);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BillingEvents {
    /// Those of the highest rank, by event.
    subscription: Vec<SubscriptionReport>,
    /// The last of each invoice after these, by invoice.
    invoices: Vec<InvoiceReport>,
}

impl BillingEvents {
    /// Adds a report of the subscription.
    pub fn add(&mut self, report: SubscriptionReport) {
        if let Some(known) = self.subscription.first() {
            if report.rank() < known.rank() {
                return;
            }
            if report.rank() > known.rank() {
                self.subscription.clear();
            }
        }
        self.invoices
            .retain(|invoice| !report.ends() && invoice.at > report.at);
        let place = self
            .subscription
            .binary_search_by(|known| known.event.cmp(&report.event));
        if let Err(place) = place {
            self.subscription.insert(place, report);
        }
    }

    /// Adds what happened to an invoice of the subscription.
    pub fn add_invoice(&mut self, report: InvoiceReport) {
        let known = self.subscription.first();
        if known.is_some_and(|known| known.ends() || report.at <= known.at) {
            return;
        }
        let place = self
            .invoices
            .binary_search_by(|known| known.invoice.cmp(&report.invoice));
        match place {
            Ok(place) => {
                let known = &mut self.invoices[place];
                if (report.at, report.paid) > (known.at, known.paid) {
                    *known = report;
                }
            }
            Err(place) => self.invoices.insert(place, report),
        }
    }

    /// The subscription as it is after all reports; `None` as long as only invoices were reported.
    pub fn state(&self) -> Option<BilledState> {
        use SubscriptionStatus::{Active, PastDue, Unpaid};
        let mut state = self.last()?.state.clone();
        let latest = self
            .invoices
            .iter()
            .find(|known| Some(&known.invoice) == state.latest_invoice.as_ref());
        state.status = match (state.status, latest.map(|invoice| invoice.paid)) {
            (PastDue | Unpaid, Some(true)) => Active,
            (Active, Some(false)) => PastDue,
            (status, _) => status,
        };
        Some(state)
    }

    /// The last report of the newest second: none of the others began where it ended. If they tell no order, the event's
    /// id decides.
    fn last(&self) -> Option<&SubscriptionReport> {
        let is_last =
            |report: &&SubscriptionReport| !self.subscription.iter().any(|next| next.follows(report));
        self.subscription
            .iter()
            .rfind(is_last)
            .or(self.subscription.last())
    }
}

#[cfg(test)]
#[path = "billed_subscription_tests.rs"]
mod tests;
