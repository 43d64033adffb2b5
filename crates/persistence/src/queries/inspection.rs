//! Looking through the rows of each table, in the order of its key, for those that cannot be read.

use async_trait::async_trait;
use bidloop_domain::model::{
    AccountSummary, Activity, ApiKeyRecord, BidRecord, CampaignId, EmailKey, FilterId, JobId, JobPost, Lead,
    LeadAttachment, OrganizationId, PersonalTokenRecord, QueuedBid, WebhookEndpoint,
};
use bidloop_domain::port::{
    AutomaticBidIntent, BilledRecord, CampaignRecord, FeedCursor, FilterRecord, InspectedRows, InspectedUpTo,
    OrganizationRecord, RowInspector, StoreError, StoredFilter, StoredJob, StoredPerson,
};
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Bool, Text};

use super::deliveries::payload;
use super::locks::ONLY_ROW;
use super::prelude::*;
use crate::columns::Encoded;
use crate::records::{Delivery, StoredAccount, StoredLink, StoredMembership, StoredSecrets};
use crate::sealing::Sealer;

#[async_trait]
impl RowInspector for Store {
    async fn inspect(&self, from: &InspectedUpTo, limit: u32) -> Result<InspectedRows, StoreError> {
        let (from, sealer) = (from.clone(), self.sealer.clone());
        self.read(async move |conn: &mut Conn| inspect(conn, &sealer, &from, i64::from(limit)).await)
            .await
    }
}

/// A row's key, and what is wrong with the row.
type Examined = (Vec<String>, Option<UnreadableRow>);

/// The number of the last table. Signatures of jobs are not inspected: one that cannot be read counts as missing.
const LAST_TABLE: usize = 22;

async fn inspect(
    conn: &mut Conn,
    sealer: &Sealer,
    from: &InspectedUpTo,
    limit: i64,
) -> Result<InspectedRows, Failure> {
    let after = After(&from.key);
    let rows = match from.table {
        0 => organizations(conn, after, limit).await?,
        1 => people(conn, after, limit).await?,
        2 => api_keys(conn, after, limit).await?,
        3 => webhook_endpoints(conn, sealer, after, limit).await?,
        4 => bidder_accounts(conn, sealer, after, limit).await?,
        5 => campaigns(conn, after, limit).await?,
        6 => filters(conn, after, limit).await?,
        7 => filter_changes(conn, after, limit).await?,
        8 => feed_position(conn, after).await?,
        9 => jobs(conn, after, limit).await?,
        10 => matches(conn, after, limit).await?,
        11 => leads(conn, after, limit).await?,
        12 => lead_attachments(conn, after, limit).await?,
        13 => bids(conn, after, limit).await?,
        14 => automatic_bids(conn, after, limit).await?,
        15 => deliveries(conn, after, limit).await?,
        16 => activities(conn, after, limit).await?,
        17 => removed_organizations(conn, after, limit).await?,
        18 => memberships(conn, after, limit).await?,
        19 => sessions(conn, after, limit).await?,
        20 => one_time_links(conn, after, limit).await?,
        21 => personal_tokens(conn, after, limit).await?,
        _ => billed_subscriptions(conn, after, limit).await?,
    };
    let examined = rows.len();
    let (mut keys, faults): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    let next = match keys.pop() {
        Some(key) if stored(examined) >= limit => (from.table, key),
        _ => (from.table + 1, Vec::new()),
    };
    Ok(InspectedRows {
        examined: examined as u64,
        unreadable: faults.into_iter().flatten().collect(),
        next: (next.0 <= LAST_TABLE).then_some(InspectedUpTo {
            table: next.0,
            key: next.1,
        }),
    })
}

/// The key of the row that was examined last. At the beginning its parts are empty texts and the least numbers, which
/// every key is behind.
#[derive(Clone, Copy)]
struct After<'k>(&'k [String]);

impl<'k> After<'k> {
    fn text(self, place: usize) -> &'k str {
        self.0.get(place).map_or("", String::as_str)
    }

    fn number(self, place: usize) -> i64 {
        let number = self.0.get(place).and_then(|number| number.parse().ok());
        number.unwrap_or(i64::MIN)
    }
}

/// The rows behind a key of two texts, as a row of columns, which both databases look up in the primary key.
macro_rules! behind_texts {
    ($after:expr, $columns:literal) => {
        sql::<Bool>(concat!("(", $columns, ") > ("))
            .bind::<Text, _>($after.text(0))
            .sql(", ")
            .bind::<Text, _>($after.text(1))
            .sql(")")
    };
}

/// What of several readings of a row failed first.
macro_rules! first_fault {
    ($($read:expr),+ $(,)?) => {
        [$($read.0.err()),+].into_iter().flatten().next()
    };
}

fn fault<T: std::fmt::Debug>(
    table: &'static str,
    key: &[String],
    column: &str,
    read: Attempt<T>,
) -> Option<UnreadableRow> {
    let why = read.0.err()?;
    Some(UnreadableRow::new(
        table,
        key.join("/"),
        format_args!("{column} cannot be read: {why}"),
    ))
}

async fn organizations(conn: &mut Conn, after: After<'_>, limit: i64) -> Result<Vec<Examined>, Failure> {
    let rows: Vec<(String, Tried<OrganizationRecord>)> = organizations::table
        .filter(organizations::id.gt(after.text(0)))
        .order(organizations::id)
        .limit(limit)
        .select((organizations::id, Tried::<OrganizationRecord>::as_select()))
        .load(conn)
        .await?;
    Ok(rows
        .into_iter()
        .map(|(id, read)| (vec![id], read.0.err()))
        .collect())
}

async fn removed_organizations(
    conn: &mut Conn,
    after: After<'_>,
    limit: i64,
) -> Result<Vec<Examined>, Failure> {
    let rows: Vec<(String, Attempt<Col<OrganizationId>>)> = removed_organizations::table
        .filter(removed_organizations::id.gt(after.text(0)))
        .order(removed_organizations::id)
        .limit(limit)
        .select((removed_organizations::id, removed_organizations::id))
        .load(conn)
        .await?;
    let mut examined = Vec::with_capacity(rows.len());
    for (id, read) in rows {
        let key = vec![id];
        let fault = fault("removed_organizations", &key, "id", read);
        examined.push((key, fault));
    }
    Ok(examined)
}

async fn billed_subscriptions(
    conn: &mut Conn,
    after: After<'_>,
    limit: i64,
) -> Result<Vec<Examined>, Failure> {
    let rows: Vec<(String, Tried<BilledRecord>)> = billed_subscriptions::table
        .filter(billed_subscriptions::id.gt(after.text(0)))
        .order(billed_subscriptions::id)
        .limit(limit)
        .select((billed_subscriptions::id, Tried::<BilledRecord>::as_select()))
        .load(conn)
        .await?;
    let rows = rows.into_iter();
    Ok(rows.map(|(key, read)| (vec![key], read.0.err())).collect())
}

async fn people(conn: &mut Conn, after: After<'_>, limit: i64) -> Result<Vec<Examined>, Failure> {
    let rows: Vec<(Encoded, Tried<StoredPerson>)> = people::table
        .filter(people::email_key.gt(Encoded(after.text(0).to_owned())))
        .order(people::email_key)
        .limit(limit)
        .select((people::email_key, Tried::<StoredPerson>::as_select()))
        .load(conn)
        .await?;
    let rows = rows.into_iter();
    Ok(rows.map(|(key, read)| (vec![key.0], read.0.err())).collect())
}

async fn memberships(conn: &mut Conn, after: After<'_>, limit: i64) -> Result<Vec<Examined>, Failure> {
    let rows: Vec<(String, Encoded, Tried<StoredMembership>)> = memberships::table
        .filter(behind_texts!(after, "organization_id, email_key"))
        .order((memberships::organization_id, memberships::email_key))
        .limit(limit)
        .select((
            memberships::organization_id,
            memberships::email_key,
            Tried::<StoredMembership>::as_select(),
        ))
        .load(conn)
        .await?;
    let rows = rows.into_iter();
    Ok(rows
        .map(|(organization, key, read)| (vec![organization, key.0], read.0.err()))
        .collect())
}

async fn sessions(conn: &mut Conn, after: After<'_>, limit: i64) -> Result<Vec<Examined>, Failure> {
    let rows: Vec<(String, String, Attempt<Col<EmailKey>>)> = sessions::table
        .filter(behind_texts!(after, "organization_id, token_hash"))
        .order((sessions::organization_id, sessions::token_hash))
        .limit(limit)
        .select((
            sessions::organization_id,
            sessions::token_hash,
            sessions::email_key,
        ))
        .load(conn)
        .await?;
    let mut examined = Vec::with_capacity(rows.len());
    for (organization, hash, read) in rows {
        let key = vec![organization, hash];
        let fault = fault("sessions", &key, "email_key", read);
        examined.push((key, fault));
    }
    Ok(examined)
}

async fn jobs(conn: &mut Conn, after: After<'_>, limit: i64) -> Result<Vec<Examined>, Failure> {
    let rows: Vec<(String, Tried<StoredJob>)> = jobs::table
        .filter(jobs::id.gt(after.text(0)))
        .order(jobs::id)
        .limit(limit)
        .select((jobs::id, Tried::<StoredJob>::as_select()))
        .load(conn)
        .await?;
    let mut examined = Vec::with_capacity(rows.len());
    for (id, read) in rows {
        let post = read.0.and_then(|job| {
            JobPost::parse(&job.json)
                .map_err(|fault| UnreadableRow::new("jobs", &*id, format_args!("json: {fault}")))
        });
        examined.push((vec![id], post.err()));
    }
    Ok(examined)
}

async fn filters(conn: &mut Conn, after: After<'_>, limit: i64) -> Result<Vec<Examined>, Failure> {
    type Filter = (String, String, Tried<StoredFilter>, Tried<FilterRecord>);
    let rows: Vec<Filter> = filters::table
        .filter(behind_texts!(after, "organization_id, id"))
        .order((filters::organization_id, filters::id))
        .limit(limit)
        .select((
            filters::organization_id,
            filters::id,
            Tried::<StoredFilter>::as_select(),
            Tried::<FilterRecord>::as_select(),
        ))
        .load(conn)
        .await?;
    let mut examined = Vec::with_capacity(rows.len());
    for (organization, id, stored, record) in rows {
        let compiled = stored.0.and_then(|filter| filter.compile());
        examined.push((vec![organization, id], compiled.err().or(record.0.err())));
    }
    Ok(examined)
}

async fn deliveries(conn: &mut Conn, after: After<'_>, limit: i64) -> Result<Vec<Examined>, Failure> {
    let rows: Vec<(String, String, Tried<Delivery>)> = deliveries::table
        .filter(behind_texts!(after, "organization_id, id"))
        .order((deliveries::organization_id, deliveries::id))
        .limit(limit)
        .select((
            deliveries::organization_id,
            deliveries::id,
            Tried::<Delivery>::as_select(),
        ))
        .load(conn)
        .await?;
    let mut examined = Vec::with_capacity(rows.len());
    for (organization, id, read) in rows {
        let fault = match read.0 {
            Ok(delivery) if payload(&delivery).is_none() => Some(UnreadableRow::of_organization(
                "deliveries",
                &organization,
                &id,
                "data cannot be read",
            )),
            read => read.err(),
        };
        examined.push((vec![organization, id], fault));
    }
    Ok(examined)
}

/// What only submitting reads is inspected while the bid is queued: the letters of ended bids are removed some day.
async fn bids(conn: &mut Conn, after: After<'_>, limit: i64) -> Result<Vec<Examined>, Failure> {
    type Bid = (String, String, Option<i64>, Tried<QueuedBid>, Tried<BidRecord>);
    let rows: Vec<Bid> = bids::table
        .filter(behind_texts!(after, "organization_id, id"))
        .order((bids::organization_id, bids::id))
        .limit(limit)
        .select((
            bids::organization_id,
            bids::id,
            bids::ended_at,
            Tried::<QueuedBid>::as_select(),
            Tried::<BidRecord>::as_select(),
        ))
        .load(conn)
        .await?;
    let mut examined = Vec::with_capacity(rows.len());
    for (organization, id, ended_at, queued, record) in rows {
        let queued = queued.0.err().filter(|_| ended_at.is_none());
        examined.push((vec![organization, id], queued.or(record.0.err())));
    }
    Ok(examined)
}

async fn filter_changes(conn: &mut Conn, after: After<'_>, limit: i64) -> Result<Vec<Examined>, Failure> {
    type Change = (
        String,
        String,
        Attempt<Col<OrganizationId>>,
        Attempt<Col<FilterId>>,
    );
    let rows: Vec<Change> = filter_changes::table
        .filter(behind_texts!(after, "organization_id, filter_id"))
        .order((filter_changes::organization_id, filter_changes::filter_id))
        .limit(limit)
        .select((
            filter_changes::organization_id,
            filter_changes::filter_id,
            filter_changes::organization_id,
            filter_changes::filter_id,
        ))
        .load(conn)
        .await?;
    let mut examined = Vec::with_capacity(rows.len());
    for (organization, filter, read_organization, read_filter) in rows {
        let key = vec![organization, filter];
        let fault = fault("filter_changes", &key, "organization_id", read_organization)
            .or_else(|| fault("filter_changes", &key, "filter_id", read_filter));
        examined.push((key, fault));
    }
    Ok(examined)
}

async fn feed_position(conn: &mut Conn, after: After<'_>) -> Result<Vec<Examined>, Failure> {
    if !after.text(0).is_empty() {
        // The only row was examined.
        return Ok(Vec::new());
    }
    let position: Option<Attempt<Option<Col<FeedCursor>>>> = feed_position::table
        .find(ONLY_ROW)
        .select(feed_position::position)
        .first(conn)
        .await
        .optional()?;
    let key = vec![ONLY_ROW.to_string()];
    let examined = |read| (key.clone(), fault("feed_position", &key, "position", read));
    Ok(position.map(examined).into_iter().collect())
}

async fn matches(conn: &mut Conn, after: After<'_>, limit: i64) -> Result<Vec<Examined>, Failure> {
    type Match = (
        String,
        String,
        i64,
        i64,
        Attempt<Col<JobId>>,
        Attempt<Col<CampaignId>>,
    );
    let behind = sql::<Bool>("(organization_id, campaign_id, generation, seq) > (")
        .bind::<Text, _>(after.text(0))
        .sql(", ")
        .bind::<Text, _>(after.text(1))
        .sql(", ")
        .bind::<BigInt, _>(after.number(2))
        .sql(", ")
        .bind::<BigInt, _>(after.number(3))
        .sql(")");
    let rows: Vec<Match> = matches::table
        .filter(behind)
        .order((
            matches::organization_id,
            matches::campaign_id,
            matches::generation,
            matches::seq,
        ))
        .limit(limit)
        .select((
            matches::organization_id,
            matches::campaign_id,
            matches::generation,
            matches::seq,
            matches::job_id,
            matches::campaign_id,
        ))
        .load(conn)
        .await?;
    let mut examined = Vec::with_capacity(rows.len());
    for (organization, campaign, generation, seq, job, read_campaign) in rows {
        let key = vec![organization, campaign, generation.to_string(), seq.to_string()];
        let fault = fault("matches", &key, "job_id", job)
            .or_else(|| fault("matches", &key, "campaign_id", read_campaign));
        examined.push((key, fault));
    }
    Ok(examined)
}

async fn lead_attachments(conn: &mut Conn, after: After<'_>, limit: i64) -> Result<Vec<Examined>, Failure> {
    let behind = sql::<Bool>("(organization_id, lead_id, position) > (")
        .bind::<Text, _>(after.text(0))
        .sql(", ")
        .bind::<Text, _>(after.text(1))
        .sql(", ")
        .bind::<BigInt, _>(after.number(2))
        .sql(")");
    let rows: Vec<(String, String, i64, Attempt<Col<LeadAttachment>>)> = lead_attachments::table
        .filter(behind)
        .order((
            lead_attachments::organization_id,
            lead_attachments::lead_id,
            lead_attachments::position,
        ))
        .limit(limit)
        .select((
            lead_attachments::organization_id,
            lead_attachments::lead_id,
            lead_attachments::position,
            lead_attachments::attachment,
        ))
        .load(conn)
        .await?;
    let mut examined = Vec::with_capacity(rows.len());
    for (organization, lead, position, read) in rows {
        let key = vec![organization, lead, position.to_string()];
        let fault = fault("lead_attachments", &key, "attachment", read);
        examined.push((key, fault));
    }
    Ok(examined)
}

async fn webhook_endpoints(
    conn: &mut Conn,
    sealer: &Sealer,
    after: After<'_>,
    limit: i64,
) -> Result<Vec<Examined>, Failure> {
    type Endpoint = (String, String, Tried<WebhookEndpoint>, Tried<StoredSecrets>);
    let rows: Vec<Endpoint> = webhook_endpoints::table
        .filter(behind_texts!(after, "organization_id, id"))
        .order((webhook_endpoints::organization_id, webhook_endpoints::id))
        .limit(limit)
        .select((
            webhook_endpoints::organization_id,
            webhook_endpoints::id,
            Tried::<WebhookEndpoint>::as_select(),
            Tried::<StoredSecrets>::as_select(),
        ))
        .load(conn)
        .await?;
    let mut examined = Vec::with_capacity(rows.len());
    for (organization, id, endpoint, secrets) in rows {
        let opened = endpoint
            .0
            .and_then(|endpoint| secrets.0?.open(sealer, &organization, &endpoint.id));
        examined.push((vec![organization, id], opened.err()));
    }
    Ok(examined)
}

async fn bidder_accounts(
    conn: &mut Conn,
    sealer: &Sealer,
    after: After<'_>,
    limit: i64,
) -> Result<Vec<Examined>, Failure> {
    type Account = (String, String, Tried<StoredAccount>, Tried<AccountSummary>);
    let rows: Vec<Account> = bidder_accounts::table
        .filter(behind_texts!(after, "organization_id, id"))
        .order((bidder_accounts::organization_id, bidder_accounts::id))
        .limit(limit)
        .select((
            bidder_accounts::organization_id,
            bidder_accounts::id,
            Tried::<StoredAccount>::as_select(),
            Tried::<AccountSummary>::as_select(),
        ))
        .load(conn)
        .await?;
    let mut examined = Vec::with_capacity(rows.len());
    for (organization, id, account, summary) in rows {
        let account = Tried(account.0.and_then(|account| account.open(sealer, &organization)));
        examined.push((vec![organization, id], first_fault!(account, summary)));
    }
    Ok(examined)
}

/// Defines the inspection of a table by its organization and id: the records that are read of a row.
macro_rules! inspect_records {
    ($($table:ident by $id:ident $columns:literal: $($name:ident $record:ty),+;)+) => {$(
        async fn $table(conn: &mut Conn, after: After<'_>, limit: i64) -> Result<Vec<Examined>, Failure> {
            let rows: Vec<(String, String, $(Tried<$record>),+)> = $table::table
                .filter(behind_texts!(after, $columns))
                .order(($table::organization_id, $table::$id))
                .limit(limit)
                .select(($table::organization_id, $table::$id, $(Tried::<$record>::as_select()),+))
                .load(conn)
                .await?;
            let mut examined = Vec::with_capacity(rows.len());
            for (organization, id, $($name),+) in rows {
                examined.push((vec![organization, id], first_fault!($($name),+)));
            }
            Ok(examined)
        }
    )+};
}

inspect_records! {
    api_keys by id "organization_id, id": key ApiKeyRecord;
    campaigns by id "organization_id, id": campaign CampaignRecord;
    leads by id "organization_id, id": lead Lead;
    automatic_bids by lead_id "organization_id, lead_id": intent AutomaticBidIntent;
    activities by id "organization_id, id": activity Activity;
    one_time_links by id "organization_id, id": link StoredLink;
    personal_tokens by id "organization_id, id": token PersonalTokenRecord;
}
