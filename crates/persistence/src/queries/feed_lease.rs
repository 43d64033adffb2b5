//! The lease under which the feed is read. No other lock is taken with it.

use async_trait::async_trait;
use bidloop_domain::model::Timestamp;
use bidloop_domain::port::{FeedLeaseStore, LeaseOwner, StoreError};

use super::locks::ONLY_ROW;
use super::prelude::*;

#[async_trait]
impl FeedLeaseStore for Store {
    async fn hold(&self, owner: &LeaseOwner, now: Timestamp, until: Timestamp) -> Result<bool, StoreError> {
        let owner = owner.clone();
        self.write(async move |conn: &mut Conn| {
            let free = feed_lease::lease_until
                .is_null()
                .or(feed_lease::lease_until.le(now.as_millis()))
                .or(feed_lease::lease_owner.eq(owner.as_str()));
            let held = diesel::update(feed_lease::table.find(ONLY_ROW))
                .filter(free)
                .set((
                    feed_lease::lease_owner.eq(owner.as_str()),
                    feed_lease::lease_until.eq(until.as_millis()),
                ))
                .execute(conn)
                .await?;
            Ok(held == 1)
        })
        .await
    }

    async fn release(&self, owner: &LeaseOwner) -> Result<(), StoreError> {
        let owner = owner.clone();
        self.write(async move |conn: &mut Conn| {
            diesel::update(feed_lease::table.find(ONLY_ROW))
                .filter(feed_lease::lease_owner.eq(owner.as_str()))
                .set((
                    feed_lease::lease_owner.eq(None::<String>),
                    feed_lease::lease_until.eq(None::<i64>),
                ))
                .execute(conn)
                .await?;
            Ok(())
        })
        .await
    }
}
