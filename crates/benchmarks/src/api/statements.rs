//! The SQL that the service sends for each measured operation, with `:name` for its parameters, which both `pgbench`
//! and SQLite understand. Copied from the statements that PostgreSQL logs; update it with the service's queries.

use anyhow::Result;

use super::fill::{BY_SQL, LETTER, LISTED};
use crate::database::Database;
use crate::http::PAGE;
use crate::world::{ORGANIZATION, PERIOD_START};

/// An id of a lead's form that no lead has.
pub(super) const UNKNOWN_LEAD: &str = "ld_00000000000000000000000000000000";

const HOUR_MS: i64 = 3_600_000;

/// What a contender without the service runs for each request.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
    pub(super) parameters: Vec<(&'static str, String)>,
    /// Whether each run bids on another lead: its `:lead`, `:organization`, `:key_hash`, `:job` and `:bid` then change from
    /// run to run.
    pub(super) bids: bool,
}

/// What is sent to the database at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// One statement, whose answer is awaited.
    One(String),
    /// Statements that are sent at once.
    Together(Vec<String>),
}

const KEY: &str = "\
SELECT api_keys.organization_id, api_keys.id, api_keys.key_hash, api_keys.name, api_keys.created_at, \
api_keys.last_used_at, api_keys.expires_at, api_keys.revoked_at, organizations.subscription_status, \
organizations.collection_paused, organizations.period_start, organizations.period_end, organizations.renewal, \
organizations.proposal_limit, organizations.customer \
FROM api_keys INNER JOIN organizations ON organizations.id = api_keys.organization_id \
WHERE api_keys.key_hash = :key_hash LIMIT 1";

const CAMPAIGN: &str = "\
SELECT campaigns.name, campaigns.generation, campaigns.match_total FROM campaigns \
WHERE campaigns.organization_id = :organization AND campaigns.id = :campaign LIMIT 1";

const MATCHES: &str = "\
SELECT matches.job_id, matches.created_at, jobs.json FROM matches INNER JOIN jobs ON jobs.id = matches.job_id \
WHERE matches.organization_id = :organization AND matches.campaign_id = :campaign \
AND matches.generation = :generation AND matches.seq BETWEEN :oldest AND :newest{dense} ORDER BY matches.seq DESC";

const LEAD: &str = "\
leads.organization_id, leads.id, leads.campaign_id, leads.job_id, leads.created_at, leads.status, leads.reason, \
leads.rejection_reason, leads.proposal_id, leads.bidding_config";

/// A lead with all that a decision needs.
const LEAD_AND_ALL: &str = "\
{lead}, leads.bid_id, jobs.json, organizations.subscription_status, organizations.collection_paused, \
organizations.period_start, organizations.period_end, organizations.renewal, \
organizations.proposal_limit, organizations.customer, campaigns.organization_id, \
campaigns.id, campaigns.name, campaigns.mode, campaigns.state, campaigns.bidding_config, campaigns.proposal, \
bidder_accounts.id, bidder_accounts.connected, bidder_accounts.profile_hourly_rate, lead_attachments.attachment";

const ACCOUNT_AND_FILES: &str = "\
LEFT OUTER JOIN bidder_accounts ON bidder_accounts.organization_id = campaigns.organization_id \
AND bidder_accounts.id = campaigns.account_id \
LEFT OUTER JOIN lead_attachments ON lead_attachments.organization_id = leads.organization_id \
AND lead_attachments.lead_id = leads.id";

const LOCATE: &str = "\
SELECT {lead} FROM campaigns LEFT OUTER JOIN leads ON leads.organization_id = campaigns.organization_id \
AND leads.id = :lead \
WHERE campaigns.organization_id = :organization AND campaigns.id = :campaign LIMIT 1";

const CONTEXT: &str = "\
SELECT {lead_and_all} \
FROM campaigns INNER JOIN organizations ON organizations.id = campaigns.organization_id \
LEFT OUTER JOIN leads ON leads.organization_id = campaigns.organization_id AND leads.id = :lead \
LEFT OUTER JOIN jobs ON jobs.id = leads.job_id \
{account_and_files} \
WHERE campaigns.organization_id = :organization AND campaigns.id = :by_sql ORDER BY lead_attachments.position";

/// Two of the three statements of which a look-up consisted when its goals were set.
const FORMER_CONTEXT: &str = "\
SELECT {lead_and_all} \
FROM leads INNER JOIN jobs ON jobs.id = leads.job_id \
INNER JOIN organizations ON organizations.id = leads.organization_id \
LEFT OUTER JOIN campaigns ON campaigns.organization_id = leads.organization_id AND campaigns.id = leads.campaign_id \
{account_and_files} \
WHERE leads.organization_id = :organization AND leads.id = :lead ORDER BY lead_attachments.position";

const CAMPAIGN_EXISTS: &str = "\
SELECT EXISTS (SELECT * FROM campaigns WHERE campaigns.organization_id = :organization AND campaigns.id = :campaign)";

const LOCK_LEAD: &str = "\
SELECT {lead} FROM leads WHERE leads.organization_id = :organization AND leads.id = :lead LIMIT 1{for_update}";

const LOCK_KEY: &str = "\
SELECT api_keys.organization_id, api_keys.id, api_keys.name, api_keys.created_at, api_keys.last_used_at, \
api_keys.expires_at, api_keys.revoked_at, organizations.id, organizations.subscription_status, \
organizations.collection_paused, organizations.period_start, organizations.period_end, organizations.renewal, \
organizations.proposal_limit, organizations.customer \
FROM organizations INNER JOIN api_keys ON api_keys.organization_id = organizations.id \
WHERE organizations.id = :organization AND api_keys.key_hash = :key_hash AND api_keys.revoked_at IS NULL \
LIMIT 1{for_key_share}";

const GROUNDS: &str = "\
SELECT bidder_accounts.organization_id, bidder_accounts.id, bidder_accounts.connected, \
bidder_accounts.profile_hourly_rate, campaigns.attachments, lead_attachments.attachment \
FROM campaigns \
LEFT OUTER JOIN bidder_accounts ON bidder_accounts.organization_id = campaigns.organization_id \
AND bidder_accounts.id = campaigns.account_id \
LEFT OUTER JOIN lead_attachments ON lead_attachments.organization_id = campaigns.organization_id \
AND lead_attachments.lead_id = :lead \
WHERE campaigns.organization_id = :organization AND campaigns.id = :by_sql ORDER BY lead_attachments.position";

const LOCK_QUOTA: &str = "\
SELECT quota_usage.period_end, quota_usage.used FROM quota_usage \
WHERE quota_usage.organization_id = :organization AND quota_usage.period_start BETWEEN :period AND :period \
ORDER BY quota_usage.period_start DESC LIMIT 1{for_update}";

const TAKE_UNIT: &str = "\
UPDATE quota_usage SET used = quota_usage.used + 1 \
WHERE quota_usage.organization_id = :organization AND quota_usage.period_start = :period";

const INSERT_BID: &str = "\
INSERT INTO bids (organization_id, id, campaign_id, lead_id, job_id, account_id, cover_letter, answers, config, \
attachments, queued_at, period_start, deadline, status, next_attempt_at, attempts, answer_outstanding, \
boost_connects, connects_spent) \
VALUES (:organization, :bid, :by_sql, :lead, :job, 'account', :letter, '[]', :config, '[]', :now, :period, \
:deadline, 'queued', :now, 0, FALSE, 0, 0)";

const QUEUE_LEAD: &str = "\
UPDATE leads SET status = 'queued', bid_id = :bid WHERE leads.organization_id = :organization AND leads.id = :lead";

const INSERT_ACTIVITY: &str = "\
INSERT INTO activities (organization_id, id, at, campaign_id, lead_id, kind, actor_kind, actor_id, actor_name, \
outcome, http_status, dry_run, message, details) \
VALUES (:organization, :bid, :now, :by_sql, :lead, 'bid', 'api_key', 'key', 'Load', 'accepted', 200, FALSE, \
'Bid queued for submission.', :details) ON CONFLICT DO NOTHING";

const LISTS: &str = "\
SELECT campaigns.generation, campaigns.last_generation FROM campaigns \
WHERE campaigns.organization_id = :organization AND campaigns.id = :by_sql LIMIT 1{for_share}";

const SHOW_STATUS: &str = "\
UPDATE matches SET lead_status = 'queued' WHERE matches.organization_id = :organization \
AND matches.campaign_id = :by_sql AND matches.generation = :sql_generation AND matches.job_id = :job";

/// The service makes the text itself.
const COUNT: &str = "\
INSERT INTO fresh_counts (hour, counts) VALUES (:hour, '[[\"' || :organization || '\",\"bid\",\"' || :by_sql || \
'\",\"\",0,1],[\"' || :organization || '\",\"bid_time\",\"\",\"\",81,1]]')";

const CONFIG: &str = r#"{"bidWithWarning":"skip","biddingHourlyRateStrategy":"smart_bidding","biddingHourlyRatePercentage":null,"biddingFixedHourlyRate":null,"biddingMinHourlyRate":null,"boostingEnabled":false,"boostDownToNthPlace":4,"connectsAbovePrevious":1,"minBoost":null,"maximumBoost":null,"insufficientBoostConnectsAction":"bid_without_boost","alreadyHiredAction":"skip","sources":{}}"#;

/// A page of a campaign's list.
pub(super) fn list(database: &Database<'_>, leads: &[String]) -> Result<Script> {
    let (begin, dense, ids) = match database {
        // As in a list of parameters.
        Database::Sqlite(_) => ("BEGIN", "", format!("IN ('{}')", leads.join("', '"))),
        Database::Postgres(_) => (
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            " AND matches.seq = ANY(:numbers)",
            "= ANY(:leads)".to_owned(),
        ),
    };
    let of_listed = |column: &str| format!("SELECT {column} FROM campaigns WHERE id = '{LISTED}'");
    let newest = database.number(&of_listed("match_total"))?;
    let oldest = newest - i64::try_from(PAGE)? + 1;
    let numbers: Vec<String> = (oldest..=newest).map(|number| number.to_string()).collect();
    let mut parameters = parameters(database)?;
    parameters.extend([
        ("generation", database.value(&of_listed("generation"))?),
        ("oldest", oldest.to_string()),
        ("newest", newest.to_string()),
        ("numbers", format!("{{{}}}", numbers.join(","))),
        ("leads", format!("{{{}}}", leads.join(","))),
    ]);
    let leads = format!("SELECT {LEAD} FROM leads WHERE leads.id {ids}");
    let matches = MATCHES.replace("{dense}", dense);
    Ok(Script {
        steps: [KEY, begin, CAMPAIGN, &matches, &leads, "COMMIT"].map(one).into(),
        parameters,
        bids: false,
    })
}

/// The look-ups of a key, a lead and, as there is no such lead, its campaign: the statements of the service when the goals
/// were set.
pub(super) fn look_up(database: &Database<'_>) -> Result<Script> {
    look_up_by(&[KEY, FORMER_CONTEXT, CAMPAIGN_EXISTS], database)
}

/// The same as the service does it now: one statement finds the campaign with its lead.
pub(super) fn look_up_now(database: &Database<'_>) -> Result<Script> {
    look_up_by(&[KEY, LOCATE], database)
}

fn look_up_by(statements: &[&str], database: &Database<'_>) -> Result<Script> {
    Ok(Script {
        steps: statements.iter().map(|statement| one(statement)).collect(),
        parameters: parameters(database)?,
        bids: false,
    })
}

/// The acceptance of a single bid. Its key is known from an earlier request.
pub(super) fn bid(database: &Database<'_>) -> Result<Script> {
    let (begin, locks) = match database {
        Database::Sqlite(_) => ("BEGIN IMMEDIATE", ["", "", ""]),
        Database::Postgres(_) => ("BEGIN", [" FOR UPDATE", " FOR KEY SHARE", " FOR SHARE"]),
    };
    let locking = |statement: &str| {
        let names = ["{for_update}", "{for_key_share}", "{for_share}"];
        let text = names.iter().zip(locks);
        one(&text.fold(statement.to_owned(), |text, (name, lock)| {
            text.replace(name, lock)
        }))
    };
    let writes = [TAKE_UNIT, INSERT_BID, QUEUE_LEAD, INSERT_ACTIVITY];
    let mut parameters = parameters(database)?;
    let generation = format!("SELECT max(generation) FROM campaigns WHERE id = '{BY_SQL}'");
    parameters.push(("sql_generation", database.value(&generation)?));
    Ok(Script {
        steps: vec![
            one(CONTEXT),
            one(begin),
            locking(LOCK_LEAD),
            locking(LOCK_KEY),
            one(GROUNDS),
            locking(LOCK_QUOTA),
            Step::Together(writes.map(str::to_owned).into()),
            locking(LISTS),
            one(SHOW_STATUS),
            one(COUNT),
            one("COMMIT"),
        ],
        parameters,
        bids: true,
    })
}

/// Finds whether bids were accepted by SQL alone and shown in their campaign's list: 1 or 0. To count them all may take a
/// server minutes that has no statistics of the tables yet.
pub(super) fn bids_by_sql() -> String {
    format!(
        "SELECT count(*) FROM (SELECT bids.id FROM leads JOIN bids ON bids.id = leads.bid_id JOIN matches \
         ON matches.organization_id = leads.organization_id AND matches.campaign_id = leads.campaign_id \
         AND matches.job_id = bids.job_id \
         WHERE leads.status = 'queued' AND matches.lead_status = 'queued' AND leads.campaign_id = '{BY_SQL}' LIMIT 1) AS found"
    )
}

fn one(statement: &str) -> Step {
    let parts = [
        ("{lead_and_all}", LEAD_AND_ALL),
        ("{account_and_files}", ACCOUNT_AND_FILES),
        ("{lead}", LEAD),
    ];
    let statement = parts.iter().fold(statement.to_owned(), |text, (name, part)| {
        text.replace(name, part)
    });
    Step::One(statement)
}

/// The parameters of all operations. SQLite converts the numbers where its columns want them.
fn parameters(database: &Database<'_>) -> Result<Vec<(&'static str, String)>> {
    let now = 1_795_174_490_015_i64;
    let details = format!(r#"{{"bidId":"01a1f8bc-df9f-77d7-9675-a05f6911b658","biddingConfig":{CONFIG}}}"#);
    Ok(vec![
        (
            "key_hash",
            database.value(&format!(
                "SELECT key_hash FROM api_keys WHERE organization_id = '{ORGANIZATION}'"
            ))?,
        ),
        ("organization", ORGANIZATION.to_owned()),
        ("campaign", LISTED.to_owned()),
        ("lead", UNKNOWN_LEAD.to_owned()),
        ("letter", LETTER.to_owned()),
        ("config", CONFIG.to_owned()),
        ("details", details),
        ("now", now.to_string()),
        ("deadline", (now + 900_000).to_string()),
        ("period", (PERIOD_START * 1000).to_string()),
        ("hour", (now - now % HOUR_MS).to_string()),
        ("by_sql", BY_SQL.to_owned()),
    ])
}
