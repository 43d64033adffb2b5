//! A person who is signed in, at the other end of a kept connection.

use anyhow::{Context as _, Result, ensure};

use super::fill::{EMAIL, PASSWORD};
use crate::http::{Answer, Client};
use crate::program::Service;

/// What browsers accept.
const COMPRESSED: &str = "accept-encoding: gzip, deflate, br, zstd\r\n";

pub(super) struct Visitor {
    client: Client,
    host: String,
    /// The cookie's name and value.
    cookie: String,
    /// What forms carry.
    csrf: String,
}

/// A request to the console.
#[derive(Debug, Clone)]
pub(super) enum Request {
    Get(String),
    /// A path, and the form's fields, encoded.
    Post(String, String),
}

impl Visitor {
    pub(super) fn sign_in(service: &Service) -> Result<Self> {
        let mut visitor = Self {
            client: service.client()?,
            host: service.address.to_string(),
            cookie: String::new(),
            csrf: String::new(),
        };
        let form = format!("email={}&password={}", encoded(EMAIL), encoded(PASSWORD));
        let answer = visitor.send(&Request::Post("/sign-in".to_owned(), form), false)?;
        let cookie = answer.field("set-cookie").context("not signed in")?;
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        visitor.cookie = cookie;
        let page = visitor.read(&Request::Get("/sign-out".to_owned()))?;
        let token = page.split("name=\"csrf\" value=\"").nth(1);
        let token = token.and_then(|rest| rest.split('"').next());
        token
            .context("a form without a token")?
            .clone_into(&mut visitor.csrf);
        Ok(visitor)
    }

    /// The page as it is before it is compressed.
    pub(super) fn read(&mut self, request: &Request) -> Result<String> {
        let body = self.send(request, false)?.expect(200)?;
        Ok(std::str::from_utf8(body)?.to_owned())
    }

    /// Reads the page as browsers do. Returns how many bytes it took.
    pub(super) fn visit(&mut self, request: &Request) -> Result<usize> {
        let answer = self.send(request, true)?;
        ensure!(
            answer.field("content-encoding").is_some(),
            "the answer is not compressed"
        );
        Ok(answer.expect(200)?.len())
    }

    fn send(&mut self, request: &Request, compressed: bool) -> Result<Answer<'_>> {
        let Self {
            host, cookie, csrf, ..
        } = self;
        let accepted = if compressed { COMPRESSED } else { "" };
        let head =
            format!("HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\ncookie: {cookie}\r\n{accepted}");
        let bytes = match request {
            Request::Get(path) => format!("GET {path} {head}\r\n"),
            Request::Post(path, fields) => {
                let body = format!("csrf={csrf}&{fields}");
                let length = body.len();
                format!(
                    "POST {path} {head}content-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n\r\n{body}"
                )
            }
        };
        self.client.ask(bytes.as_bytes())
    }
}

/// A field as forms carry it.
pub(super) fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}
