//! One lead with everything that a decision on it needs.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bidloop_domain::model::{
    AccountId, AccountSummary, BidRecord, Campaign, CampaignId, Lead, LeadAttachment, LeadId, LeadWithJob,
    OrganizationId,
};
use bidloop_domain::port::{LeadContext, LeadLookup};
use diesel::dsl::auto_type;

use super::super::prelude::*;

/// Joins the account that a campaign bids with.
#[auto_type]
pub(crate) fn account_of_campaign() -> _ {
    bidder_accounts::organization_id
        .eq(campaigns::organization_id)
        .and(bidder_accounts::id.nullable().eq(campaigns::account_id))
}

/// Joins the organizations of several campaigns. Their columns are not simply equal: then PostgreSQL may look up the campaigns
/// by their organizations alone, and read all that these have.
#[auto_type]
pub(crate) fn organization_of_campaign() -> _ {
    organizations::id.eq(campaigns::organization_id.concat(""))
}

/// Joins a lead of the campaign's organization. Which campaign's it is, the caller compares: as long as PostgreSQL has no
/// statistics of the table, it takes all leads of a campaign for one row, and would read them in place of the one by its id.
/// Diesel wants the id to be owned where further tables are joined.
#[auto_type]
pub(super) fn lead_of_organization(lead: String) -> _ {
    leads::organization_id
        .eq(campaigns::organization_id)
        .and(leads::id.eq(lead))
}

/// Joins a lead's files.
#[auto_type]
fn files_of_lead() -> _ {
    lead_attachments::organization_id
        .eq(leads::organization_id)
        .and(lead_attachments::lead_id.eq(leads::id))
}

/// The lead and its bid's id, the job, the campaign, the account, and one of the lead's files. There is a row for each
/// file; mostly the lead has none.
type ContextRow = (
    Tried<Lead>,
    Option<String>,
    String,
    Option<Tried<Campaign>>,
    Option<Tried<AccountSummary>>,
    Option<Col<LeadAttachment>>,
);

/// The organization's lead. One statement reads everything but its bid, so that a decision is based on one moment. The
/// campaign is `None` if it was removed.
pub(crate) async fn lead_context(
    conn: &mut Conn,
    quarantine: &Quarantine,
    organization: &OrganizationId,
    lead: &LeadId,
) -> Result<Option<LeadContext>, Failure> {
    let campaign = campaigns::organization_id
        .eq(leads::organization_id)
        .and(campaigns::id.eq(leads::campaign_id));
    let rows: Vec<ContextRow> = leads::table
        .inner_join(jobs::table.on(jobs::id.eq(leads::job_id)))
        .inner_join(organizations::table.on(organizations::id.eq(leads::organization_id)))
        .left_join(campaigns::table.on(campaign))
        .left_join(bidder_accounts::table.on(account_of_campaign()))
        .left_join(lead_attachments::table.on(files_of_lead()))
        .filter(leads::organization_id.eq(organization.as_str()))
        .filter(leads::id.eq(lead.as_str()))
        .order(lead_attachments::position)
        .select((
            Tried::<Lead>::as_select(),
            leads::bid_id,
            jobs::json,
            Option::<Tried<Campaign>>::as_select(),
            Option::<Tried<AccountSummary>>::as_select(),
            lead_attachments::attachment.nullable(),
        ))
        .load(conn)
        .await?;
    with_bid(conn, quarantine, organization, rows).await
}

/// A lead that is asked for.
#[derive(Debug)]
pub(crate) struct LeadKey {
    pub(super) organization: OrganizationId,
    pub(super) campaign: CampaignId,
    pub(super) lead: LeadId,
}

impl LeadKey {
    pub(super) fn of(organization: &OrganizationId, campaign: &CampaignId, lead: &LeadId) -> Self {
        Self {
            organization: organization.clone(),
            campaign: campaign.clone(),
            lead: lead.clone(),
        }
    }

    /// Its campaign's organization and id.
    pub(super) fn campaign_key(&self) -> (&str, &str) {
        (self.organization.as_str(), self.campaign.as_str())
    }

    /// Whether it asks for this lead under the lead's own organization and campaign.
    pub(super) fn is_of(&self, lead: &Lead) -> bool {
        (&self.organization, &self.campaign, &self.lead)
            == (&lead.organization_id, &lead.campaign_id, &lead.id)
    }
}

/// As a [`ContextRow`], but the campaign is there, and the lead may be missing or another campaign's.
type LookUpRow = (
    Option<String>,
    Option<Tried<Lead>>,
    Option<String>,
    Option<String>,
    Tried<Campaign>,
    Option<Tried<AccountSummary>>,
    Option<Col<LeadAttachment>>,
);

/// The campaign's lead, as [`lead_context`] reads it.
pub(super) async fn lead_of_campaign(
    conn: &mut Conn,
    quarantine: &Quarantine,
    key: &LeadKey,
) -> Result<LeadLookup, Failure> {
    let rows: Vec<LookUpRow> = campaigns::table
        .inner_join(organizations::table.on(organizations::id.eq(campaigns::organization_id)))
        .left_join(leads::table.on(lead_of_organization(key.lead.to_string())))
        .left_join(jobs::table.on(jobs::id.eq(leads::job_id)))
        .left_join(bidder_accounts::table.on(account_of_campaign()))
        .left_join(lead_attachments::table.on(files_of_lead()))
        .filter(campaigns::organization_id.eq(key.organization.as_str()))
        .filter(campaigns::id.eq(key.campaign.as_str()))
        .order(lead_attachments::position)
        .select((
            leads::campaign_id.nullable(),
            Option::<Tried<Lead>>::as_select(),
            leads::bid_id.nullable(),
            jobs::json.nullable(),
            Tried::<Campaign>::as_select(),
            Option::<Tried<AccountSummary>>::as_select(),
            lead_attachments::attachment.nullable(),
        ))
        .load(conn)
        .await?;
    if rows.is_empty() {
        return Ok(LeadLookup::CampaignUnknown);
    }
    let rows = rows
        .into_iter()
        .filter(|(of, ..)| of.as_deref() == Some(key.campaign.as_str()))
        .filter_map(|(_, lead, bid_id, job_json, campaign, account, upload)| {
            Some((lead?, bid_id, job_json?, Some(campaign), account, upload))
        });
    let found = with_bid(conn, quarantine, &key.organization, rows.collect()).await?;
    Ok(found.map_or(LeadLookup::LeadUnknown, |found| {
        LeadLookup::Found(Box::new(found))
    }))
}

/// With the campaign's account.
type CampaignRow = (Tried<Campaign>, Option<Col<AccountId>>);
type AccountRow = (Col<OrganizationId>, Tried<AccountSummary>);
type Loaded = (
    Vec<(Tried<Lead>, Option<String>)>,
    Vec<CampaignRow>,
    Vec<AccountRow>,
    Vec<(Col<LeadId>, Col<LeadAttachment>)>,
);

/// Those of the leads that are there and can be read, of the named campaigns, and without a bid. The statements must see one
/// moment. To plan them takes a fifth of the time that one statement over their six tables takes.
pub(super) async fn leads_without_bid(
    conn: &mut Conn,
    quarantine: &Quarantine,
    asked: &[Arc<LeadKey>],
) -> Result<HashMap<LeadId, LeadContext>, Failure> {
    let ids: BTreeSet<&str> = asked.iter().map(|key| key.lead.as_str()).collect();
    let organizations: BTreeSet<&str> = asked.iter().map(|key| key.organization.as_str()).collect();
    let campaign_keys: BTreeSet<(&str, &str)> = asked.iter().map(|key| key.campaign_key()).collect();
    let lead_keys: BTreeSet<(&str, &str)> = asked
        .iter()
        .map(|key| (key.organization.as_str(), key.lead.as_str()))
        .collect();
    // It is planned sooner than a join.
    let job_json = jobs::table
        .filter(jobs::id.eq(leads::job_id))
        .select(jobs::json)
        .single_value();
    let of_leads = leads::table
        .filter(one_of!(leads::id, &ids))
        .filter(leads::bid_id.is_null())
        .select((Tried::<Lead>::as_select(), job_json));
    let of_campaigns = campaigns::table
        .inner_join(organizations::table.on(organization_of_campaign()))
        .filter(pair_of!("campaigns.organization_id, campaigns.id", campaign_keys))
        .select((Tried::<Campaign>::as_select(), campaigns::account_id));
    let of_accounts = bidder_accounts::table
        .filter(one_of!(bidder_accounts::organization_id, &organizations))
        .select((
            bidder_accounts::organization_id,
            Tried::<AccountSummary>::as_select(),
        ));
    let uploads = lead_attachments::table
        .filter(pair_of!(
            "lead_attachments.organization_id, lead_attachments.lead_id",
            lead_keys
        ))
        .order((lead_attachments::lead_id, lead_attachments::position))
        .select((lead_attachments::lead_id, lead_attachments::attachment));
    let loaded: Loaded = load_together!(conn, of_leads, of_campaigns, of_accounts, uploads)?;
    let (lead_rows, campaign_rows, account_rows, uploads) = loaded;

    // A lead of which something cannot be read is left out, so that it is in no other's way.
    let mut accounts = HashMap::with_capacity(account_rows.len());
    for (Col(organization), account) in account_rows {
        if let Some(account) = account.or_aside(quarantine) {
            accounts.insert((organization, account.id.clone()), account);
        }
    }
    let mut campaigns = HashMap::with_capacity(campaign_rows.len());
    for (campaign, account) in campaign_rows {
        let Some(campaign) = campaign.or_aside(quarantine) else {
            continue;
        };
        let organization = campaign.organization_id.clone();
        let named = account.map(|Col(id)| (organization.clone(), id));
        let account = named.as_ref().and_then(|named| accounts.get(named));
        if named.is_none() || account.is_some() {
            let account = account.cloned();
            campaigns.insert(
                (organization, campaign.id.clone()),
                Campaign { account, ..campaign },
            );
        }
    }
    let mut attachments: HashMap<LeadId, Vec<LeadAttachment>> = HashMap::new();
    for (Col(lead), Col(attachment)) in uploads {
        attachments.entry(lead).or_default().push(attachment);
    }
    let mut found = HashMap::with_capacity(lead_rows.len());
    for (lead, job_json) in lead_rows {
        let (Some(lead), Some(job_json)) = (lead.or_aside(quarantine), job_json) else {
            continue;
        };
        let campaign = (lead.organization_id.clone(), lead.campaign_id.clone());
        let Some(campaign) = campaigns.get(&campaign) else {
            continue;
        };
        let context = LeadContext {
            attachments: attachments.remove(&lead.id).unwrap_or_default(),
            campaign: Some(campaign.clone()),
            bid: None,
            lead: LeadWithJob { lead, job_json },
        };
        found.insert(context.lead.lead.id.clone(), context);
    }
    Ok(found)
}

/// What a lead's rows say of it, with its bid.
async fn with_bid(
    conn: &mut Conn,
    quarantine: &Quarantine,
    organization: &OrganizationId,
    rows: Vec<ContextRow>,
) -> Result<Option<LeadContext>, Failure> {
    let Some((mut found, bid_id)) = context(quarantine, rows)? else {
        return Ok(None);
    };
    if let Some(id) = bid_id {
        found.bid = Some(bid_record(conn, quarantine, organization, &id).await?);
    }
    Ok(Some(found))
}

/// What a lead's rows say of it, without its bid, and the bid's id.
fn context(
    quarantine: &Quarantine,
    rows: Vec<ContextRow>,
) -> Result<Option<(LeadContext, Option<String>)>, Failure> {
    let mut rows = rows.into_iter();
    let Some((lead, bid_id, job_json, campaign, account, upload)) = rows.next() else {
        return Ok(None);
    };
    let lead = lead.required(quarantine)?;
    let campaign = campaign
        .map(|campaign| campaign.required(quarantine))
        .transpose()?;
    let account = account.map(|account| account.required(quarantine)).transpose()?;
    let uploads = upload.into_iter().chain(rows.filter_map(|(.., upload)| upload));
    let context = LeadContext {
        lead: LeadWithJob { lead, job_json },
        campaign: campaign.map(|campaign| Campaign { account, ..campaign }),
        attachments: uploads.map(|upload| upload.0).collect(),
        bid: None,
    };
    Ok(Some((context, bid_id)))
}

/// The bid is not joined: as long as PostgreSQL has no statistics of the table, it would read all of the organization's
/// bids.
async fn bid_record(
    conn: &mut Conn,
    quarantine: &Quarantine,
    organization: &OrganizationId,
    id: &str,
) -> Result<BidRecord, Failure> {
    let bid = bids::table
        .find((organization.as_str(), id))
        .select(Tried::<BidRecord>::as_select());
    let bid: Tried<BidRecord> = bid.first(conn).await?;
    bid.required(quarantine)
}
