//! The body of a bid: from bytes to a [`BidRequest`] that cannot be malformed, or every fault in it (specification,
//! `SubmitBidRequest`; decision A2).

use bidloop_domain::bidding::QuestionAnswerPair;
use bidloop_domain::model::{BidRequest, BiddingConfig, CoverLetter, ShapeFault, read_json};
use bidloop_domain::use_case::LeadError;
use serde_json::Value;
use validator::{Validate, ValidationError};

use crate::fault_list::{FaultList, Members};

const PAIRS: &str = "questionAnswerPairs";

/// The request as far as it could be read; what is missing or of the wrong type has been told already.
#[derive(Debug, Default, Validate)]
struct SubmitBidRequest {
    #[validate(custom(function = "not_blank"), custom(function = "storable"))]
    cover_letter: Option<String>,
    #[validate(nested)]
    question_answer_pairs: Vec<Pair>,
    dry_run: bool,
    bidding_config: BiddingConfig,
}

/// Questions are not looked at here: one that is not the lead's has a code of its own.
#[derive(Debug, Default, Validate)]
struct Pair {
    question: Option<String>,
    #[validate(custom(function = "storable"))]
    answer: Option<String>,
}

fn not_blank(text: &str) -> Result<(), ValidationError> {
    if text.trim().is_empty() {
        return Err(ValidationError::new("blank").with_message("must not be blank".into()));
    }
    Ok(())
}

/// Databases do not store NUL in texts.
pub(crate) fn storable(text: &str) -> Result<(), ValidationError> {
    if text.contains('\0') {
        return Err(ValidationError::new("nul").with_message("must not contain the NUL character".into()));
    }
    Ok(())
}

/// Reads a bid's body.
pub(crate) fn parse(bytes: &[u8]) -> Result<BidRequest, LeadError> {
    let value = read_json(bytes).map_err(LeadError::Malformed)?;
    let mut faults = FaultList::default();
    let request = read(value, &mut faults);
    if let Err(errors) = request.validate() {
        faults.extend_validated(&errors, &[]);
    }
    if !faults.is_empty() {
        return Err(LeadError::Malformed(faults.into_faults()));
    }
    well_formed(request)
        .ok_or_else(|| LeadError::Malformed(vec![ShapeFault::new::<&str>(&[], "is not a bid request")]))
}

fn read(value: Value, faults: &mut FaultList) -> SubmitBidRequest {
    let mut request = SubmitBidRequest::default();
    let mut pairs = None;
    let mut config = None;
    if let Some(mut members) = Members::of(value, &[], faults) {
        request.cover_letter = members.required_string("coverLetter");
        pairs = members.require(PAIRS);
        request.dry_run = members.optional_boolean("dryRun").unwrap_or_default();
        config = members.take("biddingConfig");
        members.refuse_others();
    }
    match pairs {
        Some(Value::Array(items)) => request.question_answer_pairs = read_pairs(items, faults),
        Some(_) => faults.add(&[PAIRS], "must be an array"),
        None => {}
    }
    if let Some(config) = config {
        match BiddingConfig::from_value(&config, &["biddingConfig"]) {
            Ok(config) => request.bidding_config = config,
            Err(found) => faults.extend(found),
        }
    }
    request
}

fn read_pairs(items: Vec<Value>, faults: &mut FaultList) -> Vec<Pair> {
    let mut pairs = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        if faults.is_full() {
            break;
        }
        let path = [PAIRS.to_owned(), index.to_string()];
        let mut pair = Pair::default();
        if let Some(mut members) = Members::of(item, &path, faults) {
            pair.question = members.required_string("question");
            pair.answer = members.required_string("answer");
            members.refuse_others();
        }
        pairs.push(pair);
    }
    pairs
}

/// The domain's request; `None` only for what has faults.
fn well_formed(request: SubmitBidRequest) -> Option<BidRequest> {
    let pairs = request.question_answer_pairs.into_iter().map(|pair| {
        Some(QuestionAnswerPair {
            question: pair.question?,
            answer: pair.answer?,
        })
    });
    Some(BidRequest {
        cover_letter: CoverLetter::parse(request.cover_letter?)?,
        question_answer_pairs: pairs.collect::<Option<_>>()?,
        dry_run: request.dry_run,
        bidding_config: request.bidding_config,
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
    fn every_fault_is_told_at_once_with_its_path() {
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
                "dryRun",
                "surprise",
                "questionAnswerPairs.1.question",
                "questionAnswerPairs.1.answer",
                "questionAnswerPairs.1.extra",
                "questionAnswerPairs.2",
                "biddingConfig.nope",
                "biddingConfig.minBoost",
            ]
        );
    }

    #[test]
    fn a_missing_fields_path_ends_with_its_name() {
        assert_eq!(faults(&json!({})), ["coverLetter", "questionAnswerPairs"]);
    }

    #[test]
    fn null_is_no_value_where_the_specification_does_not_say_so() {
        let body = json!({
            "coverLetter": null, "questionAnswerPairs": null, "dryRun": null, "biddingConfig": null,
        });
        assert_eq!(
            faults(&body),
            ["coverLetter", "dryRun", "questionAnswerPairs", "biddingConfig"]
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
    fn what_no_database_stores_is_refused() {
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
