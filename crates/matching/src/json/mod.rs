//! Reads JSON strictly and reports every fault at once.
//!
//! [`read_json`] parses bytes and refuses members that occur twice. [`Fields`] reads an object field by field. Wrong types,
//! missing fields and unknown fields ("did you mean …?") become [`FieldError`]s with their path, collected in [`Faults`].
//! Saved filters, the bidding configuration, provisioning files and request bodies are read in this way.

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
pub use path::{MAX_NAME_CHARS, Path, shortened_name};
pub use strict::read_json;
pub use suggestion::closest;
