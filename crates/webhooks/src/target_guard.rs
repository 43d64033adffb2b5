//! Decides which URLs and addresses a webhook may be sent to (decision C6).
//!
//! The sender checks three times: the URL, the resolver's answers, and the address of the connected peer. Each of them can
//! lead to an internal address when the others do not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bidloop_domain::port::{WebhookFailure, WebhookFailureKind};
use ipnet::IpNet;
use url::{Host, Url};

/// The longest name of a host, with the dot that marks it as absolute (RFC 1035).
const MAX_NAME_BYTES: usize = 254;
/// The longest address of a webhook. Parsing takes up to a hundred times the length in memory, and time that grows with
/// the square of the length.
const MAX_URL_BYTES: usize = 2 * 1024;

/// How far webhooks may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetPolicy {
    /// `https` to public addresses alone.
    PublicHttps,
    /// `http` too, and private addresses: for development (`webhooks.allow_insecure_targets`).
    AllowInsecure,
}

/// Which URLs and addresses webhooks may be sent to: what the policy permits, without some networks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Targets {
    /// How far webhooks may reach.
    pub policy: TargetPolicy,
    /// Networks that no webhook is sent to, whatever the policy permits (`webhooks.denied_networks`).
    pub denied: Vec<IpNet>,
}

impl From<TargetPolicy> for Targets {
    fn from(policy: TargetPolicy) -> Self {
        Self {
            policy,
            denied: Vec::new(),
        }
    }
}

/// A URL that the policy permits. Its addresses are still to be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    url: Url,
    host: Host<String>,
    port: u16,
}

impl Target {
    pub(crate) fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    pub(crate) fn host(&self) -> &Host<String> {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The value of the `Host` header: without the port where it is the scheme's own.
    pub(crate) fn authority(&self) -> &str {
        self.url.authority()
    }

    /// Path and query, for the request line.
    pub(crate) fn path_and_query(&self) -> &str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }
}

impl Targets {
    /// Checks a URL without resolving its host. The messages do not repeat the URL, since paths and queries of webhook URLs
    /// often carry secrets.
    pub(crate) fn check_url(&self, url: &str) -> Result<Target, WebhookFailure> {
        if url.len() > MAX_URL_BYTES {
            return Err(invalid(format!("the URL is longer than {MAX_URL_BYTES} bytes")));
        }
        let url = Url::parse(url).map_err(|error| invalid(format!("the URL is not valid: {error}")))?;
        match (url.scheme(), self.policy) {
            ("https", _) | ("http", TargetPolicy::AllowInsecure) => {}
            ("http", TargetPolicy::PublicHttps) => {
                return Err(invalid("the URL must begin with https://".to_owned()));
            }
            _ => {
                return Err(invalid(
                    "only http and https URLs can receive webhooks".to_owned(),
                ));
            }
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid(
                "the URL must not contain a user name or password".to_owned(),
            ));
        }
        let host = url
            .host()
            .ok_or_else(|| invalid("the URL names no host".to_owned()))?
            .to_owned();
        let port = match url.port_or_known_default() {
            Some(port) if port != 0 => port,
            _ => return Err(invalid("the URL's port cannot be connected to".to_owned())),
        };
        match &host {
            Host::Domain(name) if name.len() > MAX_NAME_BYTES => {
                return Err(invalid(format!(
                    "the host's name is longer than {MAX_NAME_BYTES} bytes"
                )));
            }
            Host::Domain(name) => self.check_name(name)?,
            // `Url` has already turned every spelling of an IPv4 address, such as 2130706433, 0x7f.1 and
            // 127.0.0.1 with a dot at its end, into the address that a resolver would take it for.
            Host::Ipv4(address) => self.check_address(IpAddr::V4(*address))?,
            Host::Ipv6(address) => self.check_address(IpAddr::V6(*address))?,
        }
        Ok(Target { url, host, port })
    }

    /// Checks an address before or after the connect.
    pub(crate) fn check_address(&self, address: IpAddr) -> Result<(), WebhookFailure> {
        let reached = embedded_v4(address).map_or(address, IpAddr::V4);
        if let Some(reason) = why_never(reached) {
            return Err(forbidden(format!("{address} must never be reached: {reason}")));
        }
        if let Some(network) = self
            .denied
            .iter()
            .find(|network| network.contains(&reached) || network.contains(&address))
        {
            return Err(forbidden(format!(
                "{address} is within {network}, which webhooks.denied_networks excludes"
            )));
        }
        match why_not_public(address) {
            Some(reason) if self.policy == TargetPolicy::PublicHttps => {
                Err(forbidden(format!("{address} is not a public address: {reason}")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses names that always mean this machine or this network (RFC 6761, RFC 6762 and ICANN's reservation of
    /// `internal`). Other names are judged by their addresses.
    fn check_name(&self, name: &str) -> Result<(), WebhookFailure> {
        if self.policy == TargetPolicy::AllowInsecure {
            return Ok(());
        }
        let top_level = name.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
        if ["localhost", "local", "internal"].contains(&top_level) {
            return Err(forbidden(format!("{name} is not a public name")));
        }
        Ok(())
    }
}

fn invalid(message: String) -> WebhookFailure {
    WebhookFailure {
        kind: WebhookFailureKind::InvalidTarget,
        message,
    }
}

fn forbidden(message: String) -> WebhookFailure {
    WebhookFailure {
        kind: WebhookFailureKind::ForbiddenTarget,
        message,
    }
}

/// Addresses that serve a machine's credentials to whoever runs on it. No setting permits them, nor the link-local ones
/// that most clouds use for the same.
const METADATA_V4: [(Ipv4Addr, &str); 3] = [
    (Ipv4Addr::new(100, 100, 100, 200), "a cloud's metadata"),
    (Ipv4Addr::new(168, 63, 129, 16), "a cloud's metadata"),
    (Ipv4Addr::new(192, 0, 0, 192), "a cloud's metadata"),
];
const METADATA_V6: [(Ipv6Addr, &str); 2] = [
    (
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
        "a cloud's metadata",
    ),
    (
        Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
        "a cloud's metadata",
    ),
];

/// Why `address` is not reached whatever the settings; `None` if they decide.
fn why_never(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) if address.is_link_local() => Some("link-local, metadata"),
        IpAddr::V6(address) if address.is_unicast_link_local() => Some("link-local"),
        IpAddr::V4(address) => METADATA_V4
            .iter()
            .find(|(metadata, _)| *metadata == address)
            .map(|(_, reason)| *reason),
        IpAddr::V6(address) => METADATA_V6
            .iter()
            .find(|(metadata, _)| *metadata == address)
            .map(|(_, reason)| *reason),
    }
}

/// The IPv4 address that an IPv6 address stands for, in any of the notations for it.
fn embedded_v4(address: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(address) = address else {
        return None;
    };
    let last = |octets: [u8; 16]| Ipv4Addr::new(octets[12], octets[13], octets[14], octets[15]);
    let octets = address.octets();
    if within(address, NAT64) || within(address, V4_MAPPED) || within(address, V4_TRANSLATED) {
        return Some(last(octets));
    }
    if within(address, V4_COMPATIBLE) && !address.is_unspecified() && !address.is_loopback() {
        return Some(last(octets));
    }
    within(address, SIX_TO_FOUR).then(|| Ipv4Addr::new(octets[2], octets[3], octets[4], octets[5]))
}

const V4_MAPPED: (Ipv6Addr, u32) = (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96);
const V4_TRANSLATED: (Ipv6Addr, u32) = (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96);
const V4_COMPATIBLE: (Ipv6Addr, u32) = (Ipv6Addr::UNSPECIFIED, 96);
const SIX_TO_FOUR: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16);

/// Why `address` is not public, or must not be reached; `None` if it may be.
fn why_not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => why_v4_not_public(address),
        IpAddr::V6(address) => why_v6_not_public(address),
    }
}

/// The blocks of IANA's special-purpose registry that are not globally reachable, and a few like them.
const NON_PUBLIC_V4: [(Ipv4Addr, u32, &str); 17] = [
    (Ipv4Addr::UNSPECIFIED, 8, "unspecified, this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (
        Ipv4Addr::new(100, 64, 0, 0),
        10,
        "shared by a carrier's customers",
    ),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    // Not reserved, but serves metadata to every Azure machine.
    (Ipv4Addr::new(168, 63, 129, 16), 32, "a cloud's metadata"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local, metadata"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "protocol assignments"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "6to4 relays"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarking"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::BROADCAST, 32, "broadcast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

fn why_v4_not_public(address: Ipv4Addr) -> Option<&'static str> {
    NON_PUBLIC_V4
        .iter()
        .find(|(network, length, _)| (address.to_bits() ^ network.to_bits()) >> (32 - length) == 0)
        .map(|(_, _, reason)| *reason)
}

/// Blocks outside [`GLOBAL_UNICAST`], named for the message alone.
const NON_PUBLIC_V6: [(Ipv6Addr, u32, &str); 10] = [
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::UNSPECIFIED, 96, "IPv4-compatible"),
    (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96, "IPv4-translated"),
    (
        Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0),
        48,
        "translation within a network",
    ),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "discard-only"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "unique-local"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site-local"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
];

/// The block from which IANA assigns public unicast addresses. Everything else is not public.
const GLOBAL_UNICAST: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Blocks within [`GLOBAL_UNICAST`] that are not public. Teredo (`2001::/32`, within the first) and 6to4 tunnel to an IPv4
/// address of the caller's choice.
const NON_PUBLIC_GLOBAL_UNICAST: [(Ipv6Addr, u32, &str); 4] = [
    (
        Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0),
        23,
        "protocol assignments, Teredo",
    ),
    (
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0),
        32,
        "documentation",
    ),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation"),
];

/// NAT64 (RFC 6052): in networks with IPv6 only, DNS returns these addresses for hosts with IPv4 only.
const NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

fn why_v6_not_public(address: Ipv6Addr) -> Option<&'static str> {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return why_v4_not_public(mapped);
    }
    if within(address, NAT64) {
        let [.., a, b, c, d] = address.octets();
        return why_v4_not_public(Ipv4Addr::new(a, b, c, d));
    }
    let blocks: &[_] = if within(address, GLOBAL_UNICAST) {
        &NON_PUBLIC_GLOBAL_UNICAST
    } else {
        &NON_PUBLIC_V6
    };
    let named = blocks
        .iter()
        .find(|(network, length, _)| within(address, (*network, *length)))
        .map(|(_, _, reason)| *reason);
    if named.is_none() && !within(address, GLOBAL_UNICAST) {
        return Some("reserved");
    }
    named
}

fn within(address: Ipv6Addr, (network, length): (Ipv6Addr, u32)) -> bool {
    (address.to_bits() ^ network.to_bits()) >> (128 - length) == 0
}

#[cfg(test)]
#[path = "target_guard_tests.rs"]
mod tests;
