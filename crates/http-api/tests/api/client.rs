//! A small HTTP/1.1 client that can also send invalid requests.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Nothing in these tests takes longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub(crate) fn message(&self) -> String {
        self.json()["message"].as_str().unwrap().to_owned()
    }

    /// The paths of `errors`, joined with dots.
    pub(crate) fn error_paths(&self) -> Vec<String> {
        let json = self.json();
        let errors = json["errors"].as_array().unwrap();
        errors
            .iter()
            .map(|error| {
                let path = error["path"].as_array().unwrap();
                let parts: Vec<&str> = path.iter().map(|part| part.as_str().unwrap()).collect();
                parts.join(".")
            })
            .collect()
    }
}

/// A request under construction. It carries no key unless told.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    declares_length: bool,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            declares_length: method != "GET" && method != "HEAD",
        }
    }

    pub(crate) fn key(self, key: &str) -> Self {
        self.header("Authorization", &format!("Bearer {key}"))
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.header("Content-Type", "application/json")
            .body(body.to_string())
    }

    /// Sends the body in chunks instead of declaring its length.
    pub(crate) fn chunked(mut self) -> Self {
        self.declares_length = false;
        let mut chunked = Vec::with_capacity(self.body.len() + 1024);
        for chunk in self.body.chunks(60_000) {
            chunked.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            chunked.extend_from_slice(chunk);
            chunked.extend_from_slice(b"\r\n");
        }
        chunked.extend_from_slice(b"0\r\n\r\n");
        self.body = chunked;
        self.header("Transfer-Encoding", "chunked")
    }

    /// Declares this length instead of that of the body.
    pub(crate) fn declared(mut self, length: u64) -> Self {
        self.declares_length = false;
        self.header("Content-Length", &length.to_string())
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nHost: test\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.extend([name.as_str(), ": ", value.as_str(), "\r\n"]);
        }
        if self.declares_length {
            head.extend(["Content-Length: ", &self.body.len().to_string(), "\r\n"]);
        }
        head.push_str("Connection: close\r\n\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    pub(crate) fn send(&self, address: SocketAddr) -> Answer {
        exchange(address, &self.bytes())
            .unwrap_or_else(|| panic!("no answer to {} {}", self.method, self.path))
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends bytes as they are and reads one answer; `None` if the connection ends without one.
pub(crate) fn exchange(address: SocketAddr, bytes: &[u8]) -> Option<Answer> {
    let mut stream = connect(address);
    // A refusal may come, and the connection be closed, before everything is sent.
    let _ = stream.write_all(bytes);
    read_answer(&mut stream)
}

/// Sends bytes, then ends its side of the connection.
pub(crate) fn exchange_half_closed(address: SocketAddr, bytes: &[u8]) -> Option<Answer> {
    let mut stream = connect(address);
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    read_answer(&mut stream)
}

/// Reads one answer, passing over 100 Continue.
pub(crate) fn read_answer(stream: &mut TcpStream) -> Option<Answer> {
    let mut buffer = Vec::new();
    loop {
        let head_end = loop {
            if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            read_more(stream, &mut buffer)?;
        };
        let head = String::from_utf8(buffer[..head_end].to_vec()).unwrap();
        buffer.drain(..head_end + 4);
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        if status == 100 {
            continue;
        }
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let mut answer = Answer {
            status,
            headers,
            body: Vec::new(),
        };
        let length: usize = answer
            .header("content-length")
            .map_or(0, |length| length.parse().unwrap());
        while buffer.len() < length {
            read_more(stream, &mut buffer)?;
        }
        buffer.truncate(length);
        answer.body = buffer;
        return Some(answer);
    }
}

fn read_more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let mut piece = [0; 16 * 1024];
    match stream.read(&mut piece) {
        Ok(0) | Err(_) => None,
        Ok(read) => {
            buffer.extend_from_slice(&piece[..read]);
            Some(())
        }
    }
}
