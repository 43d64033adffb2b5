//! Ports that pause before and after each call, so that a test can stop a use case at any point, let others go on,
//! or end it there as a crash would.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use bidloop_domain::model::{
    AccountId, Authorization, BidId, JobId, MarketplaceToken, OrganizationId, Proposal, Timestamp,
};
use bidloop_domain::port::{
    AccountReading, BlobError, BlobPath, BlobStore, ClaimUnanswered, ClaimedBid, FeedCursor, FeedPage,
    FileUpload, FinishBid, FinishBy, LeaseOwner, LiveAccount, LiveJob, Marketplace, MarketplaceError,
    StagedBlob, StoreError, SubmissionStore, SubmittedProposal, WaitingBid, WaitingBidsQuery,
};
use bidloop_domain::use_case::{SubmissionOutcome, SubmitProposals};
use bytes::Bytes;
use futures::stream::BoxStream;

use crate::service::Service;

#[derive(Debug)]
struct Stepping<T>(Arc<T>);

/// Pending once.
pub(crate) async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut paused, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

async fn stepped<T>(call: impl Future<Output = T>) -> T {
    pause().await;
    let answer = call.await;
    pause().await;
    answer
}

#[async_trait]
impl<S: SubmissionStore> SubmissionStore for Stepping<S> {
    async fn claim(
        &self,
        owner: &LeaseOwner,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<ClaimedBid>, StoreError> {
        stepped(self.0.claim(owner, now, lease_until, limit)).await
    }

    async fn renew(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &LeaseOwner,
        lease_until: Timestamp,
    ) -> Result<bool, StoreError> {
        stepped(self.0.renew(organization, bid, owner, lease_until)).await
    }

    async fn begin_attempt(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &LeaseOwner,
        proposal: &Proposal,
    ) -> Result<bool, StoreError> {
        stepped(self.0.begin_attempt(organization, bid, owner, proposal)).await
    }

    async fn postpone(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &LeaseOwner,
        next_attempt: Timestamp,
        outstanding: Option<bool>,
    ) -> Result<bool, StoreError> {
        stepped(
            self.0
                .postpone(organization, bid, owner, next_attempt, outstanding),
        )
        .await
    }

    async fn disconnect_account(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &LeaseOwner,
        refused_token: &MarketplaceToken,
    ) -> Result<bool, StoreError> {
        stepped(self.0.disconnect_account(organization, bid, owner, refused_token)).await
    }

    async fn finish(&self, finish: &FinishBid, owner: &LeaseOwner) -> Result<bool, StoreError> {
        stepped(self.0.finish(finish, owner)).await
    }

    async fn finish_by(
        &self,
        authorization: &Authorization,
        finish: &FinishBid,
        owner: &LeaseOwner,
    ) -> Result<FinishBy, StoreError> {
        stepped(self.0.finish_by(authorization, finish, owner)).await
    }

    async fn record_account(
        &self,
        organization: &OrganizationId,
        account: &AccountId,
        reading: &AccountReading,
    ) -> Result<(), StoreError> {
        stepped(self.0.record_account(organization, account, reading)).await
    }

    async fn claim_unanswered(
        &self,
        bid: BidId,
        owner: &LeaseOwner,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<ClaimUnanswered, StoreError> {
        stepped(self.0.claim_unanswered(bid, owner, now, lease_until)).await
    }

    async fn waiting(&self, query: &WaitingBidsQuery) -> Result<Vec<WaitingBid>, StoreError> {
        self.0.waiting(query).await
    }

    async fn queued_count(&self) -> Result<u64, StoreError> {
        self.0.queued_count().await
    }
}

#[async_trait]
impl<M: Marketplace> Marketplace for Stepping<M> {
    async fn feed(&self, cursor: Option<&FeedCursor>, limit: u32) -> Result<FeedPage, MarketplaceError> {
        stepped(self.0.feed(cursor, limit)).await
    }

    async fn job(&self, token: &MarketplaceToken, id: &JobId) -> Result<LiveJob, MarketplaceError> {
        stepped(self.0.job(token, id)).await
    }

    async fn account(&self, token: &MarketplaceToken) -> Result<LiveAccount, MarketplaceError> {
        stepped(self.0.account(token)).await
    }

    async fn upload(&self, token: &MarketplaceToken, file: FileUpload) -> Result<String, MarketplaceError> {
        stepped(self.0.upload(token, file)).await
    }

    async fn submit(
        &self,
        token: &MarketplaceToken,
        key: BidId,
        proposal: &Proposal,
    ) -> Result<SubmittedProposal, MarketplaceError> {
        stepped(self.0.submit(token, key, proposal)).await
    }
}

#[async_trait]
impl<B: BlobStore> BlobStore for Stepping<B> {
    async fn stage(&self) -> Result<Box<dyn StagedBlob>, BlobError> {
        self.0.stage().await
    }

    async fn read(&self, path: &BlobPath) -> Result<BoxStream<'static, Result<Bytes, BlobError>>, BlobError> {
        stepped(self.0.read(path)).await
    }

    async fn delete(&self, path: &BlobPath) -> Result<(), BlobError> {
        self.0.delete(path).await
    }

    fn list(&self, folder: &BlobPath) -> BoxStream<'static, Result<BlobPath, BlobError>> {
        self.0.list(folder)
    }
}

/// A process that submits, stopping at every call.
pub(crate) fn stepping_submitter(service: &Service, owner: &str) -> Arc<SubmitProposals> {
    Arc::new(SubmitProposals {
        store: Arc::new(Stepping(service.store.clone())),
        marketplace: Arc::new(Stepping(service.marketplace.clone())),
        blobs: Arc::new(Stepping(service.blobs.clone())),
        owner: LeaseOwner::new(owner),
        ..service.submit_proposals()
    })
}

/// A marketplace that stops at every call.
pub(crate) fn stepping_marketplace(service: &Service) -> Arc<dyn Marketplace> {
    Arc::new(Stepping(service.marketplace.clone()))
}

/// Work on its way, moved by hand. Dropping it is a crash.
pub(crate) struct Pass<T>(Pin<Box<dyn Future<Output = T>>>);

impl<T> Pass<T> {
    pub(crate) fn new(work: impl Future<Output = T> + 'static) -> Self {
        Self(Box::pin(work))
    }

    /// Goes on to the next pause; the answer, once the work is done.
    pub(crate) fn step(&mut self) -> Option<T> {
        match self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        }
    }

    /// Goes on to the end.
    pub(crate) fn finish(mut self) -> T {
        for _ in 0..10_000 {
            if let Some(answer) = self.step() {
                return answer;
            }
        }
        panic!("the work comes to no end");
    }
}

/// A process's pass: claims a bid, if one is due, and works on it.
pub(crate) fn pass(submitter: &Arc<SubmitProposals>) -> Pass<Vec<SubmissionOutcome>> {
    let submitter = Arc::clone(submitter);
    Pass::new(async move {
        let mut outcomes = Vec::new();
        for claimed in submitter.claim(1).await.unwrap() {
            outcomes.push(submitter.work(&claimed).await.unwrap());
        }
        outcomes
    })
}
