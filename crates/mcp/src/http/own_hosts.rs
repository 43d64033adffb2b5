//! [`OwnHosts`]: which hosts a request may name, and which pages it may come from.
//!
//! A page that a person visits can make the browser send requests to a server on the person's machine or network, under a
//! name that the page's owner points there. Such a request names the owner's host, and is refused.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use http::Uri;
use http::uri::Authority;

/// The hosts under which the tool server is reached.
#[derive(Debug, Clone)]
pub struct OwnHosts {
    /// In lower case, without ports: a port in front of the server may be another one.
    names: Vec<String>,
    /// Whether it listens on every address of the machine. Strangers cannot point an address elsewhere.
    takes_addresses: bool,
}

impl OwnHosts {
    /// Those of the address that is listened on, of this machine, and of public URLs.
    pub fn new(listen: SocketAddr, urls: &[&str]) -> Self {
        let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        names.push(listen.ip().to_string());
        names.extend(urls.iter().filter_map(|url| host_of_url(url)));
        Self {
            names,
            takes_addresses: listen.ip().is_unspecified(),
        }
    }

    /// Whether a request may name this host in `Host`.
    pub(crate) fn takes_host(&self, authority: &str) -> bool {
        Authority::from_str(authority).is_ok_and(|authority| self.is_own(authority.host()))
    }

    /// Whether a request may come from a page of this `Origin`.
    pub(crate) fn takes_origin(&self, origin: &str) -> bool {
        host_of_url(origin).is_some_and(|host| self.is_own(&host))
    }

    fn is_own(&self, host: &str) -> bool {
        let host = plain(host);
        self.names.contains(&host) || (self.takes_addresses && IpAddr::from_str(&host).is_ok())
    }
}

/// The host of an `http` or `https` URL.
fn host_of_url(url: &str) -> Option<String> {
    let url = Uri::from_str(url).ok()?;
    let is_http = matches!(url.scheme_str(), Some("http" | "https"));
    url.host().filter(|_| is_http).map(plain)
}

fn plain(host: &str) -> String {
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(listen: &str, urls: &[&str]) -> OwnHosts {
        OwnHosts::new(listen.parse().unwrap(), urls)
    }

    #[test]
    fn the_address_this_machine_and_public_names_are_taken() {
        let hosts = hosts(
            "192.0.2.7:8090",
            &["https://Bids.example.com/app", "http://agents.test:9000"],
        );
        for own in [
            "localhost",
            "LOCALHOST:8090",
            "127.0.0.1:8090",
            "[::1]:8090",
            "192.0.2.7:8090",
            "bids.example.com",
            "agents.test",
        ] {
            assert!(hosts.takes_host(own), "{own}");
            assert!(hosts.takes_origin(&format!("http://{own}")), "{own}");
        }
    }

    #[test]
    fn whatever_a_stranger_can_name_is_refused() {
        let hosts = hosts("127.0.0.1:8090", &["http://127.0.0.1:8080"]);
        for foreign in [
            "evil.test",
            "localhost.evil.test",
            "evil-localhost",
            "127.0.0.1.evil.test",
            "10.0.0.1:8090",
            "",
            "localhost@evil.test",
            "evil.test:localhost",
        ] {
            assert!(!hosts.takes_host(foreign), "{foreign}");
            assert!(!hosts.takes_origin(&format!("https://{foreign}")), "{foreign}");
        }
        for no_page in ["null", "", "file:///etc/passwd", "localhost", "ftp://localhost"] {
            assert!(!hosts.takes_origin(no_page), "{no_page}");
        }
    }

    #[test]
    fn a_server_on_every_address_is_named_by_any_address_but_by_no_other_name() {
        let hosts = hosts("0.0.0.0:8090", &[]);
        assert!(hosts.takes_host("10.1.2.3:8090") && hosts.takes_host("[2001:db8::1]"));
        assert!(!hosts.takes_host("evil.test"));
    }
}
