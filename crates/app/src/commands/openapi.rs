//! `bidloop openapi`.

use super::{Outcome, output};

pub(super) fn run() -> Outcome {
    output::line(&bidloop_http_api::openapi())
}
