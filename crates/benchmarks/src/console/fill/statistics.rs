//! What was counted in the last two months: the Overview looks at one and compares it with the one before.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use bidloop_domain::model::{Measure, StatisticsStep, TimeBucket, Timestamp, VariantArray as _};
use fastrand::Rng;

use super::{CAMPAIGN, ENDPOINTS, OTHERS, ROWS_AT_ONCE};
use crate::database::Database as Raw;
use crate::matching::posts::now_ms;
use crate::world::ORGANIZATION;

const HOURS: i64 = 61 * 24;
/// What happened in an hour, of each campaign.
const EVENTS: u64 = 25;
/// How bids end.
const ENDINGS: [&str; 3] = ["submitted", "already_hired", "job_closed"];

/// A count's key below organization and step.
type Counted = (Measure, i64, &'static str, String, u16);

pub(super) fn store(raw: &Raw<'_>) -> Result<()> {
    let mut rng = Rng::with_seed(8);
    let mut counts: BTreeMap<(&str, Counted), u64> = BTreeMap::new();
    for hour in 0..HOURS {
        let at = Timestamp::from_millis(now_ms() - hour * StatisticsStep::Hour.millis());
        for (measure, campaign, subject, bucket, count) in in_an_hour(&mut rng) {
            for step in StatisticsStep::VARIANTS {
                let starts_at = step.start(at).as_millis();
                let counted = (measure, starts_at, campaign, subject.clone(), bucket);
                *counts.entry((step.as_str(), counted)).or_default() += count;
            }
        }
    }
    let rows: Vec<String> = counts
        .into_iter()
        .map(|((step, counted), count)| {
            let (measure, starts_at, campaign, subject, bucket) = counted;
            let organization = if measure == Measure::JobsSeen { "" } else { ORGANIZATION };
            let measure = measure.as_str();
            format!(
                "('{organization}', '{step}', '{measure}', {starts_at}, '{campaign}', '{subject}', {bucket}, {count})"
            )
        })
        .collect();
    // What storing the jobs counted.
    raw.execute("DELETE FROM fresh_counts")?;
    for some in rows.chunks(ROWS_AT_ONCE) {
        raw.execute(&format!(
            "INSERT INTO statistics (organization_id, step, measure, starts_at, campaign_id, subject, bucket, count) \
             VALUES {}",
            some.join(", ")
        ))?;
    }
    Ok(())
}

/// Measure, campaign, subject, bucket and count.
fn in_an_hour(rng: &mut Rng) -> Vec<(Measure, &'static str, String, u16, u64)> {
    let mut found = vec![(Measure::JobsSeen, "", String::new(), 0, 14)];
    let took = |rng: &mut Rng, from_ms: u64, to_ms: u64| {
        // Most are short.
        let share = rng.f64().powi(4);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "below the longest"
        )]
        let millis = from_ms + ((to_ms - from_ms) as f64 * share) as u64;
        TimeBucket::of(Duration::from_millis(millis)).0
    };
    for campaign in std::iter::once(CAMPAIGN).chain(OTHERS) {
        for measure in [Measure::Matched, Measure::Delivered] {
            found.push((measure, campaign, String::new(), 0, EVENTS));
        }
        for measure in [Measure::Bid, Measure::BoostConnects] {
            found.push((measure, campaign, String::new(), 0, 5));
        }
        found.push((Measure::ConnectsSpent, campaign, "account".to_owned(), 0, 90));
        for ending in ENDINGS {
            found.push((Measure::Ended, campaign, ending.to_owned(), 0, 2));
        }
        for _ in 0..EVENTS {
            let bucket = took(rng, 300, 30_000);
            found.push((Measure::DeliveryTime, "", String::new(), bucket, 1));
        }
        for _ in 0..5 {
            for measure in [Measure::BidTime, Measure::SubmissionTime] {
                found.push((measure, "", String::new(), took(rng, 5_000, 900_000), 1));
            }
        }
    }
    for number in 0..ENDPOINTS {
        let subject = format!("wh_{number}");
        found.push((Measure::EndpointFailed, "", subject.clone(), 0, 1));
        for _ in 0..EVENTS {
            found.push((
                Measure::EndpointTime,
                "",
                subject.clone(),
                took(rng, 20, 2_000),
                1,
            ));
        }
    }
    found
}
