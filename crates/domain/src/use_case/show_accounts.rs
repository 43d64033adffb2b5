//! Show accounts: the marketplace accounts that bid, and the campaigns that bid with them. Tests:
//! `tests/use_case/show_settings.rs`.

use std::sync::Arc;

use crate::model::{Member, Timestamp};
use crate::port::{AccountFacts, CampaignSign, Clock, OverviewStore, StoreError};

/// An account with its campaigns.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownAccount {
    /// The account, without its token.
    pub facts: AccountFacts,
    /// By name.
    pub campaigns: Vec<CampaignSign>,
}

/// Shows bidder accounts.
#[derive(Debug)]
pub struct ShowAccounts {
    /// Accounts and campaigns.
    pub store: Arc<dyn OverviewStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl ShowAccounts {
    /// By name, with the moment of all this; `None` if the organization was removed.
    pub async fn execute(
        &self,
        member: &Member,
    ) -> Result<Option<(Vec<ShownAccount>, Timestamp)>, StoreError> {
        let now = self.clock.now();
        let facts = self.store.facts(member.organization_id(), now).await?;
        Ok(facts.map(|facts| {
            let campaigns = &facts.campaigns;
            let of = |account: &AccountFacts| -> Vec<CampaignSign> {
                let its = campaigns
                    .iter()
                    .filter(|known| known.account_id.as_ref() == Some(&account.id));
                its.map(|known| known.sign.clone()).collect()
            };
            let accounts = facts.accounts.iter().map(|account| ShownAccount {
                campaigns: of(account),
                facts: account.clone(),
            });
            (accounts.collect(), now)
        }))
    }
}
