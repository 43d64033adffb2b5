//! A small HTTP/1.1 client: one connection kept alive, answers as they came. What it calls is the tests' choice.

use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Longer than anything the service may take.
const TIMEOUT: Duration = Duration::from_secs(30);
const BOUNDARY: &str = "acceptance-boundary-7f3a";

/// A file to upload.
#[derive(Debug, Clone, Copy)]
pub struct Upload<'a> {
    /// The name it is sent under.
    pub name: &'a str,
    /// The declared media type.
    pub content_type: &'a str,
    /// What it holds.
    pub content: &'a [u8],
}

/// An answer as it came.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

impl Answer {
    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The answer, if it has this status; fails the test otherwise.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }
}

/// The token of the forms on a page of the console.
#[track_caller]
pub fn form_token(page: &str) -> String {
    let (_, token) = page.split_once("name=\"csrf\" value=\"").expect("a form");
    token.split('"').next().unwrap_or_default().to_owned()
}

/// A request of which half the body is still to be sent.
#[derive(Debug)]
pub struct HalfSent {
    connection: BufReader<TcpStream>,
    rest: Vec<u8>,
}

impl HalfSent {
    /// Sends the rest and reads the answer.
    #[track_caller]
    pub fn finish(mut self) -> Answer {
        // A server may have answered and closed already.
        let _written = self.connection.get_mut().write_all(&self.rest);
        read_answer(&mut self.connection).unwrap().0
    }
}

/// One client with its connection.
#[derive(Debug)]
pub struct Api {
    address: SocketAddr,
    key: Option<String>,
    connection: RefCell<Option<BufReader<TcpStream>>>,
}

impl Clone for Api {
    /// The same caller with a connection of its own.
    fn clone(&self) -> Self {
        Self::new(self.address, self.key.as_deref())
    }
}

impl Api {
    /// A caller of this address, with or without an API key.
    pub fn new(address: SocketAddr, key: Option<&str>) -> Self {
        Self {
            address,
            key: key.map(str::to_owned),
            connection: RefCell::default(),
        }
    }

    /// `GET`.
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.try_call("GET", path, &[], b"")
            .unwrap_or_else(|error| panic!("GET {path}: {error}"))
    }

    /// The value of the first metric whose line begins like this.
    #[track_caller]
    pub fn metric(&self, start: &str) -> Option<f64> {
        let metrics = self.get("/metrics").expect(200).text();
        let line = metrics.lines().find(|line| line.starts_with(start))?;
        line.rsplit(' ').next()?.parse().ok()
    }

    /// `POST` without a body.
    #[track_caller]
    pub fn post(&self, path: &str) -> Answer {
        self.try_call("POST", path, &[], b"")
            .unwrap_or_else(|error| panic!("POST {path}: {error}"))
    }

    /// `POST` with a JSON body.
    #[track_caller]
    pub fn post_json(&self, path: &str, body: &Value) -> Answer {
        self.try_post_json(path, body)
            .unwrap_or_else(|error| panic!("POST {path}: {error}"))
    }

    /// `POST` with a JSON body to a service that may go away meanwhile.
    pub fn try_post_json(&self, path: &str, body: &Value) -> io::Result<Answer> {
        let headers = [("Content-Type", "application/json")];
        self.try_call("POST", path, &headers, body.to_string().as_bytes())
    }

    /// `POST` of files, all in parts named `files`.
    #[track_caller]
    pub fn upload(&self, path: &str, files: &[Upload<'_>]) -> Answer {
        self.try_upload(path, files)
            .unwrap_or_else(|error| panic!("POST {path}: {error}"))
    }

    /// `POST` of files to a service that may go away meanwhile.
    pub fn try_upload(&self, path: &str, files: &[Upload<'_>]) -> io::Result<Answer> {
        let (kind, body) = form_data(files);
        self.try_call("POST", path, &[("Content-Type", &kind)], &body)
    }

    /// Sends the first half of a `POST`, of JSON or of one file.
    #[track_caller]
    pub fn half_send(&self, path: &str, kind: &str, body: &[u8]) -> HalfSent {
        let mut connection = self.connect().unwrap();
        let (half, rest) = body.split_at(body.len() / 2);
        let head = self.head("POST", path, &[("Content-Type", kind)], body.len());
        let begun = [head.as_bytes(), half].concat();
        connection.get_mut().write_all(&begun).unwrap();
        HalfSent {
            connection,
            rest: rest.to_vec(),
        }
    }

    /// Any call. A connection that was closed while idle is opened anew, once, as long as nothing was answered on
    /// it and the call is a `GET`, which may be repeated.
    pub fn try_call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Answer> {
        let kept = self.connection.borrow_mut().take();
        let repeatable = kept.is_some() && method == "GET";
        let connection = match kept {
            Some(connection) => connection,
            None => self.connect()?,
        };
        match self.exchange(connection, method, path, headers, body) {
            Err(_) if repeatable => self.exchange(self.connect()?, method, path, headers, body),
            answer => answer,
        }
    }

    fn connect(&self) -> io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect_timeout(&self.address, TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(BufReader::new(stream))
    }

    fn head(&self, method: &str, path: &str, headers: &[(&str, &str)], length: usize) -> String {
        use std::fmt::Write as _;
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if headers.iter().all(|(name, _)| *name != "Host") {
            let _infallible = write!(head, "Host: {}\r\n", self.address);
        }
        if let Some(key) = &self.key {
            let _infallible = write!(head, "Authorization: Bearer {key}\r\n");
        }
        for (name, value) in headers {
            let _infallible = write!(head, "{name}: {value}\r\n");
        }
        if method != "GET" {
            let _infallible = write!(head, "Content-Length: {length}\r\n");
        }
        head.push_str("\r\n");
        head
    }

    fn exchange(
        &self,
        mut connection: BufReader<TcpStream>,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Answer> {
        let head = self.head(method, path, headers, body.len());
        let stream = connection.get_mut();
        let written = stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(body));
        // A server may answer and close before it has read a body that it refuses.
        let answer = read_answer(&mut connection);
        let (answer, keep) = match (written, answer) {
            (_, Ok(answer)) => answer,
            (Err(error), Err(_)) | (Ok(()), Err(error)) => return Err(error),
        };
        if keep {
            *self.connection.borrow_mut() = Some(connection);
        }
        Ok(answer)
    }
}

/// The media type and the body of files in parts named `files`.
pub fn form_data(files: &[Upload<'_>]) -> (String, Vec<u8>) {
    let mut body = Vec::new();
    for file in files {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"files\"; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
            file.name, file.content_type
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(file.content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={BOUNDARY}"), body)
}

/// Reads one answer, and says whether the connection can take another request.
pub fn read_answer(connection: &mut impl BufRead) -> io::Result<(Answer, bool)> {
    let broken = |what: &str| io::Error::new(ErrorKind::InvalidData, what.to_owned());
    let status_line = read_line(connection)?;
    let status = status_line
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.split(' ').nth(1))
        .and_then(|status| status.parse().ok())
        .ok_or_else(|| broken(&format!("no status line: {status_line}")))?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(connection)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| broken("no header"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut answer = Answer {
        status,
        headers,
        body: Vec::new(),
    };
    if answer.header("transfer-encoding") == Some("chunked") {
        loop {
            let size = read_line(connection)?;
            let size = usize::from_str_radix(size.trim(), 16).map_err(|_| broken("no chunk size"))?;
            let mut chunk = vec![0; size];
            connection.read_exact(&mut chunk)?;
            answer.body.extend_from_slice(&chunk);
            read_line(connection)?;
            if size == 0 {
                break;
            }
        }
    } else {
        let length = answer.header("content-length").and_then(|text| text.parse().ok());
        answer.body = vec![0; length.unwrap_or(0)];
        connection.read_exact(&mut answer.body)?;
    }
    let keep = answer
        .header("connection")
        .is_none_or(|value| !value.eq_ignore_ascii_case("close"));
    Ok((answer, keep))
}

fn read_line(connection: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if connection.read_line(&mut line)? == 0 {
        return Err(io::Error::new(ErrorKind::UnexpectedEof, "the connection ended"));
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
