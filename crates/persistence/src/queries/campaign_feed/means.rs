//! What a campaign's bids are made with.

use bidloop_domain::model::{Connects, ProposalFile, Timestamp};
use bidloop_domain::port::{AccountReading, BidMeans, BiddingAccount};

use super::super::lists::match_list::CampaignKey;
use super::super::prelude::*;
use crate::records::StoredAccount;
use crate::sealing::Sealer;

/// An account, and what was last read of it: its rate, its balance, and when.
type AccountRow = (Tried<StoredAccount>, Option<f64>, Option<i64>, Option<i64>);

pub(super) async fn bid_means(
    conn: &mut Conn,
    quarantine: &Quarantine,
    sealer: &Sealer,
    (organization, id): &CampaignKey,
) -> Result<Option<BidMeans>, Failure> {
    let campaign: Option<(Option<String>, Col<Vec<ProposalFile>>)> = campaigns::table
        .find((organization.as_str(), id.as_str()))
        .select((campaigns::account_id, campaigns::attachments))
        .first(conn)
        .await
        .optional()?;
    let Some((account, Col(attachments))) = campaign else {
        return Ok(None);
    };
    let account: Option<AccountRow> = match account {
        Some(account) => {
            let row = bidder_accounts::table
                .find((organization.as_str(), account))
                .select((
                    Tried::<StoredAccount>::as_select(),
                    bidder_accounts::profile_hourly_rate,
                    bidder_accounts::connects_balance,
                    bidder_accounts::read_at,
                ));
            row.first(conn).await.optional()?
        }
        None => None,
    };
    let account = account.map(|(stored, profile_hourly_rate, balance, read_at)| {
        let opened = stored
            .0
            .and_then(|account| account.open(sealer, organization.as_str()));
        let record = Tried(opened).required(quarantine)?;
        let balance = balance.and_then(|balance| u64::try_from(balance).ok());
        let reading = balance.zip(read_at).map(|(balance, read_at)| AccountReading {
            profile_hourly_rate,
            connects_balance: Connects::new(balance),
            at: Timestamp::from_millis(read_at),
        });
        Ok::<_, Failure>(BiddingAccount { record, reading })
    });
    Ok(Some(BidMeans {
        account: account.transpose()?,
        attachments,
    }))
}
