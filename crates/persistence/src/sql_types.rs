//! The SQL types of the schema: Diesel's, and two for text that stands for something else.

#![expect(
    unreachable_pub,
    reason = "table! makes columns public, and with them their types"
)]

use diesel::query_builder::QueryId;
pub use diesel::sql_types::*;

/// Text that holds JSON.
#[derive(Debug, Clone, Copy, Default, QueryId, SqlType)]
#[diesel(postgres_type(oid = 25, array_oid = 1009), sqlite_type(name = "Text"))]
pub struct JsonText;

/// Text from outside, which may hold any character.
///
/// PostgreSQL refuses U+0000 in text. It is stored as `\0` on both databases, and a backslash as `\\`.
#[derive(Debug, Clone, Copy, Default, QueryId, SqlType)]
#[diesel(postgres_type(oid = 25, array_oid = 1009), sqlite_type(name = "Text"))]
pub struct EscapedText;
