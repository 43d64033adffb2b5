//! The plot of the overview: how long it took from posting.

use std::time::Duration;

use bidloop_domain::model::Timestamp;
use bidloop_domain::use_case::{Overview, OverviewPeriod, Times, TimesAt};

use super::took;
use crate::chart::{self, Part, TimeAxis, ValueAxis};
use crate::words;

/// Until when the plotted times are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    Delivery,
    Bid,
    Submission,
}

impl Until {
    pub(super) const ALL: [Self; 3] = [Self::Delivery, Self::Bid, Self::Submission];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Delivery => "delivery",
            Self::Bid => "bid",
            Self::Submission => "submission",
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Delivery => "to delivery",
            Self::Bid => "to bid",
            Self::Submission => "to submission",
        }
    }

    const fn of(self, part: &TimesAt) -> Times {
        match self {
            Self::Delivery => part.delivery,
            Self::Bid => part.bid,
            Self::Submission => part.submission,
        }
    }
}

/// Times over the period, for the template.
pub(super) struct Plot {
    pub(super) title: String,
    pub(super) description: String,
    pub(super) values: Vec<String>,
    pub(super) p50: Vec<String>,
    pub(super) p95: Vec<String>,
    pub(super) times: Vec<String>,
}

/// The plot; `None` if nothing was measured.
pub(super) fn plot(overview: &Overview, until: Until) -> Option<Plot> {
    const HOUR: i64 = 60 * 60 * 1000;
    let (length, part) = match overview.period {
        OverviewPeriod::Day => (24 * HOUR, HOUR),
        OverviewPeriod::Week => (7 * 24 * HOUR, 4 * HOUR),
        OverviewPeriod::Month => (30 * 24 * HOUR, 24 * HOUR),
    };
    let time = TimeAxis {
        from: overview.from,
        length_millis: length,
        part_millis: part,
    };
    let parts = |value: fn(Times) -> Option<Duration>| -> Vec<Part> {
        let series = overview.series.iter();
        let parts = series.filter_map(|part| value(until.of(part)).map(|value| Part { at: part.at, value }));
        parts.collect()
    };
    let (p50, p95) = (parts(|times| times.p50), parts(|times| times.p95));
    let slowest = p95.iter().max_by_key(|part| part.value)?;
    let values = ValueAxis::of(p95.iter().map(|part| part.value));
    let labels = match overview.period {
        OverviewPeriod::Day => (0..=6).map(|step| words::hour(at(&time, step, 6))).collect(),
        OverviewPeriod::Week => (0..=7).map(|step| words::day(at(&time, step, 7))).collect(),
        OverviewPeriod::Month => (0..=6).map(|step| words::day(at(&time, step, 6))).collect(),
    };
    Some(Plot {
        title: format!("Time from posting {}", until.label()),
        description: format!(
            "The median is between {} and {}; 95 of 100 took at most {} in the slowest part, which began at {}.",
            took(p50.iter().map(|part| part.value).min()),
            took(p50.iter().map(|part| part.value).max()),
            took(Some(slowest.value)),
            words::utc(slowest.at),
        ),
        p50: chart::lines(&p50, &time, &values),
        p95: chart::lines(&p95, &time, &values),
        values: values.labels,
        times: labels,
    })
}

/// The moment after `step` of `steps` equal parts of the axis.
fn at(time: &TimeAxis, step: i64, steps: i64) -> Timestamp {
    Timestamp::from_millis(time.from.as_millis() + time.length_millis * step / steps)
}
