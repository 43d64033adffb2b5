//! What the store has for a group of decisions. The locks are taken in the order that all transactions take them in.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bidloop_domain::model::{
    AccountId, AccountSummary, ApiKeyHash, ApiKeyRecord, CampaignId, Lead, LeadAttachment, LeadId,
    OrganizationId, ProposalFile, Subscription,
};

use super::super::super::lists::match_list::CampaignKey;
use super::super::super::prelude::*;
use super::super::super::quota::{Usage, UsageRow};
use super::Decision;

/// What the store has for a group. Leads, organizations, keys, usages and campaigns are locked, in this order.
pub(super) struct Found {
    pub(super) leads: HashMap<LeadId, FoundLead>,
    pub(super) subscriptions: HashMap<OrganizationId, Subscription>,
    pub(super) keys: HashMap<ApiKeyHash, ApiKeyRecord>,
    /// By when their periods start.
    pub(super) usages: HashMap<(OrganizationId, i64), Usage>,
    pub(super) campaigns: HashMap<CampaignKey, FoundCampaign>,
    pub(super) accounts: HashMap<(OrganizationId, AccountId), AccountSummary>,
    pub(super) uploads: HashMap<LeadId, Vec<ProposalFile>>,
}

pub(super) struct FoundLead {
    pub(super) lead: Lead,
    /// Where its row stands.
    pub(super) place: String,
}

pub(super) struct FoundCampaign {
    pub(super) served: i64,
    pub(super) last: i64,
    pub(super) account: Option<AccountId>,
    pub(super) files: Vec<ProposalFile>,
}

type SubscriptionRow = (Col<OrganizationId>, Row<Subscription>);
type KeyRow = (Col<ApiKeyHash>, Row<ApiKeyRecord>);
/// With the served generation and the last one.
type CampaignRow = (
    Col<OrganizationId>,
    Col<CampaignId>,
    i64,
    i64,
    Option<Col<AccountId>>,
    Col<Vec<ProposalFile>>,
);
type AccountRow = (Col<OrganizationId>, Row<AccountSummary>);
type UploadRow = (Col<LeadId>, Col<LeadAttachment>);
type Loaded = (
    Vec<(Row<Lead>, String)>,
    Vec<SubscriptionRow>,
    Vec<KeyRow>,
    Vec<Usage>,
    Vec<CampaignRow>,
    Vec<AccountRow>,
    Vec<UploadRow>,
);

impl Found {
    /// Asks for everything at once, so that it takes one way to the server. The locks are taken in the statements' order.
    pub(super) async fn of(conn: &mut Conn, group: &[Arc<Decision>]) -> Result<Self, Failure> {
        let decisions = || group.iter().map(|decision| &**decision);
        let bids = || decisions().filter_map(Decision::bid);
        let lead_ids: BTreeSet<&str> = decisions().map(|one| one.lead().as_str()).collect();
        let organizations: BTreeSet<&str> = decisions().map(|one| one.organization().as_str()).collect();
        let campaign_keys: BTreeSet<(&str, &str)> = decisions()
            .map(|one| (one.organization().as_str(), one.campaign().as_str()))
            .collect();
        let hashes: BTreeSet<&str> = decisions()
            .filter_map(|one| one.key().map(ApiKeyHash::as_str))
            .collect();
        // What only bids need is asked for them alone.
        let bidding: BTreeSet<&str> = bids().map(|bid| bid.organization_id.as_str()).collect();
        let bid_on: BTreeSet<(&str, &str)> = bids()
            .map(|bid| (bid.organization_id.as_str(), bid.lead_id.as_str()))
            .collect();
        let last = bids().map(|bid| bid.queued_at).max().unwrap_or_default();

        // Found by their ids alone: see `pages`.
        let leads = leads::table
            .filter(one_of!(leads::id, lead_ids))
            .order((leads::organization_id, leads::id))
            .select((Row::<Lead>::as_select(), place_of!("leads")));
        let subscriptions = organizations::table
            .filter(one_of!(organizations::id, &organizations))
            .order(organizations::id)
            .select((organizations::id, Row::<Subscription>::as_select()));
        let keys = api_keys::table
            .filter(one_of!(api_keys::key_hash, hashes))
            .filter(api_keys::revoked_at.is_null())
            .order((api_keys::organization_id, api_keys::id))
            .select((api_keys::key_hash, Row::<ApiKeyRecord>::as_select()));
        let usages = newest_usages!(&bidding, last.as_millis());
        // No match of them comes or goes until the transaction ends.
        let campaigns = campaigns::table
            .filter(pair_of!("campaigns.organization_id, campaigns.id", campaign_keys))
            .order((campaigns::organization_id, campaigns::id))
            .select((
                campaigns::organization_id,
                campaigns::id,
                campaigns::generation,
                campaigns::last_generation,
                campaigns::account_id,
                campaigns::attachments,
            ));
        let accounts = bidder_accounts::table
            .filter(one_of!(bidder_accounts::organization_id, &bidding))
            .select((
                bidder_accounts::organization_id,
                Row::<AccountSummary>::as_select(),
            ));
        let uploads = lead_attachments::table
            .filter(pair_of!(
                "lead_attachments.organization_id, lead_attachments.lead_id",
                bid_on
            ))
            .order((lead_attachments::lead_id, lead_attachments::position))
            .select((lead_attachments::lead_id, lead_attachments::attachment));

        let loaded: Loaded = load_together!(
            conn,
            for_update!(leads),
            for_key_share!(subscriptions),
            for_key_share!(keys),
            usages,
            for_share!(campaigns),
            accounts,
            uploads,
        )?;
        let (leads, subscriptions, keys, usages, campaigns, accounts, files) = loaded;
        let mut uploads: HashMap<LeadId, Vec<ProposalFile>> = HashMap::new();
        for (Col(lead), Col(file)) in files {
            uploads.entry(lead).or_default().push(file.into());
        }
        Ok(Self {
            leads: leads
                .into_iter()
                .map(|(Row(lead), place)| (lead.id.clone(), FoundLead { lead, place }))
                .collect(),
            subscriptions: subscriptions
                .into_iter()
                .map(|(organization, Row(subscription))| (organization.0, subscription))
                .collect(),
            keys: keys.into_iter().map(|(hash, Row(key))| (hash.0, key)).collect(),
            usages: usages
                .into_iter()
                .map(|usage| ((usage.organization_id.0.clone(), usage.period_start), usage))
                .collect(),
            campaigns: campaigns.into_iter().map(campaign).collect(),
            accounts: accounts
                .into_iter()
                .map(|(organization, Row(account))| ((organization.0, account.id.clone()), account))
                .collect(),
            uploads,
        })
    }
}

fn campaign((organization, id, served, last, account, files): CampaignRow) -> (CampaignKey, FoundCampaign) {
    let found = FoundCampaign {
        served,
        last,
        account: account.map(|account| account.0),
        files: files.0,
    };
    ((organization.0, id.0), found)
}
