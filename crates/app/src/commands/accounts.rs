//! Warns of External campaigns whose bids will be refused for want of a connected bidder account (decision A8).

use bidloop_domain::model::{CampaignMode, OrganizationId, Timestamp};
use bidloop_domain::port::{OrganizationFacts, OverviewStore, StoreError};
use serde_json::Value;

/// Organizations of a file that are looked at.
const LOOKED_AT: usize = 100;
/// How many campaigns are named.
const NAMED: usize = 20;

/// A line for each External campaign of the document's organizations that has no connected account.
pub(super) async fn warnings(
    store: &dyn OverviewStore,
    document: &Value,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let organizations = document["organizations"].as_array().into_iter().flatten();
    let ids = organizations.filter_map(|one| OrganizationId::parse(one["id"].as_str()?).ok());
    let mut lines = Vec::new();
    for id in ids.take(LOOKED_AT) {
        if let Some(facts) = store.facts(&id, now).await? {
            lines.extend(refused_campaigns(&id, &facts));
        }
        if lines.len() >= NAMED {
            lines.truncate(NAMED);
            break;
        }
    }
    Ok(lines)
}

fn refused_campaigns(organization: &OrganizationId, facts: &OrganizationFacts) -> Vec<String> {
    let external = facts
        .campaigns
        .iter()
        .filter(|campaign| campaign.sign.mode == CampaignMode::External);
    external
        .filter_map(|campaign| {
            let account = campaign.account_id.as_ref();
            let known = account.and_then(|id| facts.accounts.iter().find(|known| known.id == *id));
            let why = match known {
                Some(account) if account.connected => return None,
                Some(account) => format!(
                    "the marketplace refused the token of its bidder account {}: give it another token",
                    account.id
                ),
                None => "it has no bidder account: set \"bidderAccountId\"".to_owned(),
            };
            let campaign = &campaign.sign.id;
            Some(format!(
                "bids of the campaign {campaign} of {organization} will be refused: {why}"
            ))
        })
        .collect()
}
