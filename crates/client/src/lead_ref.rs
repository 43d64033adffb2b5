//! Which lead a call is about.

use crate::event::JobNew;
use crate::lead::Lead;

/// A lead's campaign and id. A [`Lead`] and a [`JobNew`] turn into it by reference, and so does a pair of texts.
///
/// ```
/// use bidloop_client::LeadRef;
///
/// let lead = LeadRef::from(("camp_rust", "ld_1"));
/// assert_eq!((lead.campaign_id, lead.lead_id), ("camp_rust", "ld_1"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeadRef<'a> {
    /// The campaign.
    pub campaign_id: &'a str,
    /// The lead.
    pub lead_id: &'a str,
}

impl<'a> From<&'a Lead> for LeadRef<'a> {
    fn from(lead: &'a Lead) -> Self {
        (lead.campaign_id.as_str(), lead.id.as_str()).into()
    }
}

impl<'a> From<&'a JobNew> for LeadRef<'a> {
    fn from(job: &'a JobNew) -> Self {
        (job.campaign_id.as_str(), job.lead_id.as_str()).into()
    }
}

impl<'a> From<(&'a str, &'a str)> for LeadRef<'a> {
    fn from((campaign_id, lead_id): (&'a str, &'a str)) -> Self {
        Self { campaign_id, lead_id }
    }
}
