//! Removing matches of generations that are no longer served, in short transactions.

use super::super::locks::shared_revision;
use super::super::prelude::*;
use super::match_list::{CampaignKey, matches_of};

/// How many rows of `matches` one transaction writes or removes: some 10 ms on SQLite.
pub(super) const ROWS_AT_ONCE: usize = 1000;

/// Removes what is left of a campaign's former generations, or of a removed campaign's matches. If this fails nothing is
/// lost: these rows are never read, and the campaign's next switch removes them.
///
/// A campaign that is created again under the same id meanwhile keeps its matches, which are of a later generation.
pub(crate) async fn remove_former_matches(store: &Store, campaign: &CampaignKey) {
    loop {
        let campaign = campaign.clone();
        let removed = store
            .write(async move |conn: &mut Conn| {
                // No campaign is created while the revision is shared.
                shared_revision(conn).await?;
                let served: Option<i64> = campaigns::table
                    .find((campaign.0.as_str(), campaign.1.as_str()))
                    .select(campaigns::generation)
                    .first(conn)
                    .await
                    .optional()?;
                remove_some_matches(conn, &campaign, served.unwrap_or(i64::MAX)).await
            })
            .await;
        match removed {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%error, "former matches stay until the campaign's next switch");
                return;
            }
        }
    }
}

/// Removes some rows of generations before `served`. Returns whether there are more.
pub(crate) async fn remove_some_matches(
    conn: &mut Conn,
    campaign: &CampaignKey,
    served: i64,
) -> Result<bool, Failure> {
    let Some((generation, seq)) = first_before(conn, campaign, served).await? else {
        return Ok(false);
    };
    let some = matches_of(campaign, generation).filter(matches::seq.lt(seq + stored(ROWS_AT_ONCE)));
    diesel::delete(some).execute(conn).await?;
    Ok(first_before(conn, campaign, served).await?.is_some())
}

/// The first match, by generation and number, of the generations before `served`.
async fn first_before(
    conn: &mut Conn,
    campaign: &CampaignKey,
    served: i64,
) -> Result<Option<(i64, i64)>, Failure> {
    let first = matches::table
        .filter(matches::organization_id.eq(campaign.0.as_str()))
        .filter(matches::campaign_id.eq(campaign.1.as_str()))
        .filter(matches::generation.lt(served))
        .order((matches::generation, matches::seq))
        .select((matches::generation, matches::seq));
    Ok(first.first(conn).await.optional()?)
}
