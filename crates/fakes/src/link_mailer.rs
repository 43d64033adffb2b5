//! A mailer that keeps what it was given.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use bidloop_domain::port::{LinkMail, LinkMailer, MailError};

/// Keeps every mail, unless it is told to fail.
#[derive(Debug, Default)]
pub struct KeepingLinkMailer {
    sent: Mutex<Vec<LinkMail>>,
    failure: Mutex<Option<MailError>>,
}

impl KeepingLinkMailer {
    /// Every mail from now on fails with this error.
    pub fn fail_with(&self, error: MailError) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// What was sent.
    pub fn sent(&self) -> Vec<LinkMail> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl LinkMailer for KeepingLinkMailer {
    async fn send(&self, mail: &LinkMail) -> Result<(), MailError> {
        let failure = self
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(failure) = failure {
            return Err(failure);
        }
        self.sent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(mail.clone());
        Ok(())
    }
}
