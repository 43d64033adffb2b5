//! Connect an account: asks the marketplace about a token before it is saved (contract section 5, `GET /api/account`).

use std::sync::Arc;

use crate::model::{InvalidMarketplaceToken, MarketplaceToken, Member};
use crate::port::{LiveAccount, Marketplace, MarketplaceError};

/// Why nothing is known of the account. The token should not be saved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectAccountError {
    /// Only owners may (decision E1).
    #[error("only an owner of the organization may connect accounts")]
    NotOwner,
    /// The text cannot be a token.
    #[error(transparent)]
    NotAToken(#[from] InvalidMarketplaceToken),
    /// The installation has no marketplace (`marketplace.base_url`).
    #[error("this installation has no marketplace to ask")]
    NoMarketplace,
    /// The marketplace refuses the token.
    #[error("the marketplace does not accept this token")]
    Refused,
    /// The marketplace did not say. The text says why.
    #[error("the marketplace could not be asked: {0}")]
    Unreachable(String),
}

/// Checks tokens of bidder accounts.
#[derive(Debug)]
pub struct ConnectAccount {
    /// The marketplace; `None` without one.
    pub marketplace: Option<Arc<dyn Marketplace>>,
}

impl ConnectAccount {
    /// The account that the token belongs to, with its balance, profile rate and name, and the token as it is to be saved.
    pub async fn check(
        &self,
        member: &Member,
        token: &str,
    ) -> Result<(MarketplaceToken, LiveAccount), ConnectAccountError> {
        if !member.is_owner() {
            return Err(ConnectAccountError::NotOwner);
        }
        let token = MarketplaceToken::parse(token)?;
        let marketplace = self
            .marketplace
            .as_ref()
            .ok_or(ConnectAccountError::NoMarketplace)?;
        match marketplace.account(&token).await {
            Ok(account) => Ok((token, account)),
            Err(MarketplaceError::InvalidToken | MarketplaceError::Refused { .. }) => {
                Err(ConnectAccountError::Refused)
            }
            Err(error) => Err(ConnectAccountError::Unreachable(error.to_string())),
        }
    }
}
