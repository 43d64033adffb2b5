//! How the API reads its bodies and words its errors, for other adapters that take and answer the same.

use bidloop_domain::model::BidRequest;
use bidloop_domain::use_case::LeadError;
use serde_json::Value;

use crate::errors::Refusal;
use crate::{bid_body, reject_body};

/// Reads a `SubmitBidRequest`.
///
/// # Errors
/// [`LeadError::Malformed`] with all faults.
pub fn read_bid(body: &[u8]) -> Result<BidRequest, LeadError> {
    bid_body::parse(body)
}

/// Reads a `RejectLeadRequest`.
///
/// # Errors
/// [`LeadError::Malformed`] with all faults.
pub fn read_rejection(body: &[u8]) -> Result<Option<String>, LeadError> {
    reject_body::parse(body)
}

/// The body of the answer to a request that failed with this error. What must not be in it is logged.
pub fn error_body(error: &LeadError) -> Value {
    Refusal::from(error.clone()).into_body()
}
