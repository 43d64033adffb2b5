//! Pages of the feed, and the backfills that a look finds.

use bidloop_domain::model::{CampaignId, FilterId};
use bidloop_domain::port::{AcceptBid, FeedCursor, MatchedJob, MatchedPage, ProvisioningChange};
use bidloop_port_contracts::fixture::{World, at, campaign, commit, organization, titled_job};

use super::{CAMPAIGNS, assert_sound, job, world};
use crate::contracts::stores;
use crate::held_snapshot::{acme, prepared, read_by};
use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(
    a_campaign_that_does_not_exist_is_passed_over,
    a_page_may_be_longer_than_a_statement,
    a_position_may_hold_any_character,
    due_campaigns_of_few_and_of_many_organizations_come_with_their_filters,
);

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_and_a_decision_read_no_campaign_that_they_do_not_concern() {
    let (bed, world, ()) = prepared(acme(), async |_| ()).await;
    // One organization has many campaigns, and others have a few. With a plan for these, the many would be read.
    bed.run_sql(
        "INSERT INTO organizations SELECT (jsonb_populate_record(o, jsonb_build_object('id', 'org-' || n))).* \
         FROM organizations AS o, generate_series(1, 300) AS n; \
         INSERT INTO campaigns SELECT (jsonb_populate_record(c, jsonb_build_object( \
           'organization_id', 'org-' || n, 'id', 'camp-' || m))).* \
         FROM campaigns AS c, generate_series(1, 300) AS n, generate_series(1, 5) AS m WHERE c.id = 'camp'; \
         INSERT INTO campaigns SELECT (jsonb_populate_record(c, jsonb_build_object('id', 'camp-' || n))).* \
         FROM campaigns AS c, generate_series(1, 3000) AS n WHERE c.id = 'camp'; ANALYZE",
    )
    .await;
    let matching: Vec<String> = (1..30).map(|number| format!("camp-{number}")).collect();
    let matching = matching.iter().map(String::as_str).chain(["camp"]);
    let matching: Vec<(&str, &str)> = matching.map(|campaign| ("org_acme", campaign)).collect();
    let page = vec![titled_job("1", at(0), "First", &matching)];
    let ingest = async |world: &World| (world.ingest(at(0), page).await, world.listed_lead(0).await);
    let ((counts, lead), blocks) = read_by(&bed, &world, "campaigns", ingest).await;
    assert_eq!(counts.matches, 30);
    assert!(blocks < 1_000, "the page reads {blocks} blocks");
    let bid = async |world: &World| world.try_bid(&lead, at(1)).await;
    let (accepted, blocks) = read_by(&bed, &world, "campaigns", bid).await;
    assert_eq!(accepted, AcceptBid::Accepted);
    assert!(blocks < 50, "the bid reads {blocks} blocks");
    bed.close().await;
}
