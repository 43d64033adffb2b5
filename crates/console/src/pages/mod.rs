//! The pages, a file for each: what a request asks for, the use case behind it, and the template's data.

pub(crate) mod activity;
pub(crate) mod campaign;
pub(crate) mod campaigns;
pub(crate) mod events;
pub(crate) mod first_run;
pub(crate) mod invite;
pub(crate) mod overview;
pub(crate) mod settings;
pub(crate) mod sign_in;
pub(crate) mod webhooks;
