//! The bucket of the S3 server that `tests/run` starts, reached with curl: another client than the program's.

use std::process::Command;

use serde_json::Value;

use crate::database::variable;

/// Names the file in which the server says how it is reached (`tests/s3/serve.py`).
const SERVER: &str = "BIDLOOP_TEST_S3";

/// Whose rights a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The program's, which the documented policy gives.
    Program,
    /// Every right.
    Owner,
}

/// The bucket, and an access key.
#[derive(Debug, Clone)]
pub struct Bucket {
    /// The server's URL.
    pub endpoint: String,
    /// The region that the server believes to be in.
    pub region: String,
    /// The bucket's name.
    pub name: String,
    /// The access key.
    pub key: String,
    /// Its secret.
    pub secret: String,
}

impl Bucket {
    /// The bucket that exists, for one of its two keys.
    pub fn of_the_tests(access: Access) -> Self {
        let file = variable(SERVER, "the file that `tests/s3/serve.py` writes");
        let server = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        let server: Value = serde_json::from_str(&server).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let of = match access {
            Access::Program => &server["program"],
            Access::Owner => &server["owner"],
        };
        Self {
            endpoint: text(&server["endpoint"]),
            region: text(&server["region"]),
            name: text(&server["bucket"]),
            key: text(&of["id"]),
            secret: text(&of["secret"]),
        }
    }

    /// The environment variables with which the program reaches it.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT_URL", self.endpoint.clone()),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", self.region.clone()),
            ("AWS_ACCESS_KEY_ID", self.key.clone()),
            ("AWS_SECRET_ACCESS_KEY", self.secret.clone()),
        ]
    }

    /// Host and port of the server.
    pub fn address(&self) -> &str {
        self.endpoint.trim_start_matches("http://")
    }

    /// The objects whose keys begin so.
    #[track_caller]
    pub fn keys(&self, prefix: &str) -> Vec<String> {
        // As the signature wants it: in order, and with each character escaped that needs it.
        let prefix = prefix.replace('/', "%2F");
        keys_in(&self.ask(&["--get"], &format!("?list-type=2&prefix={prefix}")))
    }

    /// The keys of uploads in parts that were begun, and neither completed nor aborted.
    #[track_caller]
    pub fn incomplete_uploads(&self, prefix: &str) -> Vec<String> {
        let mut keys = keys_in(&self.ask(&["--get"], "?uploads="));
        keys.retain(|key| key.starts_with(prefix));
        keys
    }

    /// Stores an object.
    #[track_caller]
    pub fn put(&self, key: &str, content: &str) {
        self.ask(
            &["--request", "PUT", "--data-binary", content],
            &format!("/{key}"),
        );
    }

    /// Sends a request, and answers the answer's body.
    #[track_caller]
    fn ask(&self, arguments: &[&str], path_and_query: &str) -> String {
        let answer = Command::new("curl")
            .args(["--silent", "--show-error", "--fail-with-body", "--max-time", "60"])
            .args(["--user", &format!("{}:{}", self.key, self.secret)])
            .args(["--aws-sigv4", &format!("aws:amz:{}:s3", self.region)])
            .args(["--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD"])
            .args(arguments)
            .arg(format!("{}/{}{path_and_query}", self.endpoint, self.name))
            .output()
            .unwrap_or_else(|error| panic!("curl: {error}"));
        let body = String::from_utf8(answer.stdout).unwrap();
        let said = String::from_utf8_lossy(&answer.stderr);
        assert!(answer.status.success(), "{path_and_query}: {said}{body}");
        body
    }
}

/// The keys in a list of the bucket.
fn keys_in(list: &str) -> Vec<String> {
    assert!(
        !list.contains("<IsTruncated>true"),
        "more keys than one page: {list}"
    );
    let behind = list.split("<Key>").skip(1);
    behind
        .map(|rest| rest.split("</Key>").next().unwrap_or_default().to_owned())
        .collect()
}
