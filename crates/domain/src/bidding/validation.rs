//! All bidding rules that a bid request must meet before it is queued.
//!
//! Owns the order in which the rules are checked. Does not own the rules: see `questions` and `required_rates`.

use super::questions::check_answers;
use super::required_rates::check_required_rates;
use super::validation_fault::ValidationFault;
use crate::model::{EffectiveConfig, QuestionAnswerPair};

/// Every fault of a bid against the bidding rules: answers first, then the rates (the bid operation's rules
/// 1 to 3). Empty for a bid that may be queued.
///
/// ```
/// use bidloop_domain::bidding::{QuestionAnswerPair, ValidationCode, check_bid};
/// use bidloop_domain::model::{BiddingConfig, effective};
///
/// let none = BiddingConfig::default();
/// let config = effective(&none, &none, &none);
/// let questions = ["Why you?".to_owned()];
/// let faults = check_bid(&questions, &[], &config);
/// assert_eq!(faults[0].code, ValidationCode::QuestionMismatch);
/// assert_eq!(faults[0].options.as_deref(), Some(&questions[..]));
///
/// let answer = QuestionAnswerPair { question: "Why you?".to_owned(), answer: "Ten years of it.".to_owned() };
/// assert_eq!(check_bid(&questions, &[answer], &config), []);
/// ```
pub fn check_bid(
    lead_questions: &[String],
    pairs: &[QuestionAnswerPair],
    config: &EffectiveConfig,
) -> Vec<ValidationFault> {
    let mut faults = check_answers(lead_questions, pairs);
    faults.extend(check_required_rates(config));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BiddingConfig, effective};
    use serde_json::json;

    #[test]
    fn answers_and_rates_are_reported_together() {
        let request = BiddingConfig::from_value(
            &json!({"biddingHourlyRateStrategy": "fixed_rate"}),
            &["biddingConfig"],
        )
        .unwrap();
        let config = effective(&request, &BiddingConfig::default(), &BiddingConfig::default());
        let pair = QuestionAnswerPair {
            question: "nope".to_owned(),
            answer: String::new(),
        };
        let faults = check_bid(&[], &[pair], &config);
        assert_eq!(
            serde_json::to_value(faults).unwrap(),
            json!([
                {
                    "path": ["questionAnswerPairs", "0", "question"],
                    "code": "question_mismatch",
                    "message": "is not a question of the lead; a question is quoted byte for byte",
                    "options": []
                },
                {
                    "path": ["biddingConfig", "biddingFixedHourlyRate"],
                    "code": "fixed_rate_required",
                    "message": "the strategy fixed_rate (set by the request) needs biddingFixedHourlyRate in the request, the lead or the campaign"
                }
            ])
        );
    }
}
