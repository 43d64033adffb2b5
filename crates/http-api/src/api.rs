//! [`HttpApi`]: the parts of the API, and the checks that come before an operation.

use std::sync::Arc;

use actix_web::HttpRequest;
use bidloop_domain::port::Entropy;
use bidloop_domain::use_case::{
    Authenticate, AuthenticateError, Caller, ListLeads, LocateLead, RejectLead, SubmitBid, UploadAttachments,
};
use bidloop_http_server::UseCaseRuntime;

use crate::bearer::presented_key;
use crate::cross_origin::AllowedOrigins;
use crate::description::Description;
use crate::errors::Refusal;
use crate::held_readiness::HeldReadiness;
use crate::ports::{Readiness as _, RequestMetrics};

/// The use cases and the ports of the API. All workers share one value.
#[derive(Debug, Clone)]
pub struct HttpApi {
    /// Authenticates API keys.
    pub authenticate: Arc<Authenticate>,
    /// Finds the campaign or lead of a request with a wrong method.
    pub locate_lead: Arc<LocateLead>,
    /// `listCampaignLeads`.
    pub list_leads: Arc<ListLeads>,
    /// `submitBid`.
    pub submit_bid: Arc<SubmitBid>,
    /// `rejectLead`.
    pub reject_lead: Arc<RejectLead>,
    /// `uploadLeadAttachments`.
    pub upload_attachments: Arc<UploadAttachments>,
    /// The interface description, with the service's address.
    pub description: Arc<Description>,
    /// The web pages that may call the operations and read their description.
    pub origins: AllowedOrigins,
    /// Generates ids of requests without one.
    pub entropy: Arc<dyn Entropy>,
    /// Checked before an answer that does not need the database.
    pub readiness: Arc<HeldReadiness>,
    /// Counts every request. Its text is served at `/metrics`.
    pub metrics: Arc<dyn RequestMetrics>,
    /// Runs the use cases.
    pub runtime: UseCaseRuntime,
}

impl HttpApi {
    /// Authenticates the caller, before all other checks (decision A1).
    pub(crate) async fn authenticate(&self, request: &HttpRequest) -> Result<Caller, Refusal> {
        let key = presented_key(request.headers());
        let caller = self.runtime.read(self.authenticate.execute(key)).await?;
        // A malformed key is refused without asking the database, which may be unavailable.
        if matches!(caller, Err(AuthenticateError::Refused)) {
            self.require_database().await?;
        }
        Ok(caller?)
    }

    /// Refuses with 503 while the database is unavailable, as all routes but `/healthz` do.
    pub(crate) async fn require_database(&self) -> Result<(), Refusal> {
        if self.runtime.read(self.readiness.is_ready()).await? {
            Ok(())
        } else {
            Err(Refusal::not_ready())
        }
    }
}
