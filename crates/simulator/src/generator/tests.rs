//! Invariants of every generated post.

use super::*;
use crate::ids::Ids;
use crate::market::post;
use proptest::prelude::*;
use std::collections::{BTreeSet, HashSet};

const NOW: i64 = 1_790_000_000_000;

fn posts(seed: u64, count: usize) -> Vec<Value> {
    let mut generator = Generator::new(seed);
    (0..count).map(|_| generator.next(NOW)).collect()
}

fn texts(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn posts_are_job_posts_of_the_protocol(seed: u64) {
        for value in posts(seed, 5) {
            let completed = post::complete(value.clone(), "http://market.test", &Ids::new(0), NOW);
            prop_assert!(completed.is_ok(), "{completed:?}");
            let (_, completed) = completed.unwrap();
            for (name, made) in value.as_object().unwrap() {
                prop_assert_eq!(&completed[name], made);
            }
        }
    }

    #[test]
    fn a_clients_history_fits_together(seed: u64) {
        for post in posts(seed, 20) {
            let client = &post["clientInfo"];
            let number = |name: &str| client[name].as_f64().unwrap();
            prop_assert!(number("numberOfReviews") <= number("numberOfHires"));
            prop_assert_eq!(number("totalSpent") > 0.0, number("numberOfHires") > 0.0);
            prop_assert_eq!(number("rating") > 0.0, number("numberOfReviews") > 0.0);
            prop_assert!((0.0..=5.0).contains(&number("rating")));
            prop_assert!((0.0..=100.0).contains(&number("hireRate")));
            prop_assert_eq!(number("hireRate") > 0.0, number("numberOfHires") > 0.0);
            prop_assert!(number("jobsPosted") > number("openJobs"), "this post is one of them");
            prop_assert!(number("activeEngagements") <= number("numberOfHires"));
            prop_assert!(client["avgHourlyRatePaid"].is_null() || number("numberOfHires") > 0.0);
            prop_assert!(client["memberSince"].as_str().unwrap() <= "2026-09-21");
            prop_assert_eq!(post["openJobs"].as_array().unwrap().len() as u64, client["openJobs"].as_u64().unwrap());
            let reviews = post["clientReviews"].as_array().map_or(0, Vec::len) as u64;
            prop_assert!(reviews <= client["numberOfReviews"].as_u64().unwrap());
        }
    }

    #[test]
    fn a_post_speaks_of_one_kind_of_work(seed: u64) {
        let knowledge = Knowledge::get();
        for post in posts(seed, 20) {
            let skills: Vec<&str> =
                post["skills"].as_array().into_iter().flatten().filter_map(|skill| skill["name"].as_str()).collect();
            let knows = |domain: &Domain| {
                let known = |skill: &&str| domain.groups.iter().flatten().chain(&domain.more).any(|name| name == skill);
                let category = post["category"].as_str();
                let occupation = post["occupation"].as_str();
                skills.iter().all(known)
                    && category.is_none_or(|name| name == domain.category)
                    && occupation.is_none_or(|name| domain.occupations.iter().any(|known| known == name))
            };
            prop_assert!(knowledge.domains.iter().any(knows), "{post}");
            prop_assert_eq!(skills.len(), skills.iter().collect::<HashSet<_>>().len(), "no skill twice");
            let questions = texts(&post["questions"]);
            prop_assert!(questions.len() <= 5);
            prop_assert_eq!(questions.len(), questions.iter().collect::<HashSet<_>>().len(), "no question twice");
        }
    }

    #[test]
    fn pay_and_region_are_those_of_the_job(seed: u64) {
        for post in posts(seed, 20) {
            let pay = &post["metadata"];
            match pay["paymentType"].as_str() {
                Some("Hourly") => prop_assert!(pay["fixedPrice"].is_null()),
                Some(_) => prop_assert!(pay["hourlyRate"].is_null()),
                None => {}
            }
            if let (Some(min), Some(max)) = (pay["hourlyRate"]["min"].as_f64(), pay["hourlyRate"]["max"].as_f64()) {
                prop_assert!(0.0 < min && min <= max);
            }
            prop_assert!(pay["fixedPrice"].as_f64().is_none_or(|price| price > 0.0));
            let country = post["clientInfo"]["country"].as_str();
            match post["region"].as_str() {
                Some("USOnly") => prop_assert!(matches!(country, Some("United States" | "USA"))),
                Some("UKOnly") => prop_assert!(matches!(country, Some("United Kingdom" | "GBR"))),
                other => prop_assert!(matches!(other, None | Some("Worldwide"))),
            }
        }
    }

    #[test]
    fn the_seed_decides(seed: u64) {
        prop_assert_eq!(posts(seed, 3), posts(seed, 3));
        prop_assert_ne!(&posts(seed, 1)[0]["description"], &posts(seed.wrapping_add(1), 1)[0]["description"]);
    }
}

#[test]
fn ids_are_never_made_twice() {
    let mut ids = HashSet::new();
    for post in posts(1, 5_000) {
        let id = post["id"].as_str().unwrap().to_owned();
        assert!(ids.insert(id));
        for open in post["openJobs"].as_array().unwrap() {
            assert_ne!(open["id"], post["id"]);
        }
    }
}

/// A market: every category, both kinds of pay, all levels, questions, files, other scripts, nulls.
#[test]
fn a_thousand_posts_are_a_varied_market() {
    let posts = posts(42, 1_000);
    let values = |pointer: &str| -> BTreeSet<String> {
        posts
            .iter()
            .filter_map(|post| post.pointer(pointer))
            .map(ToString::to_string)
            .collect()
    };
    assert_eq!(values("/category").len(), 13, "twelve categories and null");
    assert!(values("/title").len() > 500, "{}", values("/title").len());
    assert_eq!(values("/description").len(), 1_000);
    assert!(values("/occupation").len() > 30);
    assert!(values("/clientInfo/country").len() > 40);
    assert_eq!(values("/region").len(), 4);
    assert_eq!(values("/isFeatured").len(), 3);
    assert_eq!(values("/metadata/experienceLevel").len(), 4);
    assert!(values("/projectDuration").len() == 5 && values("/projectType").len() == 4);
    let share = |held: &dyn Fn(&Value) -> bool| posts.iter().filter(|post| held(post)).count();
    let hourly = share(&|post| post["metadata"]["paymentType"] == "Hourly");
    assert!((450..700).contains(&hourly), "{hourly}");
    let asking = share(&|post| !texts(&post["questions"]).is_empty());
    assert!((300..500).contains(&asking), "{asking}");
    let foreign = share(&|post| {
        post["description"]
            .as_str()
            .unwrap()
            .chars()
            .any(|c| c >= '\u{370}' && c.is_alphabetic())
    });
    assert!((5..150).contains(&foreign), "{foreign}");
    assert!(
        share(&|post| post["attachments"]
            .as_array()
            .is_some_and(|files| !files.is_empty()))
            > 50
    );
    assert!(
        share(&|post| post["title"].as_str().unwrap().contains("Rust")) > 3,
        "the demonstration bids on Rust"
    );
}
