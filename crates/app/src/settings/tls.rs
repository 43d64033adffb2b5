//! Connections to other machines are encrypted, unless a setting says that they need not be.

use std::net::IpAddr;

use super::reader::Reader;

/// Refuses, or only warns of if it is `allowed`, hosts on other machines that are reached without TLS. `key` is the
/// setting that names them, and `remedy` what to do.
pub(super) fn require<'h>(
    read: &mut Reader<'_>,
    key: &str,
    hosts: impl IntoIterator<Item = &'h str>,
    allowed: bool,
    remedy: &str,
) {
    for host in hosts.into_iter().filter(|host| !is_this_machine(host)) {
        let problem = format!("tokens, passwords and letters go to {host} without TLS");
        if allowed {
            read.warn(key, &problem);
        } else {
            read.fault(key, &format!("{problem}: {remedy}"));
        }
    }
}

/// Whether a host's name or address is this machine's own, which no network is in between.
pub(super) fn is_this_machine(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    host.parse::<IpAddr>().map_or_else(
        |_| host.eq_ignore_ascii_case("localhost"),
        |address| address.to_canonical().is_loopback(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_addresses_and_localhost_are_this_machine() {
        for host in [
            "127.0.0.1",
            "127.8.9.1",
            "::1",
            "::ffff:127.0.0.1",
            "localhost",
            "LocalHost.",
        ] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in [
            "10.0.0.1",
            "0.0.0.0",
            "fe80::1",
            "db.test",
            "localhost.test",
            "127.0.0.1.test",
        ] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
