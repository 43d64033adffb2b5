//! Amounts: US dollars, connects and percentages, with checked arithmetic and one rounding rule.
//!
//! Owns the conversion between JSON numbers and exact values. Does not own which amount is offered: that is
//! [`bidding`](crate::bidding).
//!
//! A JSON number arrives as a binary float. It is read as the shortest decimal that the float prints as, which is
//! what its sender wrote (`45.1` is 45.1, not 45.10000000000000142). A value that cannot be held exactly (not a
//! number, infinite, beyond [`UsdCents::MAX`]) becomes `None`; nothing panics.

use std::fmt;
use std::str::FromStr;

use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// The largest whole number that every JSON reader holds exactly: 2⁵³ − 1.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// Fifteen digits: every decimal of that length is distinct as a float.
const MAX_CENTS: i64 = 999_999_999_999_999;

/// The least decimal above zero: 10⁻²⁸.
pub(crate) const LEAST_DECIMAL: Decimal = Decimal::from_parts(1, 0, 0, false, 28);

/// The exact decimal that `float` prints as; `None` if it is not a finite number, or too large. A number that is nearer
/// to zero than any decimal but zero becomes the least decimal of its sign, since bounds depend on the sign.
///
/// ```
/// use bidloop_domain::model::exact_decimal;
///
/// assert_eq!(exact_decimal(45.1).unwrap().to_string(), "45.1");
/// assert!(exact_decimal(-1e-300).unwrap() < exact_decimal(0.0).unwrap());
/// assert_eq!(exact_decimal(f64::NAN), None);
/// assert_eq!(exact_decimal(1e300), None);
/// ```
pub fn exact_decimal(float: f64) -> Option<Decimal> {
    if !float.is_finite() || float.abs() > 1e28 {
        return None;
    }
    let decimal = Decimal::from_str(&format!("{float}")).ok()?.normalize();
    Some(match decimal.is_zero() {
        true if float > 0.0 => LEAST_DECIMAL,
        true if float < 0.0 => -LEAST_DECIMAL,
        _ => decimal,
    })
}

/// The exact decimal of a JSON number, as [`exact_decimal`].
fn decimal_from_number(number: &Number) -> Option<Decimal> {
    let whole = number.as_i64().map(Decimal::from);
    whole
        .or_else(|| number.as_u64().map(Decimal::from))
        .or_else(|| number.as_f64().and_then(exact_decimal))
}

/// A decimal as a JSON number; whole numbers have no fraction (`45`, not `45.0`).
pub(crate) fn decimal_to_number(decimal: Decimal) -> Number {
    let decimal = decimal.normalize();
    match i64::try_from(decimal.mantissa()) {
        Ok(whole) if decimal.scale() == 0 => Number::from(whole),
        _ => {
            let float = decimal.to_string().parse().ok();
            float.and_then(Number::from_f64).unwrap_or_else(|| 0.into())
        }
    }
}

/// A type that stands in JSON as a number. Implemented by [`json_number!`].
pub(super) trait JsonNumber: TryFrom<Number> {
    /// What is accepted, as a phrase.
    const ACCEPTED: &'static str;
}

/// A number that is out of range; says what is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {0}")]
pub struct NumberOutOfRange(pub(super) &'static str);

/// Converts a type from and to a JSON number by its `from_number` and `to_number`.
macro_rules! json_number {
    ($type:ty, $accepted:literal) => {
        impl $crate::model::money::JsonNumber for $type {
            const ACCEPTED: &'static str = $accepted;
        }

        impl From<$type> for serde_json::Number {
            fn from(value: $type) -> Self {
                value.to_number()
            }
        }

        impl TryFrom<serde_json::Number> for $type {
            type Error = $crate::model::NumberOutOfRange;

            fn try_from(number: serde_json::Number) -> Result<Self, Self::Error> {
                Self::from_number(&number).ok_or($crate::model::money::NumberOutOfRange($accepted))
            }
        }
    };
}
pub(super) use json_number;

/// An amount of US dollars in whole cents.
///
/// In JSON it is a number of dollars: `45.5` is 4,550 cents. Amounts are rounded half up to the cent (decision B5,
/// `docs/rules.md#b5`).
///
/// ```
/// use bidloop_domain::model::UsdCents;
///
/// let rate = UsdCents::from_f64(47.505).unwrap();
/// assert_eq!(rate.cents(), 4_751);
/// assert_eq!(rate.to_string(), "47.51");
/// assert_eq!(serde_json::to_string(&UsdCents::from_cents(4_550)).unwrap(), "45.5");
/// assert_eq!(serde_json::from_str::<UsdCents>("45.5").unwrap().cents(), 4_550);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(into = "Number", try_from = "Number")]
pub struct UsdCents(i64);

impl UsdCents {
    /// The largest amount that is read from a number, USD 9,999,999,999,999.99: a float holds it to the cent.
    pub const MAX: Self = Self(MAX_CENTS);

    /// No money.
    pub const ZERO: Self = Self(0);

    /// From whole cents.
    pub const fn from_cents(cents: i64) -> Self {
        Self(cents)
    }

    /// Whole cents.
    pub const fn cents(self) -> i64 {
        self.0
    }

    /// From dollars, rounded half up to the cent; `None` beyond ±[`UsdCents::MAX`].
    pub fn from_decimal(dollars: Decimal) -> Option<Self> {
        Self::rounded_cents(
            dollars.checked_mul(Decimal::ONE_HUNDRED)?,
            RoundingStrategy::MidpointAwayFromZero,
        )
    }

    /// From a float of dollars, as [`UsdCents::from_decimal`]; `None` if it is not a finite number.
    pub fn from_f64(dollars: f64) -> Option<Self> {
        exact_decimal(dollars).and_then(Self::from_decimal)
    }

    /// From a JSON number of dollars, as [`UsdCents::from_decimal`].
    pub fn from_number(dollars: &Number) -> Option<Self> {
        decimal_from_number(dollars).and_then(Self::from_decimal)
    }

    /// Dollars, exact.
    pub fn to_decimal(self) -> Decimal {
        Decimal::new(self.0, 2)
    }

    /// Dollars as a JSON number: `45.5`, and `45` for a whole amount.
    pub fn to_number(self) -> Number {
        decimal_to_number(self.to_decimal())
    }

    fn rounded_cents(cents: Decimal, strategy: RoundingStrategy) -> Option<Self> {
        i64::try_from(cents.round_dp_with_strategy(0, strategy))
            .ok()
            .filter(|cents| cents.abs() <= MAX_CENTS)
            .map(Self)
    }
}

json_number!(UsdCents, "an amount of US dollars");

impl fmt::Display for UsdCents {
    /// Dollars with two decimal places, without a currency sign: `45.50`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.to_decimal())
    }
}

/// A number of connects, the marketplace's currency for bids and boosts.
///
/// One connect costs USD 0.15 (the specification's conventions).
///
/// ```
/// use bidloop_domain::model::Connects;
///
/// assert_eq!(Connects::new(12).cost().to_string(), "1.80");
/// assert_eq!(serde_json::from_str::<Connects>("2.0").unwrap(), Connects::new(2));
/// assert!(serde_json::from_str::<Connects>("2.5").is_err());
/// assert!(serde_json::from_str::<Connects>("-1").is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(into = "Number", try_from = "Number")]
pub struct Connects(u64);

impl Connects {
    /// No connects.
    pub const ZERO: Self = Self(0);

    /// The largest number that is read from JSON: 2⁵³ − 1.
    pub const MAX: Self = Self(MAX_EXACT);

    /// The price of one connect.
    pub const PRICE: UsdCents = UsdCents(15);

    /// From a count.
    pub const fn new(connects: u64) -> Self {
        Self(connects)
    }

    /// The count.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The count for a signed column; saturates.
    pub fn as_i64(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }

    /// From a JSON number from 0 to [`Connects::MAX`] without a fraction (`2` and `2.0`, not `2.5`).
    pub fn from_number(number: &Number) -> Option<Self> {
        let decimal = decimal_from_number(number).filter(Decimal::is_integer)?;
        u64::try_from(decimal)
            .ok()
            .map(Self)
            .filter(|connects| *connects <= Self::MAX)
    }

    /// The count as a JSON number.
    pub fn to_number(self) -> Number {
        self.0.into()
    }

    /// The sum; saturates.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or zero if `other` is more.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Their price, USD 0.15 each; saturates.
    pub fn cost(self) -> UsdCents {
        UsdCents(self.as_i64().saturating_mul(Self::PRICE.0))
    }
}

json_number!(Connects, "an integer from 0 to 9007199254740991");

impl fmt::Display for Connects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A percentage from 0 to 100, exact.
///
/// ```
/// use bidloop_domain::model::{Percentage, UsdCents, exact_decimal};
///
/// let ninety: Percentage = serde_json::from_str("90").unwrap();
/// assert_eq!(ninety.of(exact_decimal(45.5).unwrap()), UsdCents::from_f64(40.95));
/// assert!(serde_json::from_str::<Percentage>("100.1").is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "Number", try_from = "Number")]
pub struct Percentage(Decimal);

impl Percentage {
    /// From a decimal from 0 to 100.
    pub fn from_decimal(percent: Decimal) -> Option<Self> {
        (Decimal::ZERO..=Decimal::ONE_HUNDRED)
            .contains(&percent)
            .then(|| Self(percent.normalize()))
    }

    /// From a JSON number from 0 to 100.
    pub fn from_number(number: &Number) -> Option<Self> {
        decimal_from_number(number).and_then(Self::from_decimal)
    }

    /// The percentage as a JSON number: 90 for 90 %.
    pub fn to_number(self) -> Number {
        decimal_to_number(self.0)
    }

    /// This percentage of `dollars`, rounded half up to the cent; `None` beyond [`UsdCents::MAX`].
    pub fn of(self, dollars: Decimal) -> Option<UsdCents> {
        // Dollars times a percentage is in cents already: the two hundreds cancel.
        let cents = self.0.checked_mul(dollars)?;
        UsdCents::rounded_cents(cents, RoundingStrategy::MidpointAwayFromZero)
    }
}

json_number!(Percentage, "a number from 0 to 100");

impl fmt::Display for Percentage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

/// An hourly rate of a bidding configuration: US dollars above 0, exact (decision A7, `docs/rules.md#a7`).
///
/// It keeps fractions of a cent, so that a floor holds exactly. Only an offered amount is rounded.
///
/// ```
/// use bidloop_domain::model::HourlyRate;
///
/// let floor: HourlyRate = serde_json::from_str("45.004").unwrap();
/// assert_eq!(floor.rounded_up().to_string(), "45.01");
/// assert!(serde_json::from_str::<HourlyRate>("0").is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "Number", try_from = "Number")]
pub struct HourlyRate(Decimal);

impl HourlyRate {
    /// From dollars per hour, above 0 and at most [`UsdCents::MAX`].
    pub fn from_decimal(dollars: Decimal) -> Option<Self> {
        (dollars > Decimal::ZERO && dollars <= UsdCents::MAX.to_decimal()).then(|| Self(dollars.normalize()))
    }

    /// From a JSON number of dollars per hour, above 0 and at most [`UsdCents::MAX`].
    pub fn from_number(number: &Number) -> Option<Self> {
        decimal_from_number(number).and_then(Self::from_decimal)
    }

    /// Dollars per hour, exact.
    pub const fn to_decimal(self) -> Decimal {
        self.0
    }

    /// Dollars per hour as a JSON number.
    pub fn to_number(self) -> Number {
        decimal_to_number(self.0)
    }

    /// Rounded up to the cent: the lowest amount that is not below this rate.
    pub fn rounded_up(self) -> UsdCents {
        let cents = self.0.checked_mul(Decimal::ONE_HUNDRED);
        cents
            .and_then(|cents| UsdCents::rounded_cents(cents, RoundingStrategy::ToPositiveInfinity))
            .unwrap_or(UsdCents::MAX)
    }
}

json_number!(
    HourlyRate,
    "a number of US dollars per hour above 0 and at most 9999999999999.99"
);

impl fmt::Display for HourlyRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
#[path = "money_tests.rs"]
mod tests;
