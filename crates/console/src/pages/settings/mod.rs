//! The pages of the settings.

pub(crate) mod api_keys;
