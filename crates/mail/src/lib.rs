//! Mails one-time links over SMTP (decision E2).
//!
//! [`SmtpLinkMailer`] implements the domain's [`LinkMailer`]. It opens a connection for each mail: mails are few.

use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::model::LinkKind;
use bidloop_domain::port::{LinkMail, LinkMailer, MailError};
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};

/// How long the mail server may take for one mail.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// A mail server, with the account there.
#[derive(Debug, Clone)]
pub struct MailServer(AsyncSmtpTransport<Tokio1Executor>);

impl MailServer {
    /// The server at this URL: `smtps://…`, or `smtp://…`, which is encrypted with `?tls=required` only.
    ///
    /// # Errors
    /// A sentence without the URL, which may hold a password.
    pub fn parse(url: &str) -> Result<Self, String> {
        let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(url).map_err(|_| {
            "is not a URL such as `smtps://user:password@mail.example.com` or \
             `smtp://user:password@mail.example.com:587?tls=required`"
        })?;
        Ok(Self(builder.timeout(Some(TIME_LIMIT)).build()))
    }
}

/// Whom mails come from.
#[derive(Debug, Clone)]
pub struct MailSender(Mailbox);

impl MailSender {
    /// An address, perhaps with a name before it.
    ///
    /// # Errors
    /// A sentence that says what it must be.
    pub fn parse(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| {
            format!("is `{text}`, but must be an address such as `Bidloop <bidloop@mail.example.com>`")
        })
    }
}

/// How mail is sent.
#[derive(Debug, Clone)]
pub struct MailSettings {
    /// Who takes it.
    pub server: MailServer,
    /// Whom it comes from.
    pub sender: MailSender,
}

/// Sends each mail over a connection of its own.
#[derive(Debug)]
pub struct SmtpLinkMailer {
    settings: MailSettings,
    /// Where the console is reached, without a slash at its end.
    base_url: String,
}

impl SmtpLinkMailer {
    /// A mailer of links to the console under `base_url`.
    pub fn new(settings: MailSettings, base_url: &str) -> Self {
        Self {
            settings,
            base_url: base_url.trim_end_matches('/').to_owned(),
        }
    }

    fn message(&self, mail: &LinkMail) -> Result<Message, MailError> {
        let person = &mail.link.person;
        let address: Address = person
            .email
            .parse()
            .map_err(|_| MailError("the address is none that mail can be sent to".to_owned()))?;
        let (subject, text) = words(mail, &self.base_url);
        let message = Message::builder()
            .from(self.settings.sender.0.clone())
            .to(Mailbox::new(None, address))
            .subject(subject)
            .header(ContentType::TEXT_PLAIN)
            .body(text);
        message.map_err(|error| MailError(format!("the mail could not be written: {error}")))
    }
}

/// Subject and text.
fn words(mail: &LinkMail, base_url: &str) -> (String, String) {
    let LinkMail {
        link,
        token,
        organization,
        made_by,
    } = mail;
    let (subject, why) = match link.kind {
        LinkKind::Invitation => (
            format!("Invitation to {organization} on Bidloop"),
            format!("{made_by} invites you to the organization {organization}."),
        ),
        LinkKind::Reset => (
            "Another password for Bidloop".to_owned(),
            format!("{made_by} of the organization {organization} lets you set another password."),
        ),
    };
    let text = format!(
        "{why}\n\nOpen this link. It works once, for three days:\n\n{base_url}/invite/{}\n\n\
         If you did not expect this mail, do not open the link.\n",
        token.expose()
    );
    (subject, text)
}

#[async_trait]
impl LinkMailer for SmtpLinkMailer {
    async fn send(&self, mail: &LinkMail) -> Result<(), MailError> {
        let message = self.message(mail)?;
        let sending = tokio::time::timeout(TIME_LIMIT, self.settings.server.0.send(message));
        match sending.await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => {
                tracing::warn!(%error, "a link could not be mailed");
                Err(MailError(match error.status() {
                    Some(code) => format!("the mail server answered {code}"),
                    None => "the mail server did not answer as it should".to_owned(),
                }))
            }
            Err(_) => {
                tracing::warn!("a link could not be mailed: the mail server took too long");
                Err(MailError("the mail server took too long".to_owned()))
            }
        }
    }
}
