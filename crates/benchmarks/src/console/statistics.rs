//! What the Overview's statistics cost when jobs come in.

use std::time::Instant;

use anyhow::{Result, ensure};
use bidloop_domain::matching::{JobSignature, PreparedJob};
use bidloop_domain::model::{CampaignId, JobId, JobPost, OrganizationId, Timestamp};
use bidloop_domain::port::{FeedCursor, MatchedJob, MatchedPage, RecordPage};
use bidloop_persistence::{Database, DatabaseSettings};
use bidloop_simulator::Generator;

use super::fill::{CAMPAIGN, OTHERS};
use crate::database::Database as Raw;
use crate::matching::posts::now_ms;
use crate::report::{Report, Row, median};
use crate::world::ORGANIZATION;

/// Pages with the statistics, and as many without.
const PAGES: usize = 100;
/// Jobs of a page, each of which matches all campaigns.
const JOBS: usize = 20;

/// Stores pages of the feed, in turn with rows of statistics and without: a trigger drops them, so what is left without is
/// the statement alone.
pub(super) fn measure(url: &str, raw: &Raw<'_>, report: &mut Report) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    let mut generator = Generator::new(95);
    for round in 0..PAGES / 10 {
        for is_kept in [round % 2 == 0, round % 2 != 0] {
            raw.execute(&dropping(raw, !is_kept))?;
            let times = if is_kept { &mut with } else { &mut without };
            runtime.block_on(store_pages(url, &mut generator, times))?;
        }
    }
    raw.execute(&dropping(raw, false))?;
    let (with, without) = (median(with), median(without));
    let measure = format!(
        "Storing a page of {JOBS} jobs, to without statistics, {}",
        raw.name()
    );
    let row = Row::new(measure, with / without, "times").at_most(1.1);
    report.add(row.with("ms", with).with("without ms", without));
    Ok(())
}

fn dropping(raw: &Raw<'_>, is_on: bool) -> String {
    match (raw, is_on) {
        (Raw::Sqlite(_), false) => "DROP TRIGGER IF EXISTS no_statistics".to_owned(),
        (Raw::Sqlite(_), true) => {
            "CREATE TRIGGER IF NOT EXISTS no_statistics BEFORE INSERT ON fresh_counts BEGIN SELECT RAISE(IGNORE); END"
                .to_owned()
        }
        (Raw::Postgres(_), false) => "DROP TRIGGER IF EXISTS no_statistics ON fresh_counts".to_owned(),
        (Raw::Postgres(_), true) => {
            "CREATE OR REPLACE FUNCTION no_statistics() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; \
             CREATE OR REPLACE TRIGGER no_statistics BEFORE INSERT ON fresh_counts FOR EACH ROW EXECUTE FUNCTION \
             no_statistics()"
                .to_owned()
        }
    }
}

async fn store_pages(url: &str, generator: &mut Generator, times: &mut Vec<f64>) -> Result<()> {
    let database = Database::open(&DatabaseSettings::new(url.to_owned()))?;
    let store = database.jobs();
    let organization = OrganizationId::parse(ORGANIZATION)?;
    let campaigns = std::iter::once(CAMPAIGN).chain(OTHERS);
    let campaigns: Vec<CampaignId> = campaigns.map(CampaignId::parse).collect::<Result<_, _>>()?;
    for number in 0..10 {
        let now = now_ms();
        let mut jobs = Vec::with_capacity(JOBS);
        for _ in 0..JOBS {
            let json = generator.next(now).to_string();
            let post = JobPost::parse(&json)?;
            let of = campaigns.iter();
            jobs.push(MatchedJob {
                id: JobId::parse(post.id.as_str())?,
                posted_at: Timestamp::from_millis(now),
                signature: JobSignature::of(&PreparedJob::new(&post.facts())),
                campaigns: of
                    .map(|campaign| (organization.clone(), campaign.clone()))
                    .collect(),
                json,
            });
        }
        let page = MatchedPage {
            read_from: store.feed_position().await?,
            cursor: Some(FeedCursor(format!("{now}-{number}"))),
            revision: store.revision().await?,
            at: Timestamp::from_millis(now),
            act_within: None,
            jobs,
        };
        let started = Instant::now();
        let recorded = store.record_page(&page).await?;
        times.push(started.elapsed().as_secs_f64() * 1000.0);
        ensure!(matches!(recorded, RecordPage::Recorded(_)), "{recorded:?}");
    }
    Ok(())
}
