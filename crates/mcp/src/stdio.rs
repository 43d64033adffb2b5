//! One client on standard input and output: an agent that starts the program itself.

use std::future::Future;

use bidloop_domain::model::{PersonalToken, Secret};
use rmcp::service::{RoleServer, ServerInitializeError, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::ToolServer;
use crate::handler::{Handler, MAX_MESSAGE_BYTES};

/// Why a client was not served.
#[derive(Debug)]
pub struct StdioFault(String);

impl std::fmt::Display for StdioFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StdioFault {}

/// Serves a client until it closes its side or `stop` completes. The token is checked at every call.
///
/// # Errors
/// If the client does not speak the protocol.
pub async fn serve_stdio(
    server: ToolServer,
    token: &PersonalToken,
    (input, output): (
        impl AsyncRead + Send + Unpin + 'static,
        impl AsyncWrite + Send + Unpin + 'static,
    ),
    stop: impl Future<Output = ()>,
) -> Result<(), StdioFault> {
    let handler = Handler::with_token(server, Secret::new(token.expose().to_owned()));
    let transport =
        AsyncRwTransport::<RoleServer, _, _>::new(input, output).with_max_line_length(MAX_MESSAGE_BYTES);
    tokio::pin!(stop);
    let running = tokio::select! {
        () = &mut stop => return Ok(()),
        started = serve_server(handler, transport) => match started {
            Ok(running) => running,
            // A client that leaves before it said anything asked for nothing.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(fault) => return Err(StdioFault(format!("the client does not speak MCP: {fault}"))),
        },
    };
    let cancel = running.cancellation_token();
    let ended = running.waiting();
    tokio::pin!(ended);
    tokio::select! {
        () = &mut stop => cancel.cancel(),
        _ended = &mut ended => return Ok(()),
    }
    let _ended = ended.await;
    Ok(())
}
