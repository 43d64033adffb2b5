//! Generates job posts from market figures and sentences.

mod client;
mod market_data;
mod pay;
mod random;
mod wording;

use serde_json::{Value, json};

use crate::ids::marketplace_id;
use client::Client;
use market_data::{Category, Domain, Knowledge};
use pay::Pay;
use wording::Subject;

pub use random::Random;

/// An endless source of job posts.
///
/// Posts follow a job market's figures (categories, countries, pay, client histories, skills that go together)
/// with sentences written for this project. Title, text, skills, questions, occupation and pay of a post fit
/// together, and so does its client's history. Values are null about as often as on a marketplace.
/// The same seed and the same times make the same posts.
///
/// ```
/// use bidloop_simulator::Generator;
///
/// let mut generator = Generator::new(7);
/// let post = generator.next(1_790_000_000_000);
/// assert_eq!(post["postedAt"], 1_790_000_000_000_i64);
/// assert_eq!(Generator::new(7).next(1_790_000_000_000), post);
/// assert_ne!(generator.next(1_790_000_000_000)["id"], post["id"]);
/// ```
#[derive(Debug)]
pub struct Generator {
    random: Random,
    /// Separate from the posts' sequence, so that drawing boosts does not change the posts.
    rivals: Random,
    counter: u64,
}

impl Generator {
    /// Creates a generator; the seed determines its posts.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        // Generators of different seeds count from different numbers, so that their posts have different ids.
        let counter = random.number();
        Self {
            random,
            rivals: Random::new(!seed),
            counter,
        }
    }

    /// The next post, posted at `now_ms` (UNIX milliseconds).
    pub fn next(&mut self, now_ms: i64) -> Value {
        let knowledge = Knowledge::get();
        let (domain, category) = knowledge.domain(&mut self.random);
        let pay = Pay::draw(knowledge, category, domain.pay, &mut self.random);
        let subject = Subject::draw(knowledge, domain, &pay, &mut self.random);
        let client = Client::draw(knowledge, category.2 * domain.pay, &mut self.random);
        let (id, random) = (self.id(now_ms), &mut self.random);

        let mut title = subject.title(random);
        if random.chance(0.03) {
            title = format!("{} {title}", random.text(&knowledge.phrases.emoji));
        }
        let mut description = subject.description(knowledge, &pay, random);
        if let Some(aside) = aside(knowledge, client.country.as_deref(), random) {
            description = format!("{description}\n\n{aside}");
        }
        let region = region(client.country.as_deref(), random);
        let metadata = pay.metadata(random);
        let questions = subject.questions(knowledge, random);
        let skills: Vec<Value> = subject.skills.iter().map(|name| json!({"name": name})).collect();
        let mut post = json!({
            "id": id,
            "ciphertext": format!("~02{id}"),
            "title": title,
            "description": description,
            "url": format!("https://marketplace.example/jobs/~02{id}"),
            "postedAt": now_ms,
            "category": or_null(random, 0.04, json!(domain.category)),
            "occupation": json!(subject.occupation(random)),
            "skills": or_null(random, 0.02, json!(skills)),
            "questions": questions,
            "projectType": pay.project_type(random),
            "projectDuration": pay.duration,
            "isFeatured": or_null(random, 0.1, json!(false)),
            "region": region,
            "metadata": or_null(random, 0.005, metadata),
            "clientInfo": client.info(knowledge, now_ms, random),
            "attachments": attachments(&id, domain, random),
            "vendorQualifications": vendor_qualifications(region, random),
            "clientReviews": or_null(random, 0.2, json!([])),
        });
        if post["category"].is_null() || random.chance(0.05) {
            post["occupation"] = Value::Null;
        }
        if random.chance(0.09) {
            post["isFeatured"] = Value::Bool(true);
        }
        if questions.is_empty() && random.chance(0.3) {
            post["questions"] = Value::Null;
        }
        if post["clientReviews"].is_array() {
            post["clientReviews"] = client.reviews(knowledge, random);
        }
        post["openJobs"] = self.open_jobs(knowledge, category, domain, &client, now_ms);
        post
    }

    /// Boosts of other bidders on a job: none on every second job, else up to four.
    pub(crate) fn rival_boosts(&mut self) -> Vec<u32> {
        let count = self.rivals.weighted([0.5, 0.2, 0.12, 0.08, 0.1].into_iter());
        (0..count)
            .map(|_| u32::try_from(self.rivals.between(1, 40)).unwrap_or(1))
            .collect()
    }

    fn id(&mut self, now_ms: i64) -> String {
        self.counter = self.counter.wrapping_add(1);
        marketplace_id(now_ms, self.counter)
    }

    /// The client's other open jobs: as many as its history says, of the same kind of work.
    fn open_jobs(
        &mut self,
        knowledge: &Knowledge,
        category: &Category,
        domain: &Domain,
        client: &Client,
        now_ms: i64,
    ) -> Value {
        let jobs = (0..client.open_jobs).map(|index| {
            let pay = Pay::draw(knowledge, category, domain.pay, &mut self.random);
            let subject = Subject::draw(knowledge, domain, &pay, &mut self.random);
            let id = self.id(now_ms - 86_400_000 * (i64::try_from(index).unwrap_or(0) + 1));
            json!({
                "id": id,
                "ciphertext": format!("~02{id}"),
                "title": subject.title(&mut self.random),
                "type": if pay.is_hourly() { "HOURLY" } else { "FIXED" },
                "isPtcPrivate": self.random.chance(0.05),
            })
        });
        Value::Array(jobs.collect())
    }
}

fn or_null(random: &mut Random, probability: f64, value: Value) -> Value {
    if random.chance(probability) {
        Value::Null
    } else {
        value
    }
}

/// A closing sentence in the client's language, or sometimes an emoji.
fn aside<'a>(knowledge: &'a Knowledge, country: Option<&str>, random: &mut Random) -> Option<&'a str> {
    let phrases = &knowledge.phrases;
    if random.chance(0.4)
        && let Some(aside) = phrases
            .asides
            .iter()
            .find(|aside| Some(aside.country.as_str()) == country)
    {
        return Some(&aside.text);
    }
    match random.weighted([0.94, 0.02, 0.04].into_iter()) {
        1 => Some(&random.pick(&phrases.asides).text),
        2 => Some(random.text(&phrases.emoji)),
        _ => None,
    }
}

/// Only clients at home restrict a job to their country.
fn region(country: Option<&str>, random: &mut Random) -> Option<&'static str> {
    if random.chance(0.08) {
        return None;
    }
    match country {
        Some("United States" | "USA") if random.chance(0.22) => Some("USOnly"),
        Some("United Kingdom" | "GBR") if random.chance(0.15) => Some("UKOnly"),
        _ => Some("Worldwide"),
    }
}

fn attachments(id: &str, domain: &Domain, random: &mut Random) -> Value {
    if random.chance(0.3) {
        return Value::Null;
    }
    let count = random.weighted([0.82, 0.13, 0.05].into_iter());
    let files = random.some(&domain.files, count);
    let files = files.into_iter().map(|name| {
        let length = or_null(random, 0.1, json!(random.clone().between(4_000, 6_000_000)));
        json!({"fileName": name, "length": length, "uri": format!("/att/{id}/{name}")})
    });
    Value::Array(files.collect())
}

/// The client's requirements for bidders. A job for rising talent requires no success score.
fn vendor_qualifications(region: Option<&str>, random: &mut Random) -> Value {
    if random.chance(0.1) {
        return Value::Null;
    }
    let location = match region {
        Some("USOnly") => Some("United States"),
        Some("UKOnly") => Some("United Kingdom"),
        _ => None,
    };
    let score = *random.pick(&[0, 0, 0, 0, 80, 90]);
    json!({
        "location": location,
        "talentType": random.pick(&["ANY", "ANY", "ANY", "Independent", "Agency"]),
        "englishLevel": random.pick(&[None, None, Some("BASIC"), Some("CONVERSATIONAL"), Some("FLUENT"), Some("NATIVE_OR_BILINGUAL")]),
        "minimumEarnings": random.pick(&[None, None, None, None, Some(100), Some(1_000), Some(10_000)]),
        "jobSuccessScore": score,
        "includeRisingTalent": score == 0 || random.chance(0.4),
    })
}

#[cfg(test)]
mod tests;
