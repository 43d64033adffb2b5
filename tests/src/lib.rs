//! The acceptance suite lives in `tests/`.
