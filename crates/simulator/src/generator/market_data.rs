//! The generator's data: aggregates of a job market, domains of work, and sentences. Read from the crate's data folder,
//! whose README names the sources.

use serde::Deserialize;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::random::Random;

/// Shares, prices and frequencies of a job market.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Market {
    pub(super) categories: Vec<Category>,
    pub(super) countries: Vec<(Option<String>, f64)>,
    pub(super) terms: Vec<TermsRow>,
    pub(super) hourly_ranges: Vec<(Option<f64>, Option<f64>, f64)>,
    pub(super) fixed_prices: Vec<(f64, f64)>,
    /// At 0, 5, 10 … 100 %.
    pub(super) client_total_spent: Vec<f64>,
    pub(super) client_hires: Vec<f64>,
    skills: Vec<(String, f64)>,
    skill_pairs: Vec<(String, String, f64)>,
}

/// A category's name, its share of the jobs, its mean hourly rate and its median fixed price in USD.
#[derive(Debug, Deserialize)]
pub(super) struct Category(pub(super) String, pub(super) f64, pub(super) f64, pub(super) f64);

/// Payment type, experience level, duration, weekly hours, and how many jobs have them together.
#[derive(Debug, Deserialize)]
pub(super) struct TermsRow(
    pub(super) String,
    pub(super) String,
    pub(super) Option<String>,
    pub(super) Option<String>,
    pub(super) f64,
);

/// A kind of work, with the words of its job posts.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Domain {
    /// The data file's name.
    #[cfg_attr(not(test), expect(dead_code, reason = "tells the domain in failing tests"))]
    pub(super) name: String,
    pub(super) category: String,
    /// Its share of its category's jobs.
    pub(super) weight: f64,
    /// Its pay as a multiple of its category's usual pay.
    pub(super) pay: f64,
    pub(super) occupations: Vec<String>,
    pub(super) roles: Vec<String>,
    pub(super) products: Vec<String>,
    pub(super) titles: Vec<String>,
    pub(super) openings: Vec<String>,
    pub(super) tasks: Vec<String>,
    pub(super) wants: Vec<String>,
    pub(super) questions: Vec<String>,
    /// Skills that belong together; a post is about the first one of its group.
    pub(super) groups: Vec<Vec<String>>,
    pub(super) more: Vec<String>,
    pub(super) files: Vec<String>,
    /// The occupation that a group's first skill implies, where the domain has several.
    pub(super) occupation_of: HashMap<String, String>,
}

/// Sentences and words for every domain.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Phrases {
    pub(super) contexts: Vec<String>,
    pub(super) list_heads: Vec<String>,
    pub(super) want_heads: Vec<String>,
    pub(super) hourly: Vec<String>,
    pub(super) fixed: Vec<String>,
    pub(super) closings: Vec<String>,
    pub(super) words: Vec<String>,
    pub(super) questions: Vec<String>,
    pub(super) asides: Vec<Aside>,
    pub(super) emoji: Vec<String>,
    pub(super) reviews: Vec<String>,
    pub(super) industries: Vec<String>,
    pub(super) company_sizes: Vec<String>,
}

/// A sentence in the language of a country.
#[derive(Debug, Deserialize)]
pub(super) struct Aside {
    pub(super) country: String,
    pub(super) text: String,
}

/// All data, prepared for drawing from it.
#[derive(Debug)]
pub(super) struct Knowledge {
    pub(super) market: Market,
    pub(super) domains: Vec<Domain>,
    pub(super) phrases: Phrases,
    skill_weights: HashMap<String, f64>,
    affinities: HashMap<String, HashMap<String, f64>>,
}

const DOMAINS: [&str; 22] = [
    include_str!("../../data/domains/accounting.json"),
    include_str!("../../data/domains/ai.json"),
    include_str!("../../data/domains/automation.json"),
    include_str!("../../data/domains/backend.json"),
    include_str!("../../data/domains/customer-service.json"),
    include_str!("../../data/domains/dashboards.json"),
    include_str!("../../data/domains/data-engineering.json"),
    include_str!("../../data/domains/devops.json"),
    include_str!("../../data/domains/engineering.json"),
    include_str!("../../data/domains/frontend.json"),
    include_str!("../../data/domains/graphic-design.json"),
    include_str!("../../data/domains/lead-generation.json"),
    include_str!("../../data/domains/legal.json"),
    include_str!("../../data/domains/mobile.json"),
    include_str!("../../data/domains/seo-ads.json"),
    include_str!("../../data/domains/shops.json"),
    include_str!("../../data/domains/social-media.json"),
    include_str!("../../data/domains/translation.json"),
    include_str!("../../data/domains/ux.json"),
    include_str!("../../data/domains/video.json"),
    include_str!("../../data/domains/virtual-assistance.json"),
    include_str!("../../data/domains/writing.json"),
];

#[expect(
    clippy::expect_used,
    reason = "the files are part of the program, and the tests read them"
)]
static KNOWLEDGE: LazyLock<Knowledge> =
    LazyLock::new(|| Knowledge::read().expect("the crate's data folder is sound"));

impl Knowledge {
    pub(super) fn get() -> &'static Self {
        &KNOWLEDGE
    }

    fn read() -> serde_json::Result<Self> {
        let market: Market = serde_json::from_str(include_str!("../../data/market.json"))?;
        let domains = DOMAINS
            .into_iter()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        let phrases = serde_json::from_str(include_str!("../../data/phrases.json"))?;
        let skill_weights = market.skills.iter().cloned().collect();
        let mut affinities: HashMap<String, HashMap<String, f64>> = HashMap::new();
        for (one, other, count) in &market.skill_pairs {
            affinities
                .entry(one.clone())
                .or_default()
                .insert(other.clone(), *count);
            affinities
                .entry(other.clone())
                .or_default()
                .insert(one.clone(), *count);
        }
        Ok(Self {
            market,
            domains,
            phrases,
            skill_weights,
            affinities,
        })
    }

    /// The weight of a skill beside those already chosen: its own frequency, and much more if it often occurs with them.
    pub(super) fn affinity(&self, skill: &str, chosen: &[String]) -> f64 {
        let own = self.skill_weights.get(skill).copied().unwrap_or(5.0).sqrt();
        let beside = self.affinities.get(skill).map_or(0.0, |others| {
            chosen.iter().filter_map(|other| others.get(other)).sum()
        });
        own + beside
    }

    /// A domain, drawn by its category's share of the market and its own share of the category.
    pub(super) fn domain(&self, random: &mut Random) -> (&Domain, &Category) {
        let category = &self.market.categories
            [random.weighted(self.market.categories.iter().map(|category| category.1))];
        let weight = |domain: &Domain| {
            if domain.category == category.0 {
                domain.weight
            } else {
                0.0
            }
        };
        (
            &self.domains[random.weighted(self.domains.iter().map(weight))],
            category,
        )
    }
}

/// The value at a fraction of a distribution that is given at equal steps.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an index of some twenty quantiles"
)]
pub(super) fn quantile(quantiles: &[f64], fraction: f64) -> f64 {
    let place = fraction.clamp(0.0, 1.0) * (quantiles.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(quantiles.len() - 1);
    quantiles[below] + (quantiles[above] - quantiles[below]) * (place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_data_is_sound() {
        let knowledge = Knowledge::read().unwrap();
        let categories: HashSet<&str> = knowledge
            .market
            .categories
            .iter()
            .map(|category| category.0.as_str())
            .collect();
        let served: HashSet<&str> = knowledge
            .domains
            .iter()
            .map(|domain| domain.category.as_str())
            .collect();
        assert_eq!(
            categories, served,
            "every category has a domain and every domain a category"
        );
        for domain in &knowledge.domains {
            assert!(
                domain.groups.iter().all(|group| group.len() > 1),
                "{}",
                domain.name
            );
            assert!(
                domain
                    .occupation_of
                    .values()
                    .all(|name| domain.occupations.contains(name)),
                "{}",
                domain.name
            );
            for anchor in domain.occupation_of.keys() {
                let known = domain.groups.iter().any(|group| group[0] == *anchor);
                assert!(known, "{}: {anchor} begins no group", domain.name);
            }
        }
    }

    #[test]
    fn quantiles_are_joined_by_straight_lines() {
        let quantiles = [0.0, 10.0, 40.0];
        for (fraction, value) in [
            (0.0, 0.0),
            (0.25, 5.0),
            (0.5, 10.0),
            (0.75, 25.0),
            (1.0, 40.0),
            (2.0, 40.0),
        ] {
            assert!(
                (quantile(&quantiles, fraction) - value).abs() < 1e-9,
                "{fraction}"
            );
        }
    }
}
