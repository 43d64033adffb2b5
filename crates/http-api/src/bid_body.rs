//! Reads the body of a bid into a [`BidRequest`], or reports every fault in it (specification, `SubmitBidRequest`;
//! decision A2).

use bidloop_domain::bidding::QuestionAnswerPair;
use bidloop_domain::matching::json::{Field, Fields, Null, flag, storable_text, text};
use bidloop_domain::model::{BidRequest, BiddingConfig, CoverLetter};
use bidloop_domain::use_case::LeadError;
use serde_json::Value;

use crate::request_json::read_object;

const PAIRS: &str = "questionAnswerPairs";
const CONFIG: &str = "biddingConfig";

/// Reads a bid's body.
pub(crate) fn parse(bytes: &[u8]) -> Result<BidRequest, LeadError> {
    read_object(bytes, |fields| {
        let cover_letter = fields.required("coverLetter", cover_letter);
        let pairs = fields.objects(PAIRS, Null::Refused, pair);
        if matches!(pairs, Field::Absent) {
            fields.fault(PAIRS, "is required");
        }
        let dry_run = fields.field("dryRun", Null::Refused, flag).given();
        let bidding_config = bidding_config(fields);
        Some(BidRequest {
            cover_letter: cover_letter?,
            question_answer_pairs: pairs.given()?.into_iter().collect::<Option<_>>()?,
            dry_run: dry_run.unwrap_or_default(),
            bidding_config,
        })
    })
}

fn cover_letter(value: &Value) -> Result<CoverLetter, String> {
    CoverLetter::parse(storable_text(value)?).ok_or_else(|| "must not be blank".to_owned())
}

/// Any text passes as a question: the bidding rules check it later and have their own error code.
fn pair(fields: &mut Fields<'_, '_>) -> Option<QuestionAnswerPair> {
    let question = fields.required("question", text);
    let answer = fields.required("answer", storable_text);
    Some(QuestionAnswerPair {
        question: question?,
        answer: answer?,
    })
}

fn bidding_config(fields: &mut Fields<'_, '_>) -> BiddingConfig {
    let Some(value) = fields.raw(CONFIG) else {
        return BiddingConfig::default();
    };
    BiddingConfig::from_value(value, &[CONFIG]).unwrap_or_else(|faults| {
        fields.report(faults);
        BiddingConfig::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(body: &Value) -> Vec<String> {
        match parse(body.to_string().as_bytes()) {
            Err(LeadError::Malformed(faults)) => faults.iter().map(|fault| fault.path.join(".")).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_smallest_request_is_a_letter_and_no_answers() {
        let request = parse(br#"{"coverLetter": " Hi ", "questionAnswerPairs": []}"#).unwrap();
        assert_eq!(request.cover_letter.as_str(), " Hi ", "submitted as it is");
        assert!(!request.dry_run);
        assert_eq!(request.bidding_config, BiddingConfig::default());
    }

    #[test]
    fn every_fault_is_reported_at_once_with_its_path() {
        let body = json!({
            "coverLetter": 7,
            "questionAnswerPairs": [{"question": "q", "answer": "a"}, {"question": null, "extra": 1}, "x"],
            "dryRun": "yes",
            "biddingConfig": {"minBoost": -1, "nope": 1},
            "surprise": true,
        });
        assert_eq!(
            faults(&body),
            [
                "coverLetter",
                "questionAnswerPairs.1.question",
                "questionAnswerPairs.1.answer",
                "questionAnswerPairs.1.extra",
                "questionAnswerPairs.2",
                "dryRun",
                "biddingConfig.minBoost",
                "biddingConfig.nope",
                "surprise",
            ]
        );
    }

    #[test]
    fn the_path_of_a_missing_field_ends_with_its_name() {
        assert_eq!(faults(&json!({})), ["coverLetter", "questionAnswerPairs"]);
    }

    #[test]
    fn null_is_no_value_where_the_specification_does_not_say_so() {
        let body = json!({
            "coverLetter": null, "questionAnswerPairs": null, "dryRun": null, "biddingConfig": null,
        });
        assert_eq!(
            faults(&body),
            ["coverLetter", "questionAnswerPairs", "dryRun", "biddingConfig"]
        );
    }

    #[test]
    fn a_blank_letter_is_refused() {
        for letter in ["", " ", "\n\t", "\u{a0}\u{2003}"] {
            let body = json!({"coverLetter": letter, "questionAnswerPairs": []});
            assert_eq!(faults(&body), ["coverLetter"], "{letter:?}");
        }
    }

    #[test]
    fn a_text_that_a_database_cannot_store_is_refused() {
        let body = json!({
            "coverLetter": "a\0b", "questionAnswerPairs": [{"question": "q", "answer": "\0"}],
        });
        assert_eq!(faults(&body), ["coverLetter", "questionAnswerPairs.0.answer"]);
    }

    #[test]
    fn a_body_that_is_no_object_is_one_fault_without_a_path() {
        for body in [json!([]), json!("x"), json!(null), json!(1)] {
            assert_eq!(faults(&body), [""]);
        }
    }
}
