//! `bidloop bids list|settle`.

use bidloop_domain::model::Actor;
use bidloop_domain::port::{AccountState, WaitingBid, WaitingBidsQuery};
use bidloop_domain::use_case::{SettleBidsError, Settlement};
use serde_json::json;

use super::moment::moment;
use super::{Failure, Outcome, database, no_organization, output};
use crate::cli::{BidsCommand, SettledAs};
use crate::service::Operations;
use crate::settings::Settings;

impl From<SettleBidsError> for Failure {
    fn from(error: SettleBidsError) -> Self {
        Self::failed(error.to_string())
    }
}

pub(super) async fn run(settings: &Settings, command: BidsCommand) -> Outcome {
    let settlement = settlement(&command)?;
    let database = database::open_current(settings).await?;
    let operations = Operations::new(settings, &database).await?;
    let bids = &operations.settle_bids;
    match command {
        BidsCommand::List {
            unsettled,
            organization,
            limit,
            json: as_json,
        } => {
            let query = WaitingBidsQuery {
                organization_id: organization,
                unsettled_at: unsettled.then(|| bids.clock.now()),
                limit,
            };
            let waiting = bids.list(&query).await?;
            if let (Some(id), []) = (&query.organization_id, &waiting[..]) {
                let known = operations.list_organizations.names().await?;
                if !known.iter().any(|name| name.id == *id) {
                    output::errors(&[no_organization(id)]);
                }
            }
            if as_json {
                output::json(&waiting)
            } else {
                waiting.iter().try_for_each(print)
            }
        }
        BidsCommand::Settle {
            bid, json: as_json, ..
        } => {
            let actor = Actor::command("bids settle");
            let status = bids.settle(bid, settlement, actor).await?;
            if as_json {
                return output::json(&json!({ "id": bid, "status": status }));
            }
            output::line(&format!("Bid {bid} is {status}."))
        }
    }
}

/// What the bid is settled as. A list settles nothing.
fn settlement(command: &BidsCommand) -> Result<Settlement, Failure> {
    let BidsCommand::Settle {
        outcome, proposal_id, ..
    } = command
    else {
        return Ok(Settlement::NotSubmitted);
    };
    match (outcome, proposal_id) {
        (SettledAs::Submitted, Some(id)) => Ok(Settlement::Submitted {
            proposal_id: id.clone(),
        }),
        (SettledAs::Submitted, None) => Err(Failure::usage("--as submitted needs --proposal-id")),
        (SettledAs::NotSubmitted, None) => Ok(Settlement::NotSubmitted),
        (SettledAs::NotSubmitted, Some(_)) => {
            Err(Failure::usage("--proposal-id goes with --as submitted alone"))
        }
    }
}

fn print(bid: &WaitingBid) -> Outcome {
    let account = match bid.account {
        AccountState::Connected => "connected",
        AccountState::Disconnected => "disconnected",
        AccountState::Removed => "removed",
    };
    let answer = if bid.answer_outstanding {
        "answer outstanding"
    } else {
        "no answer outstanding"
    };
    output::line(&format!(
        "{}  {}  lead {}  account {} ({account})  queued {}  deadline {}  {}  {answer}",
        bid.id,
        bid.organization_id,
        bid.lead_id,
        bid.account_id,
        moment(bid.queued_at),
        moment(bid.deadline),
        output::counted(bid.attempts.into(), "attempt", "attempts"),
    ))
}
