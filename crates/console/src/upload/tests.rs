//! What is read of a form with files, and what is not.

use bidloop_domain::attachment_rules::FileFault;
use bidloop_domain::model::{OrganizationId, SessionToken};
use tokio::sync::mpsc;

use super::*;

const BOUNDARY: &str = "B";

fn acme() -> OrganizationId {
    OrganizationId::parse("org_acme").unwrap()
}

fn token() -> CsrfToken {
    SessionToken::from_random([1; 32]).csrf(&acme())
}

fn masked() -> String {
    csrf::masked(&token(), [7; 32])
}

fn field(name: &str, value: &str) -> String {
    format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
}

fn file(name: &str, content: &str) -> String {
    format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"files\"; filename=\"{name}\"\r\n\
         Content-Type: text/plain\r\n\r\n{content}\r\n"
    )
}

/// Notes the files; refuses those named `bad.txt` after a piece.
#[derive(Debug, Default)]
struct Noted(Vec<(String, String)>);

impl TakesFiles for Noted {
    async fn take(&mut self, _: &Fields, head: PartHead, content: &mut Content) -> Result<(), LeadError> {
        let name = head.file_name.unwrap();
        let mut text = String::new();
        while let Some(piece) = content.next().await {
            text += &String::from_utf8_lossy(&piece?);
            if name == "bad.txt" {
                return Err(FileFault::Empty { name }.into());
            }
        }
        self.0.push((name, text));
        Ok(())
    }
}

/// Reads a form whose body ends after `parts`, or goes on and on.
async fn read(parts: impl IntoIterator<Item = String>, ends: bool) -> Result<Received<Noted>, PageError> {
    let (sender, pieces) = mpsc::channel(1);
    let parts: String = parts.into_iter().collect();
    let sending = tokio::spawn(async move {
        let end = format!("--{BOUNDARY}--\r\n");
        sender.send(Ok(Bytes::from(parts))).await.unwrap();
        if ends {
            sender.send(Ok(Bytes::from(end))).await.unwrap();
        } else {
            let filler = Bytes::from(vec![b'x'; 1024]);
            while sender.send(Ok(filler.clone())).await.is_ok() {}
        }
    });
    let parts = Parts::new(BOUNDARY.to_owned(), pieces, worded);
    let received = receive(parts, &token(), false, Noted::default()).await;
    sending.await.unwrap();
    received
}

#[tokio::test]
async fn fields_and_files_are_read_in_their_order() {
    let received = read(
        [
            field("csrf", &masked()),
            field("letter", "Hello,\r\nyou"),
            file("a.txt", "A"),
            file("", ""),
            file("b.txt", "B"),
            field("action", "submit"),
        ],
        true,
    );
    let received = received.await.unwrap();
    assert_eq!(received.fault, None);
    assert_eq!(received.fields.text("letter"), "Hello,\nyou");
    assert_eq!(received.fields.text("action"), "submit");
    let expected = [("a.txt", "A"), ("b.txt", "B")].map(|(name, text)| (name.to_owned(), text.to_owned()));
    assert_eq!(received.files.0, expected);
}

#[tokio::test]
async fn a_body_without_the_sessions_token_is_read_no_further_and_no_file_is_taken() {
    let other = csrf::masked(&SessionToken::from_random([2; 32]).csrf(&acme()), [7; 32]);
    for first in [
        field("csrf", &other),
        field("csrf", ""),
        field("csrf", &"0".repeat(100_000)),
        field("letter", "Hello"),
        file("a.txt", "A"),
        String::new(),
    ] {
        let received = read([first.clone(), file("a.txt", "A")], false).await;
        assert!(
            matches!(received, Err(PageError::FormExpired)),
            "{first:.90}: {received:?}"
        );
    }
    let empty = read([], true).await;
    assert!(matches!(empty, Err(PageError::FormExpired)), "{empty:?}");
}

#[tokio::test]
async fn after_a_faulty_file_no_other_is_taken_and_what_was_typed_is_read_all_the_same() {
    let received = read(
        [
            field("csrf", &masked()),
            file("bad.txt", &"x".repeat(300_000)),
            file("a.txt", &"A".repeat(300_000)),
            field("letter", "Hello"),
        ],
        true,
    );
    let received = received.await.unwrap();
    let fault = received.fault.unwrap();
    assert_eq!(
        said_of_files(fault).unwrap(),
        "\"bad.txt\" is empty: send a file with content."
    );
    assert!(received.files.0.is_empty());
    assert_eq!(received.fields.text("letter"), "Hello");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_fault_beside_what_was_typed() {
    let parts = [
        field("csrf", &masked()),
        field("letter", "Hello"),
        file("a.txt", "A"),
    ]
    .concat();
    let (sender, pieces) = mpsc::channel(1);
    sender.send(Ok(Bytes::from(parts))).await.unwrap();
    drop(sender);
    let parts = Parts::new(BOUNDARY.to_owned(), pieces, worded);
    let received = receive(parts, &token(), false, Noted::default()).await.unwrap();
    assert_eq!(
        said_of_files(received.fault.unwrap()).unwrap(),
        "The upload breaks off before its last boundary."
    );
    assert_eq!(received.fields.text("letter"), "Hello");
}

#[tokio::test]
async fn what_is_typed_is_bounded() {
    let long = "x".repeat(usize::try_from(MAX_FORM_BYTES).unwrap() / 2 + 1);
    let too_long = read(
        [field("csrf", &masked()), field("a", &long), field("b", &long)],
        false,
    );
    assert!(matches!(too_long.await, Err(PageError::FormUnreadable(_))));
    let mut many = vec![field("csrf", &masked())];
    many.extend((0..=MAX_FIELDS).map(|_| field("a", "")));
    assert!(matches!(
        read(many, true).await,
        Err(PageError::FormUnreadable(_))
    ));
}
