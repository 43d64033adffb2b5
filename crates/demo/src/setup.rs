//! The provisioning document of the demo, one organization with an external and an automatic campaign, and the API key and
//! the password that are kept between runs.

use std::io::{ErrorKind, Write};
use std::path::Path;

use bidloop_domain::model::{ApiKey, Timestamp, WebhookSecret};
use bidloop_domain::port::Entropy;
use serde_json::{Value, json};

use crate::DemoError;

pub(crate) const ORGANIZATION: &str = "demo";
pub(crate) const EXTERNAL_CAMPAIGN: &str = "software";
pub(crate) const AUTOMATIC_CAMPAIGN: &str = "design";

/// The tokens of the bidder accounts.
pub(crate) const EXTERNAL_TOKEN: &str = "demo-token-software";
pub(crate) const AUTOMATIC_TOKEN: &str = "demo-token-design";

/// The address with which one signs in to the console.
pub(crate) const EMAIL: &str = "you@demo.test";

/// What the demo's document depends on.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) api_key: &'a ApiKey,
    pub(crate) password: &'a str,
    pub(crate) secret: &'a WebhookSecret,
    /// The receiver's address, without a path.
    pub(crate) receiver_url: &'a str,
    pub(crate) now: Timestamp,
}

impl Setup<'_> {
    /// The provisioning document.
    pub(crate) fn document(&self) -> Value {
        let mut document = provisioning();
        let organization = &mut document["organizations"][0];
        let (period_start, period_end) = self.now.calendar_month();
        organization["subscription"]["currentPeriodStart"] = period_start.as_seconds().into();
        organization["subscription"]["currentPeriodEnd"] = period_end.as_seconds().into();
        organization["users"] = json!([{"email": EMAIL, "name": "You", "password": self.password}]);
        organization["apiKeys"][0]["key"] = self.api_key.expose().into();
        organization["bidderAccounts"][0]["token"] = EXTERNAL_TOKEN.into();
        organization["bidderAccounts"][1]["token"] = AUTOMATIC_TOKEN.into();
        self.complete(&mut organization["webhooks"][0]);
        self.complete(&mut organization["campaigns"][0]["webhooks"][0]);
        document
    }

    fn complete(&self, webhook: &mut Value) {
        let path = webhook["url"].as_str().unwrap_or_default();
        webhook["url"] = format!("{}{path}", self.receiver_url).into();
        webhook["secret"] = self.secret.expose().into();
    }
}

/// The demo's provisioning file as it is written.
#[expect(
    clippy::expect_used,
    reason = "the file is part of the program, and a test reads it"
)]
fn provisioning() -> Value {
    toml::from_str(include_str!("provisioning.toml")).expect("a TOML file")
}

/// The categories that the campaign's first filter names.
pub(crate) fn categories(campaign: &str) -> Vec<String> {
    let document = provisioning();
    let campaigns = document["organizations"][0]["campaigns"].as_array();
    let campaign = campaigns.and_then(|campaigns| campaigns.iter().find(|known| known["id"] == campaign));
    let categories = campaign.and_then(|campaign| campaign["filters"][0]["categories"].as_array());
    let categories = categories.into_iter().flatten().filter_map(Value::as_str);
    categories.map(str::to_owned).collect()
}

/// The marketplace's bidder accounts: token and account.
pub(crate) fn accounts() -> [(&'static str, Value); 2] {
    let account = |id: &str, rate: u32| json!({"id": id, "name": "Demo", "connectsBalance": 1_000_000, "profileHourlyRate": rate});
    [
        (EXTERNAL_TOKEN, account("mk_software", 60)),
        (AUTOMATIC_TOKEN, account("mk_design", 35)),
    ]
}

/// Reads the API key in `file`, or generates it, readable by its owner alone.
pub(crate) fn kept_key(file: &Path, entropy: &dyn Entropy) -> Result<ApiKey, DemoError> {
    let text = kept(file, || {
        let mut random = [0; 32];
        entropy.fill_random(&mut random);
        ApiKey::from_random(random).expose().to_owned()
    })?;
    ApiKey::parse(&text).map_err(|error| {
        DemoError::Failed(format!(
            "{}: {error}; delete the file to generate a new key",
            file.display()
        ))
    })
}

/// Reads the password in `file`, or generates it, readable by its owner alone.
pub(crate) fn kept_password(file: &Path, entropy: &dyn Entropy) -> Result<String, DemoError> {
    kept(file, || {
        let mut random = [0; 10];
        entropy.fill_random(&mut random);
        hex::encode(random)
    })
}

fn kept(file: &Path, make: impl FnOnce() -> String) -> Result<String, DemoError> {
    let failed =
        |what: &str, error: std::io::Error| DemoError::Failed(format!("{}: {what}: {error}", file.display()));
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let text = make();
            write_private(file, &text).map_err(|error| failed("cannot be written", error))?;
            Ok(text)
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
    fn the_key_and_the_password_are_made_once_and_are_their_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (key, password) = (
            folder.path().join("demo-key"),
            folder.path().join("demo-password"),
        );
        let entropy = SequentialEntropy::default();
        let made = kept_key(&key, &entropy).unwrap();
        assert_eq!(kept_key(&key, &entropy).unwrap(), made);
        let made = kept_password(&password, &entropy).unwrap();
        assert_eq!(kept_password(&password, &entropy).unwrap(), made);
        #[cfg(unix)]
        for file in [key, password] {
            use std::os::unix::fs::PermissionsExt;
            let permissions = std::fs::metadata(&file).unwrap().permissions();
            assert_eq!(permissions.mode() & 0o777, 0o600);
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
        let document = provisioning();
        let answers = document["organizations"][0]["campaigns"][1]["proposal"]["answers"].as_array();
        for answer in answers.unwrap() {
            let question = answer["question"].as_str().unwrap();
            assert!(asked.contains(question), "{question}");
        }
    }

    #[test]
    fn the_document_is_a_complete_provisioning_file() {
        let setup = Setup {
            api_key: &ApiKey::from_random([1; 32]),
            password: "twelve bytes or more",
            secret: &WebhookSecret::generate([2; 32]),
            receiver_url: "http://127.0.0.1:4001",
            now: Timestamp::from_seconds(1_771_027_200),
        };
        let document = setup.document();
        let organization = &document["organizations"][0];
        assert_eq!(organization["id"], ORGANIZATION);
        assert_eq!(organization["users"][0]["password"], "twelve bytes or more");
        assert_eq!(organization["subscription"]["currentPeriodStart"], 1_769_904_000);
        assert_eq!(
            organization["webhooks"][0]["url"],
            "http://127.0.0.1:4001/bid-complete"
        );
        let campaigns = &organization["campaigns"];
        assert_eq!(
            campaigns[0]["webhooks"][0]["url"],
            "http://127.0.0.1:4001/job-new"
        );
        assert_eq!(campaigns[0]["webhooks"][0]["secret"], setup.secret.expose());
        for (place, id) in [EXTERNAL_CAMPAIGN, AUTOMATIC_CAMPAIGN].into_iter().enumerate() {
            assert_eq!(campaigns[place]["id"], id);
            assert_eq!(categories(id).len(), 3, "{id}");
        }
    }
}
