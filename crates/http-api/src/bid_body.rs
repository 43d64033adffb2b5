//! Reads the body of a bid into a [`BidRequest`], or reports every fault in it (specification, `SubmitBidRequest`;
//! decision A2).

use bidloop_domain::bidding::QuestionAnswerPair;
use bidloop_domain::matching::json::{Faults, Field, Fields, Null, Path, flag, storable_text, text};
use bidloop_domain::model::{BIDDING_CONFIG_FIELDS, BidRequest, BiddingConfig, CoverLetter};
use bidloop_domain::use_case::LeadError;
use serde::de::{IgnoredAny, MapAccess, SeqAccess};
use serde_json::Value;

use crate::request_json::{
    Leaf, MOST_FAULTS, Members, Object, Outline, Seed, Shape, read_object, read_outline,
};

const LETTER: &str = "coverLetter";
const PAIRS: &str = "questionAnswerPairs";
const DRY_RUN: &str = "dryRun";
const CONFIG: &str = "biddingConfig";
const QUESTION: &str = "question";
const ANSWER: &str = "answer";
const PAIR: [&str; 2] = [QUESTION, ANSWER];

/// Reads a bid's body.
pub(crate) fn parse(bytes: &[u8]) -> Result<BidRequest, LeadError> {
    let mut pairs = Pairs::new();
    let mut config_faults = Faults::with_limit(MOST_FAULTS);
    let shape = Bid {
        pairs: &mut pairs,
        config_faults: &mut config_faults,
    };
    let outline = read_outline(bytes, shape)?;
    read_object(outline, |fields| {
        let cover_letter = fields.required(LETTER, cover_letter);
        let is_list = is_list(fields);
        fields.faults().extend(pairs.faults.into_errors());
        let dry_run = fields.field(DRY_RUN, Null::Refused, flag).given();
        fields.faults().extend(config_faults.into_errors());
        let bidding_config = bidding_config(fields);
        Some(BidRequest {
            cover_letter: cover_letter?,
            question_answer_pairs: is_list.then_some(pairs.read)?,
            dry_run: dry_run.unwrap_or_default(),
            bidding_config,
        })
    })
}

fn cover_letter(value: &Value) -> Result<CoverLetter, String> {
    CoverLetter::parse(storable_text(value)?).ok_or_else(|| "must not be blank".to_owned())
}

/// Whether there is a list of pairs. Its entries have been read.
fn is_list(fields: &mut Fields<'_, '_>) -> bool {
    let list = fields.list(PAIRS, Null::Refused, |_| Ok(()));
    if matches!(list, Field::Absent) {
        fields.fault(PAIRS, "is required");
    }
    list.given().is_some()
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

/// The body. Its pairs and the repeated members of its configuration are kept apart, since they are no leaves.
struct Bid<'b> {
    pairs: &'b mut Pairs,
    config_faults: &'b mut Faults,
}

impl<'de> Shape<'de> for Bid<'_> {
    type Output = Outline;

    fn value(self, value: Value) -> Outline {
        Outline::NoObject(value)
    }

    fn object<A: MapAccess<'de>>(self, members: A) -> Result<Outline, A::Error> {
        let known = &[LETTER, PAIRS, DRY_RUN, CONFIG];
        let read = Members::read(known, members, |name, members| match name {
            PAIRS => members.next_value_seed(Seed(&mut *self.pairs)),
            CONFIG => {
                let config = members.next_value_seed(Seed(Object(&BIDDING_CONFIG_FIELDS)))?;
                let path = Path::Member(&Path::Document, CONFIG);
                Ok(config.into_value(path, self.config_faults))
            }
            _ => members.next_value_seed(Seed(Leaf)),
        });
        read.map(Outline::Object)
    }
}

/// The pairs of a body, read one by one, and their faults.
struct Pairs {
    read: Vec<QuestionAnswerPair>,
    faults: Faults,
}

impl Pairs {
    const fn new() -> Self {
        Self {
            read: Vec::new(),
            faults: Faults::with_limit(MOST_FAULTS),
        }
    }

    /// Takes an entry of the list. Faulty ones are few: once the most faults are found, no more entries are read.
    fn add(&mut self, index: usize, entry: Outline) {
        let path = Path::Member(&Path::Document, PAIRS);
        match well_formed(entry) {
            Ok(pair) => self.read.push(pair),
            Err(entry) => self
                .read
                .extend(entry.read(Path::Item(&path, index), &mut self.faults, pair)),
        }
    }
}

impl<'de> Shape<'de> for &mut Pairs {
    type Output = Value;

    fn value(self, value: Value) -> Value {
        value
    }

    fn list<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut index = 0;
        while !self.faults.is_full() {
            let Some(entry) = entries.next_element_seed(Seed(Object(&PAIR)))? else {
                return Ok(Value::Array(Vec::new()));
            };
            self.add(index, entry);
            index += 1;
        }
        while entries.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array(Vec::new()))
    }
}

/// The pair, if the entry has no fault. A body may have a hundred thousand of them, so their texts are moved.
fn well_formed(mut entry: Outline) -> Result<QuestionAnswerPair, Outline> {
    if let Outline::Object(members) = &mut entry
        && let Some([Some(Value::String(question)), Some(Value::String(answer))]) = members.plain()
        && !answer.contains('\0')
    {
        return Ok(QuestionAnswerPair {
            question: std::mem::take(question),
            answer: std::mem::take(answer),
        });
    }
    Err(entry)
}

/// Any text passes as a question: the bidding rules check it later and have their own error code.
fn pair(fields: &mut Fields<'_, '_>) -> Option<QuestionAnswerPair> {
    let question = fields.required(QUESTION, text);
    let answer = fields.required(ANSWER, storable_text);
    Some(QuestionAnswerPair {
        question: question?,
        answer: answer?,
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
