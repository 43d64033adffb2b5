//! Generated jobs and filters, drawn from so few values that they meet.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

use super::asked::{Asked, WORDS, expressions, texts};

/// A value, null, or (as `None`) no field at all.
fn maybe(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Option<Value>> {
    prop_oneof![3 => value.prop_map(Some), 1 => Just(Some(Value::Null)), 1 => Just(None)]
}

fn object(fields: Vec<(&'static str, Option<Value>)>) -> Value {
    let fields: Map<String, Value> = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
    Value::Object(fields)
}

fn name() -> impl Strategy<Value = Value> {
    select(vec!["Alpha", "ALPHA", "beta", "Ω", "ß", "SS"]).prop_map(Value::from)
}

fn amount() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..6_u32).prop_map(Value::from),
        (0..6_u32).prop_map(|n| Value::from(f64::from(n)))
    ]
}

/// An object whose fields each have one of their strategy's values, null, or are left out.
macro_rules! objects {
    ($($name:literal: $value:expr),* $(,)?) => {{
        let fields: Vec<(&'static str, BoxedStrategy<Option<Value>>)> = vec![$(($name, maybe($value).boxed())),*];
        let (names, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
        values.prop_map(move |values| object(names.iter().copied().zip(values).collect()))
    }};
}

pub(in crate::tests) fn jobs() -> impl Strategy<Value = Value> {
    let payment = select(vec!["Hourly", "Fixed-price", "Fixed", "hourly", "Other"]).prop_map(Value::from);
    let hours = select(vec!["Alpha", "beta hrs/week", "1 to 3 months"]).prop_map(Value::from);
    let skill = select(WORDS.to_vec()).prop_map(|name| json!({"name": name}));
    let range = objects! {"min": amount(), "max": amount()};
    let metadata = objects! {
        "experienceLevel": name(), "paymentType": payment, "hourlyRate": range, "fixedPrice": amount(),
        "duration": hours.clone(), "hours": hours,
    };
    let client = objects! {
        "isPaymentVerified": any::<bool>().prop_map(Value::from), "isPhoneVerified": any::<bool>().prop_map(Value::from),
        "enterpriseClient": any::<bool>().prop_map(Value::from), "country": name(), "companyIndustry": name(),
        "companySize": name(), "rating": amount(), "numberOfReviews": amount(), "totalSpent": amount(),
        "numberOfHires": amount(), "hireRate": amount(), "jobsPosted": amount(), "avgHourlyRatePaid": amount(),
        "openJobs": amount(),
        "memberSince": select(vec!["2026-01-05", "2026-01-07", "2026-01-09", "long ago"]).prop_map(Value::from),
    };
    let vendor = objects! {
        "talentType": name(), "englishLevel": name(), "jobSuccessScore": amount(), "minimumEarnings": amount(),
    };
    let optional = objects! {
        "skills": prop::collection::vec(skill, 0..3).prop_map(Value::from), "category": name(), "occupation": name(),
        "projectType": name(), "projectDuration": name(), "region": name(),
        "isFeatured": any::<bool>().prop_map(Value::from), "metadata": metadata, "clientInfo": client,
        "vendorQualifications": vendor, "questions": prop::collection::vec(Just(json!("?")), 0..4).prop_map(Value::from),
        "openJobs": prop::collection::vec(Just(json!({})), 0..4).prop_map(Value::from),
    };
    (texts(), texts(), optional).prop_map(|(title, description, mut job)| {
        job["title"] = Value::from(title);
        job["description"] = Value::from(description);
        job
    })
}

/// Some of the conditions, so that not every filter fails on most of them.
pub(in crate::tests) fn filters() -> impl Strategy<Value = (Value, Option<Asked>)> {
    let list = || prop::collection::vec(name(), 1..4).prop_map(Value::from);
    let skills = || prop::collection::vec(select(WORDS.to_vec()), 1..4).prop_map(Value::from);
    let flag = || any::<bool>().prop_map(Value::from);
    let bounds = || {
        (0..6_u32, 0..6_u32, 0..3_u8).prop_map(|(a, b, ends)| match ends {
            0 => json!({"min": a}),
            1 => json!({"max": b}),
            _ => json!({"min": a.min(b), "max": a.max(b)}),
        })
    };
    let conditions: Vec<(&'static str, BoxedStrategy<Value>)> = vec![
        ("skills.any", skills().boxed()),
        ("skills.all", skills().boxed()),
        ("skills.none", skills().boxed()),
        (
            "skills.atLeast",
            subsequence(vec!["rust", "c++", "C#", "node.js", "東京", "a"], 1..=6)
                .prop_flat_map(|names| (1..=names.len(), Just(names)))
                .prop_map(|(count, names)| json!({"count": count, "of": names}))
                .boxed(),
        ),
        ("categories", list().boxed()),
        ("occupations", list().boxed()),
        ("projectTypes", list().boxed()),
        ("projectDurations", list().boxed()),
        ("experienceLevels", list().boxed()),
        ("regions", list().boxed()),
        ("weeklyHours", Just(json!(["alpha", "BETA hrs/week"])).boxed()),
        (
            "paymentTypes",
            subsequence(vec!["hourly", "fixed"], 1..=2)
                .prop_map(Value::from)
                .boxed(),
        ),
        ("hourlyRate", bounds().boxed()),
        ("fixedPrice", bounds().boxed()),
        ("client.paymentVerified", flag().boxed()),
        ("client.phoneVerified", flag().boxed()),
        ("client.enterprise", flag().boxed()),
        ("client.countries.include", list().boxed()),
        ("client.countries.exclude", list().boxed()),
        ("client.industries.include", list().boxed()),
        ("client.industries.exclude", list().boxed()),
        ("client.companySizes", list().boxed()),
        ("client.minRating", amount().boxed()),
        ("client.minReviews", amount().boxed()),
        ("client.minTotalSpent", amount().boxed()),
        ("client.maxTotalSpent", amount().boxed()),
        ("client.minHires", amount().boxed()),
        ("client.maxHires", amount().boxed()),
        ("client.minHireRate", amount().boxed()),
        ("client.minJobsPosted", amount().boxed()),
        ("client.minMemberDays", amount().boxed()),
        ("client.minAvgHourlyRatePaid", amount().boxed()),
        ("client.maxAvgHourlyRatePaid", amount().boxed()),
        ("vendor.talentTypes", list().boxed()),
        ("vendor.englishLevels", list().boxed()),
        ("vendor.maxJobSuccessScore", amount().boxed()),
        ("vendor.maxMinimumEarnings", amount().boxed()),
        ("maxQuestions", amount().boxed()),
        ("featured", flag().boxed()),
        ("maxOpenJobs", amount().boxed()),
    ];
    let chosen = subsequence(conditions, 0..4).prop_flat_map(|conditions| {
        let (paths, values): (Vec<_>, Vec<_>) = conditions.into_iter().unzip();
        values.prop_map(move |values| paths.iter().copied().zip(values).collect::<Vec<_>>())
    });
    let when_unknown = select(vec![json!("match"), json!("reject"), Value::Null]);
    (chosen, prop::option::of(expressions()), when_unknown).prop_map(|(conditions, asked, when_unknown)| {
        let mut filter = json!({"whenUnknown": when_unknown});
        for (path, value) in conditions {
            let pointer = path.split('.').fold(&mut filter, |at, step| &mut at[step]);
            *pointer = value;
        }
        // Two ends drawn apart may be in the wrong order, which a filter must not be.
        for (min, max) in [
            ("minTotalSpent", "maxTotalSpent"),
            ("minHires", "maxHires"),
            ("minAvgHourlyRatePaid", "maxAvgHourlyRatePaid"),
        ] {
            if filter["client"][min].as_f64() > filter["client"][max].as_f64()
                && !filter["client"][max].is_null()
            {
                filter["client"][min] = Value::Null;
            }
        }
        if let Some(asked) = &asked {
            filter["keywords"] = Value::from(asked.text());
        }
        (filter, asked)
    })
}
