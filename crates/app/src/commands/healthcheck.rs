//! `bidloop healthcheck`: asks the service of the same settings whether it is ready, for containers.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Failure, Outcome, output};
use crate::settings::Settings;

/// The whole check takes no longer.
const WITHIN: Duration = Duration::from_secs(5);
/// No answer of `/readyz` is longer, in bytes.
const LONGEST: u64 = 4096;

pub(super) async fn run(settings: &Settings, as_json: bool) -> Outcome {
    let server = &settings.server;
    let address = reachable(server.operability_listen.unwrap_or(server.listen))?;
    let asked = tokio::time::timeout(WITHIN, ask(address)).await;
    let (is_ready, told) = match asked {
        Ok(Ok((200, _))) => (true, "ready".to_owned()),
        Ok(Ok((status, body))) => (false, format!("not ready: status {status}, {body}")),
        Ok(Err(error)) => (false, format!("no answer: {error}")),
        Err(_) => (false, format!("no answer within {} s", WITHIN.as_secs())),
    };
    if as_json {
        output::json(&json!({ "ready": is_ready, "address": address.to_string(), "message": told }))?;
    }
    match (is_ready, as_json) {
        (true, true) => Ok(()),
        (true, false) => output::line(&format!("{address} is {told}.")),
        (false, true) => Err(Failure::Failed(Vec::new())),
        (false, false) => Err(Failure::failed(format!("{address}: {told}"))),
    }
}

/// The address of this machine at which a service that listens there is reached.
fn reachable(listen: SocketAddr) -> Result<SocketAddr, Failure> {
    if listen.port() == 0 {
        return Err(Failure::failed(
            "server.listen has port 0, so that the service's port is not known: name a port",
        ));
    }
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    Ok(SocketAddr::new(ip, listen.port()))
}

/// One request without a client library: the status line says it all. Returns the status and the body.
async fn ask(address: SocketAddr) -> io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(LONGEST).read_to_end(&mut answer).await?;
    parse(&answer).ok_or_else(|| io::Error::other("the answer is not HTTP's"))
}

fn parse(answer: &[u8]) -> Option<(u16, String)> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    Some((status, body.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_listens_everywhere_is_asked_on_this_machine() {
        for (listen, asked) in [
            ("0.0.0.0:8080", "127.0.0.1:8080"),
            ("[::]:8080", "[::1]:8080"),
            ("192.0.2.1:80", "192.0.2.1:80"),
        ] {
            assert_eq!(reachable(listen.parse().unwrap()).unwrap().to_string(), asked);
        }
        assert!(reachable("127.0.0.1:0".parse().unwrap()).is_err());
    }

    #[test]
    fn only_an_answer_of_http_has_a_status() {
        let answer = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 5\r\n\r\nwatch";
        assert_eq!(parse(answer), Some((503, "watch".to_owned())));
        for other in [
            &b""[..],
            b"220 mail.test ESMTP\r\n\r\n",
            b"HTTP/1.1 2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n",
        ] {
            assert_eq!(parse(other), None);
        }
    }
}
