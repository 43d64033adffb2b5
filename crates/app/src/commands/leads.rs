//! `bidloop leads list|show|configure|reopen`.

use bidloop_domain::model::Actor;
use bidloop_domain::use_case::OperateLeadsError;
use serde_json::json;

use super::{Failure, Outcome, database, input, list_leads, output};
use crate::cli::LeadsCommand;
use crate::service::Operations;
use crate::settings::Settings;

impl From<OperateLeadsError> for Failure {
    fn from(error: OperateLeadsError) -> Self {
        match error {
            OperateLeadsError::Faulty(faults) => Self::faults(&faults),
            other => Self::failed(other.to_string()),
        }
    }
}

pub(super) async fn run(settings: &Settings, command: LeadsCommand) -> Outcome {
    let database = database::open_current(settings).await?;
    let operations = Operations::new(settings, &database).await?;
    let leads = operations.operate_leads;
    match command {
        LeadsCommand::List(args) => list_leads::run(&operations.show_feed, &args).await,
        LeadsCommand::Show { lead, json: _ } => output::json(&leads.show(&lead).await?),
        LeadsCommand::Configure {
            lead,
            file,
            json: as_json,
        } => {
            let config = input::json(&file)?;
            let config = leads.configure(&lead, &config).await?;
            if as_json {
                return output::json(&json!({ "leadId": lead, "biddingConfig": config }));
            }
            output::line(&format!("The bidding configuration of lead {lead} is set."))
        }
        LeadsCommand::Reopen { lead, json: as_json } => {
            leads.reopen(&lead, Actor::command("leads reopen")).await?;
            if as_json {
                return output::json(&json!({ "leadId": lead, "status": "new" }));
            }
            output::line(&format!("Lead {lead} is new again."))
        }
    }
}
