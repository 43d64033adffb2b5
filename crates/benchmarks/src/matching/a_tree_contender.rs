//! The `a-tree` crate, given the same filters in its own language and the same jobs as its events.

use a_tree::{ATree, AttributeDefinition, Event};
use anyhow::anyhow;

use super::workload::{Filter, Job, category, country};

/// The filters in a tree.
pub(super) struct Contender {
    tree: ATree<usize>,
}

impl Contender {
    pub(super) fn new(filters: &[Filter]) -> anyhow::Result<Self> {
        let attributes = [
            AttributeDefinition::string_list("words"),
            AttributeDefinition::string("category"),
            AttributeDefinition::string("country"),
            AttributeDefinition::integer("rate"),
            AttributeDefinition::boolean("verified"),
        ];
        let mut tree = ATree::new(&attributes).map_err(|error| anyhow!("a-tree: {error:?}"))?;
        for (number, filter) in filters.iter().enumerate() {
            let expression = expression(filter);
            tree.insert(&number, &expression)
                .map_err(|error| anyhow!("a-tree refuses {expression}: {error:?}"))?;
        }
        Ok(Self { tree })
    }

    fn event(&self, job: &Job) -> anyhow::Result<Event> {
        let mut event = self.tree.make_event();
        let words: Vec<&str> = job.words.iter().map(String::as_str).collect();
        event
            .with_string_list("words", &words)
            .and_then(|()| event.with_string("category", &category(job.category)))
            .and_then(|()| event.with_string("country", &country(job.country)))
            .and_then(|()| event.with_integer("rate", i64::from(job.rate)))
            .and_then(|()| event.with_boolean("verified", job.payment_verified))
            .and_then(|()| event.build())
            .map_err(|error| anyhow!("a-tree: {error:?}"))
    }

    /// The numbers of the filters that match, ascending. The job's words are looked up in the tree's table, as they
    /// are in the index's.
    pub(super) fn matches(&self, job: &Job) -> anyhow::Result<Vec<usize>> {
        let report = self
            .tree
            .search(&self.event(job)?)
            .map_err(|error| anyhow!("a-tree: {error:?}"))?;
        let mut found: Vec<usize> = report.matches().iter().map(|number| **number).collect();
        found.sort_unstable();
        Ok(found)
    }
}

/// The filter, which has no phrase, in the tree's language.
fn expression(filter: &Filter) -> String {
    fn quoted(values: impl Iterator<Item = String>) -> String {
        let values: Vec<String> = values.map(|value| format!("\"{value}\"")).collect();
        values.join(", ")
    }
    let mut parts: Vec<String> = filter
        .groups
        .iter()
        .map(|group| format!("words one of [{}]", quoted(group.iter().cloned())))
        .collect();
    if !filter.excluded.is_empty() {
        parts.push(format!(
            "words none of [{}]",
            quoted(filter.excluded.iter().cloned())
        ));
    }
    if !filter.categories.is_empty() {
        let listed = quoted(filter.categories.iter().map(|number| category(*number)));
        parts.push(format!("category in [{listed}]"));
    }
    if let Some(rate) = filter.min_rate {
        parts.push(format!("rate >= {rate}"));
    }
    if filter.payment_verified {
        parts.push("verified".to_owned());
    }
    if !filter.excluded_countries.is_empty() {
        let listed = quoted(filter.excluded_countries.iter().map(|number| country(*number)));
        parts.push(format!("country not in [{listed}]"));
    }
    parts.join(" and ")
}
