//! A lead's title, budget, country and number of questions, from the JSON of a lead or a job post.

use serde_json::Value;

use crate::screen::one_line;

/// A lead in a few words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeadFacts {
    /// The job's title, on one line.
    pub(crate) title: String,
    /// Budget, country and number of questions.
    pub(crate) facts: String,
}

impl LeadFacts {
    /// From a Lead or a `JobPost`.
    pub(crate) fn read(lead: &Value) -> Self {
        let mut facts = vec![budget(&lead["metadata"])];
        if let Some(country) = lead["clientInfo"]["country"].as_str() {
            facts.push(one_line(country));
        }
        match lead["questions"].as_array().map_or(0, Vec::len) {
            0 => {}
            1 => facts.push("1 question".to_owned()),
            count => facts.push(format!("{count} questions")),
        }
        Self {
            title: one_line(lead["title"].as_str().unwrap_or_default()),
            facts: facts.join(" · "),
        }
    }

    /// A lead that is no longer stored.
    pub(crate) fn unknown(lead_id: &str) -> Self {
        Self {
            title: lead_id.to_owned(),
            facts: String::new(),
        }
    }
}

fn budget(metadata: &Value) -> String {
    let payment = metadata["paymentType"].as_str().unwrap_or_default();
    let price = metadata["fixedPrice"].as_f64();
    let (min, max) = (
        metadata["hourlyRate"]["min"].as_f64(),
        metadata["hourlyRate"]["max"].as_f64(),
    );
    if payment.starts_with("Fixed") || (payment.is_empty() && price.is_some()) {
        return price.map_or_else(
            || "fixed price".to_owned(),
            |price| format!("{} fixed", usd(price)),
        );
    }
    match (min, max) {
        #[expect(
            clippy::float_cmp,
            reason = "two literal figures are compared, not computed ones"
        )]
        (Some(min), Some(max)) if min != max => {
            format!("{}–{}/h", usd(min), usd(max).trim_start_matches('$'))
        }
        (Some(rate), Some(_)) => format!("{}/h", usd(rate)),
        (Some(min), None) => format!("from {}/h", usd(min)),
        (None, Some(max)) => format!("up to {}/h", usd(max)),
        (None, None) if payment == "Hourly" => "hourly".to_owned(),
        (None, None) => "budget open".to_owned(),
    }
}

/// Dollars with thousands separators, and cents if there are any.
pub(crate) fn usd(dollars: f64) -> String {
    let text = format!("{dollars:.2}");
    let text = text.strip_suffix(".00").unwrap_or(&text);
    let (whole, cents) = text
        .split_once('.')
        .map_or((text, None), |(whole, cents)| (whole, Some(cents)));
    let mut amount = thousands(whole);
    if let Some(cents) = cents {
        amount.push('.');
        amount.push_str(cents);
    }
    format!("${amount}")
}

/// Digits in groups of three.
pub(crate) fn thousands(digits: &str) -> String {
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_budget_shows_what_is_known() {
        for (metadata, text) in [
            (
                json!({"paymentType": "Hourly", "hourlyRate": {"min": 30, "max": 60}}),
                "$30–60/h",
            ),
            (
                json!({"paymentType": "Hourly", "hourlyRate": {"min": 37.5, "max": 37.5}}),
                "$37.50/h",
            ),
            (
                json!({"paymentType": "Hourly", "hourlyRate": {"min": 30, "max": null}}),
                "from $30/h",
            ),
            (
                json!({"paymentType": "Hourly", "hourlyRate": {"min": null, "max": 60}}),
                "up to $60/h",
            ),
            (json!({"paymentType": "Hourly", "hourlyRate": null}), "hourly"),
            (
                json!({"paymentType": "Fixed-price", "fixedPrice": 12500}),
                "$12,500 fixed",
            ),
            (json!({"paymentType": "Fixed", "fixedPrice": null}), "fixed price"),
            (json!({"fixedPrice": 80.5}), "$80.50 fixed"),
            (json!({}), "budget open"),
            (json!(null), "budget open"),
        ] {
            assert_eq!(budget(&metadata), text, "{metadata}");
        }
    }

    #[test]
    fn a_lead_in_a_few_words() {
        let lead = json!({
            "title": "Rust\ndeveloper ", "clientInfo": {"country": "Germany"}, "questions": ["a", "b"],
            "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 30, "max": 60}},
        });
        let facts = LeadFacts::read(&lead);
        assert_eq!(facts.title, "Rust developer");
        assert_eq!(facts.facts, "$30–60/h · Germany · 2 questions");
        let bare = LeadFacts::read(&json!({"title": "T", "questions": ["a"], "clientInfo": null}));
        assert_eq!(bare.facts, "budget open · 1 question");
    }

    #[test]
    fn thousands_are_separated() {
        for (dollars, text) in [
            (0.0, "$0"),
            (999.0, "$999"),
            (1_000.0, "$1,000"),
            (1_234_567.5, "$1,234,567.50"),
        ] {
            assert_eq!(usd(dollars), text);
        }
    }
}
