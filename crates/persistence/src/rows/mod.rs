//! Rows as structs, and what they are in the domain. Shared by both databases; a struct here holds columns, and
//! its methods are the only place where columns become domain types.

mod activity;
mod api_key;
mod delivery;
mod endpoint;
mod lead;
mod subscription;

pub(crate) use activity::ActivityRow;
pub(crate) use api_key::ApiKeyRow;
pub(crate) use delivery::NewDeliveryRow;
pub(crate) use endpoint::EndpointRow;
pub(crate) use lead::LeadRow;
pub(crate) use subscription::SubscriptionRow;
