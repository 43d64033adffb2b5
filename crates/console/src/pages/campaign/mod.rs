//! The pages of one campaign.

pub(crate) mod feed;
pub(crate) mod lead;
pub(crate) mod lead_actions;
