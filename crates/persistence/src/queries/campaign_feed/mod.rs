//! The console's Feed: reads of [`CampaignFeedStore`], and people's last looks.
//!
//! | file | owns |
//! |---|---|
//! | [`page`] | pages of a campaign's Feed, their counts and entries |
//! | [`lone_match`] | one match, and a lead's latest bid |
//! | [`means`] | what a campaign's bids are made with |
//! | [`newest`] | the newest lead or match |
//! | [`looks`] | what is new since a person's last look, or since a page was read |

use std::collections::HashMap;

use async_trait::async_trait;
use bidloop_domain::model::{CampaignId, EmailKey, JobId, LeadId, OrganizationId, Timestamp};
use bidloop_domain::port::{
    BidLetter, BidMeans, BidSummary, CampaignFeedStore, FeedNews, FeedQuery, FilterRecord, LeadContext,
    ListedMatch, ListedMatches, Newest, SignedMatches, StoreError, StoredJob,
};

use super::prelude::*;

mod lone_match;
mod looks;
mod means;
mod newest;
mod page;

#[async_trait]
impl CampaignFeedStore for Store {
    async fn feed_page(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        query: &FeedQuery,
    ) -> Result<Option<ListedMatches>, StoreError> {
        let (key, query) = ((organization.clone(), campaign.clone()), *query);
        let quarantine = self.quarantine.clone();
        self.snapshot(async move |conn: &mut Conn| page::page(conn, &quarantine, &key, query).await)
            .await
    }

    async fn feed_entries(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        jobs: &[JobId],
    ) -> Result<Option<Vec<ListedMatch>>, StoreError> {
        let (key, jobs) = ((organization.clone(), campaign.clone()), jobs.to_vec());
        let quarantine = self.quarantine.clone();
        self.snapshot(async move |conn: &mut Conn| page::of_jobs(conn, &quarantine, &key, &jobs).await)
            .await
    }

    async fn signed_matches(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        below: Option<u64>,
        limit: u32,
    ) -> Result<Option<SignedMatches>, StoreError> {
        let key = (organization.clone(), campaign.clone());
        self.snapshot(async move |conn: &mut Conn| page::signed_matches(conn, &key, below, limit).await)
            .await
    }

    async fn find_match(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        job: &JobId,
    ) -> Result<Option<LeadContext>, StoreError> {
        let (key, job) = ((organization.clone(), campaign.clone()), job.clone());
        let quarantine = self.quarantine.clone();
        self.snapshot(async move |conn: &mut Conn| {
            lone_match::find_match(conn, &quarantine, &key, &job).await
        })
        .await
    }

    async fn job_of_lead(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        lead: &LeadId,
        newest: u32,
    ) -> Result<Option<JobId>, StoreError> {
        let (key, lead) = ((organization.clone(), campaign.clone()), lead.clone());
        self.snapshot(async move |conn: &mut Conn| lone_match::job_of_lead(conn, &key, &lead, newest).await)
            .await
    }

    async fn campaign_filters(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<Option<Vec<FilterRecord>>, StoreError> {
        let (organization, campaign) = (organization.clone(), campaign.clone());
        let quarantine = self.quarantine.clone();
        self.read(async move |conn: &mut Conn| {
            let known = campaigns::table.find((organization.as_str(), campaign.as_str()));
            if !exists!(conn, known) {
                return Ok(None);
            }
            let of_campaign = filters::table
                .filter(filters::organization_id.eq(organization.as_str()))
                .filter(filters::campaign_id.eq(campaign.as_str()))
                .order(filters::id);
            Ok(Some(load_records!(conn, &quarantine, FilterRecord, of_campaign)))
        })
        .await
    }

    async fn latest_bid(
        &self,
        organization: &OrganizationId,
        lead: &LeadId,
    ) -> Result<Option<(BidSummary, BidLetter)>, StoreError> {
        let (organization, lead) = (organization.clone(), lead.clone());
        let quarantine = self.quarantine.clone();
        self.read(async move |conn: &mut Conn| {
            lone_match::latest_bid(conn, &quarantine, &organization, &lead).await
        })
        .await
    }

    async fn bid_means(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<Option<BidMeans>, StoreError> {
        let key = (organization.clone(), campaign.clone());
        let (quarantine, sealer) = (self.quarantine.clone(), self.sealer.clone());
        self.read(async move |conn: &mut Conn| means::bid_means(conn, &quarantine, &sealer, &key).await)
            .await
    }

    async fn newest(
        &self,
        organization: &OrganizationId,
        campaign: Option<&CampaignId>,
    ) -> Result<Newest, StoreError> {
        let (organization, campaign) = (organization.clone(), campaign.cloned());
        self.snapshot(async move |conn: &mut Conn| {
            newest::newest(conn, &organization, campaign.as_ref()).await
        })
        .await
    }

    async fn lead_titles(
        &self,
        organization: &OrganizationId,
        leads: &[LeadId],
    ) -> Result<HashMap<LeadId, String>, StoreError> {
        let (organization, leads) = (organization.clone(), leads.to_vec());
        self.read(async move |conn: &mut Conn| lone_match::lead_titles(conn, &organization, &leads).await)
            .await
    }

    async fn stored_job(&self, id: &JobId) -> Result<Option<StoredJob>, StoreError> {
        let (id, quarantine) = (id.clone(), self.quarantine.clone());
        self.read(async move |conn: &mut Conn| {
            let job = jobs::table.find(id.as_str());
            Ok(load_records!(conn, &quarantine, StoredJob, job).pop())
        })
        .await
    }

    async fn feed_news(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        since: Option<Timestamp>,
        shown: &[LeadId],
        at_most: u32,
    ) -> Result<Option<FeedNews>, StoreError> {
        let (key, shown) = ((organization.clone(), campaign.clone()), shown.to_vec());
        self.snapshot(async move |conn: &mut Conn| {
            looks::feed_news(conn, &key, since, &shown, i64::from(at_most)).await
        })
        .await
    }

    async fn new_matches(
        &self,
        organization: &OrganizationId,
        person: &EmailKey,
        at_most: u32,
    ) -> Result<Vec<(CampaignId, u64)>, StoreError> {
        let (organization, person) = (organization.clone(), person.clone());
        self.read(async move |conn: &mut Conn| {
            looks::new_matches(conn, &organization, &person, i64::from(at_most)).await
        })
        .await
    }

    async fn looked_at(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        person: &EmailKey,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let (key, person) = ((organization.clone(), campaign.clone()), person.clone());
        self.write_for(organization, async move |conn: &mut Conn| {
            looks::looked_at(conn, &key, &person, at).await
        })
        .await
    }
}
