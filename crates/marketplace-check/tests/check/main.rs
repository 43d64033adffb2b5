//! The check against the simulator, against translators with one fault each, and against the translator of the guide.

#![expect(
    clippy::unwrap_used,
    reason = "test code: what goes wrong here fails the test"
)]

mod described_answers;
mod faulty_translator;
mod guide;
mod market;
mod planted_faults;
mod sound_marketplaces;
