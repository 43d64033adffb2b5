//! The `Marketplace` port over the market.

use async_trait::async_trait;
use bidloop_domain::bidding::LiveJobStatus;
use bidloop_domain::model::{BidId, Connects, JobId, MarketplaceToken, Proposal, Timestamp};
use bidloop_domain::port::{
    FeedCursor, FeedPage, FileUpload, LiveAccount, LiveJob, Marketplace, MarketplaceError,
    MarketplaceRefusal, SubmittedProposal,
};
use bytes::BytesMut;
use futures::TryStreamExt;

use super::fault::refused;
use super::{Call, FakeMarketplace, Fault, Market, ReceivedFile, ReceivedProposal};
use crate::locked;

/// Places of the boost auction.
const BOOSTED_PLACES: usize = 4;

#[async_trait]
impl Marketplace for FakeMarketplace {
    async fn feed(&self, cursor: Option<&FeedCursor>, limit: u32) -> Result<FeedPage, MarketplaceError> {
        self.call(Call::Feed, |market| market.page(cursor, limit))
    }

    async fn job(&self, token: &MarketplaceToken, id: &JobId) -> Result<LiveJob, MarketplaceError> {
        self.call(Call::Job, |market| {
            market.account(token)?;
            market
                .jobs
                .get(id)
                .cloned()
                .ok_or_else(|| refused(MarketplaceRefusal::NotFound))
        })
    }

    async fn account(&self, token: &MarketplaceToken) -> Result<LiveAccount, MarketplaceError> {
        self.call(Call::Account, |market| Ok(market.account(token)?.live()))
    }

    async fn upload(&self, token: &MarketplaceToken, file: FileUpload) -> Result<String, MarketplaceError> {
        let content: BytesMut = file
            .content
            .try_collect()
            .await
            .map_err(|error| MarketplaceError::NoAnswer(format!("the file broke off: {error}")))?;
        self.call(Call::Upload, |market| {
            let account_id = market.account(token)?.id.clone();
            let id = format!("file_{}", market.files.len() + 1);
            market.files.push(ReceivedFile {
                id: id.clone(),
                account_id,
                name: file.name,
                content_type: file.content_type,
                content: content.freeze(),
            });
            Ok(id)
        })
    }

    async fn submit(
        &self,
        token: &MarketplaceToken,
        key: BidId,
        proposal: &Proposal,
    ) -> Result<SubmittedProposal, MarketplaceError> {
        let now = self.clock.now();
        self.call(Call::Submit, |market| market.submit(token, key, proposal, now))
    }
}

impl FakeMarketplace {
    /// Counts the call and carries it out, with the fault scripted for it.
    fn call<T>(
        &self,
        call: Call,
        answer: impl FnOnce(&mut Market) -> Result<T, MarketplaceError>,
    ) -> Result<T, MarketplaceError> {
        let mut market = locked(&self.market);
        *market.calls.entry(call).or_default() += 1;
        match market
            .faults
            .get_mut(&call)
            .and_then(std::collections::VecDeque::pop_front)
        {
            None => answer(&mut market),
            Some(Fault::Before(error)) => Err(error),
            Some(Fault::AfterCommit(error)) => answer(&mut market).and(Err(error)),
        }
    }
}

impl Market {
    fn page(&self, cursor: Option<&FeedCursor>, limit: u32) -> Result<FeedPage, MarketplaceError> {
        let start = match cursor {
            None => 0,
            Some(cursor) => cursor
                .0
                .parse::<usize>()
                .ok()
                .filter(|place| *place <= self.feed.len())
                .ok_or_else(|| refused(MarketplaceRefusal::Invalid))?,
        };
        let end = self
            .feed
            .len()
            .min(start.saturating_add(usize::try_from(limit).unwrap_or(usize::MAX)));
        Ok(FeedPage {
            entries: self.feed[start..end].to_vec(),
            cursor: FeedCursor(end.to_string()),
            has_more: end < self.feed.len(),
        })
    }

    fn submit(
        &mut self,
        token: &MarketplaceToken,
        key: BidId,
        proposal: &Proposal,
        now: Timestamp,
    ) -> Result<SubmittedProposal, MarketplaceError> {
        let account_id = self.account(token)?.id.clone();
        if let Some(known) = self.proposals.iter_mut().find(|known| known.key == key) {
            known.repeated += 1;
            known.repeated_with_changes |= known.proposal != *proposal;
            return Ok(known.answer.clone());
        }
        let price = self.price(token, &account_id, proposal)?;
        let balance = self.account(token)?.connects_balance;
        self.account(token)?.connects_balance = balance.minus(price);
        if proposal.boost_connects > Connects::ZERO
            && let Some(job) = self.jobs.get_mut(&proposal.job_id)
        {
            job.state.boosts.push(proposal.boost_connects);
            job.state.boosts.sort_unstable_by(|one, other| other.cmp(one));
            job.state.boosts.truncate(BOOSTED_PLACES);
        }
        let answer = SubmittedProposal {
            proposal_id: format!("proposal_{}", self.proposals.len() + 1),
            connects_spent: price,
            submitted_at: now,
        };
        self.proposals.push(ReceivedProposal {
            account_id,
            key,
            proposal: proposal.clone(),
            answer: answer.clone(),
            repeated: 0,
            repeated_with_changes: false,
        });
        Ok(answer)
    }

    /// What the proposal costs, if the marketplace takes it.
    fn price(
        &mut self,
        token: &MarketplaceToken,
        account_id: &str,
        proposal: &Proposal,
    ) -> Result<Connects, MarketplaceError> {
        let applied = self
            .proposals
            .iter()
            .find(|known| known.account_id == account_id && known.proposal.job_id == proposal.job_id);
        if let Some(known) = applied {
            return Err(refused(MarketplaceRefusal::AlreadyApplied {
                proposal_id: Some(known.answer.proposal_id.clone()),
            }));
        }
        let job = self
            .jobs
            .get(&proposal.job_id)
            .ok_or_else(|| refused(MarketplaceRefusal::JobClosed))?;
        if job.state.status == LiveJobStatus::Closed {
            return Err(refused(MarketplaceRefusal::JobClosed));
        }
        if !job.state.warnings.is_empty() && !proposal.accept_warnings {
            return Err(refused(MarketplaceRefusal::JobWarning));
        }
        let price = job.state.required_connects.plus(proposal.boost_connects);
        if self.account(token)?.connects_balance < price {
            return Err(refused(MarketplaceRefusal::InsufficientConnects));
        }
        Ok(price)
    }
}
