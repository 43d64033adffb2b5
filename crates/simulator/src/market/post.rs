//! Job posts: checks their shape, adds missing members, and reads the requirements for proposals.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

use crate::ids::Ids;

/// The bytes that are percent-encoded in a path segment of a URL.
const PATH_SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A complete, checked post as JSON text.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    pub(crate) id: Arc<str>,
    pub(crate) text: Arc<str>,
    pub(crate) required_connects: u32,
}

/// The type of a member. Every member may also be null, unless it is required.
enum Kind {
    Text,
    Integer,
    Number,
    Flag,
    Texts,
    Object(&'static [Member]),
    Objects(&'static [Member]),
    List,
}

struct Member {
    name: &'static str,
    kind: Kind,
    required: bool,
}

const fn may(name: &'static str, kind: Kind) -> Member {
    Member {
        name,
        kind,
        required: false,
    }
}

const fn must(name: &'static str, kind: Kind) -> Member {
    Member {
        name,
        kind,
        required: true,
    }
}

const POST: &[Member] = &[
    must("id", Kind::Text),
    must("ciphertext", Kind::Text),
    must("title", Kind::Text),
    must("description", Kind::Text),
    must("url", Kind::Text),
    must("postedAt", Kind::Integer),
    may("category", Kind::Text),
    may("occupation", Kind::Text),
    may("skills", Kind::Objects(&[must("name", Kind::Text)])),
    may("questions", Kind::Texts),
    may("projectType", Kind::Text),
    may("projectDuration", Kind::Text),
    may("isFeatured", Kind::Flag),
    may("region", Kind::Text),
    may("metadata", Kind::Object(METADATA)),
    may("clientInfo", Kind::Object(CLIENT_INFO)),
    may(
        "attachments",
        Kind::Objects(&[
            must("fileName", Kind::Text),
            may("length", Kind::Integer),
            must("uri", Kind::Text),
        ]),
    ),
    may("vendorQualifications", Kind::Object(VENDOR_QUALIFICATIONS)),
    may("clientReviews", Kind::List),
    may(
        "openJobs",
        Kind::Objects(&[
            must("id", Kind::Text),
            must("ciphertext", Kind::Text),
            must("title", Kind::Text),
            may("type", Kind::Text),
            may("isPtcPrivate", Kind::Flag),
        ]),
    ),
];

const METADATA: &[Member] = &[
    may("experienceLevel", Kind::Text),
    may("paymentType", Kind::Text),
    may(
        "hourlyRate",
        Kind::Object(&[may("min", Kind::Number), may("max", Kind::Number)]),
    ),
    may("fixedPrice", Kind::Number),
    may("duration", Kind::Text),
    may("hours", Kind::Text),
];

const CLIENT_INFO: &[Member] = &[
    may("isPaymentVerified", Kind::Flag),
    may("isPhoneVerified", Kind::Flag),
    may("rating", Kind::Number),
    may("numberOfReviews", Kind::Integer),
    may("country", Kind::Text),
    may("region", Kind::Text),
    may("totalSpent", Kind::Number),
    may("numberOfHires", Kind::Integer),
    may("jobsPosted", Kind::Integer),
    may("hireRate", Kind::Number),
    may("memberSince", Kind::Text),
    may("activeEngagements", Kind::Integer),
    may("openJobs", Kind::Integer),
    may("companyIndustry", Kind::Text),
    may("companySize", Kind::Text),
    may("enterpriseClient", Kind::Flag),
    may("avgHourlyRatePaid", Kind::Number),
    may("companyId", Kind::Text),
];

const VENDOR_QUALIFICATIONS: &[Member] = &[
    may("talentType", Kind::Text),
    may("englishLevel", Kind::Text),
    may("minimumEarnings", Kind::Number),
    may("jobSuccessScore", Kind::Number),
    may("includeRisingTalent", Kind::Flag),
];

/// Adds missing members (`id`, `ciphertext`, `url`, `postedAt`, an empty description, null for the
/// nullable members) and checks the types. The error names the member: `metadata.fixedPrice: expected a number`.
pub(crate) fn complete(
    value: Value,
    base_url: &str,
    ids: &Ids,
    now_ms: i64,
) -> Result<(Post, Value), String> {
    let Value::Object(mut post) = value else {
        return Err("expected a job post, an object".to_owned());
    };
    add_missing(&mut post, base_url, ids, now_ms);
    check_members("", &post, POST)?;
    written(Value::Object(post))
}

/// Makes a post of any object without checking its members, for clients that must handle posts that violate the protocol.
/// Adds only a missing id.
pub(crate) fn unchecked(value: Value, ids: &Ids, now_ms: i64) -> Result<(Post, Value), String> {
    let Value::Object(mut post) = value else {
        return Err("expected an object".to_owned());
    };
    if !post.get("id").is_some_and(Value::is_string) {
        post.insert("id".to_owned(), Value::String(ids.next(now_ms)));
    }
    written(Value::Object(post))
}

/// Checks a post of a file. Only members that the simulator adds may be missing.
pub(crate) fn check(value: &Value) -> Result<(), String> {
    let Value::Object(post) = value else {
        return Err("expected a job post, an object".to_owned());
    };
    for member in POST {
        match post.get(member.name) {
            Some(held) => check_member("", held, member)?,
            None if member.name == "title" => return Err("title: missing".to_owned()),
            None => {}
        }
    }
    if post.get("id").and_then(Value::as_str) == Some("") {
        return Err("id: is empty".to_owned());
    }
    Ok(())
}

fn written(value: Value) -> Result<(Post, Value), String> {
    let id = value["id"]
        .as_str()
        .filter(|id| !id.is_empty())
        .ok_or("id: is empty")?;
    let post = Post {
        id: Arc::from(id),
        text: Arc::from(value.to_string()),
        required_connects: required_connects(&value),
    };
    Ok((post, value))
}

fn add_missing(post: &mut Map<String, Value>, base_url: &str, ids: &Ids, now_ms: i64) {
    let missing = |post: &Map<String, Value>, name: &str| post.get(name).is_none_or(Value::is_null);
    if missing(post, "id") {
        post.insert("id".to_owned(), Value::String(ids.next(now_ms)));
    }
    if missing(post, "ciphertext") {
        let id = post["id"].as_str().unwrap_or_default();
        post.insert("ciphertext".to_owned(), Value::String(format!("~02{id}")));
    }
    if missing(post, "url") {
        let ciphertext = post["ciphertext"].as_str().unwrap_or_default();
        post.insert(
            "url".to_owned(),
            Value::String(format!(
                "{base_url}/jobs/{}",
                utf8_percent_encode(ciphertext, PATH_SEGMENT)
            )),
        );
    }
    if missing(post, "postedAt") {
        post.insert("postedAt".to_owned(), Value::from(now_ms));
    }
    if missing(post, "description") {
        post.insert("description".to_owned(), Value::String(String::new()));
    }
    for member in POST {
        if !member.required && !post.contains_key(member.name) {
            post.insert(member.name.to_owned(), Value::Null);
        }
    }
}

fn check_members(path: &str, object: &Map<String, Value>, members: &[Member]) -> Result<(), String> {
    for member in members {
        match object.get(member.name) {
            Some(value) => check_member(path, value, member)?,
            None if member.required => return Err(format!("{}: missing", join(path, member.name))),
            None => {}
        }
    }
    Ok(())
}

fn check_member(path: &str, value: &Value, member: &Member) -> Result<(), String> {
    if value.is_null() && !member.required {
        return Ok(());
    }
    let at = || join(path, member.name);
    let or_null = if member.required { "" } else { " or null" };
    let expected = |what: &str| Err(format!("{}: expected {what}{or_null}", at()));
    match (&member.kind, value) {
        (Kind::Text, Value::String(_))
        | (Kind::Number, Value::Number(_))
        | (Kind::Flag, Value::Bool(_))
        | (Kind::List, Value::Array(_)) => Ok(()),
        (Kind::Integer, Value::Number(number)) if number.is_i64() => Ok(()),
        (Kind::Texts, Value::Array(items)) => match items.iter().position(|item| !item.is_string()) {
            Some(index) => Err(format!("{}[{index}]: expected a string", at())),
            None => Ok(()),
        },
        (Kind::Object(members), Value::Object(object)) => check_members(&at(), object, members),
        (Kind::Objects(members), Value::Array(items)) => {
            items.iter().enumerate().try_for_each(|(index, item)| {
                let place = format!("{}[{index}]", at());
                match item {
                    Value::Object(object) => check_members(&place, object, members),
                    _ => Err(format!("{place}: expected an object")),
                }
            })
        }
        (Kind::Text, _) => expected("a string"),
        (Kind::Integer, _) => expected("an integer"),
        (Kind::Number, _) => expected("a number"),
        (Kind::Flag, _) => expected("true or false"),
        (Kind::Object(_), _) => expected("an object"),
        (Kind::Texts | Kind::Objects(_) | Kind::List, _) => expected("an array"),
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// How a job is paid. A job without a payment type accepts proposals of either kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payment {
    Hourly,
    Fixed,
    Unspecified,
}

/// The requirements of a post for proposals.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Demands {
    questions: Option<Vec<String>>,
    metadata: Option<PayTerms>,
    pub(crate) region: Option<String>,
    pub(crate) vendor_qualifications: Option<VendorQualifications>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PayTerms {
    payment_type: Option<String>,
    hourly_rate: Option<Value>,
    fixed_price: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VendorQualifications {
    pub(crate) minimum_earnings: Option<f64>,
    pub(crate) job_success_score: Option<f64>,
}

impl Demands {
    /// Reads the requirements from a post's text. A post that was published unchecked may have none.
    pub(crate) fn of(post: &str) -> Self {
        serde_json::from_str(post).unwrap_or_default()
    }

    pub(crate) fn questions(&self) -> &[String] {
        self.questions.as_deref().unwrap_or_default()
    }

    pub(crate) fn payment(&self) -> Payment {
        let Some(terms) = &self.metadata else {
            return Payment::Unspecified;
        };
        match terms.payment_type.as_deref() {
            Some("Hourly") => Payment::Hourly,
            Some("Fixed-price" | "Fixed") => Payment::Fixed,
            _ if terms.hourly_rate.is_some() => Payment::Hourly,
            _ if terms.fixed_price.is_some() => Payment::Fixed,
            _ => Payment::Unspecified,
        }
    }
}

/// The cost of a proposal without a boost: 8 to 16 connects, more for better paid work.
fn required_connects(post: &Value) -> u32 {
    let metadata = &post["metadata"];
    let hourly = metadata["hourlyRate"]["max"]
        .as_f64()
        .or(metadata["hourlyRate"]["min"].as_f64());
    // A month of half days makes the two kinds comparable.
    let worth = hourly
        .map(|rate| rate * 80.0)
        .or(metadata["fixedPrice"].as_f64())
        .unwrap_or(500.0);
    match worth {
        worth if worth < 100.0 => 8,
        worth if worth < 500.0 => 10,
        worth if worth < 1_500.0 => 12,
        worth if worth < 5_000.0 => 14,
        _ => 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn completed(value: Value) -> Result<Value, String> {
        complete(value, "http://market.test", &Ids::new(0), 1_790_000_000_000).map(|(_, value)| value)
    }

    #[test]
    fn what_is_left_out_is_made_up() {
        let post = completed(json!({"title": "Logo"})).unwrap();
        let id = post["id"].as_str().unwrap();
        assert_eq!(post["ciphertext"], format!("~02{id}"));
        assert_eq!(post["url"], format!("http://market.test/jobs/~02{id}"));
        assert_eq!(post["postedAt"], 1_790_000_000_000_i64);
        assert_eq!(post["description"], "");
        assert!(post["metadata"].is_null() && post["openJobs"].is_null());
        assert_eq!(post.as_object().unwrap().len(), 20);
    }

    #[test]
    fn what_is_given_stays() {
        let given = json!({"id": "j1", "ciphertext": "~x", "url": "/jobs/1", "postedAt": 5, "title": "T",
            "description": "D", "skills": [{"name": "Rust"}], "extra": {"kept": [1]}});
        let post = completed(given.clone()).unwrap();
        for (name, value) in given.as_object().unwrap() {
            assert_eq!(&post[name], value, "{name}");
        }
    }

    #[test]
    fn faults_name_the_member_and_what_was_expected() {
        for (post, fault) in [
            (json!([]), "expected a job post, an object"),
            (json!({}), "title: missing"),
            (json!({"title": 3}), "title: expected a string"),
            (json!({"title": "T", "id": ""}), "id: is empty"),
            (
                json!({"title": "T", "postedAt": 1.5}),
                "postedAt: expected an integer",
            ),
            (
                json!({"title": "T", "category": 1}),
                "category: expected a string or null",
            ),
            (
                json!({"title": "T", "questions": ["a", 2]}),
                "questions[1]: expected a string",
            ),
            (
                json!({"title": "T", "skills": [{"name": "x"}, {}]}),
                "skills[1].name: missing",
            ),
            (
                json!({"title": "T", "skills": ["Rust"]}),
                "skills[0]: expected an object",
            ),
            (
                json!({"title": "T", "metadata": {"fixedPrice": "5"}}),
                "metadata.fixedPrice: expected a number or null",
            ),
            (
                json!({"title": "T", "metadata": {"hourlyRate": {"min": true}}}),
                "metadata.hourlyRate.min: expected a number or null",
            ),
            (
                json!({"title": "T", "clientInfo": []}),
                "clientInfo: expected an object or null",
            ),
        ] {
            assert_eq!(completed(post.clone()).unwrap_err(), fault);
            if post.get("title").is_some() {
                assert_eq!(check(&post).unwrap_err(), fault);
            }
        }
    }

    #[test]
    fn a_job_is_paid_as_its_payment_type_says_else_as_it_names_a_range_or_a_price() {
        for (metadata, payment) in [
            (json!({"paymentType": "Hourly", "fixedPrice": 5}), Payment::Hourly),
            (json!({"paymentType": "Fixed-price"}), Payment::Fixed),
            (json!({"paymentType": "Fixed"}), Payment::Fixed),
            (
                json!({"hourlyRate": {"min": 5}, "fixedPrice": 5}),
                Payment::Hourly,
            ),
            (json!({"fixedPrice": 5}), Payment::Fixed),
            (json!({}), Payment::Unspecified),
            (Value::Null, Payment::Unspecified),
        ] {
            let post = json!({"metadata": metadata}).to_string();
            assert_eq!(Demands::of(&post).payment(), payment, "{post}");
        }
    }

    #[test]
    fn connects_grow_with_the_pay_from_8_to_16() {
        let connects = |metadata: Value| required_connects(&json!({"metadata": metadata}));
        assert_eq!(connects(json!({"fixedPrice": 20})), 8);
        assert_eq!(connects(Value::Null), 12);
        assert_eq!(connects(json!({"hourlyRate": {"min": 3, "max": null}})), 10);
        assert_eq!(connects(json!({"hourlyRate": {"min": 3, "max": 90}})), 16);
    }
}
