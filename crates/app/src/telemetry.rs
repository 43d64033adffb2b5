//! Logging: structured lines on standard error.

mod text_fields;

use std::env;
use std::io::{IsTerminal, stderr};

use clap::ColorChoice;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, fmt};

use crate::settings::LogFormat;
use text_fields::TextFields;

type BoxedLayer<S> = Box<dyn Layer<S> + Send + Sync>;

/// Starts logging; the levels come from `RUST_LOG`, or are the default ones.
pub(crate) fn start(format: LogFormat, default_levels: &str, color: ColorChoice) {
    let lines = fmt::layer().with_writer(stderr);
    let lines: BoxedLayer<Registry> = match format {
        LogFormat::Text => lines
            .with_ansi(has_colours(color))
            .with_target(false)
            .fmt_fields(TextFields)
            .boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let subscriber = tracing_subscriber::registry()
        .with(lines)
        .with(filter(default_levels));
    // A second start, as in tests, keeps the first.
    let _already_started = subscriber.try_init();
}

/// Unless somebody asked, colours go to a terminal that does not refuse them by convention (no-color.org).
fn has_colours(color: ColorChoice) -> bool {
    let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || env::var_os("TERM").is_some_and(|value| value == "dumb");
    match color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => stderr().is_terminal() && !refused,
    }
}

/// An [`EnvFilter`] can choose by the fields of spans, and looks for that at every step of every span. The default levels
/// do not.
fn filter<S: tracing::Subscriber>(default_levels: &str) -> BoxedLayer<S> {
    match (
        env::var_os(EnvFilter::DEFAULT_ENV),
        default_levels.parse::<Targets>(),
    ) {
        (None, Ok(levels)) => levels.boxed(),
        _ => EnvFilter::try_from_default_env()
            .unwrap_or_else(|_| EnvFilter::new(default_levels))
            .boxed(),
    }
}
