//! The pages of one campaign.

pub(crate) mod bid;
pub(crate) mod bidding;
mod bidding_settings;
pub(crate) mod feed;
mod filter_conditions;
mod filter_form;
pub(crate) mod filters;
pub(crate) mod lead;
pub(crate) mod lead_actions;
mod lead_place;
