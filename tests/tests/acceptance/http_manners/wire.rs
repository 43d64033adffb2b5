//! Requests and replies as bytes: one connection each, read to its end.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use flate2::read::GzDecoder;
use serde_json::Value;

/// Longer than anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let (first, second) = (found.next(), found.next());
        assert!(second.is_none(), "{name} is there twice: {first:?} {second:?}");
        first.map(|(_, value)| value.as_str())
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(super) fn uncompressed(&self) -> Vec<u8> {
        let mut content = Vec::new();
        GzDecoder::new(&*self.body).read_to_end(&mut content).unwrap();
        content
    }

    #[track_caller]
    pub(super) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{:?} {}", self.headers, self.text());
        self
    }
}

/// Sends one request and reads the reply.
pub(super) fn ask(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    let bytes = exchange(address, format!("{head}\r\n").as_bytes());
    let mut replies = replies(&bytes, method == "HEAD");
    assert_eq!(replies.len(), 1, "{method} {path}: {replies:?}");
    replies.remove(0)
}

/// Sends bytes and reads until the connection ends.
pub(super) fn exchange(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut read = Vec::new();
    stream.read_to_end(&mut read).unwrap();
    read
}

/// The replies that follow each other on a connection. Those to HEAD have no bodies.
pub(super) fn replies(mut bytes: &[u8], are_to_head: bool) -> Vec<Reply> {
    let mut replies = Vec::new();
    while !bytes.is_empty() {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        bytes = &bytes[end + 4..];
        let mut lines = head.split("\r\n");
        let status: u16 = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.map(|line| line.split_once(": ").unwrap());
        let mut reply = Reply {
            status,
            headers: headers
                .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
                .collect(),
            body: Vec::new(),
        };
        if !are_to_head && status != 304 {
            let length = reply
                .header("content-length")
                .map(|length| length.parse().unwrap());
            let length = length.unwrap_or(bytes.len());
            let (body, rest) = bytes.split_at(length);
            reply.body = body.to_vec();
            bytes = rest;
        }
        replies.push(reply);
    }
    replies
}
