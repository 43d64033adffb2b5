//! The figures of the Overview from what was counted.

use std::collections::BTreeMap;

use super::period::{OverviewPeriod, Span};
use super::{
    CampaignFigures, Counts, Ending, EndpointFigures, Funnel, Overview, Times, TimesAt, Totals, troubles,
};
use crate::model::{
    CampaignId, Connects, Histogram, Measure, ReasonCode, SUBMITTED, Timestamp, WebhookEndpoint,
};
use crate::port::{CountedSum, OrganizationFacts};

pub(super) fn overview(
    period: OverviewPeriod,
    span: Span,
    facts: &OrganizationFacts,
    counts: &Counts,
    now: Timestamp,
) -> Overview {
    let totals = Totals {
        submission: times(&counts.times, Measure::SubmissionTime, |_| true),
        ..totals(&counts.campaigns)
    };
    let sum = |measure| total(&counts.campaigns, measure);
    let campaigns = facts.shell.campaigns.iter().map(|sign| CampaignFigures {
        matches: matches(&counts.matches, span, &sign.id),
        submitted: of_campaign(&counts.campaigns, &sign.id, |sum| {
            sum.measure == Measure::Ended && sum.subject == SUBMITTED
        }),
        connects: Connects::new(of_campaign(&counts.campaigns, &sign.id, |sum| {
            sum.measure == Measure::ConnectsSpent
        })),
        sign: sign.clone(),
    });
    let endpoints = facts.endpoints.iter();
    Overview {
        period,
        from: span.from,
        now,
        funnel: Funnel {
            jobs_seen: total(&counts.jobs, Measure::JobsSeen),
            matched: sum(Measure::Matched),
            matched_paused: sum(Measure::MatchedPaused),
            delivered: sum(Measure::Delivered) + sum(Measure::HandedOver),
            bids: totals.bids,
            submitted: totals.submitted,
        },
        before: Totals {
            submission: times(&counts.before, Measure::SubmissionTime, |_| true),
            ..self::totals(&counts.before)
        },
        endings: endings(&counts.campaigns),
        queued: facts.accounts.iter().map(|account| account.queued).sum(),
        delivery: times(&counts.times, Measure::DeliveryTime, |_| true),
        bid: times(&counts.times, Measure::BidTime, |_| true),
        series: series(&counts.times),
        campaigns: campaigns.collect(),
        endpoints: endpoints
            .map(|known| of_endpoint(&counts.endpoints, &known.endpoint))
            .collect(),
        troubles: troubles(facts, now),
        totals,
    }
}

fn total(sums: &[CountedSum], measure: Measure) -> u64 {
    let of_measure = sums.iter().filter(|sum| sum.measure == measure);
    of_measure.map(|sum| sum.count).sum()
}

fn totals(sums: &[CountedSum]) -> Totals {
    let submitted = sums
        .iter()
        .filter(|sum| sum.measure == Measure::Ended && sum.subject == SUBMITTED);
    Totals {
        bids: total(sums, Measure::Bid),
        submitted: submitted.map(|sum| sum.count).sum(),
        connects: Connects::new(total(sums, Measure::ConnectsSpent)),
        boost_connects: Connects::new(total(sums, Measure::BoostConnects)),
        submission: Times::default(),
    }
}

fn times(sums: &[CountedSum], measure: Measure, which: impl Fn(&CountedSum) -> bool) -> Times {
    let mut histogram = Histogram::default();
    for sum in sums.iter().filter(|sum| sum.measure == measure && which(sum)) {
        histogram.add(sum.bucket, sum.count);
    }
    Times::of(&histogram)
}

impl Times {
    fn of(histogram: &Histogram) -> Self {
        Self {
            p50: histogram.within(50),
            p95: histogram.within(95),
            slowest: histogram.slowest(),
        }
    }
}

fn series(sums: &[CountedSum]) -> Vec<TimesAt> {
    let mut parts: BTreeMap<Timestamp, BTreeMap<Measure, Histogram>> = BTreeMap::new();
    for sum in sums {
        let part = parts.entry(sum.at.unwrap_or_default()).or_default();
        part.entry(sum.measure).or_default().add(sum.bucket, sum.count);
    }
    let series = parts.into_iter().map(|(at, part)| {
        let of = |measure| part.get(&measure).map(Times::of).unwrap_or_default();
        TimesAt {
            at,
            delivery: of(Measure::DeliveryTime),
            bid: of(Measure::BidTime),
            submission: of(Measure::SubmissionTime),
        }
    });
    series.collect()
}

fn endings(sums: &[CountedSum]) -> Vec<Ending> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for sum in sums.iter().filter(|sum| sum.measure == Measure::Ended) {
        *counts.entry(&sum.subject).or_default() += sum.count;
    }
    let endings = counts.into_iter().filter_map(|(subject, count)| {
        let reason = match subject {
            SUBMITTED => None,
            // A code of a later version is left out.
            code => Some(code.parse::<ReasonCode>().ok()?),
        };
        Some(Ending { reason, count })
    });
    let mut endings: Vec<Ending> = endings.collect();
    endings.sort_by_key(|ending| {
        let kind = ending
            .reason
            .map_or(0, |reason| if reason.is_skip() { 1 } else { 2 });
        (kind, std::cmp::Reverse(ending.count), ending.reason)
    });
    endings
}

fn of_campaign(sums: &[CountedSum], campaign: &CampaignId, which: impl Fn(&CountedSum) -> bool) -> u64 {
    let its = sums
        .iter()
        .filter(|sum| sum.campaign_id.as_ref() == Some(campaign) && which(sum));
    its.map(|sum| sum.count).sum()
}

/// The campaign's matches in each step of the period.
fn matches(sums: &[CountedSum], span: Span, campaign: &CampaignId) -> Vec<u64> {
    let steps = (0..span.steps).map(|number| {
        let at = span.step.shifted(span.from, number);
        of_campaign(sums, campaign, |sum| sum.at == Some(at))
    });
    steps.collect()
}

fn of_endpoint(sums: &[CountedSum], endpoint: &WebhookEndpoint) -> EndpointFigures {
    let is_its = |sum: &&CountedSum| sum.subject == endpoint.id.as_str();
    let count = |measure| -> u64 {
        let of_measure = sums.iter().filter(is_its).filter(|sum| sum.measure == measure);
        of_measure.map(|sum| sum.count).sum()
    };
    EndpointFigures {
        sent: count(Measure::EndpointTime) + count(Measure::EndpointUntimed),
        failed: count(Measure::EndpointFailed),
        p95: times(sums, Measure::EndpointTime, |sum| is_its(&sum)).p95,
        endpoint: endpoint.clone(),
    }
}
