//! JSON of callers, read strictly, with every fault found at once.

mod field_error;
mod number;
mod one_line;
mod strict;
mod suggestion;

pub use field_error::FieldError;
pub use number::whole_value;
pub use one_line::sanitize_for_log;
pub use strict::read_json;
pub use suggestion::closest;
