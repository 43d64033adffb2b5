//! Lists of matches: what the ports' contract does not reach. Lists that are longer than one transaction writes, the
//! numbers that stand in the tables after any sequence of commands, and processes that switch at once.

#![expect(clippy::unwrap_used, reason = "test code")]

mod pages;
mod sequences;
mod switches;

use std::collections::BTreeMap;

use bidloop_domain::model::{FilterId, JobId, Timestamp};
use bidloop_domain::port::{Backfill, FilterRecord, MatchedJob, ProvisioningChange, SwitchMatches};
use bidloop_port_contracts::fixture::{World, at, campaign, commit, organization, titled_job};
use diesel::dsl::sql;
use diesel::sql_types::BigInt;
use diesel::{Connection as _, RunQueryDsl as _, SqliteConnection};
use serde_json::json;

use crate::contracts::stores;
use crate::test_database::{TestDatabase, connect};

pub(super) const CAMPAIGNS: [&str; 3] = ["one", "two", "three"];

/// `org_acme` with paused campaigns: listing alone makes leads.
pub(super) async fn world(bed: &TestDatabase) -> World {
    let acme = CAMPAIGNS.iter().fold(organization("org_acme"), |acme, id| {
        acme.campaign(campaign(id).paused())
    });
    World::bare(stores(&bed.database), acme).await
}

/// Matches the new campaigns' filters, so that their lists can be pruned.
pub(super) async fn settle(world: &World) {
    let due = world.stores.matches.due_backfills().await.unwrap();
    for backfill in &due.campaigns {
        let switched = world
            .stores
            .matches
            .switch(backfill, due.watermark, &[], at(0))
            .await;
        assert_eq!(switched, Ok(SwitchMatches::Switched { total: 0 }));
    }
}

pub(super) fn job(number: usize, posted: usize, title: &str, campaigns: &[&str]) -> MatchedJob {
    let campaigns: Vec<(&str, &str)> = campaigns.iter().map(|campaign| ("org_acme", *campaign)).collect();
    titled_job(&number.to_string(), second(posted), title, &campaigns)
}

/// Pages of 500 jobs each, numbered and posted one after the other.
pub(super) async fn ingest_many(world: &World, pages: usize, campaigns: &[&str]) {
    for page in 0..pages {
        let jobs = (page * 500..(page + 1) * 500).map(|number| job(number, number, "Go", campaigns));
        world.ingest(at(0), jobs.collect()).await;
    }
}

pub(super) fn second(number: usize) -> Timestamp {
    at(i64::try_from(number).unwrap())
}

/// Changes the world's campaign's filters, and answers its backfill and the watermark.
pub(super) async fn due(world: &World, version: usize) -> (Backfill, i64) {
    let filter = FilterRecord {
        id: FilterId::parse(&format!("f_{}", world.campaign)).unwrap(),
        name: "Any".to_owned(),
        body: json!({"keywords": format!("version{version}")}),
    };
    let change = ProvisioningChange::PutFilter(world.organization.clone(), world.campaign.clone(), filter);
    commit(&world.stores, &[change]).await;
    let due = world.stores.matches.due_backfills().await.unwrap();
    let of_world = |backfill: &Backfill| backfill.campaign_id == world.campaign;
    (due.campaigns.into_iter().find(of_world).unwrap(), due.watermark)
}

/// The numbers of the stored jobs up to the watermark that `wanted` picks, newest first.
pub(super) async fn seqs(world: &World, watermark: i64, wanted: impl Fn(&JobId) -> bool) -> Vec<i64> {
    let jobs = world
        .stores
        .matches
        .stored_jobs(watermark, None, 10_000)
        .await
        .unwrap();
    jobs.iter()
        .filter(|job| wanted(&job.id))
        .map(|job| job.seq)
        .collect()
}

/// Every list is numbered from 1 without a gap, in the order of `createdAt`; its campaign's row says how it ends;
/// leads are as old as their matches; nothing is left of other generations; the highest job's number is known.
pub(super) async fn assert_sound(bed: &TestDatabase) {
    const OF_CAMPAIGN: &str = "m.organization_id = c.organization_id AND m.campaign_id = c.id";
    let faults = [
        format!(
            "SELECT count(*) FROM campaigns c WHERE match_total <> (SELECT count(*) FROM matches m \
             WHERE {OF_CAMPAIGN} AND m.generation = c.generation AND (m.seq BETWEEN 1 AND c.match_settled \
             OR m.seq BETWEEN c.match_settled + c.match_gap + 1 AND c.match_total + c.match_gap))"
        ),
        format!(
            "SELECT count(*) FROM campaigns c WHERE coalesce(last_match_at, 0) <> coalesce((SELECT m.created_at \
             FROM matches m WHERE {OF_CAMPAIGN} AND m.generation = c.generation AND \
             m.seq = c.match_total + c.match_gap), 0) AND (match_gap = 0 OR match_total > match_settled)"
        ),
        format!(
            "SELECT count(*) FROM matches m JOIN campaigns c ON {OF_CAMPAIGN} JOIN matches n ON \
             n.organization_id = m.organization_id AND n.campaign_id = m.campaign_id AND \
             n.generation = m.generation AND n.seq = m.seq + c.match_gap + 1 \
             WHERE m.generation = c.generation AND m.seq = c.match_settled AND n.created_at < m.created_at"
        ),
        "SELECT count(*) FROM matches m JOIN matches n ON n.organization_id = m.organization_id AND \
         n.campaign_id = m.campaign_id AND n.generation = m.generation AND n.seq = m.seq + 1 \
         WHERE n.created_at < m.created_at"
            .to_owned(),
        "SELECT count(*) FROM matches m JOIN leads l ON l.organization_id = m.organization_id AND \
         l.campaign_id = m.campaign_id AND l.job_id = m.job_id WHERE l.created_at <> m.created_at"
            .to_owned(),
        format!(
            "SELECT count(*) FROM matches m JOIN campaigns c ON {OF_CAMPAIGN} \
             WHERE m.generation <> c.generation OR m.seq > c.match_total + c.match_gap"
        ),
        "SELECT count(*) FROM feed_position \
         WHERE last_job_seq <> (SELECT coalesce(max(seq), 0) FROM jobs)"
            .to_owned(),
    ];
    for fault in faults {
        assert_eq!(bed.number(&fault).await, 0, "{fault}");
    }
}

/// The one column of numbers that a query finds behind the stores' back.
async fn numbers(bed: &TestDatabase, query: &str) -> Vec<i64> {
    let url = bed.url();
    if let Some(path) = url.strip_prefix("sqlite://") {
        let mut conn = SqliteConnection::establish(path).unwrap();
        return diesel::select(sql::<BigInt>(&format!("value FROM ({query})")))
            .load(&mut conn)
            .unwrap();
    }
    let rows = connect(&url).await.query(query, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// Which jobs each campaign lists, and since when.
pub(super) async fn all_lists(bed: &TestDatabase, world: &World) -> BTreeMap<(&'static str, String), i64> {
    let mut lists = BTreeMap::new();
    for campaign in CAMPAIGNS {
        let column = |column: &str| {
            format!(
                "SELECT {column} AS value FROM matches m JOIN campaigns c ON c.id = m.campaign_id AND \
                 c.generation = m.generation WHERE c.id = '{campaign}' ORDER BY m.seq"
            )
        };
        let ids = numbers(bed, &column("CAST(m.job_id AS BIGINT)")).await;
        let moments = numbers(bed, &column("m.created_at")).await;
        assert_eq!(world.campaign(campaign).total().await, ids.len() as u64);
        for (id, created_at) in ids.into_iter().zip(moments) {
            assert_eq!(lists.insert((campaign, id.to_string()), created_at), None);
        }
    }
    lists
}
