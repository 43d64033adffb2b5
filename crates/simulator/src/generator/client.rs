//! A client with a consistent history: `clientInfo`, `clientReviews` and the number of open jobs.

use serde_json::{Value, json};
use time::OffsetDateTime;

use super::market_data::{Knowledge, quantile};
use super::random::Random;

/// A client's history. It is consistent: a client with hires has spent money, a client with reviews has hires, and there
/// are no more hires than posts.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) country: Option<String>,
    /// Other postings that are open now.
    pub(super) open_jobs: u64,
    jobs_posted: u64,
    hired_posts: u64,
    hires: u64,
    reviews: u64,
    rating: f64,
    total_spent: f64,
    active: u64,
    average_rate: Option<f64>,
    member_days: u64,
    verified: bool,
    enterprise: bool,
}

impl Client {
    /// Every fifth client has never hired; the others range from one hire to hundreds.
    pub(super) fn draw(knowledge: &Knowledge, usual_rate: f64, random: &mut Random) -> Self {
        let countries = &knowledge.market.countries;
        let country = countries[random.weighted(countries.iter().map(|country| country.1))]
            .0
            .clone();
        if random.chance(0.22) {
            return Self::newcomer(country, random);
        }
        let standing = random.fraction();
        let hires_at = (standing + random.amount(-0.12, 0.12)).clamp(0.0, 1.0);
        let hires = whole(quantile(&knowledge.market.client_hires, hires_at)).max(1);
        let total_spent = round_cents(quantile(&knowledge.market.client_total_spent, standing).max(5.0));
        // Some posts lead to several hires.
        let hired_posts = hires - random.between(0, hires / 4);
        let closed_posts = share(hired_posts, random.amount(1.05, 2.2));
        let open_jobs = random.weighted([0.55, 0.22, 0.12, 0.06, 0.03, 0.02].into_iter()) as u64;
        let reviews = share(hires, random.amount(0.5, 0.95));
        Self {
            country,
            open_jobs,
            jobs_posted: closed_posts.max(hired_posts) + open_jobs + 1,
            hired_posts,
            hires,
            reviews,
            rating: if reviews == 0 {
                0.0
            } else {
                round_cents(5.0 - 2.4 * random.fraction().powi(4))
            },
            total_spent,
            active: random.between(0, hires.min(6)),
            average_rate: random
                .chance(0.7)
                .then(|| round_cents((usual_rate * random.amount(0.4, 1.5)).max(3.0))),
            member_days: 60 + share(3_600, (standing * random.amount(0.5, 1.0)).min(1.0)),
            verified: random.chance(0.97),
            enterprise: standing > 0.9 && random.chance(0.3),
        }
    }

    fn newcomer(country: Option<String>, random: &mut Random) -> Self {
        let open_jobs = u64::from(random.chance(0.15));
        Self {
            country,
            open_jobs,
            jobs_posted: 1 + open_jobs + random.weighted([0.7, 0.2, 0.1].into_iter()) as u64,
            hired_posts: 0,
            hires: 0,
            reviews: 0,
            rating: 0.0,
            total_spent: 0.0,
            active: 0,
            average_rate: None,
            member_days: random.between(0, 400),
            verified: random.chance(0.55),
            enterprise: false,
        }
    }

    /// The post's `clientInfo`.
    pub(super) fn info(&self, knowledge: &Knowledge, now_ms: i64, random: &mut Random) -> Value {
        let phrases = &knowledge.phrases;
        #[expect(clippy::cast_precision_loss, reason = "counts of jobs")]
        let hire_rate = (self.hired_posts as f64 / self.jobs_posted as f64 * 100.0).round();
        let company = self.hires > 3 && random.chance(0.6);
        json!({
            "isPaymentVerified": self.verified,
            "isPhoneVerified": random.chance(if self.hires > 0 { 0.98 } else { 0.8 }),
            "rating": self.rating,
            "numberOfReviews": self.reviews,
            "country": self.country,
            "region": Value::Null,
            "totalSpent": self.total_spent,
            "numberOfHires": self.hires,
            "jobsPosted": self.jobs_posted,
            "hireRate": hire_rate,
            "memberSince": date(now_ms, self.member_days),
            "activeEngagements": self.active,
            "openJobs": self.open_jobs,
            "companyIndustry": company.then(|| random.text(&phrases.industries)),
            "companySize": company.then(|| random.text(&phrases.company_sizes)),
            "enterpriseClient": self.enterprise,
            "avgHourlyRatePaid": self.average_rate,
            "companyId": (1_000_000_000_000_000_000 + random.number() % 900_000_000_000_000_000).to_string(),
        })
    }

    /// Up to three of the client's reviews.
    pub(super) fn reviews(&self, knowledge: &Knowledge, random: &mut Random) -> Value {
        let most = self.reviews.min(3);
        let reviews = (0..random.between(0, most)).map(|_| {
            let score = (self.rating + random.amount(-0.6, 0.4)).clamp(1.0, 5.0).round();
            json!({"score": score, "comment": random.text(&knowledge.phrases.reviews)})
        });
        Value::Array(reviews.collect())
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of jobs, never negative"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "counts of jobs")]
fn share(count: u64, fraction: f64) -> u64 {
    whole(count as f64 * fraction)
}

fn round_cents(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// The day `days` days before, as `YYYY-MM-DD`.
fn date(now_ms: i64, days: u64) -> String {
    let seconds = now_ms.div_euclid(1_000) - i64::try_from(days).unwrap_or(0) * 86_400;
    let day = OffsetDateTime::from_unix_timestamp(seconds)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
        .date();
    format!("{:04}-{:02}-{:02}", day.year(), u8::from(day.month()), day.day())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_back_in_days() {
        assert_eq!(date(1_790_000_000_000, 0), "2026-09-21");
        assert_eq!(date(1_790_000_000_000, 365), "2025-09-21");
    }
}
