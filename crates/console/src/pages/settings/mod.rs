//! The pages of the settings.

pub(crate) mod api_keys;
pub(crate) mod password;
pub(crate) mod users;
