//! What the tools do: reading the arguments, calling the use case, writing the result.

mod activity;
mod bids;
mod campaigns;
mod filters;
mod keys;
mod leads;

use bidloop_domain::use_case::TokenCaller;
use serde_json::{Map, Value};

use crate::ToolServer;
use crate::answer::Answer;
use crate::catalogue::Tool;
use crate::tool_error::ToolError;

pub(crate) use activity::MAX_ENTRIES;
pub(crate) use filters::MAX_TESTED;

/// The arguments of a call.
type Arguments = Map<String, Value>;

impl ToolServer {
    /// Carries out a call, if the token may be used for it.
    pub(crate) async fn call(
        &self,
        caller: &TokenCaller,
        tool: Tool,
        arguments: Arguments,
    ) -> Result<Answer, ToolError> {
        if !caller.may(tool.scope()) {
            return Err(ToolError::ScopeMissing {
                tool,
                scope: caller.scope,
            });
        }
        match tool {
            Tool::ListCampaigns => campaigns::list(self, caller, &arguments).await,
            Tool::ListLeads => leads::list(self, caller, arguments).await,
            Tool::GetLead => leads::get(self, caller, arguments).await,
            Tool::ExplainMatch => leads::explain(self, caller, arguments).await,
            Tool::TestFilter => filters::test(self, arguments).await,
            Tool::ListActivity => activity::list(self, caller, arguments).await,
            Tool::SubmitBid => bids::submit(self, caller, arguments).await,
            Tool::RejectLead => bids::reject(self, caller, arguments).await,
            Tool::CreateApiKey => keys::create(self, caller, arguments).await,
            Tool::ListApiKeys => keys::list(self, caller, &arguments).await,
            Tool::RevokeApiKey => keys::revoke(self, caller, arguments).await,
        }
    }
}
