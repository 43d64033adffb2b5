//! Streamable HTTP: who is let in, and what is refused before the protocol is spoken.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bidloop_domain::model::{PersonalToken, TokenScope};
use bidloop_fakes::SequentialEntropy;
use bidloop_http_server::{ConnectionLimits, RunningServer, ServerSettings, serve};
use bidloop_mcp::http::{CallMetrics, McpServer, Observer, OwnHosts, application};
use serde_json::{Value, json};

use crate::world::{MEMBER, World};

#[derive(Debug, Default)]
pub(crate) struct Counted(Mutex<Vec<(&'static str, u16)>>);

impl CallMetrics for Counted {
    fn answered(&self, operation: &'static str, status: u16, _: Duration) {
        self.0.lock().unwrap().push((operation, status));
    }
}

struct Served {
    world: World,
    server: RunningServer,
    address: SocketAddr,
    token: PersonalToken,
    counted: Arc<Counted>,
}

impl Served {
    async fn new() -> Self {
        let world = World::new().await;
        let (_, token) = world.token_until(MEMBER, TokenScope::Bid, None).await;
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let counted = Arc::new(Counted::default());
        let routes = application(McpServer {
            tools: world.server.clone(),
            hosts: OwnHosts::new(address, &["https://agents.test"]),
            metrics: counted.clone(),
        });
        let observer = Arc::new(Observer {
            metrics: counted.clone(),
            entropy: Arc::new(SequentialEntropy::new()),
        });
        let settings = ServerSettings {
            workers: 1,
            connections: ConnectionLimits::DEFAULT,
        };
        Self {
            world,
            server: serve(observer, routes, listener, settings).unwrap(),
            address,
            token,
            counted,
        }
    }

    /// The status and the body of the answer to these lines and this body.
    async fn send(&self, lines: &[&str], body: &str) -> (u16, String) {
        let head = lines.join("\r\n");
        let request = format!("{head}\r\nConnection: close\r\n\r\n{body}");
        let address = self.address;
        let answer = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        });
        let answer = answer.await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    /// A call with these lines put into its head; a host and a token are put in if none is given.
    async fn post(&self, extra: &[&str], message: &Value) -> (u16, String) {
        let body = message.to_string();
        let length = format!("Content-Length: {}", body.len());
        let host = format!("Host: {}", self.address);
        let token = format!("Authorization: Bearer {}", self.token.expose());
        let mut lines = vec![
            "POST /mcp HTTP/1.1",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            &length,
        ];
        let given = |name: &str| extra.iter().any(|line| line.starts_with(name));
        if !given("Host:") {
            lines.push(&host);
        }
        if !given("Authorization:") {
            lines.push(&token);
        }
        lines.extend(extra);
        self.send(&lines, &body).await
    }
}

pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_stands_alone_and_is_answered_with_json() {
    let served = Served::new().await;
    let (status, body) = served.post(&[], &call("get_lead", World::on("1"))).await;
    assert_eq!(status, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["result"]["structuredContent"]["status"], "new");
    let rejected = served.post(&[], &call("reject_lead", World::on("1"))).await;
    assert_eq!(rejected.0, 200);
    assert_eq!(
        served.world.recorded().await[0].actor.name.as_deref(),
        Some(MEMBER)
    );
    assert_eq!(*served.counted.0.lock().unwrap(), [("mcp", 200), ("mcp", 200)]);
    served.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_host_or_page_is_refused_before_anything_else() {
    let served = Served::new().await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for own in [
        "Host: agents.test",
        "Host: localhost:1",
        "Origin: http://localhost:3000",
    ] {
        assert_eq!(served.post(&[own], &list).await.0, 200, "{own}");
    }
    for foreign in [
        "Host: evil.test",
        "Host: agents.test.evil.test",
        "Origin: https://evil.test",
        "Origin: null",
    ] {
        for token in [None, Some("Authorization: Bearer lt_1")] {
            let lines: Vec<&str> = [foreign].into_iter().chain(token).collect();
            let (status, body) = served.post(&lines, &list).await;
            assert_eq!(status, 403, "{foreign}: {body}");
        }
    }
    let two = ["Origin: http://localhost", "Origin: https://evil.test"];
    assert_eq!(served.post(&two, &list).await.0, 403);
    served.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_refused_in_the_order_of_the_checks() {
    let served = Served::new().await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let key = format!("Authorization: Bearer lk_{}", "a1".repeat(32));
    let basic = format!("Authorization: Basic {}", served.token.expose());
    for wrong in [&key, &basic, "Authorization: Bearer"] {
        let (status, body) = served.post(&[wrong], &list).await;
        assert_eq!(status, 401, "{wrong}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["statusCode"], 401);
    }
    let host = format!("Host: {}", served.address);
    let token = format!("Authorization: Bearer {}", served.token.expose());
    for (expected, lines) in [
        (404, ["POST / HTTP/1.1", &host, "X: 1"]),
        (401, ["GET /mcp HTTP/1.1", &host, "X: 1"]),
        (405, ["GET /mcp HTTP/1.1", &host, &token]),
        (405, ["DELETE /mcp HTTP/1.1", &host, &token]),
    ] {
        assert_eq!(served.send(&lines, "").await.0, expected, "{lines:?}");
    }
    let huge = ["POST /mcp HTTP/1.1", &host, &token, "Content-Length: 4000000"];
    assert_eq!(served.send(&huge, "").await.0, 413);
    served.server.stop().await.unwrap();
}
