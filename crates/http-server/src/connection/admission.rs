//! [`Admission`]: how many connections an address may have.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The connections of each address, over all threads of the server.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    most: Option<usize>,
    counts: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Admission {
    pub(crate) fn new(most: Option<usize>) -> Self {
        Self {
            most,
            counts: Arc::default(),
        }
    }

    /// Admits a connection, unless its address has as many as it may have.
    pub(crate) fn admit(&self, address: IpAddr) -> Option<Admitted> {
        let Some(most) = self.most else {
            return Some(Admitted(None));
        };
        let network = network_of(address);
        let mut counts = self.locked();
        let count = counts.entry(network).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Admitted(Some((self.clone(), network))))
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address itself; for IPv6, the network that one subscriber usually has.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

/// A connection that counts until it is dropped.
#[derive(Debug)]
pub(crate) struct Admitted(Option<(Admission, IpAddr)>);

impl Drop for Admitted {
    fn drop(&mut self) {
        let Some((admission, network)) = &self.0 else {
            return;
        };
        let mut counts = admission.locked();
        if let Some(count) = counts.get_mut(network) {
            *count -= 1;
            if *count == 0 {
                counts.remove(network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_has_so_many_connections_at_once_and_others_have_their_own() {
        let admission = Admission::new(Some(2));
        let one = address("192.0.2.1");
        let held = [admission.admit(one).unwrap(), admission.admit(one).unwrap()];
        assert!(admission.admit(one).is_none());
        assert!(
            admission.admit(address("::ffff:192.0.2.1")).is_none(),
            "the same address"
        );
        assert!(admission.admit(address("192.0.2.2")).is_some());
        drop(held);
        assert!(admission.admit(one).is_some());
        assert!(admission.locked().is_empty());
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_together() {
        let admission = Admission::new(Some(1));
        let _held = admission.admit(address("2001:db8:0:1::1")).unwrap();
        assert!(admission.admit(address("2001:db8:0:1:ffff::2")).is_none());
        assert!(admission.admit(address("2001:db8:0:2::1")).is_some());
    }
}
