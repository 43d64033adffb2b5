//! What stands above every tab of a campaign: its name, its state, and its tabs.

use bidloop_domain::model::{CampaignId, CampaignMode};

use crate::parts::{Pill, pill};
use crate::words;

/// A tab of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    Feed,
    Filters,
    Bidding,
    Integrations,
    Activity,
}

/// The tabs that there are: each with the last part of its path, and its words.
const TABS: [(Tab, &str, &str); 5] = [
    (Tab::Feed, "feed", "Feed"),
    (Tab::Filters, "filters", "Filters"),
    (Tab::Bidding, "bidding", "Bidding"),
    (Tab::Integrations, "integrations", "Integrations"),
    (Tab::Activity, "activity", "Activity"),
];

/// A tab in the bar.
#[derive(Debug, Clone)]
pub(crate) struct ShownTab {
    pub(crate) href: String,
    pub(crate) words: &'static str,
    pub(crate) is_shown: bool,
    /// What is new behind it.
    pub(crate) new: u64,
}

/// The head of a campaign's pages. Templates that extend `campaign.html` name it `head`.
#[derive(Debug, Clone)]
pub(crate) struct CampaignHead {
    pub(crate) id: CampaignId,
    pub(crate) name: String,
    pub(crate) mode: CampaignMode,
    pub(crate) is_active: bool,
    /// Matches since the person's last look at its Feed.
    pub(crate) new: u64,
    /// The tab that is shown; `None` on pages beside them.
    pub(crate) tab: Option<Tab>,
}

impl CampaignHead {
    pub(crate) fn state(&self) -> Pill {
        if self.is_active {
            pill("ok", "check", "Active")
        } else {
            pill("", "pause", "Paused")
        }
    }

    /// On the page of a tab.
    #[must_use]
    pub(crate) fn at(self, tab: Tab) -> Self {
        Self {
            tab: Some(tab),
            ..self
        }
    }

    /// The tabs that there are.
    pub(crate) fn tabs(&self) -> Vec<ShownTab> {
        TABS.into_iter()
            .map(|(tab, path, words)| ShownTab {
                href: format!("/campaigns/{}/{path}", self.id),
                words,
                is_shown: self.tab == Some(tab),
                new: if tab == Tab::Feed { self.new } else { 0 },
            })
            .collect()
    }

    pub(crate) const fn mode(&self) -> &'static str {
        words::mode(self.mode)
    }
}
