//! Settings that are permitted and will surprise.

use std::net::{IpAddr, SocketAddr};

use url::{Host, Url};

use super::Settings;
use super::reader::Reader;
use super::tls::is_this_machine;

/// Notes what an operator should know of the settings together.
pub(super) fn note(settings: &Settings, read: &mut Reader<'_>) {
    let server = &settings.server;
    match server.base_url.as_deref() {
        None => {
            if server.listen.ip().is_unspecified() {
                let address = server.listen;
                read.warn(
                    "server.base_url",
                    &format!(
                        "is not set, so links such as bidUrl begin with http://{address}, which no other machine reaches: \
                         set it to the address that callers use"
                    ),
                );
            }
        }
        Some(url) => note_base_url(url, settings, read),
    }
    if let Some(mcp) = &settings.mcp {
        let has_proxy = mcp
            .base_url
            .as_deref()
            .is_some_and(|url| url.starts_with("https://"));
        if !mcp.listen.ip().to_canonical().is_loopback() && !has_proxy {
            read.warn(
                "mcp.listen",
                "is open to other machines without TLS: personal tokens, letters and API keys cross the network readable. \
                 Listen on 127.0.0.1 behind a proxy with TLS, and set mcp.base_url to its https:// address",
            );
        }
    }
    let development = settings.webhooks.targets.policy == bidloop_webhooks::TargetPolicy::AllowInsecure;
    if development && is_for_others(server.listen, server.base_url.as_deref()) {
        read.warn(
            "webhooks.allow_insecure_targets",
            "is for development: whoever may set a webhook's address reaches this machine's own network with it",
        );
    }
    match settings.marketplace_url() {
        None if read.is_set("marketplace.token") || read.is_set("marketplace.token_file") => read.warn(
            "marketplace.token",
            "has no effect without marketplace.base_url: nothing is watched or submitted",
        ),
        Some(url) if is_other_machine(url) && !has_feed_token(settings) => read.warn(
            "marketplace.token",
            "is not set, so the feed is read without a token, which most marketplaces refuse",
        ),
        _ => {}
    }
    if let Some(warning) = settings.attachments.warning() {
        read.warn("attachments.url", warning);
    }
}

fn note_base_url(url: &str, settings: &Settings, read: &mut Reader<'_>) {
    let Ok(parsed) = Url::parse(url) else { return };
    if parsed.scheme() == "http" {
        if is_public(&parsed) {
            read.warn(
                "server.base_url",
                "begins with http:// at a public address: API keys, letters and sessions cross the network readable",
            );
        }
    } else if settings.console_enabled && !read.is_set("server.trusted_proxies") {
        read.warn(
            "server.trusted_proxies",
            "is not set behind https://, which a proxy serves: all browsers count as one when sign-ins fail, so that a \
             stranger's tries make everybody wait",
        );
    }
}

fn has_feed_token(settings: &Settings) -> bool {
    let marketplace = settings.marketplace.as_ref();
    marketplace.is_some_and(|marketplace| marketplace.client.feed_token.is_some())
}

/// Whether other machines may reach the service.
fn is_for_others(listen: SocketAddr, base_url: Option<&str>) -> bool {
    !listen.ip().to_canonical().is_loopback() || base_url.is_some_and(is_other_machine)
}

fn is_other_machine(url: &str) -> bool {
    let host = Url::parse(url)
        .ok()
        .and_then(|url| Some(url.host_str()?.to_owned()));
    host.is_some_and(|host| !is_this_machine(host.trim_matches(['[', ']'])))
}

/// Whether the host can be on the public internet: no address of a private network, no name of one.
fn is_public(url: &Url) -> bool {
    let is_private = |ip: IpAddr| match ip.to_canonical() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified(),
        IpAddr::V6(ip) => {
            ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_unspecified()
        }
    };
    match url.host() {
        Some(Host::Ipv4(ip)) => !is_private(ip.into()),
        Some(Host::Ipv6(ip)) => !is_private(ip.into()),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_lowercase();
            let last = name.rsplit('.').next().unwrap_or_default();
            name.contains('.') && !["localhost", "local", "internal", "lan", "home", "test"].contains(&last)
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::load;

    fn warned(toml: &str) -> Vec<String> {
        let warnings = load(toml, &[]).unwrap().warnings;
        warnings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn settings_that_surprise_are_named() {
        for (toml, key, because) in [
            (
                "[server]\nlisten = \"0.0.0.0:8080\"",
                "server.base_url",
                "http://0.0.0.0:8080",
            ),
            (
                "[server]\nlisten = \"[::]:80\"",
                "server.base_url",
                "http://[::]:80",
            ),
            (
                "[server]\nbase_url = \"http://bids.example.com\"",
                "server.base_url",
                "public address",
            ),
            (
                "[server]\nbase_url = \"http://198.51.100.1\"",
                "server.base_url",
                "public address",
            ),
            (
                "[server]\nbase_url = \"https://bids.example.com\"",
                "server.trusted_proxies",
                "sign-ins fail",
            ),
            ("[marketplace]\ntoken = \"t\"", "marketplace.token", "no effect"),
            (
                "[marketplace]\nbase_url = \"https://market.test\"",
                "marketplace.token",
                "without a token",
            ),
            (
                "[server]\nlisten = \"192.0.2.1:80\"\n[webhooks]\nallow_insecure_targets = true",
                "webhooks.allow_insecure_targets",
                "for development",
            ),
            ("[mcp]\nlisten = \"10.0.0.5:8090\"", "mcp.listen", "without TLS"),
            (
                "[mcp]\nlisten = \"[::]:8090\"\nbase_url = \"http://tools.test\"",
                "mcp.listen",
                "mcp.base_url",
            ),
            (
                "[attachments]\nurl = \"s3://files\"",
                "attachments.url",
                "metadata service",
            ),
        ] {
            let warnings = warned(toml);
            assert!(
                matches!(&warnings[..], [line] if line.starts_with(key) && line.contains(because)),
                "{toml}: {warnings:?}"
            );
        }
    }

    #[test]
    fn settings_of_a_trial_and_of_a_sound_installation_have_no_warning() {
        for toml in [
            "",
            "[marketplace]\nbase_url = \"http://127.0.0.1:9090\"\n[webhooks]\nallow_insecure_targets = true",
            "[server]\nlisten = \"0.0.0.0:8080\"\nbase_url = \"http://bidloop:8080\"",
            "[server]\nbase_url = \"http://10.0.0.5:8080\"",
            "[mcp]\nlisten = \"127.0.0.1:8090\"",
            "[mcp]\nlisten = \"0.0.0.0:8090\"\nbase_url = \"https://tools.example.com\"",
            "[server]\nbase_url = \"http://host.docker.internal:8080\"",
            "[server]\nbase_url = \"https://bids.example.com\"\ntrusted_proxies = \"127.0.0.0/8\"\n\
             [marketplace]\nbase_url = \"https://market.test\"\ntoken = \"t\"",
        ] {
            assert!(warned(toml).is_empty(), "{toml}: {:?}", warned(toml));
        }
    }
}
