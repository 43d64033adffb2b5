//! [`HttpApi`]: the parts of the API, and how its handlers call use cases.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use actix_web::HttpRequest;
use bidloop_domain::port::Entropy;
use bidloop_domain::use_case::{
    Authenticate, AuthenticateError, Caller, ListLeads, LocateLead, RejectLead, SubmitBid, UploadAttachments,
};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::Instrument;

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
    /// A multi-thread runtime, to which everything belongs that use cases start.
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

    /// Runs a use case to its end, even if the connection closes. What it does before it first waits is done on this
    /// thread, the rest on the runtime: a hand-over costs more than a short read.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        use_case: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Refusal> {
        let mut use_case = Box::pin(use_case);
        match poll_fn(|context| Poll::Ready(self.poll_here(use_case.as_mut(), context))).await {
            Poll::Ready(done) => done,
            Poll::Pending => Ok(self.start(use_case).await?),
        }
    }

    /// Runs a use case that only reads, on this thread. It is dropped if the connection closes.
    pub(crate) async fn read<T>(&self, use_case: impl Future<Output = T>) -> Result<T, Refusal> {
        let mut use_case = pin!(use_case);
        poll_fn(|context| self.poll_here(use_case.as_mut(), context)).await
    }

    /// Polls as the runtime would: its timers, tasks and connections are used, and a panic is a failed use case.
    fn poll_here<T>(
        &self,
        use_case: Pin<&mut impl Future<Output = T>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, Refusal>> {
        let _entered = self.runtime.enter();
        match catch_unwind(AssertUnwindSafe(|| use_case.poll(context))) {
            Ok(polled) => polled.map(Ok),
            Err(_) => Poll::Ready(Err(Refusal::internal("a use case panicked".to_owned()))),
        }
    }

    /// Authenticates the caller, before all other checks (decision A1).
    pub(crate) async fn authenticate(&self, request: &HttpRequest) -> Result<Caller, Refusal> {
        let key = presented_key(request.headers());
        let caller = self.read(self.authenticate.execute(key)).await?;
        // A malformed key is refused without asking the database, which may be unavailable.
        if matches!(caller, Err(AuthenticateError::Refused)) {
            self.require_database().await?;
        }
        Ok(caller?)
    }

    /// Refuses with 503 while the database is unavailable, as all routes but `/healthz` do.
    pub(crate) async fn require_database(&self) -> Result<(), Refusal> {
        if self.read(self.readiness.is_ready()).await? {
            Ok(())
        } else {
            Err(Refusal::not_ready())
        }
    }
}
