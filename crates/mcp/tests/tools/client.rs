//! A client that speaks the protocol line by line.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};

pub(crate) struct Client {
    input: WriteHalf<DuplexStream>,
    output: BufReader<ReadHalf<DuplexStream>>,
    last: u64,
}

/// The result of a call.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) body: Value,
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

impl Client {
    /// Opens the session.
    pub(crate) async fn over(stream: DuplexStream) -> (Self, Value) {
        let (output, input) = tokio::io::split(stream);
        let mut client = Self {
            input,
            output: BufReader::new(output),
            last: 0,
        };
        let client_info = json!({"name": "test", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client_info});
        let server = client.ask("initialize", hello).await.unwrap();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        client.send(ready).await;
        (client, server)
    }

    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    /// The answer to a request: its result, or its error.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.last += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.send(request).await;
        let mut line = String::new();
        self.output.read_line(&mut line).await.unwrap();
        let mut answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], self.last, "{answer}");
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].take()),
        }
    }

    pub(crate) async fn tools(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({})).await.unwrap();
        let tools = listed["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Called {
        let params = json!({"name": tool, "arguments": arguments});
        let mut result = self.ask("tools/call", params).await.unwrap();
        Called {
            body: result["structuredContent"].take(),
            text: result["content"][0]["text"].as_str().unwrap().to_owned(),
            is_error: result["isError"].as_bool().unwrap_or_default(),
        }
    }

    /// The body of a call that succeeds.
    pub(crate) async fn succeed(&mut self, tool: &str, arguments: Value) -> Value {
        let called = self.call(tool, arguments).await;
        assert!(!called.is_error, "{called:?}");
        called.body
    }

    /// The body of a call that fails, with its status.
    pub(crate) async fn fail(&mut self, tool: &str, arguments: Value) -> (u64, Value) {
        let called = self.call(tool, arguments).await;
        assert!(called.is_error, "{called:?}");
        (called.body["statusCode"].as_u64().unwrap(), called.body)
    }
}
