//! Sending a one-time link by mail.

use std::fmt;

use async_trait::async_trait;

use crate::model::{LinkToken, OneTimeLink};

/// A mail with a one-time link (decision E2).
#[derive(Debug, Clone)]
pub struct LinkMail {
    /// Whom it is for, what it does, and until when it works.
    pub link: OneTimeLink,
    /// The secret part.
    pub token: LinkToken,
    /// The organization's name.
    pub organization: String,
    /// The e-mail address of the owner who made the link.
    pub made_by: String,
}

/// Why a mail was not sent: a sentence without secrets, for the owner who made the link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MailError(pub String);

/// Sends mail. A mail that is sent has been taken by the mail server; nobody knows whether it arrives.
#[async_trait]
pub trait LinkMailer: Send + Sync + fmt::Debug {
    /// Sends a mail once, within seconds.
    async fn send(&self, mail: &LinkMail) -> Result<(), MailError>;
}
