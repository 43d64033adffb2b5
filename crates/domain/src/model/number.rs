//! Whole numbers as the marketplace writes them: `12` or `12.0`.

use bidloop_matching::json::whole_value;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Number;

/// Reads a whole number, written as an integer or as a float without a fraction (for `deserialize_with`).
///
/// # Errors
/// Anything else, or a number that an `i64` cannot hold.
pub fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    whole_from(&Number::deserialize(deserializer)?)
}

/// Reads a whole number or null.
pub(super) fn optional_whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let number = Option::<Number>::deserialize(deserializer)?;
    number.as_ref().map(whole_from).transpose()
}

fn whole_from<E: Error>(number: &Number) -> Result<i64, E> {
    number
        .as_i64()
        .or_else(|| number.as_f64().and_then(whole_value))
        .ok_or_else(|| E::custom(format!("{number} is not a whole number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Holder {
        #[serde(deserialize_with = "whole_number")]
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
    fn fractions_and_texts_are_not_whole_numbers() {
        for wrong in ["1.5", "\"1\"", "true", "1e300", "9223372036854775808", "[1]"] {
            let json = format!("{{\"n\": {wrong}}}");
            assert!(serde_json::from_str::<Holder>(&json).is_err(), "{json}");
        }
    }
}
