//! A job post in short: what it pays and asks, and who its client is.

use askama::Template;
use bidloop_domain::matching::{ExplainedCondition, Verdict};
use bidloop_domain::model::{ClientInfo, HourlyRange, JobPost, PaymentKind, Terms};
use bidloop_domain::use_case::MatchedFilter;

use crate::words::{self, Given};

/// "$30–80/h", "$1,500 fixed".
pub(crate) fn pay(post: &JobPost) -> String {
    let range = post.hourly_range();
    let price = post.fixed_price().filter(|price| *price > 0.0);
    let kind = post.payment_kind().unwrap_or(match (range, price) {
        (None, Some(_)) => PaymentKind::Fixed,
        _ => PaymentKind::Hourly,
    });
    match (kind, range, price) {
        (PaymentKind::Hourly, Some(HourlyRange { min, max }), _) => match (min, max) {
            (Some(min), Some(max)) => format!(
                "{}–{}/h",
                words::usd(min),
                words::usd(max).trim_start_matches('$')
            ),
            (Some(min), None) => format!("from {}/h", words::usd(min)),
            (None, Some(max)) => format!("up to {}/h", words::usd(max)),
            (None, None) => "Hourly".to_owned(),
        },
        (PaymentKind::Hourly, None, _) => "Hourly".to_owned(),
        (PaymentKind::Fixed, _, Some(price)) => format!("{} fixed", words::usd(price)),
        (PaymentKind::Fixed, _, None) => "Fixed price".to_owned(),
    }
}

/// "$72.00/h", "$1,500.00 fixed".
pub(crate) fn terms(terms: Terms) -> String {
    let amount = words::dollars(terms.amount.cents());
    match terms.kind {
        PaymentKind::Hourly => format!("{amount}/h"),
        PaymentKind::Fixed => format!("{amount} fixed"),
    }
}

/// What the job asks for, in the order of a card.
pub(crate) fn facts(post: &JobPost) -> Vec<String> {
    let metadata = post.metadata.as_ref();
    let texts = [
        metadata.and_then(|metadata| metadata.experience_level.as_deref()),
        post.project_duration.as_deref(),
        post.weekly_hours(),
    ];
    let mut facts: Vec<String> = texts.into_iter().flatten().map(str::to_owned).collect();
    facts.push(match post.questions.as_ref().map_or(0, Vec::len) {
        0 => "No questions".to_owned(),
        questions => words::counted(questions as u64, "question", "questions"),
    });
    if let Some(region) = &post.region {
        facts.push(words::region(region).to_owned());
    }
    if post.is_featured == Some(true) {
        facts.push("Featured".to_owned());
    }
    facts
}

/// The client in short, without the payment's verification.
pub(crate) fn client(info: &ClientInfo) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(rating(info));
    facts.extend(info.country.clone());
    facts.extend(
        info.total_spent
            .map(|spent| format!("{} spent", words::usd(spent.round()))),
    );
    facts.extend(info.hire_rate.map(|rate| format!("{} % hire rate", rate.round())));
    match (info.avg_hourly_rate_paid, info.jobs_posted) {
        (Some(rate), _) => facts.push(format!("pays {}/h", words::usd(rate))),
        (None, Some(jobs)) => facts.push(words::counted(jobs.unsigned_abs(), "job posted", "jobs posted")),
        (None, None) => {}
    }
    facts
}

/// "4.62 from 7 reviews".
pub(crate) fn rating(info: &ClientInfo) -> Option<String> {
    let rating = info.rating?;
    let reviews = info.number_of_reviews.unwrap_or(0).unsigned_abs();
    Some(format!(
        "{rating:.2} from {}",
        words::counted(reviews, "review", "reviews")
    ))
}

/// "9 held, 1 unknown".
pub(crate) fn verdicts(conditions: &[ExplainedCondition]) -> String {
    let count = |verdict| conditions.iter().filter(|known| known.result == verdict).count() as u64;
    let counts = [
        (Verdict::Failed, "failed"),
        (Verdict::Held, "held"),
        (Verdict::Unknown, "unknown"),
    ];
    let counted: Vec<String> = counts
        .into_iter()
        .map(|(verdict, word)| (count(verdict), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{} {word}", words::count(count)))
        .collect();
    match counted.as_slice() {
        [] => "no condition, so every job".to_owned(),
        counted => counted.join(", "),
    }
}

/// The conditions of a filter with their verdicts; those that failed come first.
#[derive(Template)]
#[template(path = "conditions.html")]
pub(crate) struct Conditions<'a> {
    conditions: Vec<&'a ExplainedCondition>,
    /// In a narrow column.
    slim: bool,
}

impl<'a> Conditions<'a> {
    pub(crate) fn of(matched: &'a MatchedFilter) -> Self {
        Self::new(&matched.explanation.conditions, false)
    }

    pub(crate) fn new(conditions: &'a [ExplainedCondition], slim: bool) -> Self {
        let mut conditions: Vec<&ExplainedCondition> = conditions.iter().collect();
        conditions.sort_by_key(|condition| condition.result != Verdict::Failed);
        Self { conditions, slim }
    }
}

/// The class, icon and word of a verdict.
pub(crate) fn verdict(verdict: impl Given<Verdict>) -> (&'static str, &'static str) {
    match verdict.value() {
        Verdict::Held => ("held", "check"),
        Verdict::Failed => ("failed", "x"),
        Verdict::Unknown => ("unknown", "q"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paying(metadata: &str) -> String {
        let post = format!(
            r#"{{"id": "1", "ciphertext": "~1", "title": "", "description": "", "url": "/jobs/~1", "postedAt": 1,
                "metadata": {metadata}}}"#
        );
        pay(&JobPost::parse(&post).unwrap())
    }

    #[test]
    fn pay_is_a_range_or_a_price() {
        assert_eq!(
            paying(r#"{"paymentType": "Hourly", "hourlyRate": {"min": 30, "max": 80.5}}"#),
            "$30–80.50/h"
        );
        assert_eq!(
            paying(r#"{"hourlyRate": {"min": null, "max": 80}}"#),
            "up to $80/h"
        );
        assert_eq!(
            paying(r#"{"paymentType": "Fixed", "fixedPrice": 1500}"#),
            "$1,500 fixed"
        );
        assert_eq!(paying(r#"{"fixedPrice": 1500}"#), "$1,500 fixed");
        assert_eq!(paying("{}"), "Hourly");
    }
}
