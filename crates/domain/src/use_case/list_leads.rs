//! List leads: a page of the campaign's matches. Tests: `tests/use_case/list_leads.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use super::LeadError;
use super::post_cache::PostCache;
use crate::model::{
    CampaignId, JobId, LeadFields, LeadForm, LeadWriter, Links, ListedLead, OrganizationId, PostFields,
};
use crate::port::{LeadStore, Quarantine, UnreadableRow};

/// The largest page, and the default (specification, Limits).
pub const MAX_PAGE: u32 = 100;

/// A page, its leads written as JSON.
#[derive(Debug)]
pub struct ListedLeads {
    /// A JSON array of Lead objects, newest first, in pieces.
    pub data: Vec<Piece>,
    /// How many leads the array holds.
    pub count: usize,
    /// Matches across all pages.
    pub total: u64,
    /// The offset used.
    pub offset: u64,
    /// The limit used.
    pub limit: u32,
    /// How many leads of the page are left out, because they cannot be read (decision D2).
    pub unreadable: usize,
}

/// A piece of JSON.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Of one page alone.
    Own(Bytes),
    /// The fields of a post, which pages share.
    Post(PostFields),
}

impl Piece {
    /// The JSON.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Post(post) => post.json(),
        }
    }

    /// What tells this piece from others: the JSON, or a post's digest, which is known already.
    pub fn identity(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Post(post) => post.digest(),
        }
    }
}

impl From<Piece> for Bytes {
    fn from(piece: Piece) -> Self {
        match piece {
            Piece::Own(bytes) => bytes,
            Piece::Post(post) => post.json().clone(),
        }
    }
}

impl ListedLeads {
    /// The array in one piece.
    pub fn json(&self) -> Vec<u8> {
        let pieces: Vec<&[u8]> = self.data.iter().map(Piece::bytes).collect();
        pieces.concat()
    }

    /// True while `offset + count < total`, where leads that are left out count as listed: paging ends.
    pub fn has_more(&self) -> bool {
        let listed = self.count + self.unreadable;
        self.offset.saturating_add(listed as u64) < self.total
    }
}

/// Lists a campaign's matches (specification, listCampaignLeads).
#[derive(Debug)]
pub struct ListLeads {
    /// Leads.
    pub leads: Arc<dyn LeadStore>,
    /// Posts that were listed before.
    pub posts: Arc<PostCache>,
    /// Addresses of operations and jobs.
    pub links: Links,
    /// Takes jobs that cannot be read.
    pub quarantine: Quarantine,
}

impl ListLeads {
    /// Up to `limit` leads, starting `offset` leads after the newest. Every listed job becomes a stored lead.
    pub async fn execute(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
        offset: u64,
        limit: u32,
    ) -> Result<ListedLeads, LeadError> {
        let page = self.leads.page(organization, campaign, offset, limit).await?;
        let page = page.ok_or(LeadError::CampaignUnknown)?;
        let name = Some(page.campaign_name.as_str());
        let writer = LeadWriter::new(organization, campaign, name, &self.links, LeadForm::Listed);
        let posts = self.posts_of(&page.leads).await?;
        let mut array = LeadArray::new(writer);
        for (lead, post) in page.leads.iter().zip(posts) {
            if let Some(post) = post {
                array.add(lead.into(), post);
            }
        }
        let count = array.len();
        Ok(ListedLeads {
            unreadable: page.unreadable + page.leads.len() - count,
            data: array.finish(),
            count,
            total: page.total,
            offset,
            limit,
        })
    }

    /// The posts of the leads' jobs. A job that cannot be read, or was removed a moment ago, has none.
    async fn posts_of(&self, leads: &[ListedLead]) -> Result<Vec<Option<PostFields>>, LeadError> {
        let mut posts = self.posts.posts(leads.iter().map(|lead| lead.job_seq));
        let is_missing = |(_, post): &(&ListedLead, &Option<PostFields>)| post.is_none();
        let missing = leads.iter().zip(&posts).filter(is_missing);
        let missing: Vec<JobId> = missing.map(|(lead, _)| lead.job_id.clone()).collect();
        if missing.is_empty() {
            return Ok(posts);
        }
        let mut read = HashMap::with_capacity(missing.len());
        for content in self.leads.job_contents(&missing).await? {
            match PostFields::of(&content.json) {
                Ok(post) => {
                    self.posts.keep(content.seq, &post);
                    read.insert(content.job_id, post);
                }
                Err(fault) => {
                    let job = content.job_id.as_str();
                    self.quarantine.set_aside(&UnreadableRow::new("jobs", job, fault));
                }
            }
        }
        for (lead, post) in leads.iter().zip(&mut posts) {
            if post.is_none() {
                *post = read.remove(&lead.job_id);
            }
        }
        Ok(posts)
    }
}

/// A JSON array of Lead objects that is being written. What is between the posts is one buffer.
pub(super) struct LeadArray<'l> {
    writer: LeadWriter<'l>,
    between: Vec<u8>,
    /// The posts, each with where it stands in the buffer.
    posts: Vec<(usize, PostFields)>,
}

impl<'l> LeadArray<'l> {
    pub(super) fn new(writer: LeadWriter<'l>) -> Self {
        Self {
            writer,
            between: vec![b'['],
            posts: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.posts.len()
    }

    pub(super) fn add(&mut self, lead: LeadFields<'_>, post: PostFields) {
        if !self.posts.is_empty() {
            self.between.push(b',');
        }
        self.writer.head(lead, &post, &mut self.between);
        self.posts.push((self.between.len(), post));
        self.writer.tail(lead, &mut self.between);
    }

    pub(super) fn finish(mut self) -> Vec<Piece> {
        self.between.push(b']');
        let between = Bytes::from(self.between);
        let mut pieces = Vec::with_capacity(2 * self.posts.len() + 1);
        let mut written = 0;
        for (place, post) in self.posts {
            pieces.push(Piece::Own(between.slice(written..place)));
            pieces.push(Piece::Post(post));
            written = place;
        }
        pieces.push(Piece::Own(between.slice(written..)));
        pieces
    }
}
