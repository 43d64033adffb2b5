//! The bodies of requests.

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty, Full};

use crate::upload::UploadFault;

/// A request's body. Its length is always declared, so no request is sent in chunks.
pub(crate) type RequestBody = UnsyncBoxBody<Bytes, UploadFault>;

pub(crate) fn empty_body() -> RequestBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

pub(crate) fn json_body(json: Vec<u8>) -> RequestBody {
    Full::from(json).map_err(|never| match never {}).boxed_unsync()
}
