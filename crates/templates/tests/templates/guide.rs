//! The guide to templates tells the truth.

use bidloop_domain::port::ProposalWriter as _;
use bidloop_templates::JinjaProposalWriter;

use crate::rendered;

const GUIDE: &str = include_str!("../../../../docs/templates.md");

#[test]
fn the_guides_recipes_render() {
    let recipes: Vec<_> = GUIDE
        .split("```jinja\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .map(rendered)
        .collect();
    assert_eq!(
        recipes,
        [
            "Hello,",
            "You are looking for Rust, tokio, PostgreSQL.",
            "My usual week has 30 hours for one client.",
            "* Rust\n* tokio\n* PostgreSQL\n",
            "I would do it for 40 USD an hour.",
        ]
    );
}

#[test]
fn the_guide_names_the_filters_and_tests_that_there_are() {
    let writer = JinjaProposalWriter::new();
    let named = |kind: &str| -> Vec<&str> {
        let (_, list) = GUIDE.split_once(kind).unwrap();
        list.split('`').nth(1).unwrap().split_whitespace().collect()
    };
    for filter in named("* Filters:") {
        writer.check(&format!("{{{{ title|{filter} }}}}")).unwrap();
    }
    for test in named("* Tests:") {
        writer.check(&format!("{{{{ title is {test} }}}}")).unwrap();
    }
}
