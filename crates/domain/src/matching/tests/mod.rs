//! Matching held to the contract's sentences, and to an independent reference over generated filters and jobs.

mod contract;
mod entries;
mod index;
mod phrases;
mod reference;
mod signature;

use serde_json::{Value, json};

use super::{CompiledFilter, PreparedJob};
use crate::model::{JobPost, SavedFilter};

/// A post with these fields beside the required ones.
fn job(fields: &Value) -> PreparedJob {
    let mut post =
        json!({"id": "1", "ciphertext": "~1", "title": "", "description": "", "url": "/1", "postedAt": 1});
    for (name, value) in fields.as_object().expect("an object of fields") {
        post[name] = value.clone();
    }
    PreparedJob::new(&JobPost::parse(&post.to_string()).expect("a good post"))
}

fn compiled(filter: &Value) -> CompiledFilter {
    match SavedFilter::from_value(filter).and_then(|filter| filter.check()) {
        Ok(compiled) => compiled,
        Err(faults) => panic!("{filter}: {faults:?}"),
    }
}
