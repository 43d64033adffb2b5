//! The body of a webhook: as it is sent, and as the console shows it.

use bytes::Bytes;

use crate::model::{DeliveryId, EventPayload, LeadForm, LeadWriter, Links, NewLead, Timestamp, envelope};

/// What the addresses, ids and names in a `job.new` take, more or less, beside its post.
const BESIDE_THE_POST: usize = 1024;

/// What the body of a delivery is written of.
pub(super) struct WebhookBody<'a> {
    pub(super) id: DeliveryId,
    pub(super) created_at: Timestamp,
    pub(super) payload: &'a EventPayload,
    /// What a `job.new` tells of.
    pub(super) lead: Option<&'a NewLead>,
    /// `None` if the campaign was removed.
    pub(super) campaign_name: Option<&'a str>,
}

impl WebhookBody<'_> {
    /// `None` if it tells of a lead that is not stored.
    pub(super) fn write(&self, links: &Links) -> Option<Bytes> {
        let envelope = |bytes, write: &dyn Fn(&mut Vec<u8>)| {
            envelope(self.id, self.payload.kind(), self.created_at, bytes, write)
        };
        Some(match self.payload {
            EventPayload::BidComplete { data, .. } => {
                envelope(data.len(), &|body| body.extend_from_slice(data.as_bytes()))
            }
            EventPayload::JobNew => {
                let new = self.lead?;
                envelope(new.post.size() + BESIDE_THE_POST, &|body| {
                    write_job_new(new, self.campaign_name, links, body);
                })
            }
        })
    }
}

/// Writes the `data` of a lead's `job.new`.
fn write_job_new(
    NewLead { lead, post }: &NewLead,
    campaign_name: Option<&str>,
    links: &Links,
    out: &mut Vec<u8>,
) {
    let (organization, campaign, id) = (&lead.organization_id, &lead.campaign_id, &lead.id);
    let writer = LeadWriter::new(organization, campaign, campaign_name, links, LeadForm::Pushed);
    let ids = format!(r#"{{"organizationId":"{organization}","campaignId":"{campaign}","leadId":"{id}","#);
    out.extend_from_slice(ids.as_bytes());
    writer.operations(id, out);
    out.extend_from_slice(br#","lead":"#);
    writer.write((&**lead).into(), post, out);
    out.push(b'}');
}
