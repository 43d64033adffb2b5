//! A group's decisions, judged one after the other in memory, and stored together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bidloop_domain::bidding::{QuotaUsage, current_period};
use bidloop_domain::model::{
    AccountId, Authorization, LeadStatus, NewBid, OrganizationId, StatisticsStep, Subscription, Tally,
    Timestamp, Unauthorized,
};
use bidloop_domain::port::{AcceptBid, RejectLead};

use super::super::super::lists::lead_statuses::show_statuses;
use super::super::super::prelude::*;
use super::super::super::quota::set_used;
use super::super::super::statistics::count;
use super::found::{Found, FoundLead};
use super::{Decided, Decision, Wanted};
use crate::columns::{Encoded, InColumn};
use crate::sql_types::{EscapedText, JsonText};

/// What becomes of each lead; `None`: the decision goes alone.
pub(super) async fn decide_together(
    conn: &mut Conn,
    group: &[Arc<Decision>],
) -> Result<Vec<Option<Decided>>, Failure> {
    let mut judged = Judged {
        found: Found::of(conn, group).await?,
        alone: BTreeSet::new(),
        made: Vec::new(),
        accepted: Vec::new(),
        rejected: Vec::new(),
    };
    let answers = group.iter().map(|decision| judged.judge(decision)).collect();
    judged.store(conn).await?;
    Ok(answers)
}

/// A group's decisions as they are judged one after the other.
struct Judged<'g> {
    found: Found,
    /// The organizations whose further decisions go alone.
    alone: BTreeSet<&'g OrganizationId>,
    /// What was decided, with the leads' statuses. No lead is decided on twice.
    made: Vec<(&'g Decision, LeadStatus)>,
    accepted: Vec<Accepted<'g>>,
    rejected: Vec<Rejected<'g>>,
}

struct Accepted<'g> {
    bid: &'g NewBid,
    /// Where the lead's row stands.
    place: String,
    account: AccountId,
    files: Encoded,
    period_start: i64,
}

struct Rejected<'g> {
    decision: &'g Decision,
    /// Where the lead's row stands.
    place: String,
    reason: Option<Encoded>,
}

/// Why nothing becomes of a lead, whatever was wanted.
enum Refused {
    NotAuthorized(Unauthorized),
    LeadUnknown,
    LeadNotNew(LeadStatus),
}

impl From<Refused> for AcceptBid {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NotAuthorized(why) => Self::NotAuthorized(why),
            Refused::LeadUnknown => Self::LeadUnknown,
            Refused::LeadNotNew(status) => Self::LeadNotNew(status),
        }
    }
}

impl From<Refused> for RejectLead {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NotAuthorized(why) => Self::NotAuthorized(why),
            Refused::LeadUnknown => Self::LeadUnknown,
            Refused::LeadNotNew(status) => Self::LeadNotNew(status),
        }
    }
}

impl<'g> Judged<'g> {
    /// `None`: the decision goes alone, and so do the later ones of its organization.
    fn judge(&mut self, decision: &'g Decision) -> Option<Decided> {
        if self.alone.contains(decision.organization()) {
            return None;
        }
        let judged = self.judged(decision);
        if judged.is_none() {
            self.alone.insert(decision.organization());
        }
        judged
    }

    fn judged(&mut self, decision: &'g Decision) -> Option<Decided> {
        if self.made.iter().any(|(made, _)| made.lead() == decision.lead())
            || matches!(
                decision.authorization,
                Authorization::Session(_) | Authorization::PersonalToken(_)
            )
        {
            return None;
        }
        let FoundLead { lead, .. } = self.found.leads.get(decision.lead())?;
        if lead.organization_id != *decision.organization() {
            return None;
        }
        let (campaign, status) = (&lead.campaign_id, lead.status);
        let open = self.subscription(decision).and_then(|subscription| {
            if campaign != decision.campaign() {
                Err(Refused::LeadUnknown)
            } else if !status.is_open() {
                Err(Refused::LeadNotNew(status))
            } else {
                Ok(subscription)
            }
        });
        match &decision.wanted {
            Wanted::Bid(bid) => self.accepted(decision, bid, open).map(Decided::Bid),
            Wanted::Rejection { reason, .. } => {
                let rejected = match open {
                    Err(refused) => refused.into(),
                    Ok(_) => self.rejected(decision, reason.as_ref())?,
                };
                Some(Decided::Rejection(rejected))
            }
        }
    }

    /// The organization's subscription, if the decision is authorized.
    fn subscription(&self, decision: &Decision) -> Result<Subscription, Refused> {
        let organization = decision.organization();
        let is_known = decision.key().is_none_or(|hash| {
            self.found
                .keys
                .get(hash)
                .is_some_and(|key| key.organization_id == *organization && key.works_at(decision.activity.at))
        });
        let subscription = self.found.subscriptions.get(organization);
        match subscription.filter(|_| is_known) {
            None => Err(Refused::NotAuthorized(Unauthorized::Ended)),
            Some(subscription) if subscription.is_active() => Ok(subscription.clone()),
            Some(_) => Err(Refused::NotAuthorized(Unauthorized::SubscriptionLapsed)),
        }
    }

    /// In the order of [`accept_bid`](super::super::accept_bid).
    fn accepted(
        &mut self,
        decision: &'g Decision,
        bid: &'g NewBid,
        open: Result<Subscription, Refused>,
    ) -> Option<AcceptBid> {
        let found = &mut self.found;
        let campaign_key = (bid.organization_id.clone(), bid.campaign_id.clone());
        let campaign = match (found.campaigns.get(&campaign_key), &open) {
            (None, Ok(_) | Err(Refused::LeadNotNew(_))) => return Some(AcceptBid::LeadUnknown),
            (campaign, _) => campaign,
        };
        let subscription = match open {
            Ok(subscription) => subscription,
            Err(refused) => return Some(refused.into()),
        };
        let account = campaign.and_then(|campaign| campaign.account.clone());
        let account = account.and_then(|id| found.accounts.get(&(bid.organization_id.clone(), id)));
        let Some(account) = account.filter(|account| account.connected) else {
            return Some(AcceptBid::NoConnectedAccount);
        };
        let period = current_period(&subscription, bid.queued_at);
        let usage_key = (bid.organization_id.clone(), period.start.as_millis());
        let usage = found.usages.get_mut(&usage_key);
        let usage = usage.filter(|usage| usage.period_end == period.end.as_millis())?;
        let quota = QuotaUsage::of(&subscription, period, usage.used.0);
        if quota.is_used_up() {
            return Some(AcceptBid::QuotaUsedUp(quota));
        }
        let files = found
            .uploads
            .get(&bid.lead_id)
            .or(campaign.map(|campaign| &campaign.files))?;
        // What cannot be written is reported by the single command.
        let files = InColumn::<JsonText>::written(files).ok()?;
        let place = found.leads.get(&bid.lead_id)?.place.clone();
        usage.used.0 += 1;
        self.made.push((decision, LeadStatus::Queued));
        self.accepted.push(Accepted {
            bid,
            place,
            account: account.id.clone(),
            files,
            period_start: usage.period_start,
        });
        Some(AcceptBid::Accepted)
    }

    fn rejected(&mut self, decision: &'g Decision, reason: Option<&String>) -> Option<RejectLead> {
        let reason = reason.map(InColumn::<EscapedText>::written);
        self.rejected.push(Rejected {
            decision,
            place: self.found.leads.get(decision.lead())?.place.clone(),
            reason: reason.transpose().ok()?,
        });
        self.made.push((decision, LeadStatus::Rejected));
        Some(RejectLead::Rejected)
    }

    async fn store(self, conn: &mut Conn) -> Result<(), Failure> {
        if self.made.is_empty() {
            return Ok(());
        }
        if !self.accepted.is_empty() {
            self.store_bids(conn).await?;
        }
        if !self.rejected.is_empty() {
            Batch::of("leads", &self.rejected)
                .with_place(|rejected| &rejected.place)
                .with(leads::organization_id, |rejected| {
                    rejected.decision.organization().as_str()
                })
                .with(leads::id, |rejected| rejected.decision.lead().as_str())
                .with(leads::status, |_| LeadStatus::Rejected.as_str())
                .with(leads::rejection_reason, |rejected| rejected.reason.clone())
                .run_at_commit(conn, Write::UpdatePlaced(2))
                .await?;
        }
        Batch::of("activities", &self.made)
            .with_record(|(decision, _)| &decision.activity)?
            .run_at_commit(conn, Write::InsertNew)
            .await?;
        let shown = self.made.iter().filter_map(|(decision, status)| {
            let campaign = (decision.organization().clone(), decision.campaign().clone());
            let campaign = self.found.campaigns.get(&campaign)?;
            let FoundLead { lead, .. } = self.found.leads.get(decision.lead())?;
            Some((lead, *status, campaign.served..=campaign.last))
        });
        show_statuses(conn, shown).await?;
        self.count_bids(conn).await
    }

    async fn store_bids(&self, conn: &mut Conn) -> Result<(), Failure> {
        let accepted = &self.accepted;
        let used: BTreeSet<_> = accepted
            .iter()
            .map(|accepted| (accepted.bid.organization_id.clone(), accepted.period_start))
            .collect();
        let used: Vec<_> = used.iter().filter_map(|key| self.found.usages.get(key)).collect();
        set_used(conn, &used).await?;
        Batch::of("bids", accepted)
            .with_record(|accepted| accepted.bid)?
            .with(bids::account_id, |accepted| accepted.account.as_str())
            .with(bids::attachments, |accepted| accepted.files.clone())
            .with(bids::period_start, |accepted| accepted.period_start)
            .with(bids::status, |_| LeadStatus::Queued.as_str())
            // Due at once.
            .with(bids::next_attempt_at, |accepted| {
                accepted.bid.queued_at.as_millis()
            })
            .with(bids::attempts, |_| 0_i64)
            .with(bids::answer_outstanding, |_| false)
            .with(bids::boost_connects, |_| 0_i64)
            .with(bids::connects_spent, |_| 0_i64)
            .run_at_commit(conn, Write::Insert)
            .await?;
        Batch::of("leads", accepted)
            .with_place(|accepted| &accepted.place)
            .with(leads::organization_id, |accepted| {
                accepted.bid.organization_id.as_str()
            })
            .with(leads::id, |accepted| accepted.bid.lead_id.as_str())
            .with(leads::status, |_| LeadStatus::Queued.as_str())
            .with(leads::bid_id, |accepted| accepted.bid.id.to_string())
            .run_at_commit(conn, Write::UpdatePlaced(2))
            .await?;
        Ok(())
    }

    async fn count_bids(&self, conn: &mut Conn) -> Result<(), Failure> {
        let mut tallies: BTreeMap<Timestamp, Tally> = BTreeMap::new();
        for Accepted { bid, .. } in &self.accepted {
            let hour = StatisticsStep::Hour.start(bid.queued_at);
            let tally = tallies.entry(hour).or_default();
            tally.bid(bid);
        }
        for (hour, tally) in tallies {
            count(conn, &tally, hour).await?;
        }
        Ok(())
    }
}
