//! The Activity record, and the deliveries of the last weeks.

use anyhow::Result;

use super::{CAMPAIGN, DAY_MS, ENDPOINTS, KEYS, SPAN_MS, no};
use crate::database::Database as Raw;
use crate::matching::posts::now_ms;
use crate::world::ORGANIZATION;

/// Days of which deliveries are kept, as the settings have it.
const DELIVERIES_MS: i64 = 90 * DAY_MS;

/// Some eight entries of each lead, at about the time of its job: mostly deliveries, and what its status tells. In between
/// there are uploads, refused bids, and changes of settings.
pub(super) fn store(raw: &Raw<'_>, count: u32) -> Result<()> {
    raw.execute(&activities(raw, count))?;
    raw.execute(&deliveries(raw, count / 5))
}

/// The number `i` as the end of an id.
fn padded(raw: &Raw<'_>) -> &'static str {
    match raw {
        Raw::Sqlite(_) => "substr('000000000000' || i, -12)",
        Raw::Postgres(_) => "lpad(i::text, 12, '0')",
    }
}

fn activities(raw: &Raw<'_>, count: u32) -> String {
    let start = now_ms() - SPAN_MS;
    let apart = SPAN_MS / i64::from(count.max(1));
    let [bidder, other, _] = KEYS;
    let id = padded(raw);
    let delivered = "{\"deliveryId\":\"0d3f7a52-7f6c-4a52-9d52-6b1f0b7c2f11\",\"event\":\"job.new\",\"endpointId\":\"wh_2\",\
                     \"url\":\"https://hooks.benchmark.test/wh_2\",\"responseStatus\":200,\"durationMs\":41,\
                     \"responseBody\":\"{\\\"ok\\\":true}\",\"reason\":null}";
    let failed = "{\"deliveryId\":\"0d3f7a52-7f6c-4a52-9d52-6b1f0b7c2f11\",\"event\":\"job.new\",\"endpointId\":\"wh_2\",\
                  \"url\":\"https://hooks.benchmark.test/wh_2\",\"responseStatus\":503,\"durationMs\":10000,\
                  \"responseBody\":\"upstream unavailable\",\"reason\":\"the receiver answered 503\"}";
    let submission = "{\"bidId\":\"b1d00000-0000-4000-8000-000000000000\",\"attempts\":1,\"proposalId\":\"p_1\",\"connectsSpent\":18,\
                      \"steps\":[{\"step\":\"rate\",\"says\":\"The job pays 40 to 60 $/h; the profile asks for 54.\"},\
                      {\"step\":\"boost\",\"says\":\"The first place stands at 12 connects, the limit is 20.\"},\
                      {\"step\":\"sent\",\"says\":\"Sent with 2 connects of boost.\"}]}";
    format!(
        "WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < {count}), \
         l AS (SELECT id, campaign_id, status, row_number() OVER (ORDER BY created_at, id) - 1 AS number FROM leads), \
         e AS (SELECT i, l.id AS lead, l.campaign_id AS campaign, CASE \
             WHEN i % 1000 = 5 THEN 'change' WHEN i % 499 = 0 THEN 'upload' WHEN i % 197 = 3 THEN 'refused' \
             WHEN i % 8 = 0 AND l.status = 'rejected' THEN 'rejection' \
             WHEN i % 8 = 1 AND l.status IN ('submitted', 'skipped', 'failed') THEN 'bid' \
             WHEN i % 8 = 2 AND l.status IN ('submitted', 'skipped', 'failed') THEN l.status \
             WHEN i % 101 = 7 THEN 'undelivered' ELSE 'delivery' END AS what, \
             CASE l.campaign_id WHEN '{CAMPAIGN}' THEN '{bidder}' ELSE '{other}' END AS key_id \
             FROM n JOIN l ON l.number = (i - 1) * (SELECT count(*) FROM leads) / {count}) \
         INSERT INTO activities (organization_id, id, at, campaign_id, lead_id, kind, actor_kind, actor_id, actor_name, \
         outcome, http_status, dry_run, message, details) SELECT '{ORGANIZATION}', \
         'ac710000-0000-4000-8000-' || {id}, {start} + i * {apart}, \
         CASE what WHEN 'change' THEN NULL ELSE campaign END, CASE what WHEN 'change' THEN NULL ELSE lead END, \
         CASE WHEN what IN ('change', 'upload', 'rejection', 'bid', 'delivery') THEN what WHEN 'refused' = what THEN 'bid' \
         WHEN 'undelivered' = what THEN 'delivery' ELSE 'submission' END, \
         CASE WHEN what IN ('upload', 'bid', 'refused') THEN 'api_key' WHEN what IN ('change', 'rejection') THEN 'user' \
         ELSE 'service' END, \
         CASE WHEN what IN ('upload', 'bid', 'refused') THEN key_id \
         WHEN what IN ('change', 'rejection') THEN 'ops@benchmark.test' END, \
         CASE WHEN what IN ('upload', 'bid', 'refused') THEN 'Agent' WHEN what IN ('change', 'rejection') THEN 'Ops' END, \
         CASE WHEN what IN ('change', 'upload', 'rejection', 'bid') THEN 'accepted' WHEN what = 'delivery' THEN 'delivered' \
         WHEN what = 'undelivered' THEN 'failed' ELSE what END, \
         CASE WHEN what = 'refused' THEN 409 WHEN what IN ('bid', 'upload') THEN 200 END, {no}, \
         CASE what WHEN 'delivery' THEN 'job.new was delivered to hooks.benchmark.test.' \
         WHEN 'undelivered' THEN 'job.new was not delivered to hooks.benchmark.test: it answered 503.' \
         WHEN 'submitted' THEN 'The proposal was submitted.' ELSE 'It was done as it was asked for.' END, \
         CASE what WHEN 'delivery' THEN '{delivered}' WHEN 'undelivered' THEN '{failed}' \
         WHEN 'submitted' THEN '{submission}' ELSE '{{}}' END FROM e",
        no = no(raw),
    )
}

fn deliveries(raw: &Raw<'_>, count: u32) -> String {
    let start = now_ms() - DELIVERIES_MS;
    let apart = DELIVERIES_MS / i64::from(count.max(1));
    let id = padded(raw);
    format!(
        "WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < {count}), \
         l AS (SELECT id, campaign_id, row_number() OVER (ORDER BY created_at, id) - 1 AS number FROM leads) \
         INSERT INTO deliveries (organization_id, id, endpoint_id, campaign_id, lead_id, event, created_at, state, ended_at, \
         is_test) SELECT '{ORGANIZATION}', '0d3f0000-0000-4000-8000-' || {id}, 'wh_' || (i % {ENDPOINTS}), l.campaign_id, \
         l.id, 'job.new', {start} + i * {apart}, CASE WHEN i % 50 = 0 THEN 'failed' ELSE 'delivered' END, \
         {start} + i * {apart} + 41, {no} FROM n JOIN l ON l.number = (i - 1) * (SELECT count(*) FROM leads) / {count}",
        no = no(raw),
    )
}
