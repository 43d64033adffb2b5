//! [`TrustedProxies`]: whose word is taken for where a request comes from.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::{FORWARDED, HeaderMap, HeaderName, X_FORWARDED_FOR};
use ipnet::IpNet;

/// The networks of the proxies in front of the service. Without any, a request comes from its connection's address.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    /// Proxies of these networks.
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks.into())
    }

    /// The address that a request comes from; `None` if the connection has none.
    ///
    /// Behind a trusted proxy it is the last address of `X-Forwarded-For`, or of `Forwarded`, that is no trusted proxy
    /// itself. Anybody can write what stands before it. What cannot be read is not guessed at: then the request comes from
    /// the proxy that passed it on. So it does if both headers are there and say different things, since a proxy may have
    /// written but one of them.
    pub fn client_of(&self, request: &HttpRequest) -> Option<IpAddr> {
        let peer = request.peer_addr()?.ip();
        Some(self.client(peer, request.headers()))
    }

    fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.trusts(peer) {
            return peer;
        }
        let by = |name: &HeaderName, address_of: fn(&str) -> Option<IpAddr>| {
            let named = headers.contains_key(name);
            named.then(|| self.walk(peer, headers, name, address_of))
        };
        match (by(&X_FORWARDED_FOR, address), by(&FORWARDED, forwarded_for)) {
            (Some(one), Some(other)) if one != other => peer,
            (Some(client), _) | (None, Some(client)) => client,
            (None, None) => peer,
        }
    }

    /// Goes from the connection back to the first address that is no trusted proxy.
    fn walk(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
        name: &HeaderName,
        address_of: fn(&str) -> Option<IpAddr>,
    ) -> IpAddr {
        let mut known = peer;
        let values: Vec<_> = headers.get_all(name).collect();
        for value in values.into_iter().rev() {
            let Ok(value) = value.to_str() else {
                return known;
            };
            for entry in value.rsplit(',') {
                match address_of(entry.trim()) {
                    Some(address) => known = address.to_canonical(),
                    None => return known,
                }
                if !self.trusts(known) {
                    return known;
                }
            }
        }
        known
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// An address, perhaps with a port: `192.0.2.7`, `192.0.2.7:80`, `2001:db8::7`, `[2001:db8::7]`, `[2001:db8::7]:80`.
fn address(text: &str) -> Option<IpAddr> {
    let in_brackets = || {
        text.strip_prefix('[')?
            .strip_suffix(']')?
            .parse()
            .ok()
            .map(IpAddr::V6)
    };
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    text.parse().ok().or_else(with_port).or_else(in_brackets)
}

/// The address of an element of `Forwarded` (RFC 7239), if it has one, and once.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let mut given = element.split(';').filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        name.eq_ignore_ascii_case("for").then_some(value)
    });
    let (value, None) = (given.next()?, given.next()) else {
        return None;
    };
    let unquoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    address(unquoted.unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    /// Where a request over a connection from `peer` comes from, behind proxies of `10.0.0.0/8` and `fd00::/8`.
    fn client(peer: &str, headers: &[(&str, &str)]) -> String {
        let networks = ["10.0.0.0/8", "fd00::/8"].map(|network| network.parse().unwrap());
        let mut request = TestRequest::default().peer_addr(SocketAddr::new(peer.parse().unwrap(), 4711));
        for header in headers {
            request = request.append_header(*header);
        }
        let proxies = TrustedProxies::new(networks.to_vec());
        proxies.client_of(&request.to_http_request()).unwrap().to_string()
    }

    #[test]
    fn only_a_trusted_proxy_is_believed() {
        let spoofed = [
            ("x-forwarded-for", "203.0.113.7"),
            ("forwarded", "for=203.0.113.7"),
        ];
        assert_eq!(client("198.51.100.1", &spoofed), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &spoofed), "203.0.113.7");
        assert_eq!(client("::ffff:10.0.0.1", &spoofed), "203.0.113.7");
        assert_eq!(client("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn the_last_address_counts_that_is_no_trusted_proxy() {
        for (name, value) in [
            ("x-forwarded-for", "6.6.6.6, 203.0.113.7, 10.1.1.1,10.2.2.2"),
            ("x-forwarded-for", "6.6.6.6, 203.0.113.7:4000, [fd00::2]:80"),
            ("x-forwarded-for", "6.6.6.6, ::ffff:203.0.113.7"),
            ("forwarded", "for=6.6.6.6, For=\"203.0.113.7:80\";proto=https"),
            ("forwarded", "proto=https;for=203.0.113.7, for=\"[fd00::2]\""),
        ] {
            assert_eq!(client("10.0.0.1", &[(name, value)]), "203.0.113.7", "{value}");
        }
        let lines = [("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", "203.0.113.7")];
        assert_eq!(client("10.0.0.1", &lines), "203.0.113.7");
        assert_eq!(
            client("10.0.0.1", &[("x-forwarded-for", "10.3.3.3, 10.2.2.2")]),
            "10.3.3.3"
        );
    }

    #[test]
    fn addresses_of_ipv6_are_read_in_every_form() {
        for (name, value) in [
            ("x-forwarded-for", "2001:db8::7"),
            ("x-forwarded-for", "[2001:db8::7]"),
            ("x-forwarded-for", "[2001:DB8::7]:443"),
            ("forwarded", "for=\"[2001:db8::7]:443\""),
            ("forwarded", "for=\"[2001:db8::7]\";by=x"),
        ] {
            assert_eq!(client("fd00::1", &[(name, value)]), "2001:db8::7", "{value}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_put_down_to_the_proxy_that_passed_it_on() {
        for (name, value) in [
            ("x-forwarded-for", ""),
            ("x-forwarded-for", "unknown"),
            ("x-forwarded-for", "203.0.113.7,"),
            ("x-forwarded-for", "203.0.113.7, 1.2.3"),
            ("x-forwarded-for", "203.0.113.7, \u{fc}"),
            ("forwarded", "for=_hidden"),
            ("forwarded", "proto=https"),
            ("forwarded", "for=203.0.113.7;for=203.0.113.8"),
            ("forwarded", "for=203.0.113.7;host=\"x, for=6.6.6.6\""),
            ("forwarded", "for=203.0.113.7;host=\"x;for=6.6.6.6;y\""),
        ] {
            assert_eq!(client("10.0.0.1", &[(name, value)]), "10.0.0.1", "{value}");
        }
        assert_eq!(
            client("10.0.0.1", &[("x-forwarded-for", "unknown, 10.9.9.9")]),
            "10.9.9.9"
        );
        let two = [("x-forwarded-for", "6.6.6.6"), ("forwarded", "for=203.0.113.7")];
        assert_eq!(
            client("10.0.0.1", &two),
            "10.0.0.1",
            "one of them may be the client's own"
        );
    }
}
