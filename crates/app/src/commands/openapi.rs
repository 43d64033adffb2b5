//! `bidloop openapi`.

use super::{Outcome, output};

pub(super) fn run() -> Outcome {
    output::json(&bidloop_http_api::openapi())
}
