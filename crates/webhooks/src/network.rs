//! Looking names up and opening TCP connections, behind a trait so that tests can stand in for DNS.
//!
//! Decides nothing: which of the addresses may be connected to is the target guard's.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use async_trait::async_trait;
use tokio::net::TcpStream;

/// The way to a receiver.
#[async_trait]
pub trait Network: Send + Sync + fmt::Debug {
    /// Every address that `host`, a name, has at this moment, the preferred one first.
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;

    /// A new connection to `address`.
    async fn connect(&self, address: SocketAddr) -> io::Result<OpenedConnection>;
}

/// A TCP connection that has just been opened.
#[derive(Debug)]
pub struct OpenedConnection {
    /// The connection; nothing has been sent over it.
    pub stream: TcpStream,
    /// Who is at its other end, as the operating system says.
    pub peer: SocketAddr,
}

/// The operating system's resolver and network.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemNetwork;

#[async_trait]
impl Network for SystemNetwork {
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((host, port)).await?.collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<OpenedConnection> {
        let stream = TcpStream::connect(address).await?;
        // The request is written at once; waiting for more to send would only delay it.
        stream.set_nodelay(true)?;
        let peer = stream.peer_addr()?;
        Ok(OpenedConnection { stream, peer })
    }
}
