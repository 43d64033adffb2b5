//! Requests as bytes, answers as bytes: just enough HTTP/1.1 to set a service up. The load generator reads answers
//! its own way.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The API key of the benchmark's organization.
pub(super) const KEY: &str = "lk_0b1d100b0b1d100b0b1d100b0b1d100b0b1d100b0b1d100b0b1d100b0b1d100b";

const PATIENCE: Duration = Duration::from_secs(30);

/// A GET on a connection that stays open.
pub(super) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: bidloop\r\nauthorization: Bearer {KEY}\r\n\r\n").into_bytes()
}

/// A POST of JSON on a connection that stays open.
pub(super) fn post(path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: bidloop\r\nauthorization: Bearer {KEY}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// An answer's status and body.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// The body of a 200.
    pub(super) fn json(&self) -> Result<Value> {
        let text = String::from_utf8_lossy(&self.body);
        ensure!(self.status == 200, "answered {}: {text}", self.status);
        Ok(serde_json::from_slice(&self.body)?)
    }
}

/// A connection that is kept for one request after the other.
#[derive(Debug)]
pub(super) struct Connection(TcpStream);

impl Connection {
    pub(super) fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.0.write_all(bytes)?)
    }

    pub(super) fn ask(&mut self, request: &[u8]) -> Result<Answer> {
        self.write(request)?;
        self.answer()
    }

    pub(super) fn answer(&mut self) -> Result<Answer> {
        let mut read = Vec::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = self.0.read(&mut buffer)?;
            ensure!(count > 0, "the connection was closed before the answer");
            read.extend_from_slice(&buffer[..count]);
            let Some(head) = Head::parse(&read)? else { continue };
            if read.len() >= head.length + head.content_length {
                let body = read.split_off(head.length);
                return Ok(Answer {
                    status: head.status,
                    body,
                });
            }
        }
    }
}

/// What the head of an answer says of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    /// Bytes of the head, its empty line included.
    pub(super) length: usize,
    pub(super) content_length: usize,
}

impl Head {
    /// `None` if it is not all there yet.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Self>> {
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = std::str::from_utf8(&bytes[..end])?;
        let status = head.get(9..12).and_then(|digits| digits.parse().ok());
        let content_length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse().ok())?
        });
        Ok(Some(Self {
            status: status.context("an answer without a status")?,
            length: end + 4,
            content_length: content_length.context("an answer without its length")?,
        }))
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
        assert_eq!((head.status, head.content_length), (404, 2));
        assert_eq!(&bytes[head.length..], b"{}");
        assert!(Head::parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
