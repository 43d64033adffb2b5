//! The pages of the settings.

pub(crate) mod accounts;
pub(crate) mod api_keys;
pub(crate) mod billing;
pub(crate) mod display;
pub(crate) mod password;
pub(crate) mod tokens;
pub(crate) mod users;
