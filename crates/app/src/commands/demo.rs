//! `bidloop demo`: the service, a simulated marketplace and a caller's program in one process, with nothing to set up.
//!
//! The service is the one that `serve` runs, with settings of the demo. [`bidloop_demo`] has everything else.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bidloop_attachments::StorageSettings;
use bidloop_demo::{Demo, DemoError, DemoOptions, HIGHEST_RATE, RunningService};
use bidloop_domain::model::Secret;
use bidloop_webhooks::TargetPolicy;
use clap::ColorChoice;

use super::apply::FolderSource;
use super::{Failure, Outcome, database, serve};
use crate::cli::DemoArgs;
use crate::service::Operations;
use crate::settings::{MarketplaceSettings, Settings};
use crate::shutdown;
use crate::system::{SystemClock, SystemEntropy};
use crate::trust_roots::{bundled_roots, client_config};

/// Short, so that new jobs are shown immediately.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How many ports after one in use are tried for a suggestion.
const PORTS_TO_TRY: u16 = 50;

pub(super) async fn run(settings: &Settings, args: &DemoArgs, color: ColorChoice) -> Outcome {
    check(args)?;
    let listen = free_address(args.listen.unwrap_or(settings.server.listen))?;
    let data_dir = prepared(&args.data_dir)?;
    let options = DemoOptions {
        data_dir: data_dir.clone(),
        rate: args.rate,
        seed: args.seed,
        auto_reply: args.auto_reply,
        colour: match color {
            ColorChoice::Auto => None,
            ColorChoice::Always => Some(true),
            ColorChoice::Never => Some(false),
        },
    };
    let mut demo = Demo::start(options, Arc::new(SystemClock), &SystemEntropy).await?;
    let settings = demo_settings(settings, listen, &data_dir, demo.market_url());
    let database = database::open_migrated(&settings).await?;
    let operations = Operations::new(&settings, &database).await?;
    let no_files = FolderSource(PathBuf::new());
    operations
        .apply_provisioning
        .execute(&demo.provisioning(), &no_files)
        .await?;
    let service = serve::start(&settings, &database, &serve::all_roles()).await?;

    let running = RunningService {
        base_url: base_url(listen),
        database_url: settings.database.url.expose().clone(),
        program: std::env::args().next().unwrap_or_else(|| "bidloop".to_owned()),
        activities: Arc::clone(&service.stores().activities),
        leads: Arc::clone(&service.stores().leads),
    };
    let shown = demo.run(running, asked_to_stop(args.stop_after)).await;
    demo.stop_work().await;
    let metrics = service.metrics().render();
    let stopped = service.stop().await;
    let finished = demo
        .finish(
            counter(&metrics, "bidloop_feed_entries_total{outcome=\"new\"}"),
            counter(&metrics, "bidloop_matches_total"),
        )
        .await;
    stopped.and(shown.and(finished).map_err(Failure::from))
}

impl From<DemoError> for Failure {
    fn from(error: DemoError) -> Self {
        match error {
            DemoError::OutputClosed => Self::OutputClosed,
            failed @ DemoError::Failed(_) => Self::failed(failed.to_string()),
        }
    }
}

/// The value of a counter in the Prometheus text format, 0 where it is missing.
fn counter(exposition: &str, series: &str) -> u64 {
    let value = exposition
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

fn check(args: &DemoArgs) -> Outcome {
    if !args.rate.is_finite() || args.rate <= 0.0 || args.rate > HIGHEST_RATE {
        return Err(Failure::usage(format!(
            "--rate: must be above 0 and at most {HIGHEST_RATE} jobs per second"
        )));
    }
    if args
        .stop_after
        .is_some_and(|seconds| Duration::try_from_secs_f64(seconds).is_err())
    {
        return Err(Failure::usage("--for: must be a number of seconds from 0"));
    }
    Ok(())
}

/// Checks that the address is free. Returns it with its actual port.
fn free_address(listen: SocketAddr) -> Result<SocketAddr, Failure> {
    match TcpListener::bind(listen).and_then(|listener| listener.local_addr()) {
        Ok(address) => Ok(address),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let other = (1..=PORTS_TO_TRY)
                .filter_map(|step| listen.port().checked_add(step))
                .map(|port| SocketAddr::new(listen.ip(), port))
                .find(|address| TcpListener::bind(address).is_ok());
            let advice = other.map_or_else(
                || "use another with --listen ADDR".to_owned(),
                |address| format!("try --listen {address}"),
            );
            Err(Failure::failed(format!(
                "{listen} is taken by another program: {advice}"
            )))
        }
        Err(error) => Err(Failure::failed(format!(
            "{listen} cannot be listened on: {error}"
        ))),
    }
}

/// The folder as an absolute path, so that the commands shown work from anywhere.
fn prepared(data_dir: &Path) -> Result<PathBuf, Failure> {
    std::fs::create_dir_all(data_dir)
        .and_then(|()| std::path::absolute(data_dir))
        .map_err(|error| Failure::failed(format!("--data-dir {}: {error}", data_dir.display())))
}

/// The given settings with the demo's own database, attachments, marketplace and links, and with webhooks to its own
/// receiver.
fn demo_settings(settings: &Settings, listen: SocketAddr, data_dir: &Path, market_url: &str) -> Settings {
    let mut demo = settings.clone();
    demo.server.listen = listen;
    demo.server.base_url = Some(base_url(listen));
    demo.database.url = Secret::new(format!("sqlite://{}", data_dir.join("bidloop.db").display()));
    demo.database.secrets_key_file = None;
    demo.attachments = StorageSettings::folder(data_dir.join("attachments"));
    demo.marketplace = Some(MarketplaceSettings {
        client: bidloop_marketplace::MarketplaceSettings {
            base_url: market_url.to_owned(),
            feed_token: None,
            timeout: Duration::from_secs(10),
            tls: client_config(bundled_roots()),
        },
        poll_interval: POLL_INTERVAL,
    });
    demo.webhooks.targets = TargetPolicy::AllowInsecure.into();
    demo
}

/// The URL of the address on this machine.
fn base_url(listen: SocketAddr) -> String {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, listen.port()))
}

/// Completes on the first signal to stop, or after `seconds`.
async fn asked_to_stop(seconds: Option<f64>) {
    match seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        // Elapsing is as good a reason to stop as a signal.
        Some(limit) => drop(tokio::time::timeout(limit, shutdown::requested()).await),
        None => shutdown::requested().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(rate: f64, stop_after: Option<f64>) -> DemoArgs {
        DemoArgs {
            data_dir: PathBuf::from("bidloop-data"),
            listen: None,
            auto_reply: false,
            rate,
            seed: None,
            stop_after,
        }
    }

    #[test]
    fn a_counter_is_found_by_its_whole_name() {
        let exposition =
            "# TYPE a counter\na_total{outcome=\"new\"} 7\na_total{outcome=\"newer\"} 9\nb_total 3\n";
        assert_eq!(counter(exposition, "a_total{outcome=\"new\"}"), 7);
        assert_eq!(counter(exposition, "b_total"), 3);
        assert_eq!(counter(exposition, "b"), 0);
    }

    #[test]
    fn a_taken_port_is_reported_with_a_free_one() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let Err(Failure::Failed(lines)) = free_address(address) else {
            panic!("the address is taken")
        };
        assert!(
            lines[0].starts_with(&format!("{address} is taken by another program: ")),
            "{lines:?}"
        );
        assert!(lines[0].contains("--listen "), "{lines:?}");
        drop(taken);
        assert_eq!(free_address(address).unwrap(), address);
    }

    #[test]
    fn other_settings_hold_in_the_demo() {
        let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
        let text = "[server]\nbase_url = \"https://bids.test\"\n[database]\nauto_migrate = false\n\
            [submission]\ndeadline_ms = 5\n[watch]\nact_within_minutes = 0\n[log]\nformat = \"json\"\n\
            [marketplace]\nbase_url = \"https://market.test\"\ntoken = \"t\"\n";
        std::fs::write(file.path(), text).unwrap();
        let given = Settings::load(Some(file.path())).unwrap();
        let listen = SocketAddr::from(([127, 0, 0, 1], 18_080));
        let demo = demo_settings(&given, listen, Path::new("/data"), "http://127.0.0.1:1");
        assert_eq!(demo.submission_deadline, Duration::from_millis(5));
        assert_eq!(demo.act_within, None);
        assert_eq!(demo.log_format, given.log_format);
        assert!(!demo.database.auto_migrate);

        assert_eq!(demo.server.listen, listen);
        assert_eq!(demo.server.base_url.as_deref(), Some("http://127.0.0.1:18080"));
        assert_eq!(demo.database.url.expose(), "sqlite:///data/bidloop.db");
        assert_eq!(demo.marketplace_url(), Some("http://127.0.0.1:1"));
        assert!(demo.marketplace.unwrap().client.feed_token.is_none());
        assert_eq!(demo.webhooks.targets, TargetPolicy::AllowInsecure.into());
    }

    #[test]
    fn links_name_an_address_that_can_be_called() {
        for (listen, url) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080"),
            ("[::]:1", "http://[::1]:1"),
            ("192.0.2.1:80", "http://192.0.2.1:80"),
        ] {
            assert_eq!(base_url(listen.parse().unwrap()), url);
        }
    }

    #[test]
    fn rates_and_durations_that_make_no_sense_are_refused() {
        for (rate, stop_after) in [
            (0.0, None),
            (-1.0, None),
            (f64::NAN, None),
            (1e9, None),
            (1.0, Some(-1.0)),
            (1.0, Some(f64::INFINITY)),
        ] {
            assert!(
                matches!(check(&args(rate, stop_after)), Err(Failure::Usage(_))),
                "{rate} {stop_after:?}"
            );
        }
        assert!(check(&args(0.2, Some(0.5))).is_ok());
    }
}
