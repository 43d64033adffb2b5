//! The steps that change how counts are stored, on databases that the steps before them made.

#![expect(clippy::unwrap_used, reason = "test code")]

use bidloop_domain::model::{CampaignId, Measure, OrganizationId, StatisticsStep, Timestamp};
use bidloop_domain::port::CountsQuery;

use crate::test_database::TestDatabase;

/// The step that sets counts and told leads apart.
const STEP: &str = "00000000000016";
/// A count in two parts, another in one; deliveries to an endpoint, of which one has no time; two leads, one of which was
/// told.
const ROWS: &str = "\
INSERT INTO organizations (id, name, subscription_status, collection_paused, period_start, period_end, proposal_limit) \
VALUES ('org_a', 'A', 'active', false, 1000, 2000, 50); \
INSERT INTO statistics (organization_id, step, measure, starts_at, campaign_id, subject, bucket, part, count) VALUES \
('org_a', 'hour', 'bid', 3600000, 'camp', '', 0, 0, 2), ('org_a', 'hour', 'bid', 3600000, 'camp', '', 0, 3, 5), \
('org_a', 'hour', 'bid', 7200000, 'camp', '', 0, 0, 11), \
('org_a', 'hour', 'endpoint_sent', 3600000, '', 'wh', 0, 0, 3), ('org_a', 'hour', 'endpoint_sent', 3600000, '', 'wh', 0, 1, 2), \
('org_a', 'hour', 'endpoint_time', 3600000, '', 'wh', 7, 0, 3), ('org_a', 'hour', 'endpoint_time', 3600000, '', 'wh', 9, 0, 1), \
('org_a', 'hour', 'endpoint_sent', 7200000, '', 'wh', 0, 0, 1), ('org_a', 'hour', 'endpoint_time', 7200000, '', 'wh', 7, 0, 1); \
INSERT INTO leads (organization_id, id, campaign_id, job_id, created_at, status, bidding_config, delivered_at) VALUES \
('org_a', 'ld_told', 'camp', '1', 0, 'new', '{}', 5), ('org_a', 'ld_new', 'camp', '2', 0, 'new', '{}', NULL);";
const TOLD: &str = "SELECT count(*) FROM told_leads WHERE organization_id = 'org_a' AND lead_id = 'ld_told'";

/// The step that stores fresh counts together.
const TOGETHER: &str = "00000000000021";
/// Fresh counts of a campaign and of the installation, and one that is added up.
const FRESH: &str = "\
INSERT INTO fresh_counts (organization_id, measure, hour, campaign_id, subject, bucket, count) VALUES \
('org_a', 'bid', 3600000, 'camp', '', 0, 2), ('org_a', 'bid', 3600000, 'camp', '', 0, 5), \
('org_a', 'endpoint_time', 7200000, '', 'wh', 9, 3), ('', 'jobs_seen', 3600000, '', '', 0, 4); \
INSERT INTO statistics (organization_id, step, measure, starts_at, campaign_id, subject, bucket, count) VALUES \
('org_a', 'hour', 'bid', 3600000, 'camp', '', 0, 11);";

/// Times, campaigns and counts of a measure.
async fn counts(bed: &TestDatabase, measure: Measure) -> Vec<(i64, Option<CampaignId>, u64)> {
    let query = CountsQuery {
        organization_id: Some(OrganizationId::parse("org_a").unwrap()),
        step: StatisticsStep::Hour,
        from: Timestamp::from_millis(0),
        until: Timestamp::from_millis(10_000_000),
        measures: vec![measure],
        by_time: Some(1),
        by_campaign: true,
    };
    let sums = bed.database.statistics().sums(&query).await.unwrap();
    let mut counts: Vec<_> = sums
        .into_iter()
        .map(|sum| (sum.at.unwrap().as_millis(), sum.campaign_id, sum.count))
        .collect();
    counts.sort();
    counts
}

async fn counts_are_as_expected(bed: &TestDatabase) {
    bed.database.migrate().await.unwrap();
    let camp = Some(CampaignId::parse("camp").unwrap());
    let bids = [(3_600_000, camp.clone(), 7), (7_200_000, camp, 11)];
    assert_eq!(counts(bed, Measure::Bid).await, bids);
    let times = [(3_600_000, None, 1), (3_600_000, None, 3), (7_200_000, None, 1)];
    assert_eq!(counts(bed, Measure::EndpointTime).await, times);
    assert_eq!(
        counts(bed, Measure::EndpointUntimed).await,
        [(3_600_000, None, 1)]
    );
    assert_eq!(bed.number(TOLD).await, 1);
    assert_eq!(bed.number("SELECT count(*) FROM told_leads").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_and_told_leads_of_an_existing_sqlite_database_are_kept() {
    let bed = TestDatabase::sqlite_before(STEP, ROWS);
    counts_are_as_expected(&bed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_and_told_leads_of_an_existing_postgres_database_are_kept() {
    let bed = TestDatabase::postgres_before(STEP, ROWS).await;
    counts_are_as_expected(&bed).await;
    bed.close().await;
}

async fn fresh_counts_are_as_expected(bed: &TestDatabase) {
    bed.database.migrate().await.unwrap();
    let statistics = bed.database.statistics();
    for is_added_up in [false, true] {
        let camp = Some(CampaignId::parse("camp").unwrap());
        assert_eq!(counts(bed, Measure::Bid).await, [(3_600_000, camp, 18)]);
        assert_eq!(counts(bed, Measure::EndpointTime).await, [(7_200_000, None, 3)]);
        assert_eq!(counts(bed, Measure::JobsSeen).await, []);
        let left = if is_added_up { 0 } else { 4 };
        assert_eq!(bed.number("SELECT count(*) FROM fresh_counts").await, left);
        statistics.add_all_up().await.unwrap();
    }
    let seen = "SELECT count FROM statistics WHERE organization_id = '' AND step = 'hour'";
    assert_eq!(bed.number(seen).await, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fresh_counts_of_an_existing_sqlite_database_are_kept() {
    let bed = TestDatabase::sqlite_before(TOGETHER, FRESH);
    fresh_counts_are_as_expected(&bed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fresh_counts_of_an_existing_postgres_database_are_kept() {
    let bed = TestDatabase::postgres_before(TOGETHER, FRESH).await;
    fresh_counts_are_as_expected(&bed).await;
    bed.close().await;
}
