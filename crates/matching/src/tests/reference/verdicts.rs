//! The conditions as the reference understands them, one field of the contract after the other.

use serde_json::Value;

use super::asked::{Asked, folded, reference_words};

/// Whether the filter matches, and the verdict on each condition by its path.
pub(super) fn reference(
    filter: &Value,
    asked: Option<&Asked>,
    job: &Value,
) -> (bool, Vec<(&'static str, Option<bool>)>) {
    let mut verdicts: Vec<(&'static str, Option<bool>)> = Vec::new();
    if let Some(asked) = asked {
        let mut texts = vec![
            (
                "title",
                reference_words(job["title"].as_str().unwrap_or_default()),
            ),
            (
                "description",
                reference_words(job["description"].as_str().unwrap_or_default()),
            ),
        ];
        for skill in job["skills"].as_array().into_iter().flatten() {
            texts.push((
                "skill",
                reference_words(skill["name"].as_str().unwrap_or_default()),
            ));
        }
        verdicts.push(("keywords", Some(asked.holds(&texts, None))));
    }
    let comparable = |value: &Value| value.as_str().map(folded);
    let all_of = |value: &Value| -> Option<Vec<String>> {
        value
            .as_array()
            .map(|list| list.iter().filter_map(comparable).collect())
    };
    let carried: Option<Vec<String>> = job["skills"].as_array().map(|skills| {
        skills
            .iter()
            .filter_map(|skill| comparable(&skill["name"]))
            .collect()
    });
    let named = |wanted: &Value| -> Option<(usize, usize)> {
        let wanted = all_of(wanted)?;
        let found = wanted
            .iter()
            .filter(|skill| carried.as_ref().is_some_and(|carried| carried.contains(skill)));
        Some((found.count(), wanted.len()))
    };
    if let Some((found, _)) = named(&filter["skills"]["any"]) {
        verdicts.push(("skills.any", carried.as_ref().map(|_| found > 0)));
    }
    if let Some((found, wanted)) = named(&filter["skills"]["all"]) {
        verdicts.push(("skills.all", carried.as_ref().map(|_| found == wanted)));
    }
    let at_least = &filter["skills"]["atLeast"];
    if let (Some(count), Some((found, _))) = (at_least["count"].as_u64(), named(&at_least["of"])) {
        verdicts.push(("skills.atLeast", carried.as_ref().map(|_| found as u64 >= count)));
    }
    if let Some((found, _)) = named(&filter["skills"]["none"]) {
        verdicts.push(("skills.none", carried.as_ref().map(|_| found == 0)));
    }
    let (metadata, client, vendor) = (&job["metadata"], &job["clientInfo"], &job["vendorQualifications"]);
    let hours = match &metadata["hours"] {
        Value::Null
            if metadata["duration"]
                .as_str()
                .is_some_and(|text| text.contains("hrs")) =>
        {
            &metadata["duration"]
        }
        hours => hours,
    };
    let lists = [
        ("categories", &filter["categories"], &job["category"], true),
        ("occupations", &filter["occupations"], &job["occupation"], true),
        ("projectTypes", &filter["projectTypes"], &job["projectType"], true),
        (
            "projectDurations",
            &filter["projectDurations"],
            &job["projectDuration"],
            true,
        ),
        (
            "experienceLevels",
            &filter["experienceLevels"],
            &metadata["experienceLevel"],
            true,
        ),
        ("regions", &filter["regions"], &job["region"], true),
        ("weeklyHours", &filter["weeklyHours"], hours, true),
        (
            "client.countries.include",
            &filter["client"]["countries"]["include"],
            &client["country"],
            true,
        ),
        (
            "client.countries.exclude",
            &filter["client"]["countries"]["exclude"],
            &client["country"],
            false,
        ),
        (
            "client.industries.include",
            &filter["client"]["industries"]["include"],
            &client["companyIndustry"],
            true,
        ),
        (
            "client.industries.exclude",
            &filter["client"]["industries"]["exclude"],
            &client["companyIndustry"],
            false,
        ),
        (
            "client.companySizes",
            &filter["client"]["companySizes"],
            &client["companySize"],
            true,
        ),
        (
            "vendor.talentTypes",
            &filter["vendor"]["talentTypes"],
            &vendor["talentType"],
            true,
        ),
        (
            "vendor.englishLevels",
            &filter["vendor"]["englishLevels"],
            &vendor["englishLevel"],
            true,
        ),
    ];
    for (path, list, value, wanted) in lists {
        if let Some(list) = all_of(list) {
            verdicts.push((
                path,
                comparable(value).map(|value| list.contains(&value) == wanted),
            ));
        }
    }
    let kind = metadata["paymentType"]
        .as_str()
        .and_then(|text| match text.to_lowercase().as_str() {
            "hourly" => Some("hourly"),
            "fixed" | "fixed-price" => Some("fixed"),
            _ => None,
        });
    if let Some(kinds) = all_of(&filter["paymentTypes"]) {
        verdicts.push((
            "paymentTypes",
            kind.map(|kind| kinds.iter().any(|wanted| wanted == kind)),
        ));
    }
    if let Value::Object(wanted) = &filter["hourlyRate"] {
        let (low, high) = (
            metadata["hourlyRate"]["min"].as_f64(),
            metadata["hourlyRate"]["max"].as_f64(),
        );
        let min = wanted.get("min").and_then(Value::as_f64);
        let max = wanted.get("max").and_then(Value::as_f64);
        let apart = high.zip(min).is_some_and(|(high, min)| high < min)
            || low.zip(max).is_some_and(|(low, max)| low > max);
        let known = low.is_some() || high.is_some();
        verdicts.push((
            "hourlyRate",
            if kind == Some("fixed") {
                Some(true)
            } else {
                known.then_some(!apart)
            },
        ));
    }
    if let Value::Object(wanted) = &filter["fixedPrice"] {
        let within = metadata["fixedPrice"].as_f64().map(|price| {
            wanted
                .get("min")
                .and_then(Value::as_f64)
                .is_none_or(|min| price >= min)
                && wanted
                    .get("max")
                    .and_then(Value::as_f64)
                    .is_none_or(|max| price <= max)
        });
        verdicts.push((
            "fixedPrice",
            if kind == Some("hourly") {
                Some(true)
            } else {
                within
            },
        ));
    }
    let flags = [
        (
            "client.paymentVerified",
            &filter["client"]["paymentVerified"],
            &client["isPaymentVerified"],
        ),
        (
            "client.phoneVerified",
            &filter["client"]["phoneVerified"],
            &client["isPhoneVerified"],
        ),
        (
            "client.enterprise",
            &filter["client"]["enterprise"],
            &client["enterpriseClient"],
        ),
        ("featured", &filter["featured"], &job["isFeatured"]),
    ];
    for (path, wanted, value) in flags {
        if let Some(wanted) = wanted.as_bool() {
            verdicts.push((path, value.as_bool().map(|value| value == wanted)));
        }
    }
    let length = |list: &Value| list.as_array().map(|list| Value::from(list.len()));
    let questions = length(&job["questions"]).unwrap_or_default();
    let listed = length(&job["openJobs"]).unwrap_or_default();
    let open = if client["openJobs"].is_null() {
        &listed
    } else {
        &client["openJobs"]
    };
    let earnings = match vendor {
        Value::Null => Value::Null,
        vendor => Value::from(vendor["minimumEarnings"].as_f64().unwrap_or(0.0)),
    };
    let asks = &filter["client"];
    let member_days = match client["memberSince"].as_str() {
        Some("2026-01-05") => Value::from(5),
        Some("2026-01-07") => Value::from(3),
        Some("2026-01-09") => Value::from(1),
        _ => Value::Null,
    };
    let figures = [
        ("client.minMemberDays", &asks["minMemberDays"], &member_days),
        ("client.minRating", &asks["minRating"], &client["rating"]),
        (
            "client.minReviews",
            &asks["minReviews"],
            &client["numberOfReviews"],
        ),
        (
            "client.minTotalSpent",
            &asks["minTotalSpent"],
            &client["totalSpent"],
        ),
        (
            "client.maxTotalSpent",
            &asks["maxTotalSpent"],
            &client["totalSpent"],
        ),
        ("client.minHires", &asks["minHires"], &client["numberOfHires"]),
        ("client.maxHires", &asks["maxHires"], &client["numberOfHires"]),
        ("client.minHireRate", &asks["minHireRate"], &client["hireRate"]),
        (
            "client.minJobsPosted",
            &asks["minJobsPosted"],
            &client["jobsPosted"],
        ),
        (
            "client.minAvgHourlyRatePaid",
            &asks["minAvgHourlyRatePaid"],
            &client["avgHourlyRatePaid"],
        ),
        (
            "client.maxAvgHourlyRatePaid",
            &asks["maxAvgHourlyRatePaid"],
            &client["avgHourlyRatePaid"],
        ),
        (
            "vendor.maxJobSuccessScore",
            &filter["vendor"]["maxJobSuccessScore"],
            &vendor["jobSuccessScore"],
        ),
        (
            "vendor.maxMinimumEarnings",
            &filter["vendor"]["maxMinimumEarnings"],
            &earnings,
        ),
        ("maxQuestions", &filter["maxQuestions"], &questions),
        ("maxOpenJobs", &filter["maxOpenJobs"], open),
    ];
    for (path, bound, value) in figures {
        if let Some(bound) = bound.as_f64() {
            let at_least = path.contains("min");
            verdicts.push((
                path,
                value
                    .as_f64()
                    .map(|value| if at_least { value >= bound } else { value <= bound }),
            ));
        }
    }
    let unknown_matches = filter["whenUnknown"] == "match";
    let matches = verdicts.iter().all(|(_, held)| held.unwrap_or(unknown_matches));
    (matches, verdicts)
}
