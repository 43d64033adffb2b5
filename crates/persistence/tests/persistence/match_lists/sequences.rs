//! Lists after any sequence of commands, compared with a model of them.

use std::collections::{BTreeMap, BTreeSet};

use bidloop_domain::model::JobId;
use bidloop_domain::port::{Prunable, PruneCursor, SwitchMatches};
use bidloop_port_contracts::fixture::lead_id;

use super::{CAMPAIGNS, all_lists, assert_sound, due, job, second, seqs, settle, world};
use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(lists_stay_dense_and_ordered_whatever_comes,);

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
