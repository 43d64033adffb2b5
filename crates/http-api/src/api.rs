//! [`HttpApi`]: the parts of the API, and how its handlers call use cases.

use std::future::Future;
use std::sync::Arc;

use actix_web::HttpRequest;
use bidloop_domain::port::Entropy;
use bidloop_domain::use_case::{
    Authenticate, AuthenticateError, Caller, ListLeads, LocateLead, RejectLead, SubmitBid, UploadAttachments,
};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::{Instrument, Span};

use crate::bearer::presented_key;
use crate::errors::Refusal;
use crate::ports::{Readiness, RequestMetrics};

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
    /// Generates ids of requests without one.
    pub entropy: Arc<dyn Entropy>,
    /// Checked before an answer that does not need the database.
    pub readiness: Arc<dyn Readiness>,
    /// Counts every request. Its text is served at `/metrics`.
    pub metrics: Arc<dyn RequestMetrics>,
    /// A multi-thread runtime, on which every use case runs to its end even if the connection closes.
    pub runtime: Handle,
}

impl HttpApi {
    /// Starts a use case on its runtime. Dropping the answer's future does not stop it.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        use_case: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.runtime.spawn(use_case.in_current_span())
    }

    /// Runs a use case on its runtime.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        use_case: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Refusal> {
        Ok(self.start(use_case).await?)
    }

    /// Authenticates the caller, before all other checks (decision A1).
    pub(crate) async fn authenticate(&self, request: &HttpRequest) -> Result<Caller, Refusal> {
        let key = presented_key(request.headers()).map(str::to_owned);
        let authenticate = self.authenticate.clone();
        let known = self
            .run(async move { authenticate.execute(key.as_deref()).await })
            .await?;
        match known {
            Ok(caller) => {
                Span::current().record("organization", caller.organization_id.as_str());
                Ok(caller)
            }
            Err(error) => {
                // A malformed key is refused without asking the database, which may be unavailable.
                if error == AuthenticateError::Refused {
                    self.require_database().await?;
                }
                Err(error.into())
            }
        }
    }

    /// Refuses with 503 while the database is unavailable, as all routes but `/healthz` do.
    pub(crate) async fn require_database(&self) -> Result<(), Refusal> {
        let readiness = self.readiness.clone();
        if self.run(async move { readiness.is_ready().await }).await? {
            Ok(())
        } else {
            Err(Refusal::not_ready())
        }
    }
}
