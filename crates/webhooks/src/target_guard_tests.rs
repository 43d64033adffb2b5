//! The tables of decision C6: what is refused, what is let through, and by what spelling.

use proptest::prelude::*;

use super::*;

const NON_PUBLIC: [&str; 62] = [
    // IPv4: the first and the last address of every block.
    "0.0.0.0",
    "0.255.255.255",
    "10.0.0.0",
    "10.255.255.255",
    "100.64.0.0",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.255",
    "168.63.129.16",
    "169.254.0.0",
    "169.254.169.254",
    "169.254.255.255",
    "172.16.0.0",
    "172.31.255.255",
    "192.0.0.0",
    "192.0.0.255",
    "192.0.2.0",
    "192.0.2.255",
    "192.88.99.0",
    "192.88.99.255",
    "192.168.0.0",
    "192.168.255.255",
    "198.18.0.0",
    "198.19.255.255",
    "198.51.100.0",
    "198.51.100.255",
    "203.0.113.0",
    "203.0.113.255",
    "224.0.0.0",
    "239.255.255.255",
    "240.0.0.0",
    "255.255.255.255",
    // IPv6.
    "::",
    "::1",
    "::7f00:1",
    "::8.8.8.8",
    "::ffff:0:8.8.8.8",
    "64:ff9b:1::8.8.8.8",
    "100::1",
    "1fff:ffff::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:f5ff:fffe",
    "2001:1ff:ffff::1",
    "2001:db8::1",
    "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
    "2002:7f00:1::1",
    "2002:0a00:1::1",
    "2002:a9fe:a9fe::1",
    "3fff::1",
    "3fff:fff:ffff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fdff:ffff::1",
    "fe80::1",
    "febf:ffff::1",
    "fec0::1",
    "feff:ffff::1",
    "ff02::1",
    "ff0e::1",
];

/// The neighbours of the blocks above, and hosts of the public internet.
const PUBLIC: [&str; 36] = [
    "1.0.0.0",
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "168.63.129.17",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "191.255.255.255",
    "192.0.1.0",
    "192.0.3.0",
    "192.88.98.255",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.101.0",
    "203.0.112.255",
    "223.255.255.255",
    "2000::1",
    "2001:200::1",
    "2001:db7:ffff::1",
    "2001:db9::1",
    "2001:4860:4860::8888",
    "2003::1",
    "2606:4700:4700::1111",
    "3fff:1000::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
];

fn public() -> Targets {
    TargetPolicy::PublicHttps.into()
}

fn insecure() -> Targets {
    TargetPolicy::AllowInsecure.into()
}

#[test]
fn link_local_and_metadata_addresses_are_refused_whatever_the_settings() {
    for address in [
        "169.254.169.254",
        "169.254.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fe80::1",
        "febf::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "::ffff:169.254.169.254",
        "::169.254.169.254",
        "::ffff:0:100.100.100.200",
        "64:ff9b::169.254.169.254",
        "2002:a9fe:a9fe::1",
    ] {
        let refused = insecure().check_address(address.parse().unwrap()).unwrap_err();
        assert_eq!(refused.kind, WebhookFailureKind::ForbiddenTarget, "{address}");
        let in_a_url = match address.parse().unwrap() {
            IpAddr::V4(address) => format!("http://{address}/latest/meta-data"),
            IpAddr::V6(address) => format!("http://[{address}]/latest/meta-data"),
        };
        assert!(insecure().check_url(&in_a_url).is_err(), "{address}");
    }
    for address in ["127.0.0.1", "10.1.2.3", "::1", "fd00:ec2::1", "::"] {
        assert_eq!(
            insecure().check_address(address.parse().unwrap()),
            Ok(()),
            "{address}"
        );
    }
}

#[test]
fn denied_networks_are_refused_under_either_policy_and_in_any_notation() {
    let denied: Vec<IpNet> = ["10.20.0.0/16", "8.8.8.0/24", "2606:4700::/32"]
        .map(|network| network.parse().unwrap())
        .to_vec();
    for policy in [TargetPolicy::PublicHttps, TargetPolicy::AllowInsecure] {
        let targets = Targets {
            policy,
            denied: denied.clone(),
        };
        for address in [
            "10.20.255.1",
            "8.8.8.8",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2606:4700:4700::1111",
        ] {
            assert!(
                targets.check_address(address.parse().unwrap()).is_err(),
                "{address}"
            );
        }
        assert_eq!(targets.check_address("8.8.4.4".parse().unwrap()), Ok(()));
    }
}

fn is_refused(address: IpAddr) -> bool {
    match public().check_address(address) {
        Ok(()) => false,
        Err(failure) => {
            assert_eq!(failure.kind, WebhookFailureKind::ForbiddenTarget);
            true
        }
    }
}

fn refusal(policy: TargetPolicy, url: &str) -> WebhookFailure {
    let policy = Targets::from(policy);
    policy.check_url(url).expect_err(url)
}

#[test]
fn every_address_that_is_not_public_is_refused() {
    for address in NON_PUBLIC {
        assert!(is_refused(address.parse().unwrap()), "{address}");
    }
}

#[test]
fn public_addresses_are_let_through() {
    for address in PUBLIC {
        assert!(!is_refused(address.parse().unwrap()), "{address}");
    }
}

#[test]
fn an_ipv4_address_is_judged_the_same_when_mapped_or_translated_into_ipv6() {
    for address in NON_PUBLIC.iter().chain(&PUBLIC) {
        let Ok(v4) = address.parse::<Ipv4Addr>() else {
            continue;
        };
        let [a, b, c, d] = v4.octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let nat64 = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low);
        let expected = is_refused(IpAddr::V4(v4));
        assert_eq!(
            is_refused(IpAddr::V6(v4.to_ipv6_mapped())),
            expected,
            "mapped {v4}"
        );
        assert_eq!(is_refused(IpAddr::V6(nat64)), expected, "translated {v4}");
    }
}

#[test]
fn every_spelling_of_a_private_address_in_a_url_is_refused() {
    let hosts = [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "0X7F.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "%31%32%37.0.0.1",
        "127。0。0。1",
        "①②⑦.0.0.1",
        "0",
        "0.0.0.0",
        "3232235777",
        "169.254.169.254",
        "0xa9fea9fe",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:7f00:1::]",
        "[2001:0:7f00:1::]",
        "[fd00:ec2::254]",
        "[fe80::1]",
    ];
    for host in hosts {
        for url in [format!("https://{host}/"), format!("https://{host}:8443/hook")] {
            let failure = refusal(TargetPolicy::PublicHttps, &url);
            assert_eq!(
                failure.kind,
                WebhookFailureKind::ForbiddenTarget,
                "{url}: {}",
                failure.message
            );
        }
    }
}

#[test]
fn names_of_this_machine_and_network_are_refused() {
    for host in [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "localhost..",
        "hooks.localhost",
        "printer.local",
        "metadata.google.internal",
        "metadata.google.internal.",
    ] {
        let failure = refusal(TargetPolicy::PublicHttps, &format!("https://{host}/"));
        assert_eq!(
            failure.kind,
            WebhookFailureKind::ForbiddenTarget,
            "{host}: {}",
            failure.message
        );
    }
    for host in [
        "localhost.example.com",
        "notlocalhost",
        "local.example",
        "internal.example.com",
    ] {
        assert!(public().check_url(&format!("https://{host}/")).is_ok(), "{host}");
    }
}

#[test]
fn an_invalid_target_is_refused_under_either_policy() {
    for url in [
        "",
        "hooks.example.com/bidloop",
        "/hook",
        "https://",
        "https://:443/",
        "https://exa mple.com/",
        "https://1.2.3.4.5/",
        "https://example.com:0/",
        "https://example.com:65536/",
        "ftp://example.com/",
        "wss://example.com/",
        "file:///etc/passwd",
        "mailto:ops@example.com",
        "javascript:alert(1)",
        "https://user@example.com/",
        "https://user:secret@example.com/",
        "https://:secret@example.com/",
        "https://example.com@127.0.0.1/",
    ] {
        for policy in [TargetPolicy::PublicHttps, TargetPolicy::AllowInsecure] {
            assert_eq!(
                refusal(policy, url).kind,
                WebhookFailureKind::InvalidTarget,
                "{url:?} {policy:?}"
            );
        }
    }
}

#[test]
fn plain_http_needs_insecure_targets_to_be_allowed() {
    let url = "http://hooks.example.com/";
    assert_eq!(
        refusal(TargetPolicy::PublicHttps, url).kind,
        WebhookFailureKind::InvalidTarget
    );
    assert!(insecure().check_url(url).is_ok());
}

#[test]
fn any_address_that_serves_no_metadata_is_let_through_where_insecure_targets_are_allowed() {
    let mut refused = Vec::new();
    for address in NON_PUBLIC.iter().chain(&PUBLIC) {
        if insecure().check_address(address.parse().unwrap()).is_err() {
            refused.push(*address);
        }
    }
    assert_eq!(
        refused,
        [
            "100.100.100.200",
            "168.63.129.16",
            "169.254.0.0",
            "169.254.169.254",
            "169.254.255.255",
            "2002:a9fe:a9fe::1",
            "fd00:ec2::254",
            "fe80::1",
            "febf:ffff::1",
        ]
    );
    for url in ["http://localhost:9000/", "https://127.0.0.1/", "http://[::1]:80/"] {
        assert!(insecure().check_url(url).is_ok(), "{url}");
    }
}

#[test]
fn a_url_is_refused_by_its_length_before_it_is_parsed() {
    let of_length = |length: usize| format!("https://example.com/{}", "a".repeat(length - 20));
    assert!(public().check_url(&of_length(2_048)).is_ok());
    let hosts = format!("https://0X{}", ".".repeat(65_000));
    for url in [of_length(2_049), hosts] {
        let refused = refusal(TargetPolicy::PublicHttps, &url);
        assert_eq!(refused.message, "the URL is longer than 2048 bytes");
    }
}

#[test]
fn messages_do_not_repeat_what_may_be_secret_in_a_url() {
    for url in [
        "http://example.com/token-s3cret?key=s3cret",
        "https://127.0.0.1/token-s3cret?key=s3cret",
        "https://user:s3cret@example.com/",
        "https://exa mple.com/s3cret",
    ] {
        let message = refusal(TargetPolicy::PublicHttps, url).message;
        assert!(!message.contains("s3cret"), "{message}");
    }
}

#[test]
fn the_request_line_and_host_header_follow_the_url() {
    let target = public()
        .check_url("https://Hooks.Example.com:443/a%20b/?q=1&r=%C3%A9#fragment")
        .unwrap();
    assert_eq!(target.authority(), "hooks.example.com");
    assert_eq!(target.path_and_query(), "/a%20b/?q=1&r=%C3%A9");
    assert_eq!(target.port(), 443);
    assert!(target.is_https());

    let target = insecure().check_url("http://[::1]:8080").unwrap();
    assert_eq!(target.authority(), "[::1]:8080");
    assert_eq!(target.path_and_query(), "/");
    assert_eq!(target.port(), 8080);
    assert!(!target.is_https());
}

proptest! {
    /// The standard library's own notions, where it has stable ones, never contradict the table.
    #[test]
    fn a_special_address_of_the_standard_library_is_refused(bits in any::<u32>()) {
        let address = Ipv4Addr::from_bits(bits);
        let special = address.is_private()
            || address.is_loopback()
            || address.is_link_local()
            || address.is_multicast()
            || address.is_broadcast()
            || address.is_documentation()
            || address.is_unspecified();
        prop_assert!(!special || is_refused(IpAddr::V4(address)));
    }

    #[test]
    fn an_address_in_a_url_is_judged_like_the_address_itself(bits in any::<u32>()) {
        let address = Ipv4Addr::from_bits(bits);
        let refused = is_refused(IpAddr::V4(address));
        for host in [address.to_string(), bits.to_string(), format!("{bits:#x}"), format!("{bits:#o}").replacen('o', "", 1)] {
            let judged = public().check_url(&format!("https://{host}/"));
            prop_assert_eq!(judged.is_err(), refused, "{}", host);
        }
    }

    #[test]
    fn an_address_outside_the_public_block_of_ipv6_is_refused(bits in any::<u128>()) {
        let address = Ipv6Addr::from_bits(bits);
        let public_block = bits >> 125 == 0b001;
        let carries_v4 = bits >> 32 == 0xffff || bits >> 32 == 0x0064_ff9b_0000_0000_0000_0000;
        prop_assert!(public_block || carries_v4 || is_refused(IpAddr::V6(address)));
    }
}
