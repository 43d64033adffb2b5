//! Whole numbers in JSON.

/// A double can represent every whole number up to this one, but not all above.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns `float` as a whole number if it is one, from -2⁵³ to 2⁵³.
pub fn whole_value(float: f64) -> Option<i64> {
    let exact = float.fract() == 0.0 && float.abs() <= LARGEST_EXACT;
    #[expect(clippy::cast_possible_truncation, reason = "a whole number within ±2⁵³ fits")]
    exact.then_some(float as i64)
}
