//! A job post as filters see it: the one place that knows both.

use time::format_description::well_known::Iso8601;
use time::macros::format_description;
use time::{Date, OffsetDateTime};

use super::{JobPost, Timestamp};
use crate::matching::JobFacts;

impl JobPost {
    /// What saved filters can ask of the job.
    ///
    /// ```
    /// use bidloop_domain::matching::{PaymentKind, PreparedJob};
    /// use bidloop_domain::model::JobPost;
    ///
    /// let post = JobPost::parse(
    ///     r#"{"id": "1", "ciphertext": "~1", "title": "Rust", "description": "", "url": "/1", "postedAt": 1,
    ///         "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 50}}}"#,
    /// )?;
    /// let facts = post.facts();
    /// assert_eq!(facts.payment_kind, Some(PaymentKind::Hourly));
    /// assert_eq!(facts.hourly_range, Some((50.0, f64::INFINITY)));
    /// let job = PreparedJob::new(&facts);
    /// # Ok::<(), bidloop_domain::model::JobPostError>(())
    /// ```
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts are compared as doubles, exact up to 2⁵³"
    )]
    pub fn facts(&self) -> JobFacts<'_> {
        let metadata = self.metadata.as_ref();
        let client = self.client_info.as_ref();
        let vendor = self.vendor_qualifications.as_ref();
        let count = |count: Option<i64>| count.map(|count| count as f64);
        JobFacts {
            title: &self.title,
            description: &self.description,
            skills: self
                .skills
                .as_ref()
                .map(|skills| skills.iter().map(|skill| skill.name.as_str()).collect()),
            category: self.category.as_deref(),
            occupation: self.occupation.as_deref(),
            project_type: self.project_type.as_deref(),
            project_duration: self.project_duration.as_deref(),
            experience_level: metadata.and_then(|metadata| metadata.experience_level.as_deref()),
            region: self.region.as_deref(),
            weekly_hours: self.weekly_hours(),
            payment_kind: self.payment_kind(),
            hourly_range: self.hourly_range().map(|range| {
                let (low, high) = (range.min, range.max);
                (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY))
            }),
            fixed_price: self.fixed_price(),
            questions: self.questions.as_ref().map(|questions| questions.len() as f64),
            is_featured: self.is_featured,
            open_jobs: count(self.client_open_jobs()),
            is_payment_verified: client.and_then(|client| client.is_payment_verified),
            is_phone_verified: client.and_then(|client| client.is_phone_verified),
            is_enterprise: client.and_then(|client| client.enterprise_client),
            client_country: client.and_then(|client| client.country.as_deref()),
            client_industry: client.and_then(|client| client.company_industry.as_deref()),
            client_company_size: client.and_then(|client| client.company_size.as_deref()),
            client_rating: client.and_then(|client| client.rating),
            client_reviews: count(client.and_then(|client| client.number_of_reviews)),
            client_total_spent: client.and_then(|client| client.total_spent),
            client_hires: count(client.and_then(|client| client.number_of_hires)),
            client_hire_rate: client.and_then(|client| client.hire_rate),
            client_jobs_posted: count(client.and_then(|client| client.jobs_posted)),
            client_member_days: client
                .and_then(|client| member_days(client.member_since.as_deref()?, self.posted_at)),
            client_avg_hourly_rate_paid: client.and_then(|client| client.avg_hourly_rate_paid),
            talent_type: vendor.and_then(|vendor| vendor.talent_type.as_deref()),
            english_level: vendor.and_then(|vendor| vendor.english_level.as_deref()),
            job_success_score: vendor.and_then(|vendor| vendor.job_success_score),
            // Null demands nothing; only a job without qualifications leaves it open.
            minimum_earnings: vendor.map(|vendor| vendor.minimum_earnings.unwrap_or(0.0)),
        }
    }
}

/// Whole days from `since`, a date (its midnight in UTC) or an ISO 8601 timestamp, to `posted_at`: 0 if that is earlier.
fn member_days(since: &str, posted_at: Timestamp) -> Option<f64> {
    let since = match Date::parse(since, format_description!("[year]-[month]-[day]")) {
        Ok(date) => date.midnight().assume_utc(),
        Err(_) => OffsetDateTime::parse(since, &Iso8601::PARSING).ok()?,
    };
    let since = Timestamp::from_millis(since.unix_timestamp().checked_mul(1_000)?);
    let days = posted_at.since(since).as_secs() / (24 * 60 * 60);
    u32::try_from(days).ok().map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_membership_are_whole_ones_until_the_posting() {
        let posted_at = Timestamp::from_millis(1_790_000_000_000); // 2026-09-21T14:13:20Z
        for (since, days) in [
            ("2026-09-20", Some(1.0)),
            ("2026-09-20T14:13:20Z", Some(1.0)),
            ("2026-09-20T14:13:21Z", Some(0.0)),
            ("2026-09-20T14:13:20.000+00:00", Some(1.0)),
            ("2026-09-20T16:13:21+02:00", Some(0.0)),
            ("2025-09-21T00:00:00Z", Some(365.0)),
            ("2030-01-01", Some(0.0)),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(member_days(since, posted_at), days, "{since}");
        }
    }
}
