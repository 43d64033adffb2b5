//! Rows as structs, and what they are in the domain. Shared by both databases; a struct here holds columns, and
//! its methods are the only place where columns become domain types.

mod activity;
mod api_key;
mod begun_delivery;
mod bid;
mod bidding_campaign;
mod campaign_list;
mod delivery;
mod endpoint;
mod job;
mod job_signature;
mod lead;
mod lead_attachment;
mod new_automatic_bid;
mod provisioning;
mod queued_bid;
mod stored_filter;
mod subscription;

pub(crate) use activity::ActivityRow;
pub(crate) use api_key::ApiKeyRow;
pub(crate) use begun_delivery::{DeliveryRow, PendingDeliveryRow, TargetRow};
pub(crate) use bid::{BidRecordRow, NewBidRow};
pub(crate) use bidding_campaign::{AccountSummaryRow, BiddingCampaignRow};
pub(crate) use campaign_list::{CampaignGenerationRow, CampaignListRow, ListEndRow, NewMatchRow};
pub(crate) use delivery::NewDeliveryRow;
pub(crate) use endpoint::EndpointRow;
pub(crate) use job::{JobPlaceRow, NewJobRow, StoredJobRow};
pub(crate) use job_signature::JobSignatureRow;
pub(crate) use lead::LeadRow;
pub(crate) use lead_attachment::{LeadAttachmentRow, frozen_campaign_file, frozen_upload};
pub(crate) use new_automatic_bid::NewAutomaticBidRow;
pub(crate) use provisioning::{AccountRow, CampaignRow, FilterRow, OrganizationRow, UserRow, WebhookRow};
pub(crate) use queued_bid::QueuedBidRow;
pub(crate) use stored_filter::{FilterChangeRow, StoredFilterRow};
pub(crate) use subscription::SubscriptionRow;
