//! The report: each rule with its result.

use std::fmt;

use serde::Serialize;

use crate::observed::Observed;
use crate::rules::{Flaw, RULES, Rule};

/// What became of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The marketplace keeps it, as far as the check can see.
    Held,
    /// It does not.
    Broken,
    /// The check could not find out.
    #[serde(rename = "not tried")]
    NotTried,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Held => "held",
            Self::Broken => "broken",
            Self::NotTried => "not tried",
        })
    }
}

/// A rule and what became of it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The rule's name.
    pub rule: &'static str,
    /// What became of it.
    pub result: Verdict,
    /// What the protocol says.
    pub says: &'static str,
    /// Of a broken rule: what was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Of a broken rule: what came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub came: Option<String>,
    /// Of a broken rule: what to do.
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    pub mend: Option<&'static str>,
    /// Of a rule that was not tried: the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The findings of a check.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The number of rules that are held.
    pub held: usize,
    /// The number of rules that are broken.
    pub broken: usize,
    /// The number of rules that were not tried.
    pub not_tried: usize,
    /// Every rule, in the order of [`RULES`].
    pub rules: Vec<Finding>,
}

impl Report {
    /// Judges every rule. `secrets` are left out of what the marketplace said.
    pub(crate) fn of(seen: &Observed, secrets: &[&str]) -> Self {
        let rules: Vec<Finding> = RULES.iter().map(|rule| finding(rule, seen, secrets)).collect();
        let count = |verdict| rules.iter().filter(|finding| finding.result == verdict).count();
        Self {
            held: count(Verdict::Held),
            broken: count(Verdict::Broken),
            not_tried: count(Verdict::NotTried),
            rules,
        }
    }
}

fn finding(rule: &Rule, seen: &Observed, secrets: &[&str]) -> Finding {
    let without_secrets = |text: String| {
        let secrets = secrets.iter().filter(|secret| !secret.is_empty());
        secrets.fold(text, |text, secret| text.replace(secret, "[token]"))
    };
    let mut finding = Finding {
        rule: rule.name,
        result: Verdict::Held,
        says: rule.says,
        expected: None,
        came: None,
        mend: None,
        why: None,
    };
    match (rule.judge)(seen) {
        Ok(()) => {}
        Err(Flaw::Broken { expected, came }) => {
            finding.result = Verdict::Broken;
            finding.expected = Some(without_secrets(expected));
            finding.came = Some(without_secrets(came));
            finding.mend = Some(rule.mend);
        }
        Err(Flaw::NotTried(why)) => {
            finding.result = Verdict::NotTried;
            finding.why = Some(without_secrets(why));
        }
    }
    finding
}
