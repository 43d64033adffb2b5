//! The values that a bidding configuration may hold.

use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::money::{Connects, json_number};
use super::words::words;

words! {
    /// What to do when the marketplace shows a warning on the job before submission.
    pub enum BidWithWarning {
        /// Bid all the same.
        Bid,
        /// Do not bid: the bid ends as skipped with `job_warning`.
        Skip,
    }

    /// How the rate offered on an hourly job is chosen (decision B5, `docs/rules.md#b5`).
    pub enum HourlyRateStrategy {
        /// A percentage of the job's budget.
        MatchJobBudget,
        /// A percentage of the bidder account's profile rate.
        MatchProfileRate,
        /// The configured rate.
        FixedRate,
        /// The profile rate, adjusted to the job's range and to what the client pays, above a floor.
        SmartBidding,
    }

    /// What to do when the account cannot pay the job's connects and the boost together.
    pub enum InsufficientBoostConnectsAction {
        /// Do not bid: the bid ends as skipped with `insufficient_boost_connects`.
        Skip,
        /// Bid without a boost.
        BidWithoutBoost,
    }

    /// What to do when the client already hired someone for the job.
    pub enum AlreadyHiredAction {
        /// Do not bid: the bid ends as skipped with `already_hired`.
        Skip,
        /// Bid all the same.
        Bid,
    }
}

/// A boosted position in the marketplace's ranking of proposals: 1 (best) to 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "Number", try_from = "Number")]
pub struct BoostedPlace(u8);

impl BoostedPlace {
    /// The last place that a boost can hold.
    pub const LAST: Self = Self(4);

    /// The place with this number; `None` unless it is 1 to 4.
    pub const fn new(place: u8) -> Option<Self> {
        if place >= 1 && place <= Self::LAST.0 {
            Some(Self(place))
        } else {
            None
        }
    }

    /// The place's number, 1 to 4.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The places from the best down to this one.
    pub fn from_best(self) -> impl Iterator<Item = Self> {
        (1..=self.0).map(Self)
    }

    /// From a JSON number from 1 to 4 without a fraction.
    pub fn from_number(number: &Number) -> Option<Self> {
        let place = Connects::from_number(number)?.get();
        u8::try_from(place).ok().and_then(Self::new)
    }

    /// The place as a JSON number.
    pub fn to_number(self) -> Number {
        self.0.into()
    }
}

json_number!(BoostedPlace, "an integer from 1 to 4");
