//! The rules of `FeedLeaseStore`: one owner holds the lease at a time (decision D4).

use bidloop_domain::port::LeaseOwner;

use crate::Stores;
use crate::fixture::{at, at_once, how_many};

fn owner(name: &str) -> LeaseOwner {
    LeaseOwner::new(name)
}

pub async fn a_held_lease_is_given_to_nobody_else_until_it_ends(stores: Stores) {
    let lease = &stores.feed_lease;
    assert_eq!(lease.hold(&owner("one"), at(0), at(10)).await, Ok(true));
    assert_eq!(lease.hold(&owner("two"), at(9), at(19)).await, Ok(false));
    assert_eq!(lease.hold(&owner("two"), at(10), at(20)).await, Ok(true));
    assert_eq!(lease.hold(&owner("one"), at(11), at(21)).await, Ok(false));
}

pub async fn the_owner_renews_its_lease(stores: Stores) {
    let lease = &stores.feed_lease;
    assert_eq!(lease.hold(&owner("one"), at(0), at(10)).await, Ok(true));
    assert_eq!(lease.hold(&owner("one"), at(5), at(15)).await, Ok(true));
    assert_eq!(lease.hold(&owner("two"), at(12), at(22)).await, Ok(false));
}

pub async fn only_the_owner_gives_its_lease_up(stores: Stores) {
    let lease = &stores.feed_lease;
    assert_eq!(lease.hold(&owner("one"), at(0), at(10)).await, Ok(true));
    assert_eq!(lease.release(&owner("two")).await, Ok(()));
    assert_eq!(lease.hold(&owner("two"), at(1), at(11)).await, Ok(false));
    assert_eq!(lease.release(&owner("one")).await, Ok(()));
    assert_eq!(lease.hold(&owner("two"), at(2), at(12)).await, Ok(true));
}

pub async fn of_many_who_ask_at_once_one_gets_the_lease(stores: Stores) {
    let answers = at_once(8, |number| {
        let lease = stores.feed_lease.clone();
        async move { lease.hold(&owner(&number.to_string()), at(0), at(10)).await }
    })
    .await;
    assert_eq!(how_many(&answers, &Ok(true)), 1);
    assert_eq!(how_many(&answers, &Ok(false)), 7);
}
