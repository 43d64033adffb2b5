//! The console's pages over a large database: the time of each page's use case, in the process that owns the database's
//! connections, beside its goal.

mod fill;

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use bidloop_domain::model::{
    ActivityKind, ActivityOutcome, ActivitySearch, ActorKind, CampaignId, EmailKey, LeadStatus, Links,
    OrganizationId,
};
use bidloop_domain::use_case::{
    FeedPart, FeedRequest, FindLead, LeadAddress, SearchActivity, ShowFeed, ShowLead, TryFilter,
};
use bidloop_persistence::{Database, DatabaseSettings};
use serde_json::{Value, json};

use self::fill::{CAMPAIGN, KEYS, Sizes};
use crate::postgres::PostgresServer;
use crate::report::{Report, Row, progress};
use crate::world::{ORGANIZATION, on_both_databases};

/// How often each page is asked for.
const ROUNDS: usize = 60;

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// On SQLite alone.
    #[arg(long, conflicts_with = "postgres")]
    sqlite: bool,
    /// On PostgreSQL alone.
    #[arg(long)]
    postgres: bool,
    /// Leads of the campaign.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    leads: u32,
    /// Entries of the Activity record.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    activities: u32,
}

/// Runs the suite.
pub(crate) fn measure(options: &Options) -> Result<Report> {
    let mut report = Report::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let sizes = Sizes {
        leads: options.leads,
        activities: options.activities,
    };
    on_both_databases(&mut report, |server, report| {
        let unwanted = if server.is_some() {
            options.sqlite
        } else {
            options.postgres
        };
        if unwanted {
            return Ok(());
        }
        runtime.block_on(measure_on(server, sizes, report))
    });
    Ok(report)
}

async fn measure_on(server: Option<&PostgresServer>, sizes: Sizes, report: &mut Report) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("console.db");
    let postgres = server.map(PostgresServer::create_database).transpose()?;
    let url = match &postgres {
        Some(database) => database.url.clone(),
        None => format!("sqlite://{}", file.display()),
    };
    let raw = match postgres {
        Some(database) => crate::database::Database::Postgres(database),
        None => crate::database::Database::Sqlite(file),
    };
    let database = Database::open(&DatabaseSettings::new(url))?;
    database.migrate().await?;
    progress(&format!(
        "storing {} leads and {} entries, {}",
        sizes.leads,
        sizes.activities,
        raw.name()
    ));
    let started = Instant::now();
    fill::fill(&database, &raw, sizes).await?;
    progress(&format!("stored in {} s", started.elapsed().as_secs()));
    let pages = Pages::new(&database, raw.name(), if server.is_some() { 2.0 } else { 1.0 })?;
    pages.feed(report).await?;
    pages.lead(report).await?;
    pages.activity(report).await?;
    pages.filters(report).await
}

/// The use cases over one database.
struct Pages {
    database: &'static str,
    /// What a goal on SQLite is multiplied by.
    factor: f64,
    organization: OrganizationId,
    campaign: CampaignId,
    feed: ShowFeed,
    lead: ShowLead,
    activity: SearchActivity,
    filters: TryFilter,
}

/// Measures an asynchronous expression, whose value is an `anyhow::Result`.
macro_rules! timed {
    ($pages:expr, $report:expr, $name:expr, $goal:expr, $work:expr) => {{
        let mut times = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let started = Instant::now();
            let _shown = $work;
            times.push(started.elapsed().as_secs_f64() * 1000.0);
        }
        times.sort_unstable_by(f64::total_cmp);
        let row = Row::new(
            format!("{}, {}", $name, $pages.database),
            times[ROUNDS * 95 / 100],
            "ms",
        )
        .at_most($goal * $pages.factor)
        .with("p50 ms", times[ROUNDS / 2]);
        $report.add(row);
    }};
}

impl Pages {
    fn new(database: &Database, name: &'static str, factor: f64) -> Result<Self> {
        let links = Links::new("https://bids.test", Some("https://market.test"));
        let quarantine = database.quarantine();
        let find = FindLead {
            leads: database.leads(),
            feed: database.campaign_feed(),
        };
        Ok(Self {
            database: name,
            factor,
            organization: OrganizationId::parse(ORGANIZATION)?,
            campaign: CampaignId::parse(CAMPAIGN)?,
            feed: ShowFeed {
                feed: database.campaign_feed(),
                links: links.clone(),
                quarantine: quarantine.clone(),
            },
            lead: ShowLead {
                find,
                activities: database.activities(),
                links: links.clone(),
            },
            activity: SearchActivity {
                activities: database.activities(),
                feed: database.campaign_feed(),
            },
            filters: TryFilter {
                matches: database.matches(),
                feed: database.campaign_feed(),
                links,
                quarantine,
            },
        })
    }

    async fn feed(&self, report: &mut Report) -> Result<()> {
        let of = |status: Option<LeadStatus>, offset: u64| FeedRequest {
            status,
            offset,
            ..FeedRequest::default()
        };
        let search = |words: &str| FeedRequest {
            search: words.to_owned(),
            ..FeedRequest::default()
        };
        for (name, request, goal) in [
            ("Feed: newest 50", of(None, 0), 15.0),
            ("Feed: 50 at 90,000", of(None, 90_000), 15.0),
            ("Feed: new", of(Some(LeadStatus::New), 0), 15.0),
            ("Feed: new at 40,000", of(Some(LeadStatus::New), 40_000), 15.0),
            ("Feed: submitted", of(Some(LeadStatus::Submitted), 0), 15.0),
            (
                "Feed: rejected at 20,000",
                of(Some(LeadStatus::Rejected), 20_000),
                15.0,
            ),
            ("Feed: search for common words", search("service"), 50.0),
            ("Feed: search for a rare word", search("xyzzy"), 50.0),
            ("Feed: search for a rare prefix", search("xyzz*"), 150.0),
        ] {
            let shown = self
                .feed
                .execute(&self.organization, &self.campaign, &request)
                .await?;
            let shown = shown.context("no campaign")?;
            if let FeedPart::Page { total, offset } = shown.part {
                let expected = total.saturating_sub(offset).min(50);
                ensure!(
                    shown.cards.len() as u64 == expected,
                    "{name}: {} cards",
                    shown.cards.len()
                );
            }
            timed!(self, report, name, goal, {
                self.feed
                    .execute(&self.organization, &self.campaign, &request)
                    .await?
            });
        }
        let person = EmailKey::of("ops@acme.test");
        timed!(self, report, "Sidebar: new matches", 5.0, {
            self.feed.new_matches(&self.organization, &person).await?
        });
        Ok(())
    }

    async fn lead(&self, report: &mut Report) -> Result<()> {
        // The stored bids have no configuration that could be shown.
        let newest = FeedRequest {
            status: Some(LeadStatus::New),
            ..FeedRequest::default()
        };
        let shown = self
            .feed
            .execute(&self.organization, &self.campaign, &newest)
            .await?;
        let lead = shown.context("no campaign")?.cards[0].lead.clone();
        let address = LeadAddress::of(lead.id);
        timed!(self, report, "Lead's page", 15.0, {
            self.lead
                .execute(&self.organization, &self.campaign, &address)
                .await?
                .context("no lead")?
        });
        Ok(())
    }

    async fn activity(&self, report: &mut Report) -> Result<()> {
        let all = ActivitySearch::of(self.organization.clone());
        let key = |number: usize| Some((ActorKind::ApiKey, Some(KEYS[number].to_owned())));
        let with = |edit: &dyn Fn(&mut ActivitySearch)| {
            let mut search = all.clone();
            edit(&mut search);
            search
        };
        for (name, search) in [
            ("Activity: all", all.clone()),
            (
                "Activity: kind",
                with(&|search| search.kind = Some(ActivityKind::Upload)),
            ),
            (
                "Activity: outcome",
                with(&|search| search.outcome = Some(ActivityOutcome::Refused)),
            ),
            ("Activity: key", with(&|search| search.actor = key(0))),
            (
                "Activity: campaign",
                with(&|search| search.campaign_id = Some(self.campaign.clone())),
            ),
            (
                "Activity: failed deliveries",
                with(&|search| {
                    search.kind = Some(ActivityKind::Delivery);
                    search.outcome = Some(ActivityOutcome::Failed);
                }),
            ),
            (
                "Activity: outcome of a campaign",
                with(&|search| {
                    search.campaign_id = Some(self.campaign.clone());
                    search.outcome = Some(ActivityOutcome::Refused);
                }),
            ),
            (
                "Activity: kind and outcome of a key in a campaign",
                with(&|search| {
                    search.campaign_id = Some(self.campaign.clone());
                    search.kind = Some(ActivityKind::Bid);
                    search.outcome = Some(ActivityOutcome::Refused);
                    search.actor = key(0);
                }),
            ),
            (
                // Both are frequent, and no entry has both: the most that a step looks at.
                "Activity: a key and a kind that never meet",
                with(&|search| {
                    search.kind = Some(ActivityKind::Submission);
                    search.actor = key(0);
                }),
            ),
        ] {
            timed!(self, report, name, 30.0, self.activity.page(&search, None).await?);
        }
        timed!(self, report, "Activity: a part of 500 lines of CSV", 60.0, {
            self.activity.csv(&all, None).await?
        });
        Ok(())
    }

    async fn filters(&self, report: &mut Report) -> Result<()> {
        for (name, body) in [
            ("Filter preview: a rare word", json!({"keywords": "xyzzy"})),
            (
                "Filter preview: common words",
                json!({"keywords": "service OR team"}),
            ),
            (
                "Filter preview: nothing but a rate",
                json!({"hourlyRate": {"min": 40}}),
            ),
        ] {
            let shown = self.filters.preview(&body).await?;
            let shown = shown.map_err(|faults| anyhow::anyhow!("{faults:?}"))?;
            progress(&format!(
                "{name}: {} of {} examined",
                shown.matching, shown.examined
            ));
            timed!(
                self,
                report,
                name,
                300.0,
                self.filters.preview(&body).await?.is_ok()
            );
        }
        let body: Value = json!({"keywords": "xyzzy"});
        timed!(self, report, "Why not this job?", 300.0, {
            self.filters.explain(&body, "no title has this").await?.is_ok()
        });
        Ok(())
    }
}
