//! The pages of one campaign.

pub(crate) mod bid;
mod bid_files;
pub(crate) mod bidding;
pub(crate) mod bidding_files;
mod bidding_settings;
pub(crate) mod feed;
mod filter_conditions;
mod filter_form;
pub(crate) mod filters;
pub(crate) mod lead;
pub(crate) mod lead_actions;
pub(crate) mod lead_config;
mod lead_place;
mod ready;
