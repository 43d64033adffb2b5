//! Mails are given to a mail server, here one on this machine that speaks as much SMTP as is needed.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;

use bidloop_domain::model::{
    EmailAddress, LinkId, LinkKind, LinkToken, MemberRole, OneTimeLink, OrganizationId, Person, Timestamp,
};
use bidloop_domain::port::{LinkMail, LinkMailer, MailError};
use bidloop_mail::{MailSender, MailServer, MailSettings, SmtpLinkMailer};

/// Serves one connection. Returns every line that the client sent; `recipients` is the answer to a recipient.
fn mail_server(recipients: &'static str) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let mut said = String::new();
        let mut is_mail = false;
        stream.write_all(b"220 mail.test\r\n").unwrap();
        while let Some(Ok(line)) = lines.next() {
            said.push_str(&line);
            said.push('\n');
            let answer = match line.as_str() {
                "." => {
                    is_mail = false;
                    "250 taken"
                }
                _ if is_mail => continue,
                "DATA" => {
                    is_mail = true;
                    "354 go on"
                }
                "QUIT" => break,
                line if line.starts_with("RCPT") => recipients,
                _ => "250 fine",
            };
            stream.write_all(format!("{answer}\r\n").as_bytes()).unwrap();
        }
        said
    });
    (address, serving)
}

fn mailer(address: SocketAddr) -> SmtpLinkMailer {
    let settings = MailSettings {
        server: MailServer::parse(&format!("smtp://{address}")).unwrap(),
        sender: MailSender::parse("Bidloop <bidloop@mail.test>").unwrap(),
    };
    SmtpLinkMailer::new(settings, "https://bids.test/")
}

fn mail(email: &str, organization: &str) -> LinkMail {
    let address = EmailAddress::parse(email).unwrap();
    LinkMail {
        link: OneTimeLink {
            id: LinkId::random([1; 6]),
            organization_id: OrganizationId::parse("org_acme").unwrap(),
            person: Person {
                key: address.key(),
                email: address.as_str().to_owned(),
                name: "Ann".to_owned(),
            },
            kind: LinkKind::Invitation,
            role: MemberRole::Member,
            made_by: address.key(),
            created_at: Timestamp::from_seconds(0),
            expires_at: Timestamp::from_seconds(3 * 24 * 60 * 60),
        },
        token: LinkToken::from_random([7; 32]),
        organization: organization.to_owned(),
        made_by: "ops@acme.test".to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_given_to_the_mail_server_with_its_link() {
    let (address, serving) = mail_server("250 fine");
    let mail = mail("ann@acme.test", "Acme");
    assert_eq!(mailer(address).send(&mail).await, Ok(()));
    // Long lines are folded in quoted-printable.
    let said = serving.join().unwrap().replace("=\n", "");
    for line in [
        "MAIL FROM:<bidloop@mail.test>",
        "RCPT TO:<ann@acme.test>",
        "Subject: Invitation to Acme on Bidloop",
        "ops@acme.test invites you to the organization Acme.",
        &format!("https://bids.test/invite/{}", mail.token.expose()),
    ] {
        assert!(said.contains(line), "{line} is missing in:\n{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_adds_no_header() {
    let (address, serving) = mail_server("250 fine");
    let mail = mail("ann@acme.test", "Acme\r\nBcc: eve@evil.test");
    assert_eq!(mailer(address).send(&mail).await, Ok(()));
    let said = serving.join().unwrap();
    let head = said.split("\n\n").next().unwrap();
    assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{said}");
    assert_eq!(said.matches("RCPT TO").count(), 1, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_recipient_is_reported() {
    let (address, serving) = mail_server("550 nobody of this name");
    let refused = mailer(address).send(&mail("ann@acme.test", "Acme")).await;
    assert_eq!(refused, Err(MailError("the mail server answered 550".to_owned())));
    drop(serving);
}

#[tokio::test]
async fn a_server_that_is_away_is_reported() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let away = mailer(address).send(&mail("ann@acme.test", "Acme")).await;
    let reported = "the mail server did not answer as it should".to_owned();
    assert_eq!(away, Err(MailError(reported)));
}

#[test]
fn what_is_no_mail_server_is_refused_without_its_password() {
    for url in [
        "",
        "mail.test",
        "http://a:hunter2@mail.test",
        "smtp://a:hunter2@mail.test?tls=maybe",
    ] {
        let refused = MailServer::parse(url).unwrap_err();
        assert!(refused.starts_with("is not a URL such as"), "{refused}");
        assert!(!refused.contains("hunter2"), "{refused}");
    }
    assert!(MailSender::parse("Bidloop").is_err());
}
