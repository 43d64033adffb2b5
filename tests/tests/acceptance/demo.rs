//! `bidloop demo`: the whole loop with nothing to set up. It brings its own database, a SQLite file.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use acceptance::installation::free_address;
use acceptance::{Api, Installation, Kind, Service, eventually};
use serde_json::Value;

#[test]
fn the_demo_bids_within_seconds_and_runs_again_on_the_same_folder() {
    let installation = Installation::new(Kind::Sqlite);
    let first = run(&installation);
    let second = run(&installation);
    assert_eq!(first, second, "the key is kept");
}

#[test]
fn the_demo_listens_where_the_settings_say_unless_it_is_told_otherwise() {
    let mut installation = Installation::new(Kind::Sqlite);
    let (set, told) = (free_address(), free_address());
    installation.set("server.listen", &set.to_string());
    listens(&installation, &[], set);
    listens(&installation, &["--listen", &told.to_string()], told);
    installation.unset("server.listen");
    let file = installation.file("demo.toml", format!("[server]\nlisten = \"{set}\"\n"));
    listens(&installation, &["--config", &file.display().to_string()], set);
}

fn listens(installation: &Installation, arguments: &[&str], address: SocketAddr) {
    let mut command = vec!["demo", "--for", "2", "--data-dir", "data"];
    command.extend(arguments);
    let mut demo = installation.start(&command);
    eventually("the address is shown", Duration::from_secs(10), || {
        demo.out().contains(&format!("http://{address}")).then_some(())
    });
    Api::new(address, None)
        .try_call("GET", "/healthz", &[], b"")
        .unwrap()
        .expect(200);
    assert!(demo.wait_for_end().success(), "{}", demo.log());
}

/// Runs a demo to its end and answers its key.
fn run(installation: &Installation) -> String {
    let address = free_address();
    let listen = address.to_string();
    let started = Instant::now();
    let mut demo = installation.start(&[
        "demo",
        "--auto-reply",
        "--for",
        "8",
        "--rate",
        "5",
        "--data-dir",
        "data",
        "--listen",
        &listen,
    ]);
    let key = eventually("the key is shown", Duration::from_secs(10), || shown_key(&demo));
    let shown = demo.out();
    assert!(shown.contains(&format!("http://{address}")), "{shown}");
    let api = Api::new(address, Some(&key));
    for campaign in ["software", "design"] {
        eventually(
            &format!("a proposal of {campaign}"),
            Duration::from_secs(8),
            || {
                // It may have begun to stop.
                let page = api
                    .try_call("GET", &format!("/v1/campaigns/{campaign}/leads"), &[], b"")
                    .ok()?;
                let leads = page.expect(200).json();
                leads["data"]
                    .as_array()?
                    .iter()
                    .find(|lead| submitted(lead))
                    .cloned()
            },
        );
    }
    eprintln!("the demo's first proposals took {:?}", started.elapsed());
    assert!(demo.wait_for_end().success(), "{}", demo.log());
    key
}

fn submitted(lead: &Value) -> bool {
    lead["status"] == "submitted" && lead["proposalId"].is_string()
}

fn shown_key(demo: &Service) -> Option<String> {
    let shown = demo.out();
    let at = shown.find("lk_")?;
    shown.get(at..at + 67).map(str::to_owned)
}
