//! The tool server: what a person's agent may see and do, as tools of the Model Context Protocol.
//!
//! This crate reads the arguments of tools, calls the [use cases](bidloop_domain::use_case) that the HTTP API and the
//! console call, and writes their results. It decides nothing about leads, bids and keys. The official Rust SDK (`rmcp`)
//! speaks the protocol, over stdio and over streamable HTTP.
//!
//! | item | content |
//! |---|---|
//! | [`ToolServer`] | the parts of the tool server |
//! | [`serve_stdio`] | one client, on standard input and output |
//! | [`http::application`] | the route `/mcp`, on a server of its own |
//! | `catalogue` | the tools: names, scopes, arguments, hints |
//! | `tools` | what each tool does, one file for each subject |
//! | `answer` | results, and the envelope around what other people wrote |
//! | `tool_error` | the body of every error |
//!
//! **Other people's words.** Job posts, client fields and receivers' answers come from strangers, who may write to an agent
//! that it should do this or that. Results mark them as data, and no tool acts on more than one lead.

mod answer;
mod api_bodies;
mod arguments;
mod catalogue;
mod filter_tests;
mod handler;
pub mod http;
mod stdio;
mod tool_error;
mod tool_server;
mod tools;

pub use api_bodies::ApiBodies;
pub use filter_tests::FilterTests;
pub use stdio::{StdioFault, serve_stdio};
pub use tool_server::ToolServer;
