//! Resolves names and opens TCP connections, behind a trait so that tests can replace DNS.
//!
//! Which addresses may be connected to is decided by the target guard.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use async_trait::async_trait;
use tokio::net::TcpStream;

use crate::resolver::Resolver;

/// Name resolution and connections.
#[async_trait]
pub trait Network: Send + Sync + fmt::Debug {
    /// Returns the current addresses of the name `host`, the preferred one first.
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;

    /// Opens a connection to `address`.
    async fn connect(&self, address: SocketAddr) -> io::Result<OpenedConnection>;
}

/// A TCP connection that has just been opened.
#[derive(Debug)]
pub struct OpenedConnection {
    /// The connection. Nothing has been sent over it.
    pub stream: TcpStream,
    /// The address of the peer, as the operating system reports it.
    pub peer: SocketAddr,
}

/// The operating system's resolver and network.
#[derive(Debug, Clone, Default)]
pub struct SystemNetwork {
    resolver: Resolver,
}

#[async_trait]
impl Network for SystemNetwork {
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let addresses = self.resolver.resolve(host).await?;
        let with_port = addresses
            .into_iter()
            .map(|address| SocketAddr::new(address, port));
        Ok(with_port.collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<OpenedConnection> {
        let stream = TcpStream::connect(address).await?;
        // The request is written in one go, so waiting for more data would only delay it.
        stream.set_nodelay(true)?;
        let peer = stream.peer_addr()?;
        Ok(OpenedConnection { stream, peer })
    }
}
