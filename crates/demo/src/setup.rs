//! The provisioning document of the demo, one organization with an external and an automatic campaign, and the API key
//! that is kept between runs.

use std::io::{ErrorKind, Write};
use std::path::Path;

use bidloop_domain::model::{ApiKey, Timestamp, WebhookSecret};
use bidloop_domain::port::Entropy;
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::DemoError;

pub(crate) const ORGANIZATION: &str = "demo";
pub(crate) const EXTERNAL_CAMPAIGN: &str = "software";
pub(crate) const AUTOMATIC_CAMPAIGN: &str = "design";

/// The receiver's paths for the external campaign's `job.new` and for every `bid_complete`.
pub(crate) const JOB_NEW_PATH: &str = "/job-new";
pub(crate) const BID_COMPLETE_PATH: &str = "/bid-complete";

/// The tokens of the bidder accounts.
pub(crate) const EXTERNAL_TOKEN: &str = "demo-token-software";
pub(crate) const AUTOMATIC_TOKEN: &str = "demo-token-design";

/// The external campaign's categories.
pub(crate) const EXTERNAL_CATEGORIES: [&str; 3] = [
    "Web, Mobile & Software Dev",
    "Data Science & Analytics",
    "IT & Networking",
];
/// The automatic campaign's categories.
pub(crate) const AUTOMATIC_CATEGORIES: [&str; 3] = ["Design & Creative", "Writing", "Translation"];

/// More than a demo can use in a month.
const PROPOSAL_LIMIT: u32 = 1_000_000;

const COVER_LETTER: &str = "\
Hello,

“{{ title }}” is what I like to work on{% if skills %}, and {{ skills | map(attribute='name') | join(', ') }} \
is what I work with every day{% endif %}.

You would see a first draft within two days and could judge for yourself. Two rounds of changes are included, \
and the sources are yours.

Best regards";

/// The automatic campaign's answers. A job with another question stays parked.
const ANSWERS: [(&str, &str); 15] = [
    (
        "How soon could you begin, and how many hours a week do you have?",
        "On Monday, with twenty-five hours a week.",
    ),
    (
        "Please describe a recent project like this one.",
        "I finished one much like “{{ title }}” last month; I gladly walk you through it in a call.",
    ),
    (
        "Do you have any questions about the description?",
        "One: who gives the final approval?",
    ),
    (
        "What time zone are you in?",
        "UTC+1, and I can move two hours either way.",
    ),
    (
        "What would you need from us?",
        "One contact who decides, and whatever exists already.",
    ),
    (
        "How many rounds of changes are included?",
        "Two; further ones by the hour.",
    ),
    (
        "In which formats do you deliver?",
        "The editable sources, and exports as PDF, SVG and PNG.",
    ),
    (
        "Which flow did you improve measurably?",
        "The sign-up of a booking service: a third fewer people gave up on it.",
    ),
    (
        "How do you test a prototype with few users?",
        "Five people, one task each, thinking aloud; then I change it and do it again.",
    ),
    (
        "How do you hand over to developers?",
        "Named components, all states drawn, and an hour with the team.",
    ),
    (
        "How long do you need for an eight-minute episode?",
        "Two working days, one more for changes.",
    ),
    (
        "Which frame rates and codecs do you deliver?",
        "What the project was shot in; H.264 and ProRes as a rule.",
    ),
    (
        "How do you check facts?",
        "Two independent sources for each, listed below the text.",
    ),
    (
        "What is your usual turnaround for 1,000 words?",
        "Two working days.",
    ),
    (
        "Which tools do you use?",
        "A translation memory and a glossary of your own, which you keep.",
    ),
];

/// What the demo's document depends on.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) api_key: &'a ApiKey,
    pub(crate) secret: &'a WebhookSecret,
    /// The receiver's address, without a path.
    pub(crate) receiver_url: &'a str,
    pub(crate) now: Timestamp,
}

impl Setup<'_> {
    /// The provisioning document.
    pub(crate) fn document(&self) -> Value {
        let (period_start, period_end) = month_of(self.now);
        let webhook = |id: &str, path: &str, event: &str| {
            json!({
                "id": id, "url": format!("{}{path}", self.receiver_url), "events": [event], "active": true,
                "secret": self.secret.expose(),
            })
        };
        let answers: Vec<Value> = ANSWERS
            .iter()
            .map(|(question, answer)| json!({"question": question, "answer": answer}))
            .collect();
        json!({"organizations": [{
            "id": ORGANIZATION,
            "name": "Demo",
            "subscription": {
                "status": "active", "collectionPaused": false, "currentPeriodStart": period_start,
                "currentPeriodEnd": period_end, "proposalLimit": PROPOSAL_LIMIT,
            },
            "apiKeys": [{"id": "key_demo", "name": "the demo key", "key": self.api_key.expose()}],
            "webhooks": [webhook("wh_bids", BID_COMPLETE_PATH, "bid_complete")],
            "bidderAccounts": [
                {"id": "acct_software", "name": "Software profile", "token": EXTERNAL_TOKEN},
                {"id": "acct_design", "name": "Design profile", "token": AUTOMATIC_TOKEN},
            ],
            "campaigns": [
                {
                    "id": EXTERNAL_CAMPAIGN, "name": "Software and data", "mode": "external", "state": "active",
                    "bidderAccountId": "acct_software",
                    "filters": [
                        {"id": "f_categories", "name": "Software, data, operations", "categories": EXTERNAL_CATEGORIES},
                        {"id": "f_automation", "name": "Automation wherever it hides",
                         "keywords": "title:(automation OR scraping OR scraper) NOT marketing"},
                    ],
                    "webhooks": [webhook("wh_jobs", JOB_NEW_PATH, "job.new")],
                    "biddingConfig": {
                        "biddingHourlyRateStrategy": "match_job_budget", "biddingHourlyRatePercentage": 90,
                        "boostingEnabled": true, "boostDownToNthPlace": 2, "connectsAbovePrevious": 1,
                        "maximumBoost": 25, "alreadyHiredAction": "skip", "bidWithWarning": "skip",
                    },
                },
                {
                    "id": AUTOMATIC_CAMPAIGN, "name": "Design and words", "mode": "automatic", "state": "active",
                    "bidderAccountId": "acct_design",
                    "filters": [{"id": "f_design", "name": "Design, writing, translation",
                                 "categories": AUTOMATIC_CATEGORIES}],
                    "biddingConfig": {
                        "biddingHourlyRateStrategy": "smart_bidding", "biddingMinHourlyRate": 18,
                        "bidWithWarning": "bid", "alreadyHiredAction": "skip",
                    },
                    "proposal": {"coverLetter": COVER_LETTER, "answers": answers},
                },
            ],
        }]})
    }
}

/// The marketplace's bidder accounts: token and account.
pub(crate) fn accounts() -> [(&'static str, Value); 2] {
    let account = |id: &str, rate: u32| json!({"id": id, "name": "Demo", "connectsBalance": 1_000_000, "profileHourlyRate": rate});
    [
        (EXTERNAL_TOKEN, account("mk_software", 60)),
        (AUTOMATIC_TOKEN, account("mk_design", 35)),
    ]
}

/// The first second of the month and of the next one, in UTC.
fn month_of(now: Timestamp) -> (i64, i64) {
    let today = OffsetDateTime::from_unix_timestamp(now.as_seconds())
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
        .date();
    let first = today - time::Duration::days(i64::from(today.day()) - 1);
    let next = first + time::Duration::days(i64::from(first.month().length(first.year())));
    (
        first.midnight().assume_utc().unix_timestamp(),
        next.midnight().assume_utc().unix_timestamp(),
    )
}

/// Reads the API key in `file`, or generates it, readable by its owner alone.
pub(crate) fn kept_key(file: &Path, ids: &dyn Entropy) -> Result<ApiKey, DemoError> {
    let failed =
        |what: &str, error: std::io::Error| DemoError::Failed(format!("{}: {what}: {error}", file.display()));
    match std::fs::read_to_string(file) {
        Ok(text) => ApiKey::parse(text.trim()).map_err(|error| {
            DemoError::Failed(format!(
                "{}: {error}; delete the file to have a new key made",
                file.display()
            ))
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let mut random = [0; 32];
            ids.fill_random(&mut random);
            let key = ApiKey::from_random(random);
            write_private(file, key.expose()).map_err(|error| failed("cannot be written", error))?;
            Ok(key)
        }
        Err(error) => Err(failed("cannot be read", error)),
    }
}

fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = options.open(file)?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use bidloop_fakes::SequentialEntropy;

    use super::*;

    #[test]
    fn a_month_begins_on_its_first_and_ends_where_the_next_begins() {
        // 2026-02-14, 2024-02-29, 2026-12-31T23:59:59
        for (now, month) in [
            (1_771_027_200, (1_769_904_000, 1_772_323_200)),
            (1_709_164_800, (1_706_745_600, 1_709_251_200)),
            (1_798_761_599, (1_796_083_200, 1_798_761_600)),
        ] {
            assert_eq!(month_of(Timestamp::from_seconds(now)), month, "{now}");
        }
    }

    #[test]
    fn the_key_is_made_once_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("demo-key");
        let ids = SequentialEntropy::default();
        let made = kept_key(&file, &ids).unwrap();
        assert_eq!(kept_key(&file, &ids).unwrap(), made);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(
                std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
    }

    #[test]
    fn a_spoilt_key_file_is_named_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("demo-key");
        std::fs::write(&file, "hunter2").unwrap();
        let error = kept_key(&file, &SequentialEntropy::default())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("demo-key") && !error.contains("hunter2"),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "hunter2");
    }

    #[test]
    fn the_campaigns_answer_questions_that_the_generator_asks() {
        let mut generator = bidloop_simulator::Generator::new(1);
        let mut asked = std::collections::HashSet::new();
        for second in 0..4_000 {
            let post = generator.next(1_790_000_000_000 + second * 1000);
            let questions = post["questions"].as_array().into_iter().flatten();
            asked.extend(questions.filter_map(Value::as_str).map(str::to_owned));
        }
        let never: Vec<_> = ANSWERS
            .iter()
            .filter(|(question, _)| !asked.contains(*question))
            .collect();
        assert!(never.is_empty(), "{never:?}");
    }
}
