//! Matching held to the contract's sentences, and to an independent reference over generated filters and jobs.

mod contract;
mod entries;
mod index;
mod phrases;
mod reference;
mod signature;

use serde_json::Value;

use super::PreparedJob;
use crate::{JobFacts, PaymentKind, SavedFilter};

/// As if every job was posted on 10 January and members joined in that month.
fn member_days(client: &Value) -> Option<f64> {
    let day = client["memberSince"].as_str()?.strip_prefix("2026-01-0")?;
    day.parse::<f64>().ok().map(|day| 10.0 - day)
}

/// The facts of a post with these fields, read naively.
fn job(post: &Value) -> PreparedJob {
    let (metadata, client, vendor) = (
        &post["metadata"],
        &post["clientInfo"],
        &post["vendorQualifications"],
    );
    #[expect(clippy::cast_precision_loss, reason = "a few entries")]
    let count = |list: &Value| list.as_array().map(|list| list.len() as f64);
    let range = [&metadata["hourlyRate"]["min"], &metadata["hourlyRate"]["max"]].map(Value::as_f64);
    let hours = metadata["duration"].as_str().filter(|text| text.contains("hrs"));
    PreparedJob::new(&JobFacts {
        title: post["title"].as_str().unwrap_or_default(),
        description: post["description"].as_str().unwrap_or_default(),
        skills: post["skills"].as_array().map(|skills| {
            skills
                .iter()
                .map(|skill| skill["name"].as_str().expect("a name"))
                .collect()
        }),
        category: post["category"].as_str(),
        occupation: post["occupation"].as_str(),
        project_type: post["projectType"].as_str(),
        project_duration: post["projectDuration"].as_str(),
        experience_level: metadata["experienceLevel"].as_str(),
        region: post["region"].as_str(),
        weekly_hours: metadata["hours"].as_str().or(hours),
        payment_kind: metadata["paymentType"].as_str().and_then(PaymentKind::from_text),
        hourly_range: (range != [None, None]).then(|| {
            (
                range[0].unwrap_or(f64::NEG_INFINITY),
                range[1].unwrap_or(f64::INFINITY),
            )
        }),
        fixed_price: metadata["fixedPrice"].as_f64(),
        questions: count(&post["questions"]),
        is_featured: post["isFeatured"].as_bool(),
        open_jobs: client["openJobs"].as_f64().or(count(&post["openJobs"])),
        is_payment_verified: client["isPaymentVerified"].as_bool(),
        is_phone_verified: client["isPhoneVerified"].as_bool(),
        is_enterprise: client["enterpriseClient"].as_bool(),
        client_country: client["country"].as_str(),
        client_industry: client["companyIndustry"].as_str(),
        client_company_size: client["companySize"].as_str(),
        client_rating: client["rating"].as_f64(),
        client_reviews: client["numberOfReviews"].as_f64(),
        client_total_spent: client["totalSpent"].as_f64(),
        client_hires: client["numberOfHires"].as_f64(),
        client_hire_rate: client["hireRate"].as_f64(),
        client_jobs_posted: client["jobsPosted"].as_f64(),
        client_member_days: member_days(client),
        client_avg_hourly_rate_paid: client["avgHourlyRatePaid"].as_f64(),
        talent_type: vendor["talentType"].as_str(),
        english_level: vendor["englishLevel"].as_str(),
        job_success_score: vendor["jobSuccessScore"].as_f64(),
        minimum_earnings: vendor.as_object().map(|vendor| {
            vendor
                .get("minimumEarnings")
                .and_then(Value::as_f64)
                .unwrap_or(0.0)
        }),
    })
}

fn compiled(filter: &Value) -> SavedFilter {
    match SavedFilter::from_value(filter) {
        Ok(compiled) => compiled,
        Err(faults) => panic!("{filter}: {faults:?}"),
    }
}
