//! Amounts: US dollars, connects and percentages, with checked arithmetic and one rounding rule.
//!
//! Owns the way from JSON numbers to exact values and back. Does not own which amount is offered: that is
//! [`bidding`](crate::bidding).
//!
//! A JSON number reaches the program as a binary float. It is taken for the shortest decimal that the float
//! prints as, which is what its sender wrote (`45.1` is 45.1, not 45.10000000000000142). What has no exact
//! value here (not a number, infinite, beyond [`UsdCents::MAX`]) becomes `None`; nothing panics.

use std::fmt;
use std::str::FromStr;

use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// The largest whole number that a JSON number carries exactly in every reader: 2⁵³ − 1.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// Fifteen digits: as many decimal digits as every float tells apart.
const MAX_CENTS: i64 = 999_999_999_999_999;

/// The exact decimal that `float` prints as; `None` if it is no finite number or too large to hold.
///
/// ```
/// use bidloop_domain::model::exact_decimal;
///
/// assert_eq!(exact_decimal(45.1).unwrap().to_string(), "45.1");
/// assert_eq!(exact_decimal(f64::NAN), None);
/// assert_eq!(exact_decimal(1e300), None);
/// ```
pub fn exact_decimal(float: f64) -> Option<Decimal> {
    if !float.is_finite() || float.abs() > 1e28 {
        return None;
    }
    Decimal::from_str(&format!("{float}"))
        .ok()
        .map(|decimal| decimal.normalize())
}

/// The exact decimal of a JSON number, as [`exact_decimal`].
pub(crate) fn decimal_from_number(number: &Number) -> Option<Decimal> {
    if let Some(whole) = number.as_i64() {
        return Some(Decimal::from(whole));
    }
    if let Some(whole) = number.as_u64() {
        return Some(Decimal::from(whole));
    }
    number.as_f64().and_then(exact_decimal)
}

/// A decimal as the JSON number it came from: whole numbers without a fraction (`45`, not `45.0`).
pub(crate) fn decimal_to_number(decimal: Decimal) -> Number {
    let decimal = decimal.normalize();
    if decimal.scale() == 0
        && let Ok(whole) = i64::try_from(decimal.mantissa())
    {
        return Number::from(whole);
    }
    decimal
        .to_string()
        .parse::<f64>()
        .ok()
        .and_then(Number::from_f64)
        .unwrap_or_else(|| Number::from(0))
}

/// An amount of US dollars in whole cents.
///
/// In JSON it is a number of dollars: `45.5` is 4,550 cents. Rounding to the cent is half up (decision B5,
/// `docs/rules.md#b5`): half a cent goes away from zero, which for amounts, never negative here, is up.
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
    /// The largest amount that is read from a number, USD 9,999,999,999,999.99: a JSON number still carries it
    /// to the cent.
    pub const MAX: Self = Self(MAX_CENTS);

    /// Nothing.
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
        let cents = dollars
            .round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero)
            .checked_mul(Decimal::ONE_HUNDRED)?;
        Self::from_whole_cents(cents)
    }

    /// From dollars, rounded up to the next cent: for bounds that a rounded amount must not fall below.
    pub fn from_decimal_ceiling(dollars: Decimal) -> Option<Self> {
        let cents = dollars
            .round_dp_with_strategy(2, RoundingStrategy::ToPositiveInfinity)
            .checked_mul(Decimal::ONE_HUNDRED)?;
        Self::from_whole_cents(cents)
    }

    /// From a float of dollars, as [`UsdCents::from_decimal`]; `None` if it is no finite number.
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

    /// Dollars as the nearest float, which prints as the exact amount up to [`UsdCents::MAX`].
    pub fn to_f64(self) -> f64 {
        decimal_to_number(self.to_decimal()).as_f64().unwrap_or(0.0)
    }

    /// Dollars as a JSON number: `45.5`, and `45` for a whole amount.
    pub fn to_number(self) -> Number {
        decimal_to_number(self.to_decimal())
    }

    fn from_whole_cents(cents: Decimal) -> Option<Self> {
        i64::try_from(cents.normalize().mantissa())
            .ok()
            .filter(|_| cents.normalize().scale() == 0)
            .filter(|cents| cents.abs() <= MAX_CENTS)
            .map(Self)
    }
}

impl From<UsdCents> for Number {
    fn from(amount: UsdCents) -> Self {
        amount.to_number()
    }
}

impl TryFrom<Number> for UsdCents {
    type Error = NumberOutOfRange;

    fn try_from(number: Number) -> Result<Self, Self::Error> {
        Self::from_number(&number).ok_or(NumberOutOfRange("an amount of US dollars"))
    }
}

impl fmt::Display for UsdCents {
    /// Dollars with two places and no sign of currency: `45.50`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.to_decimal())
    }
}

/// A number of marketplace connects, the coin in which bids and boosts are paid.
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
    /// None at all.
    pub const ZERO: Self = Self(0);

    /// The largest number that is read from JSON: 2⁵³ − 1.
    pub const MAX: Self = Self(MAX_EXACT);

    /// The price of one connect.
    pub const PRICE: UsdCents = UsdCents(15);

    /// So many connects.
    pub const fn new(connects: u64) -> Self {
        Self(connects)
    }

    /// How many.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// How many, for a signed column; saturates.
    pub fn as_i64(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }

    /// From a JSON number without a fraction (`2` and `2.0`, not `2.5`) from 0 to [`Connects::MAX`].
    pub fn from_number(number: &Number) -> Option<Self> {
        let decimal = decimal_from_number(number)?;
        if decimal.scale() != 0 {
            return None;
        }
        u64::try_from(decimal.mantissa())
            .ok()
            .map(Self)
            .filter(|connects| *connects <= Self::MAX)
    }

    /// Together with `other`; saturates.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left after `other` is taken away; zero if that is more.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// What they cost: USD 0.15 each; saturates.
    pub fn cost(self) -> UsdCents {
        UsdCents(self.as_i64().saturating_mul(Self::PRICE.0))
    }
}

impl From<Connects> for Number {
    fn from(connects: Connects) -> Self {
        Self::from(connects.0)
    }
}

impl TryFrom<Number> for Connects {
    type Error = NumberOutOfRange;

    fn try_from(number: Number) -> Result<Self, Self::Error> {
        Self::from_number(&number).ok_or(NumberOutOfRange("a number of connects (an integer from 0)"))
    }
}

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
    /// All of it.
    pub const HUNDRED: Self = Self(Decimal::ONE_HUNDRED);

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

    /// The percentage as a decimal: 90 for 90 %.
    pub const fn to_decimal(self) -> Decimal {
        self.0
    }

    /// This percentage of so many dollars, rounded half up to the cent (once, from the exact product).
    ///
    /// `None` beyond [`UsdCents::MAX`].
    pub fn of(self, dollars: Decimal) -> Option<UsdCents> {
        // Dollars times a percentage is already in cents: the two hundreds cancel.
        match self.0.mantissa().checked_mul(dollars.mantissa()) {
            Some(product) => half_up(product, self.0.scale() + dollars.scale())
                .and_then(|cents| i64::try_from(cents).ok())
                .filter(|cents| cents.abs() <= MAX_CENTS)
                .map(UsdCents),
            // More digits than any float has: the decimal's own rounding at 28 digits does.
            None => self
                .0
                .checked_mul(dollars)
                .map(|cents| cents.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero))
                .and_then(UsdCents::from_whole_cents),
        }
    }
}

impl From<Percentage> for Number {
    fn from(percentage: Percentage) -> Self {
        decimal_to_number(percentage.0)
    }
}

impl TryFrom<Number> for Percentage {
    type Error = NumberOutOfRange;

    fn try_from(number: Number) -> Result<Self, Self::Error> {
        Self::from_number(&number).ok_or(NumberOutOfRange("a percentage from 0 to 100"))
    }
}

impl fmt::Display for Percentage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

/// An hourly rate of a bidding configuration: US dollars above 0, exact (decision A7, `docs/rules.md#a7`).
///
/// It keeps what its author wrote, parts of a cent included, so that a floor can be held exactly. Only an
/// offered amount is rounded.
///
/// ```
/// use bidloop_domain::model::HourlyRate;
///
/// let floor: HourlyRate = serde_json::from_str("45.004").unwrap();
/// assert_eq!(floor.rounded().to_string(), "45.00");
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

    /// Rounded half up to the cent.
    pub fn rounded(self) -> UsdCents {
        UsdCents::from_decimal(self.0).unwrap_or(UsdCents::MAX)
    }

    /// Rounded up to the cent.
    pub fn rounded_up(self) -> UsdCents {
        UsdCents::from_decimal_ceiling(self.0).unwrap_or(UsdCents::MAX)
    }
}

impl From<HourlyRate> for Number {
    fn from(rate: HourlyRate) -> Self {
        decimal_to_number(rate.0)
    }
}

impl TryFrom<Number> for HourlyRate {
    type Error = NumberOutOfRange;

    fn try_from(number: Number) -> Result<Self, Self::Error> {
        Self::from_number(&number).ok_or(NumberOutOfRange("an hourly rate above 0"))
    }
}

impl fmt::Display for HourlyRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number that is not what it should be; says what that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {0}")]
pub struct NumberOutOfRange(&'static str);

/// `mantissa` / 10^`scale`, rounded half away from zero.
fn half_up(mantissa: i128, scale: u32) -> Option<i128> {
    // 10^39 is beyond an i128, and so is any mantissa of half of it: what is left is nothing.
    let Some(divisor) = 10_i128.checked_pow(scale) else {
        return Some(0);
    };
    let (whole, rest) = (mantissa / divisor, mantissa % divisor);
    // `rest >= divisor - rest` is "at least half" without doubling, which could overflow.
    if rest.abs() >= divisor - rest.abs() {
        whole.checked_add(mantissa.signum())
    } else {
        Some(whole)
    }
}

#[cfg(test)]
#[path = "money_tests.rs"]
mod tests;
