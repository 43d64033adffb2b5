//! Writes the text of a bid.

use bidloop_client::Bid;
use serde_json::Value;

/// Returns a bid on a lead of `job.new` or List: the cover letter names the job, and each question is quoted verbatim and
/// answered as often as it is asked.
///
/// ```
/// use serde_json::json;
///
/// let lead = json!({"title": "Rust developer for a booking platform", "questions": ["When can you start?"]});
/// let bid = serde_json::to_value(bidloop_simulator::caller::bid_on(&lead))?;
/// assert!(bid["coverLetter"].as_str().unwrap().contains("Rust developer for a booking platform"));
/// assert_eq!(bid["questionAnswerPairs"][0]["question"], "When can you start?");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn bid_on(lead: &Value) -> Bid {
    let answered = |bid: Bid, question| bid.answer(question, answer_to(question, lead));
    texts(&lead["questions"]).fold(Bid::new(cover_letter(lead)), answered)
}

fn cover_letter(lead: &Value) -> String {
    let title = lead["title"].as_str().map(str::trim).unwrap_or_default();
    let mut letter = if title.is_empty() {
        "Hello,\n\nI would like to take on this job.".to_owned()
    } else {
        format!("Hello,\n\n“{title}” is the kind of work I do every day.")
    };
    let skills: Vec<&str> = skills(lead).take(3).collect();
    if !skills.is_empty() {
        letter.push_str(" I have used ");
        letter.push_str(&listed(&skills));
        letter.push_str(" for years.");
    }
    letter.push_str(
        "\n\nI would begin with the part that carries the most risk, show you a first result within days, and \
         tell you plainly what I find on the way.\n\nBest regards",
    );
    letter
}

/// A sentence that fits the words of the question.
fn answer_to(question: &str, lead: &Value) -> String {
    let asks = question.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| asks.contains(word));
    if has(&[
        "when can",
        "how soon",
        "available",
        "availability",
        "hours a week",
    ]) {
        "I could begin on Monday, with thirty hours a week.".to_owned()
    } else if has(&["time zone", "timezone"]) {
        "I work from 8:00 to 17:00 UTC and can move two hours either way.".to_owned()
    } else if has(&["charge", "rate", "price", "cost"]) {
        "The terms of this proposal hold; I do not charge for revisions of my own mistakes.".to_owned()
    } else if has(&["experience", "recent", "project", "proud", "sample", "portfolio"]) {
        match skills(lead).next() {
            Some(skill) => format!(
                "My last two projects were built on {skill}, one of them still runs in my care; I can send a \
                 reference."
            ),
            None => "My last two projects were close to this one; I can send a reference.".to_owned(),
        }
    } else if has(&["do you have any questions", "need from us"]) {
        "Who decides what is accepted, and by when do you need the first result?".to_owned()
    } else {
        "I settle that at the start, in writing, and measure the result; I can show how on a recent example."
            .to_owned()
    }
}

fn skills(lead: &Value) -> impl Iterator<Item = &str> {
    lead["skills"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|skill| skill["name"].as_str())
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(lead: &Value) -> Value {
        serde_json::to_value(bid_on(lead)).unwrap()
    }

    #[test]
    fn every_question_is_quoted_verbatim_and_answered_as_often_as_it_is_asked() {
        let questions = [
            "  Why you? ",
            "Time zone?",
            "Time zone?",
            "¿Cuándo puede empezar?",
        ];
        let bid = written(&json!({"title": "T", "questions": questions}));
        let pairs = bid["questionAnswerPairs"].as_array().unwrap();
        let asked: Vec<&str> = pairs
            .iter()
            .filter_map(|pair| pair["question"].as_str())
            .collect();
        assert_eq!(asked, questions);
        assert!(
            pairs
                .iter()
                .all(|pair| !pair["answer"].as_str().unwrap().is_empty())
        );
    }

    #[test]
    fn the_letter_names_the_job_and_its_skills() {
        let lead = json!({"title": " Rewrite a ledger ", "skills": [{"name": "Rust"}, {"name": "Tokio"}], "questions": []});
        let letter = written(&lead)["coverLetter"].as_str().unwrap().to_owned();
        assert!(letter.contains("“Rewrite a ledger”"), "{letter}");
        assert!(letter.contains("Rust and Tokio"), "{letter}");
    }

    #[test]
    fn a_lead_without_anything_still_gets_a_letter() {
        let bid = written(&json!({"title": "", "skills": null, "questions": null}));
        assert!(bid["coverLetter"].as_str().unwrap().len() > 20);
        assert_eq!(bid["questionAnswerPairs"], json!([]));
    }
}
