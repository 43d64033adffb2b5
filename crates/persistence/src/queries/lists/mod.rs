//! Campaigns' lists of matches, and everything that changes them.
//!
//! | file | owns |
//! |---|---|
//! | [`match_list`] | one list: appending to it and editing it |
//! | [`served`] | what a campaign's row says of its list |
//! | [`campaign_lists`] | the served lists of the campaigns that a page of the feed concerns |
//! | [`page`] | recording a page, in one transaction |
//! | [`arrivals`] | the page's new and changed jobs, and storing them |
//! | [`new_jobs`] | new jobs as matches, and what campaigns do with them |
//! | [`changed_jobs`] | changed jobs, matched anew |
//! | [`old_end`] | pruning the oldest matches |
//! | [`lead_statuses`] | the statuses of leads beside their matches |
//! | [`due`] | marking a campaign's list as due to be matched anew |
//! | [`switch`] | serving a backfill's result |
//! | [`former_matches`] | removing matches that are no longer served |

pub(super) mod arrivals;
mod campaign_lists;
mod changed_jobs;
pub(super) mod due;
pub(super) mod former_matches;
pub(super) mod lead_statuses;
pub(super) mod match_list;
mod new_jobs;
pub(super) mod old_end;
pub(super) mod page;
pub(super) mod served;
pub(super) mod switch;
