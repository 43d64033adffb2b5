//! What the console shows of an organization on its own pages: indexed reads, no secret, no lock.

use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use bidloop_domain::bidding::{BillingPeriod, current_period};
use bidloop_domain::model::{
    AccountId, CampaignId, CampaignMode, CampaignParts, CampaignState, Connects, DeliveryState,
    OrganizationId, ProposalTemplate, Subscription, Timestamp, WebhookEndpoint,
};
use bidloop_domain::port::{
    AccountFacts, AccountReading, CampaignFacts, CampaignSign, EndpointFacts, InstallationState,
    OrganizationFacts, OrganizationName, OrganizationSigns, OrganizationSummary, OverviewStore, ShellFacts,
    StoreError,
};
use diesel::dsl::sql;
use diesel::sql_types::Bool;

use super::installation;
use super::locks::ONLY_ROW;
use super::prelude::*;

/// How many of an endpoint's last deliveries are told.
const LAST_DELIVERIES: i64 = 20;
/// How many earlier billing periods are told.
const PAST_PERIODS: i64 = 12;

#[async_trait]
impl OverviewStore for Store {
    async fn organizations(
        &self,
        after: Option<&OrganizationId>,
        limit: u32,
    ) -> Result<Vec<OrganizationName>, StoreError> {
        let mut after = after.map_or_else(String::new, ToString::to_string);
        self.read(async move |conn: &mut Conn| {
            loop {
                let rows: Vec<(String, Attempt<Col<OrganizationId>>, Attempt<Col<String>>)> =
                    organizations::table
                        .filter(organizations::id.gt(after.as_str()))
                        .order(organizations::id)
                        .limit(i64::from(limit))
                        .select((organizations::id, organizations::id, organizations::name))
                        .load(conn)
                        .await?;
                let Some((last, ..)) = rows.last() else {
                    return Ok(Vec::new());
                };
                after.clone_from(last);
                let read = rows.into_iter().filter_map(|(_, id, name)| {
                    let (Col(id), Col(name)) = (id.0.ok()?, name.0.ok()?);
                    Some(OrganizationName { id, name })
                });
                let read: Vec<OrganizationName> = read.collect();
                // A page of rows that cannot be read hides nothing behind it.
                if !read.is_empty() {
                    return Ok(read);
                }
            }
        })
        .await
    }

    async fn summaries(
        &self,
        after: Option<&OrganizationId>,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<OrganizationSummary>, StoreError> {
        let mut after = after.map_or_else(String::new, ToString::to_string);
        let quarantine = self.quarantine.clone();
        self.read(async move |conn: &mut Conn| {
            loop {
                let (summaries, last) =
                    installation::summaries(conn, &quarantine, after, i64::from(limit), now).await?;
                // A page of rows that cannot be read hides nothing behind it.
                match last {
                    Some(last) if summaries.is_empty() => after = last,
                    _ => return Ok(summaries),
                }
            }
        })
        .await
    }

    async fn installation_state(&self, now: Timestamp) -> Result<InstallationState, StoreError> {
        self.read(async move |conn: &mut Conn| installation::state(conn, now).await)
            .await
    }

    async fn shell(
        &self,
        organization: &OrganizationId,
        now: Timestamp,
    ) -> Result<Option<ShellFacts>, StoreError> {
        let (organization, quarantine) = (organization.clone(), self.quarantine.clone());
        self.read(async move |conn: &mut Conn| shell(conn, &quarantine, &organization, now).await)
            .await
    }

    async fn facts(
        &self,
        organization: &OrganizationId,
        now: Timestamp,
    ) -> Result<Option<OrganizationFacts>, StoreError> {
        let (organization, quarantine) = (organization.clone(), self.quarantine.clone());
        self.read(async move |conn: &mut Conn| {
            let Some(shell) = shell(conn, &quarantine, &organization, now).await? else {
                return Ok(None);
            };
            let endpoints = endpoints(conn, &quarantine, &organization).await?;
            let accounts = accounts(conn, &organization).await?;
            let campaigns = campaigns(conn, &organization, &shell, &endpoints, &accounts).await?;
            let past_periods = past_periods(conn, &organization, shell.period).await?;
            Ok(Some(OrganizationFacts {
                shell,
                campaigns,
                endpoints,
                accounts,
                past_periods,
            }))
        })
        .await
    }

    async fn signs(&self, organizations: &[OrganizationId]) -> Result<Vec<OrganizationSigns>, StoreError> {
        let organizations = organizations.to_vec();
        self.read(async move |conn: &mut Conn| signs(conn, &organizations).await)
            .await
    }
}

async fn signs(conn: &mut Conn, organizations: &[OrganizationId]) -> Result<Vec<OrganizationSigns>, Failure> {
    let newest = activities::table
        .filter(activities::organization_id.eq(organizations::id))
        .select(diesel::dsl::max(activities::at))
        .single_value();
    let known: Vec<(Attempt<Col<OrganizationId>>, Option<i64>)> = organizations::table
        .filter(one_of!(
            organizations::id,
            organizations.iter().map(OrganizationId::as_str)
        ))
        .select((organizations::id, newest))
        .load(conn)
        .await?;
    let totals: Vec<(String, Attempt<Col<CampaignId>>, i64)> = campaigns::table
        .filter(one_of!(
            campaigns::organization_id,
            organizations.iter().map(OrganizationId::as_str)
        ))
        .order((campaigns::organization_id, campaigns::id))
        .select((campaigns::organization_id, campaigns::id, campaigns::match_total))
        .load(conn)
        .await?;
    let mut signs: BTreeMap<OrganizationId, OrganizationSigns> = BTreeMap::new();
    for (id, newest) in known {
        let Ok(Col(id)) = id.0 else { continue };
        let found = OrganizationSigns {
            organization_id: id.clone(),
            matches: Vec::new(),
            newest_activity: newest.map(Timestamp::from_millis),
        };
        signs.insert(id, found);
    }
    for (organization, campaign, total) in totals {
        let organization = OrganizationId::parse(&organization).ok();
        let of = organization.and_then(|organization| signs.get_mut(&organization));
        if let (Some(of), Ok(Col(campaign))) = (of, campaign.0) {
            of.matches.push((campaign, u64::try_from(total).unwrap_or(0)));
        }
    }
    Ok(signs.into_values().collect())
}

/// A campaign's columns for its sign; one that cannot be read is set aside by those that act on it.
type SignRow = (
    Attempt<Col<CampaignId>>,
    Attempt<Col<String>>,
    Attempt<Col<CampaignMode>>,
    Attempt<Col<CampaignState>>,
);

async fn shell(
    conn: &mut Conn,
    quarantine: &Quarantine,
    organization: &OrganizationId,
    now: Timestamp,
) -> Result<Option<ShellFacts>, Failure> {
    let row: Option<Tried<Subscription>> = organizations::table
        .find(organization.as_str())
        .select(Tried::<Subscription>::as_select())
        .first(conn)
        .await
        .optional()?;
    let Some(subscription) = row.and_then(|row| row.or_aside(quarantine)) else {
        return Ok(None);
    };
    let period = current_period(&subscription, now);
    let used = used_in(conn, organization, period).await?;
    let rows: Vec<SignRow> = campaigns::table
        .filter(campaigns::organization_id.eq(organization.as_str()))
        .select((campaigns::id, campaigns::name, campaigns::mode, campaigns::state))
        .load(conn)
        .await?;
    let signs = rows.into_iter().filter_map(|(id, name, mode, state)| {
        Some(CampaignSign {
            id: id.0.ok()?.0,
            name: name.0.ok()?.0,
            mode: mode.0.ok()?.0,
            state: state.0.ok()?.0,
        })
    });
    let mut signs: Vec<CampaignSign> = signs.collect();
    signs.sort_by_cached_key(|sign| (sign.name.to_lowercase(), sign.id.clone()));
    let read_at: Option<i64> = feed_position::table
        .find(ONLY_ROW)
        .select(feed_position::read_at)
        .first(conn)
        .await?;
    Ok(Some(ShellFacts {
        campaigns: signs,
        subscription,
        period,
        used,
        feed_read_at: read_at.map(Timestamp::from_millis),
    }))
}

/// The period's counted proposals. A period that nobody has bid in yet is not counted.
pub(super) async fn used_in(
    conn: &mut Conn,
    organization: &OrganizationId,
    period: BillingPeriod,
) -> Result<u64, Failure> {
    let counted = quota_usage::table
        .find((organization.as_str(), period.start.as_millis()))
        .filter(quota_usage::period_end.eq(period.end.as_millis()))
        .select(quota_usage::used);
    let counted: Option<Col<u64>> = counted.first(conn).await.optional()?;
    if let Some(Col(used)) = counted {
        return Ok(used);
    }
    count!(
        conn,
        bids::table
            .filter(bids::organization_id.eq(organization.as_str()))
            .filter(sql::<Bool>("bids.status IN ('queued', 'submitted')"))
            .filter(bids::queued_at.ge(period.start.as_millis()))
            .filter(bids::queued_at.lt(period.end.as_millis()))
    )
}

async fn past_periods(
    conn: &mut Conn,
    organization: &OrganizationId,
    period: BillingPeriod,
) -> Result<Vec<(BillingPeriod, u64)>, Failure> {
    let rows: Vec<(i64, i64, Col<u64>)> = quota_usage::table
        .filter(quota_usage::organization_id.eq(organization.as_str()))
        .filter(quota_usage::period_start.lt(period.start.as_millis()))
        .order(quota_usage::period_start.desc())
        .limit(PAST_PERIODS)
        .select((
            quota_usage::period_start,
            quota_usage::period_end,
            quota_usage::used,
        ))
        .load(conn)
        .await?;
    let periods = rows.into_iter().map(|(start, end, Col(used))| {
        let period = BillingPeriod {
            start: Timestamp::from_millis(start),
            end: Timestamp::from_millis(end),
        };
        (period, used)
    });
    Ok(periods.collect())
}

async fn endpoints(
    conn: &mut Conn,
    quarantine: &Quarantine,
    organization: &OrganizationId,
) -> Result<Vec<EndpointFacts>, Failure> {
    let rows: Vec<(Tried<WebhookEndpoint>, Option<i64>)> = webhook_endpoints::table
        .filter(webhook_endpoints::organization_id.eq(organization.as_str()))
        .select((
            Tried::<WebhookEndpoint>::as_select(),
            webhook_endpoints::previous_secret_until,
        ))
        .load(conn)
        .await?;
    let mut endpoints = Vec::with_capacity(rows.len());
    for (endpoint, until) in rows {
        let Some(endpoint) = endpoint.or_aside(quarantine) else {
            continue;
        };
        let states: Vec<String> = deliveries::table
            .filter(deliveries::organization_id.eq(organization.as_str()))
            .filter(deliveries::endpoint_id.eq(endpoint.id.as_str()))
            .filter(deliveries::ended_at.is_not_null())
            .filter(deliveries::is_test.eq(false))
            .order(deliveries::created_at.desc())
            .limit(LAST_DELIVERIES)
            .select(deliveries::state)
            .load(conn)
            .await?;
        endpoints.push(EndpointFacts {
            endpoint,
            previous_secret_until: until.map(Timestamp::from_millis),
            last: states
                .iter()
                .map(|state| state == DeliveryState::Delivered.as_str())
                .collect(),
        });
    }
    endpoints.sort_by_key(|facts| {
        let endpoint = &facts.endpoint;
        (
            endpoint.campaign_id.is_some(),
            endpoint.created_at,
            endpoint.id.clone(),
        )
    });
    Ok(endpoints)
}

async fn accounts(conn: &mut Conn, organization: &OrganizationId) -> Result<Vec<AccountFacts>, Failure> {
    type AccountRow = (
        Attempt<Col<AccountId>>,
        Attempt<Col<String>>,
        bool,
        Option<f64>,
        Option<i64>,
        Option<i64>,
    );
    let rows: Vec<AccountRow> = bidder_accounts::table
        .filter(bidder_accounts::organization_id.eq(organization.as_str()))
        .select((
            bidder_accounts::id,
            bidder_accounts::name,
            bidder_accounts::connected,
            bidder_accounts::profile_hourly_rate,
            bidder_accounts::connects_balance,
            bidder_accounts::read_at,
        ))
        .load(conn)
        .await?;
    // By the index on those that wait, which are few.
    let queued: Vec<(String, i64, bool)> = bids::table
        .filter(sql::<Bool>("bids.status = 'queued'"))
        .filter(bids::organization_id.eq(organization.as_str()))
        .select((bids::account_id, bids::deadline, bids::answer_outstanding))
        .load(conn)
        .await?;
    let mut accounts: Vec<AccountFacts> = rows
        .into_iter()
        .filter_map(|(id, name, connected, rate, balance, read_at)| {
            let id = id.0.ok()?.0;
            let its_bids = || queued.iter().filter(|(account, ..)| account == id.as_str());
            let reading = read_at.map(|at| AccountReading {
                profile_hourly_rate: rate,
                connects_balance: Connects::new(u64::try_from(balance.unwrap_or(0)).unwrap_or(0)),
                at: Timestamp::from_millis(at),
            });
            let deadlines = its_bids().filter(|(_, _, outstanding)| !outstanding);
            Some(AccountFacts {
                name: name.0.ok()?.0,
                connected,
                reading,
                queued: its_bids().count() as u64,
                first_deadline: deadlines
                    .map(|(_, deadline, _)| Timestamp::from_millis(*deadline))
                    .min(),
                id,
            })
        })
        .collect();
    accounts.sort_by_cached_key(|account| (account.name.to_lowercase(), account.id.clone()));
    Ok(accounts)
}

async fn campaigns(
    conn: &mut Conn,
    organization: &OrganizationId,
    shell: &ShellFacts,
    endpoints: &[EndpointFacts],
    accounts: &[AccountFacts],
) -> Result<Vec<CampaignFacts>, Failure> {
    type PartsRow = (String, Option<String>, Attempt<Col<ProposalTemplate>>);
    let rows: Vec<PartsRow> = campaigns::table
        .filter(campaigns::organization_id.eq(organization.as_str()))
        .select((campaigns::id, campaigns::account_id, campaigns::proposal))
        .load(conn)
        .await?;
    let mut parts: HashMap<String, (Option<String>, bool)> = rows
        .into_iter()
        .map(|(id, account, proposal)| {
            let letter = proposal.0.ok().and_then(|Col(template)| template.cover_letter);
            (id, (account, letter.is_some()))
        })
        .collect();
    let filters: Vec<(String, i64)> = filters::table
        .filter(filters::organization_id.eq(organization.as_str()))
        .group_by(filters::campaign_id)
        .select((filters::campaign_id, diesel::dsl::count_star()))
        .load(conn)
        .await?;
    let filters: HashMap<String, i64> = filters.into_iter().collect();
    let signs = shell.campaigns.iter().map(|sign| {
        let (account, has_cover_letter) = parts.remove(sign.id.as_str()).unwrap_or_default();
        let account_id = account.and_then(|id| AccountId::parse(&id).ok());
        let account = accounts
            .iter()
            .find(|known| Some(&known.id) == account_id.as_ref());
        let filters = filters.get(sign.id.as_str()).copied().unwrap_or(0);
        let mut its_endpoints = endpoints.iter().map(|facts| &facts.endpoint).filter(|endpoint| {
            let scope = endpoint.campaign_id.as_ref();
            scope.is_none_or(|scope| *scope == sign.id)
        });
        CampaignFacts {
            parts: CampaignParts {
                mode: sign.mode,
                has_filter: filters > 0,
                has_job_new_endpoint: its_endpoints.any(WebhookEndpoint::receives_job_new),
                account_connected: account.map(|account| account.connected),
                has_cover_letter,
            },
            sign: sign.clone(),
            account_id,
            filters: u64::try_from(filters).unwrap_or(0),
        }
    });
    Ok(signs.collect())
}
