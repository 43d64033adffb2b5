//! What a bid says.

use serde::Serialize;

use crate::lead::Lead;
use crate::open_enum::open_enum;

/// A bid on a lead.
///
/// ```
/// use bidloop_client::{Bid, BiddingConfig, HourlyRateStrategy};
///
/// let bid = Bid::new("Hello, I can start on Monday.")
///     .answer("When can you begin?", "On Monday.")
///     .config(BiddingConfig {
///         bidding_hourly_rate_strategy: Some(HourlyRateStrategy::FixedRate),
///         bidding_fixed_hourly_rate: Some(60.0),
///         ..BiddingConfig::default()
///     });
/// assert_eq!(
///     serde_json::to_value(&bid)?,
///     serde_json::json!({
///         "coverLetter": "Hello, I can start on Monday.",
///         "questionAnswerPairs": [{"question": "When can you begin?", "answer": "On Monday."}],
///         "biddingConfig": {"biddingHourlyRateStrategy": "fixed_rate", "biddingFixedHourlyRate": 60.0}
///     })
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[must_use]
pub struct Bid {
    cover_letter: String,
    question_answer_pairs: Vec<QuestionAnswer>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    bidding_config: Option<BiddingConfig>,
}

/// One screening question with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuestionAnswer {
    /// The question, byte for byte.
    pub question: String,
    /// The answer, which is submitted as written.
    pub answer: String,
}

impl Bid {
    /// A bid with this cover letter, for a lead without questions.
    pub fn new(cover_letter: impl Into<String>) -> Self {
        Self {
            cover_letter: cover_letter.into(),
            question_answer_pairs: Vec::new(),
            dry_run: false,
            bidding_config: None,
        }
    }

    /// Answers one question.
    pub fn answer(mut self, question: impl Into<String>, answer: impl Into<String>) -> Self {
        self.question_answer_pairs.push(QuestionAnswer {
            question: question.into(),
            answer: answer.into(),
        });
        self
    }

    /// Answers each of the lead's questions.
    pub fn answer_all(self, lead: &Lead, answer: impl Fn(&str) -> String) -> Self {
        let answered = |bid: Self, question: &String| bid.answer(question, answer(question));
        lead.questions.iter().fold(self, answered)
    }

    /// Overrides fields of the lead's and the campaign's bidding configuration.
    pub fn config(mut self, config: BiddingConfig) -> Self {
        self.bidding_config = Some(config);
        self
    }

    /// Makes it a dry run: checked and answered as a bid, but nothing is queued or spent.
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    pub(crate) fn is_dry_run(&self) -> bool {
        self.dry_run
    }
}

/// Overrides of the bidding configuration. `None` falls back to the lead's configuration, then the campaign's.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BiddingConfig {
    /// What to do if the marketplace shows a warning on the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bid_with_warning: Option<BidWithWarning>,
    /// How the hourly rate is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bidding_hourly_rate_strategy: Option<HourlyRateStrategy>,
    /// Percent of the reference rate, 0 to 100. The `match_` strategies require it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bidding_hourly_rate_percentage: Option<f64>,
    /// USD per hour. `fixed_rate` requires it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bidding_fixed_hourly_rate: Option<f64>,
    /// USD per hour: the floor of `smart_bidding`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bidding_min_hourly_rate: Option<f64>,
    /// Whether to boost the proposal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boosting_enabled: Option<bool>,
    /// The lowest boosted place to take, 1 to 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boost_down_to_nth_place: Option<u8>,
    /// Connects by which to outbid the boost of the place taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connects_above_previous: Option<u32>,
    /// The smallest boost, in connects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_boost: Option<u32>,
    /// The largest boost, in connects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_boost: Option<u32>,
    /// What to do if the account has too few connects for the boost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insufficient_boost_connects_action: Option<InsufficientBoostConnectsAction>,
    /// What to do if the client already hired someone for the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub already_hired_action: Option<AlreadyHiredAction>,
}

open_enum! {
    /// What to do if the marketplace shows a warning on the job.
    BidWithWarning {
        /// Bid all the same.
        Bid = "bid",
        /// Skip the lead.
        Skip = "skip",
    }
}

open_enum! {
    /// How the hourly rate is chosen.
    HourlyRateStrategy {
        /// A percentage of the job's budget.
        MatchJobBudget = "match_job_budget",
        /// A percentage of the bidder account's rate.
        MatchProfileRate = "match_profile_rate",
        /// The fixed rate.
        FixedRate = "fixed_rate",
        /// Computed from budget, profile and what the client pays.
        SmartBidding = "smart_bidding",
    }
}

open_enum! {
    /// What to do if the account has too few connects for the boost.
    InsufficientBoostConnectsAction {
        /// Skip the lead.
        Skip = "skip",
        /// Bid without a boost.
        BidWithoutBoost = "bid_without_boost",
    }
}

open_enum! {
    /// What to do if the client already hired someone for the job.
    AlreadyHiredAction {
        /// Skip the lead.
        Skip = "skip",
        /// Bid all the same.
        Bid = "bid",
    }
}
