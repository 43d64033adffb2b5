//! The endpoints that hear of events: a campaign's Integrations tab, and the organization's Webhooks.
//!
//! | file | owns |
//! |---|---|
//! | [`place`] | where the pages are: under a campaign, or under the settings |
//! | [`list`] | the endpoints with their last deliveries |
//! | [`deliveries`] | the last deliveries of one endpoint |
//! | [`forms`] | making and changing an endpoint |
//! | [`test`] | testing one (decision E6) |

mod deliveries;
pub(crate) mod forms;
pub(crate) mod list;
pub(crate) mod place;
pub(crate) mod test;
