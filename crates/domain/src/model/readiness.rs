//! What a campaign has and lacks to do its work (decisions D1, D3 and A8).

use super::words::words;
use super::{CampaignMode, EventKind, WebhookEndpoint};

words! {
    /// Something that a campaign lacks.
    pub enum MissingPart {
        /// A saved filter. Without one it matches nothing.
        Filter,
        /// In External mode, an active `job.new` endpoint of the campaign or of the organization.
        JobNewEndpoint,
        /// A bidder account to bid with.
        Account,
        /// A token for its account that the marketplace accepts.
        AccountToken,
        /// In automatic mode, the template of a cover letter.
        CoverLetter,
    }
}

impl MissingPart {
    /// Whether a campaign without it cannot be active (decision D1). Without the others, leads stay parked or bids are
    /// refused (decisions D3 and A8).
    pub const fn prevents_start(self) -> bool {
        matches!(self, Self::Filter | Self::JobNewEndpoint)
    }
}

impl CampaignMode {
    /// What a campaign of this mode needs to do its work. An account needs a token, too.
    pub const fn needs(self) -> [MissingPart; 3] {
        match self {
            Self::External => [
                MissingPart::Filter,
                MissingPart::JobNewEndpoint,
                MissingPart::Account,
            ],
            Self::Automatic => [
                MissingPart::Filter,
                MissingPart::Account,
                MissingPart::CoverLetter,
            ],
        }
    }
}

/// What a campaign has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CampaignParts {
    /// Who decides on its leads.
    pub mode: CampaignMode,
    /// Whether it has a saved filter.
    pub has_filter: bool,
    /// Whether an active endpoint receives its `job.new`.
    pub has_job_new_endpoint: bool,
    /// Whether its account is connected; `None` without an account.
    pub account_connected: Option<bool>,
    /// Whether it has the template of a cover letter.
    pub has_cover_letter: bool,
}

impl CampaignParts {
    /// What the campaign lacks, what prevents a start first.
    pub fn missing(self) -> Vec<MissingPart> {
        let lacks = |part| match part {
            MissingPart::Filter => (!self.has_filter).then_some(part),
            MissingPart::JobNewEndpoint => (!self.has_job_new_endpoint).then_some(part),
            MissingPart::Account | MissingPart::AccountToken => match self.account_connected {
                None => Some(MissingPart::Account),
                Some(false) => Some(MissingPart::AccountToken),
                Some(true) => None,
            },
            MissingPart::CoverLetter => (!self.has_cover_letter).then_some(part),
        };
        self.mode.needs().into_iter().filter_map(lacks).collect()
    }
}

impl WebhookEndpoint {
    /// Whether an active External campaign can rely on it.
    pub fn receives_job_new(&self) -> bool {
        self.active && self.events.contains(&EventKind::JobNew)
    }
}

#[cfg(test)]
mod tests {
    use super::MissingPart::{Account, AccountToken, CoverLetter, Filter, JobNewEndpoint};
    use super::*;

    #[test]
    fn a_campaign_lacks_what_its_mode_needs() {
        let whole = CampaignParts {
            mode: CampaignMode::External,
            has_filter: true,
            has_job_new_endpoint: true,
            account_connected: Some(true),
            has_cover_letter: false,
        };
        let automatic = CampaignParts {
            mode: CampaignMode::Automatic,
            has_job_new_endpoint: false,
            has_cover_letter: true,
            ..whole
        };
        assert_eq!(whole.missing(), []);
        assert_eq!(automatic.missing(), []);
        let bare = CampaignParts {
            has_filter: false,
            has_job_new_endpoint: false,
            account_connected: None,
            ..whole
        };
        assert_eq!(bare.missing(), [Filter, JobNewEndpoint, Account]);
        let unwritten = CampaignParts {
            account_connected: Some(false),
            has_cover_letter: false,
            ..automatic
        };
        assert_eq!(unwritten.missing(), [AccountToken, CoverLetter]);
        assert!(Filter.prevents_start() && JobNewEndpoint.prevents_start());
        assert!(!Account.prevents_start() && !AccountToken.prevents_start() && !CoverLetter.prevents_start());
    }
}
