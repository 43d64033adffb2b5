//! What stands above every tab of a campaign: its name, its state, and its tabs.

use bidloop_domain::model::{CampaignId, CampaignMode};

use crate::parts::{Pill, pill};

/// The tabs: the last part of the path, and its words.
pub(crate) const TABS: [(&str, &str); 5] = [
    ("feed", "Feed"),
    ("filters", "Filters"),
    ("bidding", "Bidding"),
    ("integrations", "Integrations"),
    ("activity", "Activity"),
];

/// The head of a campaign's pages. Templates that extend `campaign.html` name it `head`.
#[derive(Debug, Clone)]
pub(crate) struct CampaignHead {
    pub(crate) id: CampaignId,
    pub(crate) name: String,
    pub(crate) mode: CampaignMode,
    pub(crate) is_active: bool,
    /// Matches since the person's last look at its Feed.
    pub(crate) new: u64,
    /// The tab that is shown, by its path.
    pub(crate) tab: &'static str,
}

impl CampaignHead {
    pub(crate) const fn state(&self) -> Pill {
        if self.is_active {
            pill("ok", "check", "Active")
        } else {
            pill("", "pause", "Paused")
        }
    }

    pub(crate) const fn mode(&self) -> &'static str {
        match self.mode {
            CampaignMode::External => "External",
            CampaignMode::Automatic => "Automatic",
        }
    }

    /// Whether the tab is the Feed, which shows how many matches are new.
    pub(crate) fn counts_new(&self, tab: &str) -> bool {
        tab == "feed" && self.new > 0
    }

    pub(crate) fn is_at(&self, tab: &str) -> bool {
        self.tab == tab
    }
}
