//! A job's live state: whether it is open, its warnings, its boosts, its price in connects. Includes the four-place
//! auction.

use serde::{Deserialize, Serialize};

/// The number of places in the auction.
const BOOSTED_PLACES: usize = 4;

/// Whether a job accepts proposals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Open,
    Closed,
}

/// A warning that proposals must accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Warning {
    pub(crate) code: String,
    #[serde(default)]
    pub(crate) message: String,
}

/// The live state of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobState {
    pub(crate) status: Status,
    pub(crate) already_hired: bool,
    pub(crate) warnings: Vec<Warning>,
    /// The boosts that hold a place, in connects, highest first.
    pub(crate) boosts: Vec<u32>,
    pub(crate) required_connects: u32,
    /// If false, every proposal is refused as `not_eligible`. Not part of the protocol's state.
    #[serde(skip)]
    pub(crate) eligible: bool,
}

/// The body of `PATCH /sim/jobs/<id>`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct JobStatePatch {
    #[serde(deserialize_with = "given")]
    status: Option<Status>,
    #[serde(deserialize_with = "given")]
    already_hired: Option<bool>,
    #[serde(deserialize_with = "given")]
    warnings: Option<Vec<Warning>>,
    #[serde(deserialize_with = "given")]
    boosts: Option<Vec<u32>>,
    #[serde(deserialize_with = "given")]
    required_connects: Option<u32>,
    #[serde(deserialize_with = "given")]
    eligible: Option<bool>,
}

/// A member that may be absent but not null.
fn given<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl JobStatePatch {
    /// A patch of the boosts alone.
    pub(crate) fn of_boosts(boosts: Vec<u32>) -> Self {
        Self {
            boosts: Some(boosts),
            ..Self::default()
        }
    }
}

impl JobState {
    pub(crate) fn fresh(required_connects: u32) -> Self {
        Self {
            status: Status::Open,
            already_hired: false,
            warnings: Vec::new(),
            boosts: Vec::new(),
            required_connects,
            eligible: true,
        }
    }

    /// Enters a boost. Only the four highest boosts hold a place; of equal boosts, the earlier one is higher.
    pub(crate) fn enter_boost(&mut self, connects: u32) {
        if connects == 0 {
            return;
        }
        let place = self.boosts.partition_point(|standing| *standing >= connects);
        self.boosts.insert(place, connects);
        self.boosts.truncate(BOOSTED_PLACES);
    }

    pub(crate) fn merge(&mut self, patch: JobStatePatch) {
        fn set<T>(member: &mut T, given: Option<T>) {
            if let Some(given) = given {
                *member = given;
            }
        }
        set(&mut self.status, patch.status);
        set(&mut self.already_hired, patch.already_hired);
        set(&mut self.warnings, patch.warnings);
        set(&mut self.required_connects, patch.required_connects);
        set(&mut self.eligible, patch.eligible);
        if let Some(boosts) = patch.boosts {
            self.boosts.clear();
            for connects in boosts {
                self.enter_boost(connects);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_four_highest_boosts_stand_highest_first(boosts in prop::collection::vec(0u32..50, 0..20)) {
            let mut state = JobState::fresh(10);
            for boost in &boosts { state.enter_boost(*boost); }
            let mut expected: Vec<u32> = boosts.into_iter().filter(|boost| *boost > 0).collect();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            expected.truncate(4);
            prop_assert_eq!(state.boosts, expected);
        }
    }

    #[test]
    fn a_patch_merges_what_it_names_and_refuses_what_it_does_not_know() {
        let mut state = JobState::fresh(10);
        state.merge(serde_json::from_str(r#"{"status": "closed", "boosts": [1, 9, 3, 4, 5]}"#).unwrap());
        assert_eq!((state.status, state.required_connects), (Status::Closed, 10));
        assert_eq!(state.boosts, [9, 5, 4, 3]);
        assert!(serde_json::from_str::<JobStatePatch>(r#"{"state": "open"}"#).is_err());
        assert!(serde_json::from_str::<JobStatePatch>(r#"{"status": null}"#).is_err());
        assert!(serde_json::from_str::<JobStatePatch>(r#"{"boosts": [-1]}"#).is_err());
    }
}
