//! HTTP/1.1 over one kept connection. The load generator shares the processor with what it measures, so an answer is
//! read with little more work than to find its status and its end.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

/// The API key of the benchmark's organization.
pub(crate) const KEY: &str = "lk_0b1d100b0b1d100b0b1d100b0b1d100b0b1d100b0b1d100b0b1d100b0b1d100b";
/// Leads of a page, the default of the List operation.
pub(crate) const PAGE: usize = 100;

/// How long a [`Client`] waits for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A GET request with [`KEY`].
pub(crate) fn get(path: &str) -> Vec<u8> {
    get_with(KEY, path)
}

fn get_with(key: &str, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: bidloop\r\nauthorization: Bearer {key}\r\n\r\n").into_bytes()
}

/// A POST request with [`KEY`].
pub(crate) fn post(path: &str, content_type: &str, body: &str) -> Vec<u8> {
    post_with(KEY, path, content_type, body)
}

/// A POST request with this API key.
pub(crate) fn post_with(key: &str, path: &str, content_type: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: bidloop\r\nauthorization: Bearer {key}\r\n\
         content-type: {content_type}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// The path of a page of a campaign's leads.
pub(crate) fn page_path(campaign: &str, offset: usize) -> String {
    format!("/v1/campaigns/{campaign}/leads?limit={PAGE}&offset={offset}")
}

/// A connection for one request after the other.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    /// The bytes of the current answer.
    received: Vec<u8>,
}

/// An answer's status, head and body. The body of an answer in chunks is left in chunks.
#[derive(Debug)]
pub(crate) struct Answer<'c> {
    status: u16,
    head: &'c [u8],
    body: &'c [u8],
}

impl<'c> Answer<'c> {
    /// A field of the head.
    pub(crate) fn field(&self, name: &str) -> Option<&'c str> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        httparse::Response::new(&mut fields).parse(self.head).ok()?;
        field(&fields, name)
    }

    /// The body of an answer that must have this status.
    pub(crate) fn expect(self, status: u16) -> Result<&'c [u8]> {
        let Self {
            status: got, body, ..
        } = self;
        ensure!(
            got == status,
            "answered {got} instead of {status}: {}",
            String::from_utf8_lossy(body)
        );
        Ok(body)
    }
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let received = Vec::with_capacity(512 * 1024);
        Ok(Self { stream, received })
    }

    /// Sends a whole request and reads its answer.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Result<Answer<'_>> {
        self.stream.write_all(request).await?;
        self.received.clear();
        let head = loop {
            self.receive().await?;
            if let Some(head) = Head::parse(&self.received)? {
                break head;
            }
        };
        let length = loop {
            let body = &self.received[head.length..];
            let length = match head.body {
                Body::Bytes(length) => Some(length).filter(|length| *length <= body.len()),
                Body::Chunks => length_of_chunks(body)?,
            };
            if let Some(length) = length {
                break length;
            }
            self.receive().await?;
        };
        let (before, body) = self.received.split_at(head.length);
        Ok(Answer {
            status: head.status,
            head: before,
            body: &body[..length],
        })
    }

    async fn receive(&mut self) -> Result<()> {
        let count = self.stream.read_buf(&mut self.received).await?;
        ensure!(count > 0, "the connection was closed before the answer's end");
        Ok(())
    }
}

/// The most fields of an answer's head.
const MAX_FIELDS: usize = 32;

/// The start of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    status: u16,
    /// Bytes of the head, including its empty line.
    length: usize,
    body: Body,
}

/// How an answer's end is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    Bytes(usize),
    Chunks,
}

fn field<'h>(fields: &[httparse::Header<'h>], name: &str) -> Option<&'h str> {
    let found = fields
        .iter()
        .find(|field| field.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(found.value).ok()
}

/// The length of a body in chunks with their frames; `None` if part of it is still missing.
fn length_of_chunks(body: &[u8]) -> Result<Option<usize>> {
    let mut at = 0;
    loop {
        let Some(line) = body[at..].windows(2).position(|pair| pair == b"\r\n") else {
            return Ok(None);
        };
        let size = usize::from_str_radix(std::str::from_utf8(&body[at..at + line])?, 16)?;
        at += line + 2 + size + 2;
        if at > body.len() {
            return Ok(None);
        }
        if size == 0 {
            return Ok(Some(at));
        }
    }
}

impl Head {
    /// `None` if part of the head is still missing.
    fn parse(bytes: &[u8]) -> Result<Option<Self>> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut head = httparse::Response::new(&mut fields);
        let httparse::Status::Complete(length) = head.parse(bytes)? else {
            return Ok(None);
        };
        let body = match field(head.headers, "content-length") {
            Some(length) => Body::Bytes(length.parse()?),
            None if field(head.headers, "transfer-encoding") == Some("chunked") => Body::Chunks,
            None => anyhow::bail!("an answer without its length"),
        };
        Ok(Some(Self {
            status: head.code.context("an answer without a status")?,
            length,
            body,
        }))
    }
}

/// A [`Connection`] for code that is not asynchronous.
#[derive(Debug)]
pub(crate) struct Client {
    runtime: Runtime,
    connection: Connection,
    /// Of the organization that it is a client of.
    key: String,
}

impl Client {
    pub(crate) fn open(address: SocketAddr) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let connection = runtime.block_on(Connection::open(address))?;
        let key = KEY.to_owned();
        Ok(Self {
            runtime,
            connection,
            key,
        })
    }

    /// From now on with this API key.
    pub(crate) fn identify(&mut self, key: &str) {
        key.clone_into(&mut self.key);
    }

    pub(crate) fn ask(&mut self, request: &[u8]) -> Result<Answer<'_>> {
        let Self {
            runtime, connection, ..
        } = self;
        runtime.block_on(async { tokio::time::timeout(PATIENCE, connection.ask(request)).await? })
    }

    /// The body of the answer to a GET, which must be 200.
    pub(crate) fn get(&mut self, path: &str) -> Result<&[u8]> {
        self.ask(&get_with(&self.key, path))?.expect(200)
    }

    /// A page of a campaign's leads.
    pub(crate) fn leads(&mut self, campaign: &str, offset: usize) -> Result<Vec<Value>> {
        let mut page: Value = serde_json::from_slice(self.get(&page_path(campaign, offset))?)?;
        match page["data"].take() {
            Value::Array(leads) => Ok(leads),
            _ => anyhow::bail!("a page without leads"),
        }
    }

    /// How many matches the List operation counts for a campaign.
    pub(crate) fn total(&mut self, campaign: &str) -> Result<u64> {
        let path = format!("/v1/campaigns/{campaign}/leads?limit=1");
        let page: Value = serde_json::from_slice(self.get(&path)?)?;
        page["total"].as_u64().context("a page without its total")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_tells_status_and_length_once_it_is_complete() {
        let bytes = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\ndate: x\r\n\r\n{}";
        assert_eq!(Head::parse(&bytes[..40]).unwrap(), None);
        let head = Head::parse(bytes).unwrap().unwrap();
        assert_eq!((head.status, head.body), (404, Body::Bytes(2)));
        assert_eq!(&bytes[head.length..], b"{}");
        assert!(Head::parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }

    #[test]
    fn a_body_in_chunks_ends_with_an_empty_one() {
        let body = b"3\r\n0\r\n\r\na\r\n0123456789\r\n0\r\n\r\nHTTP";
        assert_eq!(length_of_chunks(body).unwrap(), Some(body.len() - 4));
        for short in 0..body.len() - 4 {
            assert_eq!(length_of_chunks(&body[..short]).unwrap(), None, "{short}");
        }
        assert!(length_of_chunks(b"x\r\n").is_err());
    }
}
