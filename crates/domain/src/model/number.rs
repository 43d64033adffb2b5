//! Numbers as the marketplace writes them: a whole number may arrive as `12` or as `12.0`.

use bidloop_matching::json::whole_value;
use serde::{Deserialize, Deserializer, de::Error};

#[derive(Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "a number")]
enum Number {
    Whole(i64),
    Float(f64),
}

/// Reads a whole number, written as an integer or as a float without a fraction.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    whole_from(Number::deserialize(deserializer)?)
}

/// Reads a whole number or null.
pub(super) fn optional_whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    Option::<Number>::deserialize(deserializer)?
        .map(whole_from)
        .transpose()
}

fn whole_from<E: Error>(number: Number) -> Result<i64, E> {
    match number {
        Number::Whole(whole) => Ok(whole),
        Number::Float(float) => {
            whole_value(float).ok_or_else(|| E::custom(format!("{float} is not a whole number")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Holder {
        #[serde(deserialize_with = "whole")]
        n: i64,
        #[serde(default, deserialize_with = "optional_whole")]
        o: Option<i64>,
    }

    #[test]
    fn whole_numbers_are_read_from_integers_and_floats_alike() {
        let holder: Holder = serde_json::from_str(r#"{"n": 12.0, "o": 7}"#).unwrap();
        assert_eq!((holder.n, holder.o), (12, Some(7)));
        let holder: Holder = serde_json::from_str(r#"{"n": 1.79e12, "o": null}"#).unwrap();
        assert_eq!((holder.n, holder.o), (1_790_000_000_000, None));
    }

    #[test]
    fn fractions_and_texts_are_no_whole_numbers() {
        for wrong in ["1.5", "\"1\"", "true", "1e300", "[1]"] {
            let json = format!("{{\"n\": {wrong}}}");
            assert!(serde_json::from_str::<Holder>(&json).is_err(), "{json}");
        }
    }
}
