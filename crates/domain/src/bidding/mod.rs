//! The bidding rules: pure functions from what is known to what is done, each with its explanation.
