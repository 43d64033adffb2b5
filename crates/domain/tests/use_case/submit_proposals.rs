//! Submit proposals: decisions B1, B3 to B7.

mod crashes;
mod ends;
mod faults;
mod races;
mod tokens;
