//! A receiver of webhooks that answers each with 200 at once and looks at nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// Listens until the runtime ends.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) address: SocketAddr,
    received: Arc<AtomicU64>,
}

impl Receiver {
    pub(super) fn open(runtime: &Runtime) -> Result<Self> {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let received = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&received);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let counted = Arc::clone(&counted);
                tokio::spawn(async move {
                    if answer(stream).await.is_ok() {
                        counted.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        Ok(Self { address, received })
    }

    /// Requests answered so far.
    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut read = Vec::with_capacity(16 * 1024);
    loop {
        if stream.read_buf(&mut read).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if length(&read).is_some_and(|length| read.len() >= length) {
            break;
        }
    }
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .await?;
    stream.shutdown().await
}

/// Bytes of the whole request, once its head is there.
fn length(read: &[u8]) -> Option<usize> {
    let head = read.windows(4).position(|window| window == b"\r\n\r\n")?;
    let lines = std::str::from_utf8(read.get(..head)?).ok()?.lines();
    let body = lines
        .filter_map(|line| line.split_once(':'))
        .find_map(|(name, value)| {
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse::<usize>().ok())?
        });
    Some(head + 4 + body.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_where_its_length_says() {
        let request = b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(length(&request[..30]), None);
        assert_eq!(length(request), Some(request.len()));
    }
}
