//! JSON of callers, read strictly, with every fault found at once.
//!
//! [`read_json`] turns bytes into a document and refuses members that occur twice. [`Fields`] then reads an object field
//! by field: it reports wrong types, missing and unknown fields ("did you mean …?") as [`FieldError`]s with their path,
//! collected in [`Faults`]. Saved filters, the bidding configuration, provisioning files and request bodies are read so.

mod faults;
mod field_error;
mod fields;
mod number;
mod one_line;
mod path;
mod strict;
mod suggestion;

pub use faults::Faults;
pub use field_error::FieldError;
pub use fields::{Field, Fields, Null, flag, number, storable_text, str, text, wrong_type};
pub use number::whole_value;
pub use one_line::sanitize_for_log;
pub use path::Path;
pub use strict::read_json;
pub use suggestion::closest;
