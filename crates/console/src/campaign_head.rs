//! What stands above every tab of a campaign: its name and its state.

use bidloop_domain::model::{CampaignId, CampaignMode};

use crate::parts::{Pill, pill};
use crate::words;

/// The head of a campaign's pages. Templates that extend `campaign.html` name it `head`.
#[derive(Debug, Clone)]
pub(crate) struct CampaignHead {
    pub(crate) id: CampaignId,
    pub(crate) name: String,
    pub(crate) mode: CampaignMode,
    pub(crate) is_active: bool,
}

impl CampaignHead {
    pub(crate) fn state(&self) -> Pill {
        if self.is_active {
            pill("ok", "check", "Active")
        } else {
            pill("", "pause", "Paused")
        }
    }

    pub(crate) const fn mode(&self) -> &'static str {
        words::mode(self.mode)
    }
}
