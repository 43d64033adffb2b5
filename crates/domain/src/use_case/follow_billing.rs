//! Follow billing: from a report of the payment provider to an organization's subscription (decisions B3, D6 and D7).
//! Tests: `tests/use_case/follow_billing.rs`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::apply_provisioning::ATTEMPTS;
use super::key_leases::leases_end;
use crate::model::{
    Activity, ActivityId, Actor, BilledState, BilledSubscriptionId, BillingEvents, CustomerId, InvoiceReport,
    OrganizationId, Renewal, Subscription, SubscriptionReport, SubscriptionStatus,
};
use crate::port::{
    BilledOrganization, BilledRecord, BillingChange, BillingStore, Clock, Entropy, Pause, StoreError,
};

/// What the payment provider reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BillingEvent {
    /// A subscription as it is.
    Subscription(BilledSubscriptionId, SubscriptionReport),
    /// What happened to an invoice.
    Invoice {
        /// The invoice's subscription.
        subscription: BilledSubscriptionId,
        /// The organization that the subscription names.
        organization: Option<OrganizationId>,
        /// Who pays.
        customer: CustomerId,
        /// What happened.
        report: InvoiceReport,
    },
}

/// What became of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// The organization's subscription is what billing says, for every later request (decision D7).
    Organization(OrganizationId),
    /// It is kept, and concerns no organization: it is of an invoice whose subscription is to be reported yet, or of a
    /// subscription that has ended.
    Kept,
    /// It has nothing to do with this installation.
    Foreign,
}

/// Why a report could not be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FollowBillingError {
    /// The organization does not exist, or not yet. The report is kept; it has to be sent again.
    #[error("there is no organization \"{0}\": provision it, or correct `metadata.organization_id`")]
    UnknownOrganization(OrganizationId),
    /// The subscription names no organization, and its customer pays for none, or for several. The report is kept; it has
    /// to be sent again.
    #[error(
        "the subscription does not tell its organization: set `metadata.organization_id`, or provision one organization \
         with `subscription.stripeCustomer` \"{0}\""
    )]
    NoOrganization(CustomerId),
    /// Others kept changing the store.
    #[error("others are changing settings at this moment: send it again")]
    Contended,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Follows the subscriptions of a payment provider.
#[derive(Debug)]
pub struct FollowBilling {
    /// Holds reports and subscriptions.
    pub store: Arc<dyn BillingStore>,
    /// Dates the entries of the Activity record.
    pub clock: Arc<dyn Clock>,
    /// Draws their ids.
    pub entropy: Arc<dyn Entropy>,
    /// Waits until the keys of a subscription that ended are refused everywhere.
    pub pause: Arc<dyn Pause>,
}

impl FollowBilling {
    /// Follows a report, which may come in any order, late, and several times: what results depends on the set of reports
    /// alone. A report that is known already changes nothing, whatever was provisioned since.
    pub async fn execute(&self, event: &BillingEvent) -> Result<Followed, FollowBillingError> {
        for _ in 0..ATTEMPTS {
            if let Some(followed) = self.attempt(event).await? {
                return Ok(followed);
            }
        }
        Err(FollowBillingError::Contended)
    }

    /// `None` if the store changed meanwhile.
    async fn attempt(&self, event: &BillingEvent) -> Result<Option<Followed>, FollowBillingError> {
        let (revision, known) = self.store.billed(event.subscription()).await?;
        let mut record = known.clone().unwrap_or_else(|| BilledRecord {
            id: event.subscription().clone(),
            organization_id: None,
            events: BillingEvents::default(),
        });
        event.add_to(&mut record);
        let state = record.events.state();
        let payer = state.as_ref().map_or_else(|| event.payer(), Payer::of);
        let former = known.as_ref().and_then(|known| known.organization_id.clone());
        let ids: Vec<OrganizationId> = payer.organization.into_iter().chain(&former).cloned().collect();
        let found = self
            .store
            .billed_organizations(&ids, Some(payer.customer))
            .await?;
        let organization = payer.organization_in(&found);
        let is_ours = known.is_some()
            || organization.is_some()
            || payer.organization.is_some()
            || state.as_ref().is_some_and(|state| state.proposal_limit.is_some());
        if !is_ours {
            return Ok(Some(Followed::Foreign));
        }
        record.organization_id = state.as_ref().and(organization);
        let concerned = [record.organization_id.as_ref(), former.as_ref()];
        let concerned: Vec<&BilledOrganization> = found
            .iter()
            .filter(|known| concerned.contains(&Some(&known.id)))
            .collect();
        let mut subscriptions = Vec::new();
        if known.as_ref() != Some(&record) {
            let changed = concerned
                .iter()
                .filter_map(|organization| self.changed(organization, &record));
            subscriptions = changed.collect();
            let change = BillingChange {
                record: record.clone(),
                subscriptions: subscriptions.clone(),
            };
            if !self.store.commit_billing(revision, &change).await? {
                return Ok(None);
            }
        }
        let is_active = |organization: &&BilledOrganization| {
            let changed = subscriptions.iter().find(|(id, ..)| *id == organization.id);
            let now = changed.map_or(&organization.subscription, |(_, after, _)| after);
            now.is_active()
        };
        if !concerned.iter().all(is_active) {
            // Another process may have ended it a moment ago, on the same report or another one.
            leases_end(&*self.pause).await;
        }
        let ended = state
            .as_ref()
            .is_none_or(|state| state.status == SubscriptionStatus::Canceled);
        match (record.organization_id, payer.organization) {
            (Some(organization), _) => Ok(Some(Followed::Organization(organization))),
            (None, _) if ended => Ok(Some(Followed::Kept)),
            (None, Some(named)) => Err(FollowBillingError::UnknownOrganization(named.clone())),
            (None, None) => Err(FollowBillingError::NoOrganization(payer.customer.clone())),
        }
    }

    /// The organization's new subscription, if `record` changes it.
    fn changed(
        &self,
        organization: &BilledOrganization,
        record: &BilledRecord,
    ) -> Option<(OrganizationId, Subscription, Activity)> {
        let before = &organization.subscription;
        let others = organization.paid_by.iter().filter(|other| other.id != record.id);
        let own = (record.organization_id.as_ref() == Some(&organization.id)).then_some(record);
        let after = match decisive(others.chain(own)) {
            Some(state) => subscription_of(&state, before),
            // What paid for it pays for another organization now.
            None => Subscription {
                status: SubscriptionStatus::Canceled,
                ..before.clone()
            },
        };
        if after == *before {
            return None;
        }
        let entry = self.entry(&organization.id, before, &after, record);
        Some((organization.id.clone(), after, entry))
    }

    fn entry(
        &self,
        organization: &OrganizationId,
        before: &Subscription,
        after: &Subscription,
        record: &BilledRecord,
    ) -> Activity {
        let (before, after) = (facts(before), facts(after));
        let differing = before.iter().zip(&after).filter(|(old, new)| old != new);
        let (words, changes): (Vec<String>, Vec<Value>) = differing
            .map(|((field, old), (_, new))| {
                let change = json!({"type": "organization", "id": organization,
                    "field": format!("subscription.{field}"), "old": old, "new": new});
                (
                    format!("{field} from {} to {}", in_words(old), in_words(new)),
                    change,
                )
            })
            .unzip();
        Activity::change(
            ActivityId(self.entropy.uuid()),
            self.clock.now(),
            organization,
            Actor::billing(),
            format!("Billing changed the subscription: {}.", words.join(", ")),
            json!({"changes": changes, "stripeSubscription": record.id}),
        )
    }
}

/// Who a report says the subscription is of.
struct Payer<'e> {
    organization: Option<&'e OrganizationId>,
    customer: &'e CustomerId,
}

impl<'e> Payer<'e> {
    fn of(state: &'e BilledState) -> Self {
        Self {
            organization: state.organization.as_ref(),
            customer: &state.customer,
        }
    }

    /// The named organization; if none is named, the only one of the customer.
    fn organization_in(&self, found: &[BilledOrganization]) -> Option<OrganizationId> {
        let mut found = found.iter().filter(|known| match self.organization {
            Some(named) => known.id == *named,
            None => known.subscription.customer.as_ref() == Some(self.customer),
        });
        let only = found.next()?;
        found.next().is_none().then(|| only.id.clone())
    }
}

impl BillingEvent {
    fn subscription(&self) -> &BilledSubscriptionId {
        match self {
            Self::Subscription(id, _) => id,
            Self::Invoice { subscription, .. } => subscription,
        }
    }

    fn payer(&self) -> Payer<'_> {
        match self {
            Self::Subscription(_, report) => Payer::of(&report.state),
            Self::Invoice {
                organization,
                customer,
                ..
            } => Payer {
                organization: organization.as_ref(),
                customer,
            },
        }
    }

    fn add_to(&self, record: &mut BilledRecord) {
        match self {
            Self::Subscription(_, report) => record.events.add(report.clone()),
            Self::Invoice { report, .. } => record.events.add_invoice(report.clone()),
        }
    }
}

/// Of the subscriptions that pay for an organization, the one that counts: an active one before others, one that has not
/// ended before one that has, then the one that was created last.
fn decisive<'r>(paid_by: impl Iterator<Item = &'r BilledRecord>) -> Option<BilledState> {
    let states = paid_by.filter_map(|record| Some((&record.id, record.events.state()?)));
    let decisive = states.max_by(|(one_id, one), (other_id, other)| {
        let rank = |state: &BilledState| {
            let runs = state.status != SubscriptionStatus::Canceled;
            (state.is_active(), runs, state.created_at)
        };
        rank(one).cmp(&rank(other)).then_with(|| one_id.cmp(other_id))
    });
    decisive.map(|(_, state)| state)
}

fn subscription_of(state: &BilledState, before: &Subscription) -> Subscription {
    Subscription {
        status: state.status,
        collection_paused: state.collection_paused,
        period_start: state.period_start,
        period_end: state.period_end,
        renewal: Renewal::SameLength,
        proposal_limit: state.proposal_limit,
        customer: before.customer.clone(),
    }
}

fn in_words(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

/// What billing reports, with the names of a provisioning file where it has some.
fn facts(subscription: &Subscription) -> [(&'static str, Value); 6] {
    [
        ("status", json!(subscription.status)),
        ("collectionPaused", json!(subscription.collection_paused)),
        (
            "currentPeriodStart",
            json!(subscription.period_start.as_seconds()),
        ),
        ("currentPeriodEnd", json!(subscription.period_end.as_seconds())),
        ("renewal", json!(subscription.renewal)),
        ("proposalLimit", json!(subscription.proposal_limit)),
    ]
}
