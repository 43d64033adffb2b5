//! The answers to a lead's screening questions: whether they are complete, and their order in the proposal (the
//! specification's bid rule 1 and decision A6).

use std::collections::{HashMap, VecDeque};

use super::validation_fault::{ValidationCode, ValidationFault};
use crate::model::QuestionAnswerPair;

/// How many faulty pairs are reported. Each fault repeats the lead's questions, so a body of many faulty pairs would
/// otherwise get a far larger answer.
const MOST_FAULTY_PAIRS: usize = 50;

/// The most bytes of the lead's questions in the faults of all pairs. One fault always has them.
const MOST_OPTION_BYTES: usize = 16 * 1024;

const PAIRS: &str = "questionAnswerPairs";

/// The faults of a bid's answers (decision A6, `docs/rules.md#a6`): each of the lead's questions is answered
/// exactly once, a text that the lead repeats as often as it occurs.
///
/// Faulty pairs come first, in the request's order, at most fifty, and fewer if the lead's questions are long; their
/// options are the lead's questions. The last fault stands for all questions without an answer; they are its options.
///
/// ```
/// use bidloop_domain::bidding::{QuestionAnswerPair, check_answers};
///
/// let lead = ["Why you?".to_owned(), "When?".to_owned()];
/// let pairs = [QuestionAnswerPair { question: "why you?".to_owned(), answer: "Because.".to_owned() }];
/// let faults = check_answers(&lead, &pairs);
/// assert_eq!(faults[0].path, ["questionAnswerPairs", "0", "question"]);
/// assert_eq!(faults[0].options.as_deref(), Some(&lead[..]));
/// assert_eq!(faults[1].path, ["questionAnswerPairs"]);
/// assert_eq!(faults[1].options.as_deref(), Some(&lead[..]));
/// ```
pub fn check_answers(lead_questions: &[String], pairs: &[QuestionAnswerPair]) -> Vec<ValidationFault> {
    // How many answers each text can still have.
    let mut open: HashMap<&str, usize> = HashMap::new();
    for question in lead_questions {
        *open.entry(question).or_default() += 1;
    }

    let most = most_faulty_pairs(lead_questions);
    let mut faults = Vec::new();
    for (index, pair) in pairs.iter().enumerate() {
        let message = match open.get_mut(pair.question.as_str()) {
            Some(0) => "is answered more often than the lead asks it",
            Some(left) => {
                *left -= 1;
                continue;
            }
            None => "is not a question of the lead; a question is quoted byte for byte",
        };
        if faults.len() < most {
            faults.push(ValidationFault {
                path: vec![PAIRS.to_owned(), index.to_string(), "question".to_owned()],
                code: ValidationCode::QuestionMismatch,
                message: message.to_owned(),
                options: Some(lead_questions.to_vec()),
            });
        }
    }

    let unanswered: Vec<String> = lead_questions
        .iter()
        .filter(|question| match open.get_mut(question.as_str()) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        })
        .cloned()
        .collect();
    if !unanswered.is_empty() {
        let count = unanswered.len();
        faults.push(ValidationFault {
            path: vec![PAIRS.to_owned()],
            code: ValidationCode::QuestionMismatch,
            message: format!(
                "leaves {count} of the lead's {} questions without an answer; each is answered exactly once",
                lead_questions.len()
            ),
            options: Some(unanswered),
        });
    }
    faults
}

fn most_faulty_pairs(lead_questions: &[String]) -> usize {
    let options: usize = lead_questions.iter().map(String::len).sum();
    (MOST_OPTION_BYTES / options.max(1)).clamp(1, MOST_FAULTY_PAIRS)
}

/// The answers as the proposal holds them: in the order of the lead's questions, two identical questions in
/// the request's order (decision A6, `docs/rules.md#a6`). Pairs that [`check_answers`] refuses are left out.
///
/// ```
/// use bidloop_domain::bidding::{QuestionAnswerPair, in_lead_order};
///
/// let pair = |question: &str, answer: &str| QuestionAnswerPair { question: question.into(), answer: answer.into() };
/// let lead = ["When?".to_owned(), "Why?".to_owned(), "When?".to_owned()];
/// let request = [pair("Why?", "a"), pair("When?", "b"), pair("When?", "c")];
/// let answers: Vec<&str> = in_lead_order(&lead, &request).into_iter().map(|pair| pair.answer.as_str()).collect();
/// assert_eq!(answers, ["b", "a", "c"]);
/// ```
pub fn in_lead_order<'a>(
    lead_questions: &[String],
    pairs: &'a [QuestionAnswerPair],
) -> Vec<&'a QuestionAnswerPair> {
    let mut given: HashMap<&str, VecDeque<&QuestionAnswerPair>> = HashMap::new();
    for pair in pairs {
        given.entry(&pair.question).or_default().push_back(pair);
    }
    lead_questions
        .iter()
        .filter_map(|question| given.get_mut(question.as_str())?.pop_front())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn questions(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    fn pairs(texts: &[&str]) -> Vec<QuestionAnswerPair> {
        texts
            .iter()
            .enumerate()
            .map(|(index, &text)| QuestionAnswerPair {
                question: text.to_owned(),
                answer: format!("answer {index}"),
            })
            .collect()
    }

    /// Each fault as its path and its options.
    fn faults(lead: &[&str], request: &[&str]) -> Vec<(String, Vec<String>)> {
        check_answers(&questions(lead), &pairs(request))
            .into_iter()
            .map(|fault| {
                assert_eq!(fault.code, ValidationCode::QuestionMismatch);
                (fault.path.join("."), fault.options.unwrap())
            })
            .collect()
    }

    #[test]
    fn each_question_answered_once_in_any_order_is_right() {
        assert_eq!(faults(&[], &[]), []);
        assert_eq!(faults(&["a", "b"], &["b", "a"]), []);
        assert_eq!(
            faults(&["a", "b", "a"], &["a", "a", "b"]),
            [],
            "a repeated text as often as it occurs"
        );
    }

    #[test]
    fn a_question_that_is_not_the_leads_is_a_mismatch_with_the_leads_questions() {
        let lead = questions(&["Why?"]);
        for other in ["why?", "Why? ", " Why?", "Why", "Why\u{ff1f}", ""] {
            let found = faults(&["Why?"], &["Why?", other]);
            assert_eq!(
                found,
                [("questionAnswerPairs.1.question".to_owned(), lead.clone())],
                "{other:?}"
            );
        }
    }

    #[test]
    fn canonically_equal_text_in_other_bytes_is_a_mismatch() {
        assert_eq!(faults(&["caf\u{e9}"], &["cafe\u{301}"]).len(), 2);
    }

    #[test]
    fn a_question_answered_twice_is_a_mismatch_at_the_second() {
        let found = faults(&["a", "b"], &["a", "a", "b"]);
        assert_eq!(
            found,
            [(
                "questionAnswerPairs.1.question".to_owned(),
                questions(&["a", "b"])
            )]
        );
    }

    #[test]
    fn left_out_questions_are_one_mismatch_with_those_without_an_answer() {
        let found = faults(&["a", "b", "c"], &["b"]);
        assert_eq!(
            found,
            [("questionAnswerPairs".to_owned(), questions(&["a", "c"]))]
        );
    }

    #[test]
    fn a_repeated_question_answered_once_is_left_out_once() {
        let found = faults(&["a", "b", "a"], &["a", "b"]);
        assert_eq!(found, [("questionAnswerPairs".to_owned(), questions(&["a"]))]);
    }

    #[test]
    fn pairs_for_a_lead_without_questions_are_mismatches() {
        assert_eq!(
            faults(&[], &["a"]),
            [("questionAnswerPairs.0.question".to_owned(), vec![])]
        );
    }

    #[test]
    fn a_flood_of_faulty_pairs_is_reported_in_part() {
        let flood = vec!["x"; 10_000];
        let found = faults(&["a"], &flood);
        assert_eq!(found.len(), MOST_FAULTY_PAIRS + 1);
        assert_eq!(
            found.last().unwrap().0,
            "questionAnswerPairs",
            "missing answers are always reported"
        );
    }

    #[test]
    fn long_questions_are_repeated_for_fewer_faulty_pairs() {
        let long = "?".repeat(6_000);
        let reported = |lead: &[&str]| faults(lead, &["x"; 100]).len() - 1;
        assert_eq!(reported(&[&long]), 2);
        assert_eq!(reported(&[&long, &long, &long]), 1);
        assert_eq!(reported(&["", "?"]), MOST_FAULTY_PAIRS);
    }

    #[test]
    fn identical_questions_keep_the_requests_order_of_answers() {
        let request = pairs(&["b", "a", "a"]);
        let ordered = in_lead_order(&questions(&["a", "b", "a"]), &request);
        let answers: Vec<&str> = ordered.iter().map(|pair| pair.answer.as_str()).collect();
        assert_eq!(answers, ["answer 1", "answer 0", "answer 2"]);
    }

    proptest! {
        #[test]
        fn any_permutation_of_the_leads_questions_passes_and_comes_out_in_its_order(
            (lead, request) in prop::collection::vec("[a-c]{1,2}", 0..8)
                .prop_flat_map(|lead| (Just(lead.clone()), Just(lead).prop_shuffle()))
        ) {
            let request: Vec<QuestionAnswerPair> =
                request.into_iter().map(|question| QuestionAnswerPair { question, answer: String::new() }).collect();
            prop_assert_eq!(check_answers(&lead, &request), vec![]);
            let ordered: Vec<String> =
                in_lead_order(&lead, &request).into_iter().map(|pair| pair.question.clone()).collect();
            prop_assert_eq!(ordered, lead);
        }

        #[test]
        fn answers_that_are_no_permutation_are_refused(
            lead in prop::collection::vec("[a-c]", 0..5),
            request in prop::collection::vec("[a-c]", 0..5),
        ) {
            let (mut sorted_lead, mut sorted_request) = (lead.clone(), request.clone());
            sorted_lead.sort();
            sorted_request.sort();
            let request: Vec<QuestionAnswerPair> =
                request.into_iter().map(|question| QuestionAnswerPair { question, answer: String::new() }).collect();
            prop_assert_eq!(check_answers(&lead, &request).is_empty(), sorted_lead == sorted_request);
        }
    }
}
