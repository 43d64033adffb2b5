//! Lists of matches: what the ports' contract does not reach. Lists that are longer than one transaction writes, the
//! numbers that stand in the tables after any sequence of commands, and processes that switch at once.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::{BTreeMap, BTreeSet};

use bidloop_domain::model::{CampaignId, FilterId, JobId, Timestamp};
use bidloop_domain::port::{
    Backfill, FeedCursor, FilterRecord, MatchedJob, MatchedPage, ProvisioningChange, Prunable, PruneCursor,
    SwitchMatches,
};
use bidloop_port_contracts::fixture::{
    World, at, campaign, commit, job_id, lead_id, organization, titled_job,
};
use diesel::dsl::sql;
use diesel::sql_types::BigInt;
use diesel::{Connection as _, RunQueryDsl as _, SqliteConnection};
use serde_json::json;

use crate::contracts::stores;
use crate::test_database::{TestDatabase, connect, on_both_databases};

on_both_databases!(
    lists_stay_dense_and_ordered_whatever_comes,
    a_long_list_is_switched_while_the_feed_goes_on,
    a_job_that_becomes_a_match_during_a_switch_keeps_its_earlier_moment,
    a_changed_job_leaves_a_list_too_long_to_edit_with_the_next_backfill,
    what_a_crash_left_behind_is_never_served_and_goes_with_the_next_switch,
    of_two_processes_that_switch_at_once_one_is_served,
    a_long_switch_and_a_change_of_filters_at_once_are_one_after_the_other,
    a_campaign_that_does_not_exist_is_passed_over,
    a_page_may_be_longer_than_a_statement,
    a_position_may_hold_any_character,
    due_campaigns_of_few_and_of_many_organizations_come_with_their_filters,
);

const CAMPAIGNS: [&str; 3] = ["one", "two", "three"];

/// `org_acme` with paused campaigns: listing alone makes leads.
async fn world(bed: &TestDatabase) -> World {
    let acme = CAMPAIGNS.iter().fold(organization("org_acme"), |acme, id| {
        acme.campaign(campaign(id).paused())
    });
    World::bare(stores(&bed.database), acme).await
}

/// Matches the new campaigns' filters, so that their lists can be pruned.
async fn settle(world: &World) {
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

fn job(number: usize, posted: usize, title: &str, campaigns: &[&str]) -> MatchedJob {
    let campaigns: Vec<(&str, &str)> = campaigns.iter().map(|campaign| ("org_acme", *campaign)).collect();
    titled_job(&number.to_string(), second(posted), title, &campaigns)
}

/// Pages of 500 jobs each, numbered and posted one after the other.
async fn ingest_many(world: &World, pages: usize, campaigns: &[&str]) {
    for page in 0..pages {
        let jobs = (page * 500..(page + 1) * 500).map(|number| job(number, number, "Go", campaigns));
        world.ingest(at(0), jobs.collect()).await;
    }
}

fn second(number: usize) -> Timestamp {
    at(i64::try_from(number).unwrap())
}

/// Changes the world's campaign's filters, and answers its backfill and the watermark.
async fn due(world: &World, version: usize) -> (Backfill, i64) {
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
async fn seqs(world: &World, watermark: i64, wanted: impl Fn(&JobId) -> bool) -> Vec<i64> {
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
async fn assert_sound(bed: &TestDatabase) {
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

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn some_campaigns(&mut self) -> Vec<&'static str> {
        CAMPAIGNS.into_iter().filter(|_| self.below(2) == 0).collect()
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
async fn all_lists(bed: &TestDatabase, world: &World) -> BTreeMap<(&'static str, String), i64> {
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

async fn lists_stay_dense_and_ordered_whatever_comes(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    settle(&world).await;
    let mut dice = Dice(20_260_910);
    let mut expected: BTreeSet<(&str, String)> = BTreeSet::new();
    let mut before: BTreeMap<(&str, String), i64> = BTreeMap::new();
    for round in 0..40 {
        match dice.below(5) {
            // A campaign's list is shown, so that its newest jobs become leads.
            0 => {
                let shown = world.campaign(CAMPAIGNS[dice.below(3)]);
                shown.list(0, 5).await;
            }
            // A filter changes.
            1 => {
                let campaign = CAMPAIGNS[dice.below(3)];
                let (backfill, watermark) = due(&world.campaign(campaign), round).await;
                let parity = dice.below(2);
                let picked = |id: &JobId| id.as_str().parse::<usize>().unwrap() % 2 == parity;
                let matched = seqs(&world, watermark, picked).await;
                expected.retain(|(known, _)| *known != campaign);
                for job in world
                    .stores
                    .matches
                    .stored_jobs(watermark, None, 1000)
                    .await
                    .unwrap()
                {
                    if picked(&job.id) {
                        expected.insert((campaign, job.id.to_string()));
                    }
                }
                let switched =
                    world
                        .stores
                        .matches
                        .switch(&backfill, watermark, &matched, second(10 * round));
                let total = matched.len() as u64;
                assert_eq!(switched.await, Ok(SwitchMatches::Switched { total }));
            }
            // What is old is pruned.
            2 => {
                let horizon = second(10 * round).minus(std::time::Duration::from_secs(60));
                let mut from = PruneCursor::Start;
                loop {
                    let retention = &world.stores.retention;
                    let step = retention
                        .prune(Prunable::Matches, horizon, &from, 3)
                        .await
                        .unwrap();
                    assert_sound(&bed).await;
                    let Some(next) = step.next else { break };
                    from = next;
                }
                let lists = all_lists(&bed, &world).await;
                for ((campaign, job), created_at) in &before {
                    let lead = lead_id("org_acme", campaign, job);
                    let is_lead = world.campaign(campaign).find(&lead).await.is_some();
                    let goes = !is_lead && *created_at <= horizon.as_millis();
                    let is_listed = lists.contains_key(&(*campaign, job.clone()));
                    assert_eq!(is_listed, !goes, "{campaign} {job} in round {round}");
                }
                expected.retain(|listed| lists.contains_key(listed));
            }
            // A page, by a clock that goes back now and then.
            _ => {
                let mut jobs = BTreeMap::new();
                for _ in 0..dice.below(12) {
                    let number = dice.below(40);
                    let title = format!("Title {}", dice.below(3));
                    jobs.insert(number, job(number, dice.below(5), &title, &dice.some_campaigns()));
                }
                let stored = world
                    .stores
                    .matches
                    .stored_jobs(i64::MAX, None, 1000)
                    .await
                    .unwrap();
                for new in jobs.values() {
                    // What is known as it is changes nothing.
                    if stored
                        .iter()
                        .any(|known| known.id == new.id && known.json == new.json)
                    {
                        continue;
                    }
                    let id = new.id.to_string();
                    expected.retain(|(_, known)| *known != id);
                    let matching = CAMPAIGNS
                        .into_iter()
                        .filter(|campaign| new.campaigns.iter().any(|(_, id)| id.as_str() == *campaign));
                    expected.extend(matching.map(|campaign| (campaign, id.clone())));
                }
                let now = second(10 * round).minus(std::time::Duration::from_secs(dice.below(60) as u64));
                world.ingest(now, jobs.into_values().collect()).await;
            }
        }
        assert_sound(&bed).await;
        let lists = all_lists(&bed, &world).await;
        assert!(lists.keys().eq(expected.iter()), "round {round}");
        for (listed, created_at) in &before {
            let now = lists.get(listed);
            assert!(
                now.is_none_or(|now| now == created_at),
                "{listed:?} in round {round}"
            );
        }
        before = lists;
    }
    assert!(before.len() > 10);
    bed
}

async fn a_long_list_is_switched_while_the_feed_goes_on(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    ingest_many(&world, 5, &[]).await;
    let (backfill, watermark) = due(&world, 1).await;
    let matched = seqs(&world, watermark, |_| true).await;
    let feed = tokio::spawn({
        let world = world.clone();
        async move {
            for number in 0..40 {
                // A new job that matches, and a stored one that matches no longer.
                let page = vec![
                    job(9000 + number, 0, "New", &["one"]),
                    job(number * 60, 0, "Changed", &[]),
                ];
                world.ingest(second(100 + number), page).await;
            }
        }
    });
    let switched = world
        .stores
        .matches
        .switch(&backfill, watermark, &matched, at(50))
        .await;
    assert!(
        matches!(switched, Ok(SwitchMatches::Switched { .. })),
        "{switched:?}"
    );
    feed.await.unwrap();
    assert_eq!(world.total().await, 2500 - 40 + 40);
    assert_sound(&bed).await;

    let (backfill, watermark) = due(&world, 2).await;
    let matched = seqs(&world, watermark, |id| id.as_str().ends_with('1')).await;
    let total = 250 + 4;
    assert_eq!(
        world
            .stores
            .matches
            .switch(&backfill, watermark, &matched, at(500))
            .await,
        Ok(SwitchMatches::Switched { total })
    );
    // The former generations' rows are gone.
    assert_sound(&bed).await;
    assert_eq!(bed.number("SELECT count(*) FROM matches").await, 254);
    bed
}

async fn a_job_that_becomes_a_match_during_a_switch_keeps_its_earlier_moment(
    bed: TestDatabase,
) -> TestDatabase {
    let world = world(&bed).await;
    ingest_many(&world, 5, &[]).await;
    let (backfill, watermark) = due(&world, 1).await;
    let matched = seqs(&world, watermark, |_| true).await;
    let feed = tokio::spawn({
        let world = world.clone();
        async move {
            let mut became_matches = Vec::new();
            for number in 0..60 {
                // By a clock that is behind that of the switch.
                let now = second(3000 + number);
                let page = vec![job(number, number, "Changed", &["one"])];
                if world.ingest(now, page).await.matches == 1 {
                    became_matches.push((number.to_string(), now));
                }
            }
            became_matches
        }
    });
    let switched = world
        .stores
        .matches
        .switch(&backfill, watermark, &matched, second(9000))
        .await;
    assert_eq!(switched, Ok(SwitchMatches::Switched { total: 2500 }));
    let became_matches = feed.await.unwrap();
    assert!(!became_matches.is_empty());
    assert_eq!(world.total().await, 2500);
    assert_sound(&bed).await;
    let lists = all_lists(&bed, &world).await;
    for (id, at) in became_matches {
        assert_eq!(lists[&("one", id.clone())], at.as_millis(), "job {id}");
    }
    bed
}

async fn a_changed_job_leaves_a_list_too_long_to_edit_with_the_next_backfill(
    bed: TestDatabase,
) -> TestDatabase {
    const JOBS: usize = 10_500;
    let world = world(&bed).await;
    ingest_many(&world, JOBS / 500, &["one"]).await;
    let (before, watermark) = due(&world, 1).await;
    let all = seqs(&world, watermark, |_| true).await;
    assert_eq!(all.len(), 10_000, "as many as are asked for");

    // The oldest leaves: all others would be numbered anew.
    let page = vec![job(0, 0, "Changed", &[]), job(JOBS - 1, JOBS - 1, "Changed", &[])];
    world.ingest(at(10), page).await;
    let total = JOBS as u64;
    assert_eq!(world.total().await, total, "the old list serves on");
    let superseded = world
        .stores
        .matches
        .switch(&before, watermark, &all, at(20))
        .await;
    assert_eq!(
        superseded,
        Ok(SwitchMatches::Superseded),
        "it may not know of the change"
    );

    world.ingest(at(30), vec![job(JOBS, JOBS, "Go", &["one"])]).await;
    assert_eq!(world.total().await, total + 1);
    let due = world.stores.matches.due_backfills().await.unwrap();
    let of_world = |backfill: &&Backfill| backfill.campaign_id == world.campaign;
    let backfill = due.campaigns.iter().find(of_world).unwrap();
    let left = [0, JOBS - 1].map(|number| job_id(&number.to_string()));
    let mut matched = world
        .stores
        .matches
        .jobs_at(&(1..=due.watermark).collect::<Vec<_>>())
        .await
        .unwrap();
    matched.retain(|job| !left.contains(&job.id));
    let matched: Vec<i64> = matched.iter().map(|job| job.seq).collect();
    let switched = world
        .stores
        .matches
        .switch(backfill, due.watermark, &matched, at(40))
        .await;
    assert_eq!(switched, Ok(SwitchMatches::Switched { total: total - 1 }));
    assert_sound(&bed).await;
    let lists = all_lists(&bed, &world).await;
    assert_eq!(lists.len() as u64, total - 1);
    assert!(!lists.contains_key(&("one", "0".to_owned())));
    assert_eq!(lists[&("one", "1".to_owned())], at(0).as_millis());
    bed
}

async fn what_a_crash_left_behind_is_never_served_and_goes_with_the_next_switch(
    bed: TestDatabase,
) -> TestDatabase {
    let world = world(&bed).await;
    let jobs = (0..4).map(|number| job(number, number, "Go", &["one"]));
    world.ingest(at(0), jobs.collect()).await;
    // A switch was cut short after its first rows.
    bed.run_sql("UPDATE campaigns SET last_generation = generation + 1 WHERE id = 'one'")
        .await;
    bed.run_sql(
        "INSERT INTO matches (organization_id, campaign_id, generation, seq, job_id, created_at) \
         SELECT organization_id, campaign_id, generation + 1, seq, job_id, 7 FROM matches",
    )
    .await;
    world
        .ingest(at(1), vec![job(3, 3, "Changed", &[]), job(4, 4, "Go", &["one"])])
        .await;
    assert_eq!(world.listed_ids().await, ["4", "2", "1", "0"]);
    let (backfill, watermark) = due(&world, 1).await;
    let matched = seqs(&world, watermark, |id| *id == job_id("2")).await;
    let switched = world
        .stores
        .matches
        .switch(&backfill, watermark, &matched, at(9))
        .await;
    assert_eq!(switched, Ok(SwitchMatches::Switched { total: 1 }));
    assert_eq!(world.listed().await, [("2".to_owned(), at(0))]);
    assert_sound(&bed).await;
    bed
}

async fn of_two_processes_that_switch_at_once_one_is_served(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    ingest_many(&world, 3, &[]).await;
    let (backfill, watermark) = due(&world, 1).await;
    let matched = seqs(&world, watermark, |_| true).await;
    let (here, there) = (bed.database.matches(), bed.reopened().matches());
    let (first, second) = tokio::join!(
        here.switch(&backfill, watermark, &matched, at(10)),
        there.switch(&backfill, watermark, &matched, at(20)),
    );
    let outcomes = [first.unwrap(), second.unwrap()];
    assert!(
        outcomes.contains(&SwitchMatches::Switched { total: 1500 })
            && outcomes.contains(&SwitchMatches::Superseded),
        "{outcomes:?}"
    );
    assert_eq!(world.total().await, 1500);
    let moments = bed.number(
        "SELECT count(DISTINCT created_at) FROM matches JOIN campaigns ON campaigns.id = \
                              matches.campaign_id AND campaigns.generation = matches.generation",
    );
    assert_eq!(moments.await, 1, "one of the two is served, not a mixture");
    assert_eq!(
        world.stores.matches.due_count().await,
        Ok(2),
        "the other campaigns' first"
    );
    bed
}

async fn a_long_switch_and_a_change_of_filters_at_once_are_one_after_the_other(
    bed: TestDatabase,
) -> TestDatabase {
    let world = world(&bed).await;
    ingest_many(&world, 3, &[]).await;
    world.ingest(at(1), vec![job(7000, 0, "Rust", &["one"])]).await;
    let (backfill, watermark) = due(&world, 1).await;
    let matched = seqs(&world, watermark, |id| *id != job_id("7000")).await;
    let other = bed.reopened().matches();
    let (switched, (again, watermark)) = tokio::join!(
        other.switch(&backfill, watermark, &matched, at(10)),
        due(&world, 2),
    );
    let total = match switched.unwrap() {
        SwitchMatches::Switched { total } => total,
        SwitchMatches::Superseded => 1,
    };
    assert_eq!(world.total().await, total);
    assert_eq!(again.filters[0].body, json!({"keywords": "version2"}).to_string());
    assert!(again.campaign_revision > backfill.campaign_revision);
    // What the superseded one had written is nowhere after the next one.
    let switched = world
        .stores
        .matches
        .switch(&again, watermark, &matched[..1200], at(20))
        .await;
    assert_eq!(switched, Ok(SwitchMatches::Switched { total: 1200 }));
    assert_sound(&bed).await;
    bed
}

async fn a_campaign_that_does_not_exist_is_passed_over(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    let page = |title| {
        let campaigns = [("org_acme", "gone"), ("org_acme", "one"), ("org_none", "one")];
        vec![titled_job("1", at(0), title, &campaigns)]
    };
    let counts = world.ingest(at(0), page("First")).await;
    assert_eq!((counts.new_jobs, counts.matches), (1, 1));
    let counts = world.ingest(at(1), page("Second")).await;
    assert_eq!((counts.changed_jobs, counts.matches), (1, 0));
    assert_eq!(world.listed().await, [("1".to_owned(), at(0))]);
    assert_sound(&bed).await;
    bed
}

async fn a_page_may_be_longer_than_a_statement(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    let jobs = |title: &str, campaigns: &[&str]| -> Vec<MatchedJob> {
        (0..1100)
            .map(|number| job(number, number, title, campaigns))
            .collect()
    };
    let counts = world.ingest(at(0), jobs("First", &CAMPAIGNS)).await;
    assert_eq!((counts.new_jobs, counts.matches), (1100, 3300));
    let counts = world.ingest(at(1), jobs("Second", &["two"])).await;
    assert_eq!((counts.changed_jobs, counts.matches), (1100, 0));
    let counts = world.ingest(at(2), jobs("Third", &["one", "two"])).await;
    assert_eq!((counts.changed_jobs, counts.matches), (1100, 1100));
    assert_eq!(world.total().await, 1100);
    assert_eq!(world.campaign("three").total().await, 0);
    assert_sound(&bed).await;
    bed
}

async fn a_position_may_hold_any_character(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    let cursor = Some(FeedCursor("nul\0 back\\slash".to_owned()));
    let page = MatchedPage {
        cursor: cursor.clone(),
        ..world.page(at(0), vec![]).await
    };
    world.stores.jobs.record_page(&page).await.unwrap();
    assert_eq!(world.stores.jobs.feed_position().await, Ok(cursor));
    bed
}

/// Few are asked for one after the other, many together.
async fn due_campaigns_of_few_and_of_many_organizations_come_with_their_filters(
    bed: TestDatabase,
) -> TestDatabase {
    let stores = stores(&bed.database);
    let mut expected = Vec::new();
    for number in 10..22 {
        let name = format!("org_{number}");
        let none = campaign("none");
        let added = CAMPAIGNS.iter().fold(organization(&name), |added, id| {
            added.campaign(campaign(id).paused())
        });
        let without = FilterId::parse("f_none").unwrap();
        let id = added.campaign(none.paused()).provision(&stores).await;
        let none = CampaignId::parse("none").unwrap();
        commit(&stores, &[ProvisioningChange::RemoveFilter(id, none, without)]).await;
        for (campaign, filters) in [
            ("none", vec![]),
            ("one", vec!["f_one"]),
            ("three", vec!["f_three"]),
            ("two", vec!["f_two"]),
        ] {
            expected.push((name.clone(), campaign.to_owned(), filters));
        }
        let due = stores.matches.due_backfills().await.unwrap().campaigns;
        let found: Vec<_> = due
            .iter()
            .map(|due| {
                let of_it = due.filters.iter().all(|filter| {
                    (&filter.organization_id, &filter.campaign_id) == (&due.organization_id, &due.campaign_id)
                });
                assert!(of_it, "{due:?}");
                let filters = due.filters.iter().map(|filter| filter.id.as_str()).collect();
                (
                    due.organization_id.to_string(),
                    due.campaign_id.to_string(),
                    filters,
                )
            })
            .collect();
        assert_eq!(found, expected);
    }
    bed
}
