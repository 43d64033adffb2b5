//! `bidloop demo`: the marketplace, the service and a caller's program in one process, with nothing to set up.
//!
//! Owns the order in which they start and stop. The service is the one that `serve` runs, provisioned by the
//! ordinary use case; only its settings are the demo's own.

mod feed;
mod feed_line;
mod lead_facts;
mod market;
mod screen;
mod setup;
mod tally;
mod to_try;

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bidloop_attachments::StorageSettings;
use bidloop_domain::model::{ApiKey, OrganizationId, WebhookSecret};
use bidloop_domain::port::{AttachmentPieces, AttachmentSource, AttachmentSourceError, Clock, Ids};
use bidloop_domain::use_case::ApplyProvisioningError;
use bidloop_persistence::Database;
use bidloop_simulator::caller::{Receiver, ReceiverOptions};
use bidloop_webhooks::TargetPolicy;
use tokio::sync::mpsc;

use super::{Failure, Outcome, database, serve};
use crate::cli::DemoArgs;
use crate::service::Operations;
use crate::settings::{MarketplaceSettings, Settings};
use crate::shutdown;
use crate::system::{SystemClock, SystemIds};
use feed::{Feed, Heard};
use market::Market;
use screen::Screen;
use setup::Setup;
use to_try::Introduction;

/// The feed is read often, so that the loop is seen to turn at once.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// One process publishes, matches, bids and shows: more than this it cannot show any more.
const HIGHEST_RATE: f64 = 1_000.0;
/// Ports after a taken one that are looked at for a suggestion.
const PORTS_TO_TRY: u16 = 50;

pub(super) async fn run(settings: &Settings, args: &DemoArgs) -> Outcome {
    check(args)?;
    let listen = free_address(args.listen.unwrap_or(settings.server.listen))?;
    let data_dir = prepared(&args.data_dir)?;
    let key_file = data_dir.join("demo-key");
    let api_key = setup::kept_key(&key_file, &SystemIds)?;
    let secret = new_secret();

    let mut market = Market::start().await?;
    let (mut receiver, heard) = start_receiver(&secret, args.auto_reply.then_some(&api_key)).await?;
    let settings = demo_settings(settings, listen, &data_dir, market.base_url());
    let database = database::open_migrated(&settings).await?;
    provision(&settings, &database, &api_key, &secret, &receiver).await?;
    let since = SystemClock.now();
    let service = serve::start(&settings, &database, &serve::all_roles()).await?;

    let screen = Screen::of_standard_output();
    let program = std::env::args().next().unwrap_or_else(|| "bidloop".to_owned());
    let introduction = Introduction {
        base_url: &base_url(listen),
        api_key: api_key.expose(),
        key_file: &key_file,
        database_url: &settings.database.url,
        market_url: market.base_url(),
        rate: args.rate,
        receiver: receiver.address(),
        auto_reply: args.auto_reply,
        program: &program,
    };
    let introduced = screen.show(&introduction.render(screen.look()));

    let started = Instant::now();
    market.open(
        args.rate,
        args.seed.unwrap_or_else(fresh_seed),
        Arc::new(SystemClock),
    );
    let organization =
        OrganizationId::parse(setup::ORGANIZATION).map_err(|error| Failure::failed(error.to_string()))?;
    let stores = (
        Arc::clone(&service.stores().activities),
        Arc::clone(&service.stores().leads),
    );
    let mut feed = Feed::new(screen, organization, stores, heard, args.auto_reply, since);
    let watched = match introduced {
        Ok(()) => feed.run(asked_to_stop(args.stop_after)).await,
        closed => closed,
    };
    let ran = started.elapsed();

    // Whoever gives work stops first.
    market.stop_publishing().await;
    receiver.stop_replying().await;
    let exposition = service.metrics().render();
    let stopped = service.stop().await;
    let summed_up = match watched {
        Ok(()) => sum_up(&mut feed, &exposition, ran).await,
        closed => closed,
    };
    receiver.shutdown().await;
    market.close().await;
    stopped.and(summed_up)
}

/// The last news, and the table.
async fn sum_up(feed: &mut Feed, exposition: &str, ran: Duration) -> Outcome {
    feed.print_news().await?;
    let jobs = tally::counter(exposition, "bidloop_feed_entries_total{outcome=\"new\"}");
    let matches = tally::counter(exposition, "bidloop_matches_total");
    let look = feed.screen.look();
    feed.screen.show(&feed.tally.render(jobs, matches, ran, look))
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

/// The address to listen on, its port known, if it is free.
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

fn new_secret() -> WebhookSecret {
    let mut random = [0; 32];
    SystemIds.fill_random(&mut random);
    WebhookSecret::generate(random)
}

fn fresh_seed() -> u64 {
    let mut random = [0; 8];
    SystemIds.fill_random(&mut random);
    u64::from_le_bytes(random)
}

async fn start_receiver(
    secret: &WebhookSecret,
    api_key: Option<&ApiKey>,
) -> Result<(Receiver, mpsc::UnboundedReceiver<Heard>), Failure> {
    let (tell, heard) = mpsc::unbounded_channel();
    let options = ReceiverOptions {
        secrets: vec![secret.clone()],
        keep: Some(0),
        auto_reply: api_key.map(|key| key.expose().to_owned()),
    };
    let on_event = move |event| {
        // The feed has ended: there is nobody to tell.
        let _untold = tell.send((SystemClock.now(), event));
    };
    match Receiver::start("127.0.0.1:0", options, on_event).await {
        Ok(receiver) => Ok((receiver, heard)),
        Err(error) => Err(Failure::failed(format!(
            "the webhook receiver cannot listen: {error}"
        ))),
    }
}

/// The given settings with everything that the demo brings along in place of what they name: its database and
/// attachments, its marketplace, its links, and webhooks to its own receiver. What is left is the caller's.
fn demo_settings(settings: &Settings, listen: SocketAddr, data_dir: &Path, market_url: &str) -> Settings {
    let mut demo = settings.clone();
    demo.server.listen = listen;
    demo.server.base_url = Some(base_url(listen));
    demo.database.url = format!("sqlite://{}", data_dir.join("bidloop.db").display());
    demo.attachments = StorageSettings::folder(data_dir.join("attachments"));
    demo.marketplace = Some(MarketplaceSettings {
        client: bidloop_marketplace::MarketplaceSettings {
            base_url: market_url.to_owned(),
            feed_token: None,
            timeout: Duration::from_secs(10),
            extra_roots_pem: None,
        },
        poll_interval: POLL_INTERVAL,
    });
    demo.webhooks.targets = TargetPolicy::AllowInsecure;
    demo
}

/// How this machine reaches what listens there.
fn base_url(listen: SocketAddr) -> String {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, listen.port()))
}

async fn provision(
    settings: &Settings,
    database: &Database,
    api_key: &ApiKey,
    secret: &WebhookSecret,
    receiver: &Receiver,
) -> Outcome {
    let setup = Setup {
        api_key,
        secret,
        receiver_url: &receiver.url(""),
        now: SystemClock.now(),
    };
    let operations = Operations::new(settings, database).await?;
    match operations
        .apply_provisioning
        .execute(&setup.document(), &NoFiles)
        .await
    {
        Ok(_) => Ok(()),
        Err(ApplyProvisioningError::Faulty(faults)) => {
            Err(Failure::Failed(faults.iter().map(ToString::to_string).collect()))
        }
        Err(error) => Err(Failure::failed(error.to_string())),
    }
}

/// The demo's document names no files.
#[derive(Debug)]
struct NoFiles;

#[async_trait]
impl AttachmentSource for NoFiles {
    async fn open(&self, _path: &str) -> Result<AttachmentPieces, AttachmentSourceError> {
        Err(AttachmentSourceError::NotFound)
    }
}

/// Completes on the first signal to stop, or after `seconds`.
async fn asked_to_stop(seconds: Option<f64>) {
    let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match limit {
        Some(limit) => {
            tokio::select! {
                () = shutdown::requested() => {}
                () = tokio::time::sleep(limit) => {}
            }
        }
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
    fn a_taken_port_is_told_with_a_free_one() {
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
    fn what_the_demo_does_not_bring_along_is_as_the_settings_say() {
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
        assert_eq!(demo.database.url, "sqlite:///data/bidloop.db");
        assert_eq!(demo.marketplace_url(), Some("http://127.0.0.1:1"));
        assert!(demo.marketplace.unwrap().client.feed_token.is_none());
        assert_eq!(demo.webhooks.targets, TargetPolicy::AllowInsecure);
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
