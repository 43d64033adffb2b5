//! [`ApiBodies`]: what the tools share with the HTTP API.

use bidloop_domain::model::BidRequest;
use bidloop_domain::use_case::LeadError;
use serde_json::Value;

/// How the HTTP API reads its bodies and words its errors. A tool takes and answers the same, so the program hands in the
/// API's own functions.
#[derive(Debug, Clone, Copy)]
pub struct ApiBodies {
    /// Reads a `SubmitBidRequest`.
    pub read_bid: fn(&[u8]) -> Result<BidRequest, LeadError>,
    /// Reads a `RejectLeadRequest`.
    pub read_rejection: fn(&[u8]) -> Result<Option<String>, LeadError>,
    /// The body of an error's answer. Logs what must not be in it.
    pub error_body: fn(&LeadError) -> Value,
}
