//! The interface description (OpenAPI 3.1): the four operations, their bodies and errors, and the webhooks.
//!
//! `openapi.json` is written by hand. Tests compare it with the bodies that the code reads and writes. Only the schema of
//! a saved filter is not in it, because that is derived from the table of filter fields. The operability endpoints are
//! not part of the interface.

use bidloop_domain::matching::filter_schema;
use serde_json::Value;

/// The interface description that `bidloop openapi` prints.
pub fn openapi() -> Value {
    #[expect(clippy::expect_used, reason = "a constant, which the tests parse")]
    let mut document: Value =
        serde_json::from_str(include_str!("../openapi.json")).expect("openapi.json is JSON");
    document["components"]["schemas"]["SavedFilter"] = filter_schema();
    document
}
