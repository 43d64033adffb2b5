//! Records of the domain as rows: which field stands in which column.
//!
//! `columns!` lists them once for each record, and derives both directions from the list. A query selects
//! `Row::<Lead>::as_select()`; `lead.columns()?` are the values for an `INSERT` or a `SET`. A row that cannot be read
//! fails its query with an error that names the row and the column. A query for several rows, of which one must not be
//! in the way of the others, selects `Tried::<Lead>::as_select()` instead.

use bidloop_domain::model::{
    AccountId, AccountSummary, Activity, Actor, ApiKeyRecord, BidRecord, Campaign, CampaignId, DeliveryId,
    EmailKey, EndpointId, EventKind, Lead, LeadId, LinkId, LinkKind, MemberRole, NewBid, OneTimeLink,
    OrganizationId, Person, PersonalTokenRecord, QueuedBid, Secret, SessionTimes, Subscription, Timestamp,
    TraceParent, WebhookEndpoint, WebhookSecret,
};
use bidloop_domain::port::{
    AccountRecord, AutomaticBidIntent, Backfill, BidSummary, BilledRecord, CampaignRecord, FilterRecord,
    OrganizationRecord, PendingDelivery, Quarantine, StoredFilter, StoredJob, StoredPerson, UnreadableRow,
    WaitingBid, WebhookRecord, WebhookUrl,
};
use diesel::backend::Backend;
use diesel::deserialize::{self, FromStaticSqlRow, Queryable};
use diesel::dsl::{Eq, SqlTypeOf};
use diesel::expression::Selectable;
use diesel::prelude::*;

use crate::batch::Batch;
use crate::columns::{Attempt, ColumnType, InColumn};
use crate::failure::Failure;
use crate::schema::{
    activities, api_keys, automatic_bids, bidder_accounts, bids, billed_subscriptions, campaigns, deliveries,
    filters, jobs, leads, memberships, one_time_links, organizations, people, personal_tokens, sessions,
    webhook_endpoints,
};
use crate::sealing::{Place, Sealer};

/// A record in the result of a query.
#[derive(Debug, Clone)]
pub(crate) struct Row<T>(pub(crate) T);

/// A record in the result of a query, or the row that cannot be read as one.
#[derive(Debug, Clone)]
pub(crate) struct Tried<T>(pub(crate) Result<T, UnreadableRow>);

impl<T> Tried<T> {
    /// The record. A row that cannot be read is set aside.
    pub(crate) fn or_aside(self, quarantine: &Quarantine) -> Option<T> {
        self.0.inspect_err(|row| quarantine.set_aside(row)).ok()
    }

    /// The record, without which the work fails. A row that cannot be read is set aside.
    pub(crate) fn required(self, quarantine: &Quarantine) -> Result<T, Failure> {
        self.0.map_err(|row| {
            quarantine.set_aside(&row);
            Failure::corrupt(row.to_string())
        })
    }
}

/// A record that can be written.
pub(crate) trait Columns {
    /// An assignment for each column.
    type Values<'v>
    where
        Self: 'v;

    /// The columns with the record's values.
    fn columns(&self) -> Result<Self::Values<'_>, Failure>;

    /// Adds the columns to a batch, with the record that `of` finds in each row.
    fn add_columns<'r, R>(
        batch: Batch<'r, R>,
        of: impl Fn(&'r R) -> &'r Self + Copy,
    ) -> Result<Batch<'r, R>, Failure>
    where
        Self: 'r;
}

/// What is read from the row of a record, column by column.
pub(crate) trait RawRow {
    type Raw;
}

/// A queued delivery, with all that sending or ending it needs.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) organization_id: OrganizationId,
    pub(crate) id: DeliveryId,
    pub(crate) endpoint_id: EndpointId,
    pub(crate) campaign_id: CampaignId,
    pub(crate) lead_id: LeadId,
    pub(crate) event: EventKind,
    pub(crate) data: Option<String>,
    pub(crate) created_at: Timestamp,
    /// Whether a person tries the endpoint with it.
    pub(crate) is_test: bool,
    /// Who had it sent at once; `None` for the service.
    pub(crate) sent_by: Option<Actor>,
    /// The trace that it belongs to.
    pub(crate) trace_parent: Option<TraceParent>,
}

/// An endpoint as the sender needs it.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) id: EndpointId,
    pub(crate) url: String,
    pub(crate) events: Vec<EventKind>,
    pub(crate) active: bool,
    pub(crate) secrets: StoredSecrets,
}

/// A membership apart from whose it is.
#[derive(Debug, Clone)]
pub(crate) struct StoredMembership {
    pub(crate) role: MemberRole,
    pub(crate) last_seen_at: Option<Timestamp>,
}

/// A one-time link as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct StoredLink {
    organization_id: OrganizationId,
    id: LinkId,
    kind: LinkKind,
    email_key: EmailKey,
    email: String,
    name: String,
    role: MemberRole,
    made_by: EmailKey,
    created_at: Timestamp,
    expires_at: Timestamp,
}

impl From<StoredLink> for OneTimeLink {
    fn from(link: StoredLink) -> Self {
        Self {
            id: link.id,
            organization_id: link.organization_id,
            kind: link.kind,
            person: Person {
                key: link.email_key,
                email: link.email,
                name: link.name,
            },
            role: link.role,
            made_by: link.made_by,
            created_at: link.created_at,
            expires_at: link.expires_at,
        }
    }
}

impl From<&OneTimeLink> for StoredLink {
    fn from(link: &OneTimeLink) -> Self {
        let link = link.clone();
        Self {
            organization_id: link.organization_id,
            id: link.id,
            kind: link.kind,
            email_key: link.person.key,
            email: link.person.email,
            name: link.person.name,
            role: link.role,
            made_by: link.made_by,
            created_at: link.created_at,
            expires_at: link.expires_at,
        }
    }
}

/// A bidder account, its token as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct StoredAccount {
    id: AccountId,
    name: String,
    token: Secret<String>,
    connected: bool,
}

impl StoredAccount {
    pub(crate) fn seal(
        account: &AccountRecord,
        sealer: &Sealer,
        organization: &OrganizationId,
    ) -> Result<Self, Failure> {
        let place = Place::token(organization.as_str(), account.id.as_str());
        Ok(Self {
            id: account.id.clone(),
            name: account.name.clone(),
            token: sealer.seal(place, account.token.expose())?,
            connected: account.connected,
        })
    }

    pub(crate) fn open(self, sealer: &Sealer, organization: &str) -> Result<AccountRecord, UnreadableRow> {
        let token = sealer
            .open_token(Place::token(organization, self.id.as_str()), &self.token)
            .map_err(|why| unreadable_token(organization, self.id.as_str(), &why))?;
        Ok(AccountRecord {
            id: self.id,
            name: self.name,
            token,
            connected: self.connected,
        })
    }
}

/// The row of an account whose token cannot be opened.
pub(crate) fn unreadable_token(organization: &str, account: &str, why: &str) -> UnreadableRow {
    let why = format_args!("token cannot be read: {why}");
    UnreadableRow::of_organization("bidder_accounts", organization, account, why)
}

/// What an endpoint's deliveries are signed with, as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct StoredSecrets {
    secret: Secret<String>,
    previous_secret: Option<Secret<String>>,
    previous_secret_until: Option<Timestamp>,
}

impl StoredSecrets {
    pub(crate) fn seal(
        webhook: &WebhookRecord,
        sealer: &Sealer,
        organization: &OrganizationId,
    ) -> Result<Self, Failure> {
        let (organization, id) = (organization.as_str(), webhook.endpoint.id.as_str());
        let (previous_secret, previous_secret_until) = webhook.previous_secret.clone().unzip();
        let previous_secret = previous_secret
            .map(|secret| sealer.seal(Place::previous_secret(organization, id), &secret.expose()))
            .transpose()?;
        Ok(Self {
            secret: sealer.seal(Place::secret(organization, id), &webhook.secret.expose())?,
            previous_secret,
            previous_secret_until,
        })
    }

    pub(crate) fn open(
        &self,
        sealer: &Sealer,
        organization: &str,
        endpoint: &EndpointId,
    ) -> Result<Secrets, UnreadableRow> {
        let id = endpoint.as_str();
        let open = |field: &str, place, stored: &Secret<String>| {
            sealer.open_webhook_secret(place, stored).map_err(|why| {
                let why = format_args!("{field} cannot be read: {why}");
                UnreadableRow::of_organization("webhook_endpoints", organization, id, why)
            })
        };
        let previous = self.previous_secret.as_ref();
        Ok(Secrets {
            secret: open("secret", Place::secret(organization, id), &self.secret)?,
            previous_secret: previous
                .map(|stored| {
                    open(
                        "previous_secret",
                        Place::previous_secret(organization, id),
                        stored,
                    )
                })
                .transpose()?,
            previous_secret_until: self.previous_secret_until,
        })
    }
}

/// What an endpoint's deliveries are signed with.
#[derive(Debug, Clone)]
pub(crate) struct Secrets {
    secret: WebhookSecret,
    previous_secret: Option<WebhookSecret>,
    previous_secret_until: Option<Timestamp>,
}

impl Secrets {
    pub(crate) fn webhook(self, endpoint: WebhookEndpoint) -> WebhookRecord {
        WebhookRecord {
            endpoint,
            secret: self.secret,
            previous_secret: self.previous_secret.zip(self.previous_secret_until),
        }
    }

    /// The secrets that sign at `now`: during a rotation both (decision C3).
    pub(crate) fn at(self, now: Timestamp) -> Vec<WebhookSecret> {
        let previous = self.previous_secret;
        let previous = previous.filter(|_| self.previous_secret_until.is_some_and(|until| now < until));
        [self.secret].into_iter().chain(previous).collect()
    }
}

type Read<C> = <SqlTypeOf<C> as ColumnType>::Read;
type Written<'v, C> = <SqlTypeOf<C> as ColumnType>::Written<'v>;

/// The column of a field: it has the field's name unless another one is given.
macro_rules! column {
    ($table:ident, $field:ident) => {
        $table::$field
    };
    ($table:ident, $field:ident, $column:ident) => {
        $table::$column
    };
}

/// `columns! { Record in table by key { fields } }`: a field stands in the column of its name, or `as` another one.
/// `parts` are fields that are records themselves; no column holds the `empty` ones. The key, of one or two columns,
/// names a row that cannot be read.
macro_rules! columns {
    (
        $record:ident in $table:ident by $($key:ident)/+ { $($field:ident $(as $column:ident)?),+ $(,)? }
        $(parts { $($part:ident: $part_record:ident),+ })?
        $(empty { $($empty:ident),+ })?
    ) => {
        impl<DB: Backend> Selectable<DB> for Tried<$record> {
            type SelectExpression = (
                ($($table::$key,)+),
                $(column!($table, $field $(, $column)?),)+
                $($(<Tried<$part_record> as Selectable<DB>>::SelectExpression,)+)?
            );

            fn construct_selection() -> Self::SelectExpression {
                (
                    ($($table::$key,)+),
                    $(column!($table, $field $(, $column)?),)+
                    $($(<Tried<$part_record> as Selectable<DB>>::construct_selection(),)+)?
                )
            }
        }

        impl<DB: Backend> Queryable<SqlTypeOf<<Self as Selectable<DB>>::SelectExpression>, DB> for Tried<$record>
        where
            <Self as RawRow>::Raw: FromStaticSqlRow<SqlTypeOf<<Self as Selectable<DB>>::SelectExpression>, DB>,
        {
            type Row = <Self as RawRow>::Raw;

            fn build((key, $($field,)+ $($($part,)+)?): Self::Row) -> deserialize::Result<Self> {
                let read = || -> Result<$record, UnreadableRow> {
                    Ok($record {
                        $($field: $field.0
                            .and_then(InColumn::<SqlTypeOf<column!($table, $field $(, $column)?)>>::read)
                            .map_err(|why| unreadable(stringify!($table), &key, stringify!($field), &why))?,)+
                        $($($part: $part.0?,)+)?
                        $($($empty: Default::default(),)+)?
                    })
                };
                Ok(Self(read()))
            }
        }

        // A key is read as it is, so that a row that a left join does not find is told from one that cannot be read.
        impl RawRow for Tried<$record> {
            type Raw = (
                ($(Read<$table::$key>,)+),
                $(Attempt<Read<column!($table, $field $(, $column)?)>>,)+
                $($(Tried<$part_record>,)+)?
            );
        }

        impl<DB: Backend> Selectable<DB> for Row<$record> {
            type SelectExpression = <Tried<$record> as Selectable<DB>>::SelectExpression;

            fn construct_selection() -> Self::SelectExpression {
                <Tried<$record> as Selectable<DB>>::construct_selection()
            }
        }

        impl<DB: Backend> Queryable<SqlTypeOf<<Self as Selectable<DB>>::SelectExpression>, DB> for Row<$record>
        where
            Tried<$record>: Queryable<SqlTypeOf<<Self as Selectable<DB>>::SelectExpression>, DB>,
        {
            type Row =
                <Tried<$record> as Queryable<SqlTypeOf<<Self as Selectable<DB>>::SelectExpression>, DB>>::Row;

            fn build(row: Self::Row) -> deserialize::Result<Self> {
                let Tried(read) = Queryable::<SqlTypeOf<<Self as Selectable<DB>>::SelectExpression>, DB>::build(row)?;
                Ok(Self(read.map_err(|row| row.to_string())?))
            }
        }

        impl Columns for $record {
            type Values<'v> = (
                $(Eq<column!($table, $field $(, $column)?), Written<'v, column!($table, $field $(, $column)?)>>,)+
                $($(<$part_record as Columns>::Values<'v>,)+)?
            );

            fn columns(&self) -> Result<Self::Values<'_>, Failure> {
                Ok((
                    $(column!($table, $field $(, $column)?).eq(
                        InColumn::<SqlTypeOf<column!($table, $field $(, $column)?)>>::written(&self.$field)?
                    ),)+
                    $($(self.$part.columns()?,)+)?
                ))
            }

            fn add_columns<'r, R>(
                batch: Batch<'r, R>,
                of: impl Fn(&'r R) -> &'r Self + Copy,
            ) -> Result<Batch<'r, R>, Failure>
            where
                Self: 'r,
            {
                $(let batch = batch.try_with(column!($table, $field $(, $column)?), |row| {
                    InColumn::<SqlTypeOf<column!($table, $field $(, $column)?)>>::written(&of(row).$field)
                })?;)+
                $($(let batch = <$part_record as Columns>::add_columns(batch, |row| &of(row).$part)?;)+)?
                Ok(batch)
            }
        }
    };
}

/// The columns of a primary key, as read.
trait Key {
    /// The ids, with slashes between them.
    fn text(&self) -> String;
}

impl<A: AsRef<str>> Key for (A,) {
    fn text(&self) -> String {
        self.0.as_ref().to_owned()
    }
}

impl<A: AsRef<str>, B: AsRef<str>> Key for (A, B) {
    fn text(&self) -> String {
        format!("{}/{}", self.0.as_ref(), self.1.as_ref())
    }
}

fn unreadable(table: &'static str, key: &impl Key, field: &str, why: &str) -> UnreadableRow {
    UnreadableRow::new(table, key.text(), format_args!("{field} cannot be read: {why}"))
}

columns! { StoredAccount in bidder_accounts by organization_id/id { id, name, token, connected } }

columns! { AccountSummary in bidder_accounts by organization_id/id { id, connected, profile_hourly_rate } }

columns! { Activity in activities by organization_id/id {
    id, at, organization_id, campaign_id, lead_id, kind, outcome, http_status, dry_run, message, details,
} parts { actor: Actor } }

columns! { Actor in activities by organization_id/id { kind as actor_kind, id as actor_id, name as actor_name } }

columns! { ApiKeyRecord in api_keys by organization_id/id {
    id, organization_id, name, created_at, last_used_at, expires_at, revoked_at,
} }

columns! { AutomaticBidIntent in automatic_bids by organization_id/lead_id { organization_id, campaign_id, lead_id } }

columns! { Backfill in campaigns by organization_id/id {
    organization_id, campaign_id as id, campaign_revision as revision,
} empty { filters } }

columns! { BidRecord in bids by organization_id/id {
    id, account_id, status, queued_at, deadline, attempts, answer_outstanding, proposal, config, attachments, reason,
    proposal_id, submitted_at, connects_spent,
} }

columns! { BidSummary in bids by organization_id/id {
    id, status, queued_at, attempts, next_attempt_at, answer_outstanding, terms, boost_connects, connects_spent,
    submitted_at, ended_at,
} }

columns! { BilledRecord in billed_subscriptions by id { id, organization_id, events } }

columns! { Campaign in campaigns by organization_id/id {
    organization_id, id, name, mode, state, bidding_config, proposal,
} parts { subscription: Subscription } empty { account } }

columns! { CampaignRecord in campaigns by organization_id/id {
    id, name, mode, state, account_id, bidding_config, proposal, attachments,
} empty { filters } }

columns! { Delivery in deliveries by organization_id/id {
    organization_id, id, endpoint_id, campaign_id, lead_id, event, data, created_at, is_test,
    sent_by, trace_parent,
} }

columns! { Endpoint in webhook_endpoints by organization_id/id { id, url, events, active } parts { secrets: StoredSecrets } }

columns! { FilterRecord in filters by organization_id/id { id, name, body } }

columns! { Lead in leads by organization_id/id {
    id, organization_id, campaign_id, job_id, created_at, status, reason, rejection_reason, proposal_id,
    bidding_config,
} }

columns! { NewBid in bids by organization_id/id {
    id, organization_id, campaign_id, lead_id, job_id, cover_letter, answers, config, queued_at, deadline,
    trace_parent,
} empty { posted_at } }

columns! { OrganizationRecord in organizations by id { id, name } parts { subscription: Subscription }
    empty { users, api_keys, webhooks, accounts, campaigns }
}

columns! { PendingDelivery in deliveries by organization_id/id { organization_id, id, endpoint_id } }

columns! { QueuedBid in bids by organization_id/id {
    id, organization_id, campaign_id, lead_id, job_id, account_id, cover_letter, answers, config, attachments,
    queued_at, deadline, attempts, proposal, answer_outstanding, trace_parent,
} }

columns! { StoredSecrets in webhook_endpoints by organization_id/id { secret, previous_secret, previous_secret_until } }

columns! { StoredFilter in filters by organization_id/id { organization_id, campaign_id, id, body } }

columns! { StoredJob in jobs by id { seq, id, json } }

columns! { Subscription in organizations by id {
    status as subscription_status, collection_paused, period_start, period_end, renewal, proposal_limit, customer,
} }

columns! { Person in people by email_key { key as email_key, email, name } }

columns! { StoredMembership in memberships by organization_id/email_key { role, last_seen_at } }

columns! { StoredLink in one_time_links by organization_id/id {
    organization_id, id, kind, email_key, email, name, role, made_by, created_at, expires_at,
} }

columns! { PersonalTokenRecord in personal_tokens by organization_id/id {
    organization_id, id, user as email_key, name, scope, created_at, last_used_at, expires_at, revoked_at,
} }

columns! { StoredPerson in people by email_key { password_hash } parts { person: Person } }

columns! { SessionTimes in sessions by organization_id/token_hash { created_at, last_used_at } }

columns! { WaitingBid in bids by organization_id/id {
    id, organization_id, campaign_id, lead_id, account_id, queued_at, deadline, attempts, answer_outstanding,
} empty { account } }

columns! { WebhookUrl in webhook_endpoints by organization_id/id { organization_id, id, url } }

columns! { WebhookEndpoint in webhook_endpoints by organization_id/id { id, campaign_id, url, events, active, created_at } }
