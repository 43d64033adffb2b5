//! Reading Stripe's JSON: the shapes that its objects have in common.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why an event cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct EventFault {
    path: String,
    message: String,
}

impl EventFault {
    pub(crate) fn new(path: &str, message: &str) -> Self {
        Self {
            path: path.to_owned(),
            message: message.to_owned(),
        }
    }
}

/// Reads `value`, which is at `place` of the event.
pub(crate) fn read<T: DeserializeOwned>(place: &str, value: &Value) -> Result<T, EventFault> {
    serde_path_to_error::deserialize(value).map_err(|error| EventFault {
        path: format!("{place}.{}", error.path()),
        message: error.inner().to_string(),
    })
}

/// A list, of which an event has the beginning.
#[derive(Debug, Deserialize)]
pub(crate) struct List<T> {
    pub(crate) data: Vec<T>,
    #[serde(default)]
    pub(crate) has_more: bool,
}

/// The id of another object, or that object.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Reference {
    Id(String),
    Object { id: String },
}

impl Reference {
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Id(id) | Self::Object { id } => id,
        }
    }
}

/// What a user of Stripe added to an object. A value that was removed is null in what was before.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Metadata(HashMap<String, Option<String>>);

impl Metadata {
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let value = self.0.get(key)?.as_deref()?.trim();
        (!value.is_empty()).then_some(value)
    }
}

/// The object as it was before: with the values of `previous` in place of its own.
pub(crate) fn before(object: &mut Value, previous: &Value) {
    match (object, previous) {
        (Value::Object(object), Value::Object(previous)) => {
            for (name, value) in previous {
                before(object.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (object, previous) => *object = previous.clone(),
    }
}
