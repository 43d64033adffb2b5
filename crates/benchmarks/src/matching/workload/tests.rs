//! The workload beside the script that defines it, where that lies beside the repository.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;

use bidloop_domain::matching::{CompiledFilter, PreparedJob};
use bidloop_domain::model::SavedFilter;

use super::*;
use crate::report::progress;

/// Filters of a kind and jobs, in the formats in which they are stored and served.
struct Workload {
    filters: Vec<Value>,
    jobs: Vec<Value>,
}

impl Workload {
    fn ours(kind: Kind, filters: usize, jobs: usize, with_phrases: bool) -> Self {
        let drawn: Vec<Job> = Jobs::new(2).take(jobs).collect();
        let phrases_of = if with_phrases { drawn.as_slice() } else { &[] };
        let filters = Filters::new(kind, 1, phrases_of).take(filters);
        Self {
            filters: filters
                .map(|filter| serde_json::from_str(&filter.stored()).unwrap())
                .collect(),
            jobs: drawn.iter().map(|job| job.served("1", 1)).collect(),
        }
    }

    /// What the script writes; `None`, said on standard error, where it or Python is absent.
    fn of_the_script(kind: &str, filters: usize, jobs: usize, with_phrases: bool) -> Option<Self> {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench/workload.py");
        let folder = tempfile::tempdir().unwrap();
        let mut python = Command::new("python3");
        python.arg(&script).arg(kind);
        python.args([filters.to_string(), jobs.to_string()]);
        python.arg(folder.path());
        if with_phrases {
            python.arg("--phrases");
        }
        let written = if script.is_file() {
            python.status()
        } else {
            Err(std::io::ErrorKind::NotFound.into())
        };
        let Ok(status) = written else {
            progress("NOT RUN: there is no reference script or no Python, so nothing is compared with it");
            return None;
        };
        assert!(status.success(), "{python:?}");
        let read = |file: &str| -> Vec<Value> {
            let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
            text.lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect()
        };
        Some(Self {
            filters: read("filters.jsonl"),
            jobs: read("jobs.jsonl"),
        })
    }

    fn compiled(&self) -> Vec<CompiledFilter> {
        let compiled = self.filters.iter().map(|filter| {
            let mut filter = filter.clone();
            // The filter's own, not conditions.
            for name in ["id", "name"] {
                filter.as_object_mut().unwrap().remove(name);
            }
            SavedFilter::compile_stored(&filter.to_string()).unwrap()
        });
        compiled.collect()
    }

    /// The share of filters that match a job.
    #[expect(clippy::cast_precision_loss, reason = "test code")]
    fn match_rate(&self) -> f64 {
        let filters = self.compiled();
        let matches = self.jobs.iter().map(|job| {
            let job = PreparedJob::new(&JobPost::parse(&job.to_string()).unwrap().facts());
            filters.iter().filter(|filter| filter.matches(&job)).count()
        });
        matches.sum::<usize>() as f64 / (filters.len() * self.jobs.len()) as f64
    }

    /// Means over the filters and the jobs, each of about 1, with the squares of their standard errors.
    fn means(&self) -> HashMap<&'static str, (f64, f64)> {
        let ranks: HashMap<String, f64> = (1..WORDS).map(|rank| (word(rank), f64::from(rank))).collect();
        let mut sums: HashMap<&str, [f64; 3]> = HashMap::new();
        let mut add = |name, value: f64| {
            let [sum, squares, count] = sums.entry(name).or_default();
            *sum += value;
            *squares += value * value;
            *count += 1.0;
        };
        for filter in &self.filters {
            let keywords = filter["keywords"].as_str().unwrap();
            let parts: Vec<&str> = keywords.split(" AND ").collect();
            let groups: Vec<&&str> = parts.iter().filter(|part| part.starts_with('(')).collect();
            add("groups", length(&groups));
            for group in groups {
                let words: Vec<&str> = group.trim_matches(['(', ')']).split(" OR ").collect();
                add("alternatives", length(&words));
                for word in words {
                    add("asked", ranks[word].ln() / 6.0);
                }
            }
            let excluded: Vec<_> = parts.iter().filter(|part| part.starts_with("NOT ")).collect();
            add("excluded", length(&excluded));
            for word in excluded {
                add("asked not to be", ranks[&word[4..]].ln() / 6.0);
            }
            add("phrases", 10.0 * held(keywords.contains('"')));
            add("prefixes", 10.0 * held(keywords.contains('*')));
            add("with categories", held(filter["categories"].is_array()));
            for category in list(&filter["categories"]) {
                add("asked category", number(category) / 6.0);
            }
            add("categories", length(&list(&filter["categories"])));
            add("with a rate", held(filter["hourlyRate"].is_object()));
            if let Some(rate) = filter["hourlyRate"]["min"].as_f64() {
                add("asked rate", rate / 40.0);
            }
            add("verified", held(filter["client"]["paymentVerified"] == true));
            let countries = list(&filter["client"]["countries"]["exclude"]);
            add("excluded countries", length(&countries));
            for country in countries {
                add("excluded country", number(country).ln() / 3.0);
            }
        }
        for job in &self.jobs {
            let title = job["title"].as_str().unwrap().split(' ');
            let description = job["description"].as_str().unwrap().split(' ');
            add("title", length(&title.clone().collect::<Vec<_>>()) / 8.0);
            add(
                "description",
                length(&description.clone().collect::<Vec<_>>()) / 142.0,
            );
            for word in title.chain(description) {
                add("written", ranks[word].ln() / 6.0);
            }
            add("category", number(&job["category"]) / 6.0);
            add(
                "rate",
                job["metadata"]["hourlyRate"]["max"].as_f64().unwrap() / 50.0,
            );
            assert_eq!(
                job["metadata"]["hourlyRate"]["min"],
                job["metadata"]["hourlyRate"]["max"]
            );
            add(
                "payment verified",
                held(job["clientInfo"]["isPaymentVerified"] == true),
            );
            add("country", number(&job["clientInfo"]["country"]).ln() / 3.0);
        }
        let means = sums.into_iter().map(|(name, [sum, squares, count])| {
            let mean = sum / count;
            (name, (mean, (squares / count - mean * mean) / count))
        });
        means.collect()
    }
}

fn list(value: &Value) -> Vec<&Value> {
    value.as_array().into_iter().flatten().collect()
}

#[expect(clippy::cast_precision_loss, reason = "test code")]
fn length<T>(list: &[T]) -> f64 {
    list.len() as f64
}

fn held(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

/// The number of `category 3`.
fn number(named: &Value) -> f64 {
    named
        .as_str()
        .unwrap()
        .rsplit_once(' ')
        .unwrap()
        .1
        .parse()
        .unwrap()
}

#[test]
fn as_many_filters_match_as_in_the_reference_workload() {
    // Of its 100,000 filters 27 and 2,030 match a job on average.
    let selective = Workload::ours(Kind::Selective, 8_000, 200, false).match_rate();
    assert!((0.000_20..0.000_34).contains(&selective), "{selective}");
    let wide = Workload::ours(Kind::Wide, 2_000, 100, false).match_rate();
    assert!((0.017..0.024).contains(&wide), "{wide}");
}

#[test]
fn the_reference_script_writes_filters_that_match_as_often() {
    for (kind, name, filters, jobs, tolerance) in [
        (Kind::Selective, "selective", 8_000, 200, 0.25),
        (Kind::Wide, "wide", 2_000, 100, 0.15),
    ] {
        let Some(theirs) = Workload::of_the_script(name, filters, jobs, false) else {
            return;
        };
        let theirs = theirs.match_rate();
        let ours = Workload::ours(kind, filters, jobs, false).match_rate();
        let apart = (ours / theirs - 1.0).abs();
        assert!(apart < tolerance, "{name}: ours {ours}, the script's {theirs}");
    }
}

#[test]
fn the_reference_script_draws_filters_and_jobs_from_the_same_distributions() {
    for (kind, name) in [(Kind::Selective, "selective"), (Kind::Wide, "wide")] {
        let Some(theirs) = Workload::of_the_script(name, 8_000, 2_000, true) else {
            return;
        };
        let ours = Workload::ours(kind, 8_000, 2_000, true).means();
        let theirs = theirs.means();
        assert_eq!(ours.len(), theirs.len());
        for (measure, (theirs, their_error)) in theirs {
            let (ours, our_error) = ours[measure];
            let allowed = 0.005 + 4.0 * (their_error + our_error).sqrt();
            assert!(
                (ours - theirs).abs() < allowed,
                "{name}, {measure}: ours {ours}, the script's {theirs}, allowed {allowed}"
            );
        }
    }
}
