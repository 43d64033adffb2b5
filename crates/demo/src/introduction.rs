//! The header and the commands to try, with real values, for a POSIX shell.

use std::net::SocketAddr;
use std::path::Path;

use bidloop_simulator::caller::bid_on;
use serde_json::Value;

use crate::screen::{Look, Style, one_line};
use crate::setup::{AUTOMATIC_CAMPAIGN, EMAIL, EXTERNAL_CAMPAIGN, ORGANIZATION};

/// The header that the demo prints first.
#[derive(Debug)]
pub(crate) struct Introduction<'a> {
    pub(crate) base_url: &'a str,
    /// How the program was called.
    pub(crate) program: &'a str,
    pub(crate) database_url: &'a str,
    pub(crate) api_key: &'a str,
    pub(crate) key_file: &'a Path,
    pub(crate) password: &'a str,
    pub(crate) password_file: &'a Path,
    pub(crate) market_url: &'a str,
    pub(crate) rate: f64,
    pub(crate) receiver: SocketAddr,
    pub(crate) auto_reply: bool,
}

impl Introduction<'_> {
    pub(crate) fn render(&self, look: Look) -> String {
        let bold = |text: &str| look.paint(Style::Bold, text);
        let dim = |text: &str| look.paint(Style::Dim, text);
        let row = |name: &str, value: &str, remark: &str| {
            let line = format!("  {name:<12}{value}  {}", dim(remark));
            if remark.is_empty() {
                line.trim_end().to_owned()
            } else {
                line
            }
        };
        let receiver = if self.auto_reply {
            "verifies each signature and answers each job.new with a bid"
        } else {
            "verifies each signature; with --auto-reply it also bids"
        };
        let base_url = self.base_url;
        let lines = [
            String::new(),
            bold("Bidloop: a marketplace, the service and a caller's program in one process."),
            String::new(),
            row("Console", base_url, "open it in a browser"),
            row("Sign in", EMAIL, ""),
            row(
                "Password",
                self.password,
                &format!("(kept in {})", self.password_file.display()),
            ),
            row("API", base_url, ""),
            row(
                "API key",
                self.api_key,
                &format!("(kept in {})", self.key_file.display()),
            ),
            row(
                "Campaigns",
                &format!("{EXTERNAL_CAMPAIGN:<10}"),
                "external: the service sends job.new, your program decides",
            ),
            row(
                "",
                &format!("{AUTOMATIC_CAMPAIGN:<10}"),
                "automatic: the service bids with a template",
            ),
            row(
                "Marketplace",
                self.market_url,
                &format!("simulated, {} a second", jobs(self.rate)),
            ),
            row("Receiver", &format!("http://{}", self.receiver), receiver),
            String::new(),
            bold("Try in another terminal:"),
            String::new(),
            format!("  export KEY={}", self.api_key),
            format!(
                "  curl -s -H \"Authorization: Bearer $KEY\" '{base_url}/v1/campaigns/{EXTERNAL_CAMPAIGN}/leads?limit=3'"
            ),
            format!("  curl -s {base_url}/metrics"),
            format!("  {}", self.activity()),
            String::new(),
            dim("The first lead comes with commands to bid, reject and upload. Times are UTC. Ctrl-C stops."),
            String::new(),
        ];
        lines.join("\n")
    }

    fn activity(&self) -> String {
        let command = format!(
            "{} activity --organization {ORGANIZATION} --limit 5",
            quoted(self.program)
        );
        format!("BIDLOOP_DATABASE__URL={} {command}", quoted(self.database_url))
    }
}

fn jobs(rate: f64) -> String {
    #[expect(clippy::float_cmp, reason = "exactly one is singular")]
    let one = rate == 1.0;
    if one {
        "1 job".to_owned()
    } else {
        format!("{rate} jobs")
    }
}

/// The commands for the lead of a `job.new`: upload, bid, reject.
pub(crate) fn decisions(data: &Value, look: Look) -> String {
    let text = |name: &str| data[name].as_str().unwrap_or_default();
    let (bid_url, reject_url) = (text("bidUrl"), text("rejectUrl"));
    let upload_url = bid_url
        .strip_suffix("/bid")
        .map(|lead| format!("{lead}/attachments"))
        .unwrap_or_default();
    let lines = [
        String::new(),
        look.paint(
            Style::Bold,
            "  Decide on it from another terminal: add a file and bid, or reject.",
        ),
        String::new(),
        format!(
            "  printf 'Work samples: …' | curl -s -H \"Authorization: Bearer $KEY\" -F 'files=@-;filename=samples.txt;type=text/plain' \\\n    {}",
            quoted(&upload_url)
        ),
        bid_command(bid_url, &short_bid(&data["lead"])),
        format!(
            "  curl -s -X POST -H \"Authorization: Bearer $KEY\" {}",
            quoted(reject_url)
        ),
        String::new(),
    ];
    lines.join("\n")
}

/// The command that bids on the lead of a `job.new`.
pub(crate) fn bid(data: &Value, look: Look) -> String {
    let command = bid_command(
        data["bidUrl"].as_str().unwrap_or_default(),
        &full_bid(&data["lead"]),
    );
    format!("{}\n{command}", look.paint(Style::Dim, "  To bid on it:"))
}

/// The command for a dry run, which also works on a lead that was bid on.
pub(crate) fn dry_run(data: &Value, look: Look) -> String {
    let mut bid = short_bid(&data["lead"]);
    bid["dryRun"] = Value::Bool(true);
    let command = bid_command(data["bidUrl"].as_str().unwrap_or_default(), &bid);
    let said = "  The receiver bids on it. A dry run still works (a real bid would get 409):";
    format!("\n{}\n\n{command}\n", look.paint(Style::Bold, said))
}

fn full_bid(lead: &Value) -> Value {
    serde_json::to_value(bid_on(lead)).unwrap_or_default()
}

/// A complete bid with a short letter, so that the command is readable.
fn short_bid(lead: &Value) -> Value {
    let mut bid = full_bid(lead);
    let title = one_line(lead["title"].as_str().unwrap_or_default());
    bid["coverLetter"] = Value::String(format!(
        "Hello, I would like to work on “{title}” and could begin on Monday."
    ));
    bid
}

fn bid_command(bid_url: &str, bid: &Value) -> String {
    format!(
        "  curl -s -H \"Authorization: Bearer $KEY\" -H 'Content-Type: application/json' {} \\\n    -d {}",
        quoted(bid_url),
        quoted(&bid.to_string())
    )
}

/// A word for a POSIX shell, quoted if necessary.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAIN: Look = Look {
        colour: false,
        columns: None,
    };

    fn job_new() -> Value {
        json!({
            "bidUrl": "http://127.0.0.1:8080/v1/campaigns/software/leads/ld_1/bid",
            "rejectUrl": "http://127.0.0.1:8080/v1/campaigns/software/leads/ld_1/reject",
            "lead": {"title": "It's a ledger", "questions": ["Why $HOME?"]},
        })
    }

    /// What a POSIX shell makes of a single-quoted word.
    fn unquoted(word: &str) -> String {
        word.strip_prefix('\'')
            .unwrap()
            .strip_suffix('\'')
            .unwrap()
            .replace(r"'\''", "'")
    }

    #[test]
    fn a_shell_reads_a_quoted_word_as_it_was() {
        assert_eq!(quoted("http://127.0.0.1:8080/v1"), "http://127.0.0.1:8080/v1");
        for word in ["", "it's", "a b", "$HOME", "x;y", "a'b'c", "ü"] {
            assert_eq!(unquoted(&quoted(word)), word);
        }
    }

    #[test]
    fn the_bid_command_carries_a_complete_bid() {
        let command = bid(&job_new(), PLAIN);
        let body = command.split_once("-d ").unwrap().1;
        let body: Value = serde_json::from_str(&unquoted(body)).unwrap();
        assert_eq!(body["questionAnswerPairs"][0]["question"], "Why $HOME?");
        assert!(body["coverLetter"].as_str().unwrap().contains("It's a ledger"));
        assert!(
            command.contains(" http://127.0.0.1:8080/v1/campaigns/software/leads/ld_1/bid \\\n"),
            "{command}"
        );
    }

    #[test]
    fn a_lead_can_be_uploaded_to_bid_on_and_rejected() {
        let commands = decisions(&job_new(), PLAIN);
        for path in ["/attachments\n", "/bid \\\n", "/reject\n"] {
            assert!(commands.contains(&format!("/leads/ld_1{path}")), "{commands}");
        }
        assert!(dry_run(&job_new(), PLAIN).contains(r#""dryRun":true"#));
    }

    #[test]
    fn the_header_names_address_key_and_commands() {
        let introduction = Introduction {
            base_url: "http://127.0.0.1:8080",
            api_key: "lk_1",
            key_file: Path::new("bidloop-data/demo-key"),
            password: "0123456789abcdef0123",
            password_file: Path::new("bidloop-data/demo-password"),
            database_url: "sqlite://my data/bidloop.db",
            market_url: "http://127.0.0.1:4000",
            rate: 1.0,
            receiver: SocketAddr::from(([127, 0, 0, 1], 4001)),
            auto_reply: false,
            program: "bidloop",
        };
        let header = introduction.render(PLAIN);
        for part in [
            "export KEY=lk_1\n",
            "'http://127.0.0.1:8080/v1/campaigns/software/leads?limit=3'\n",
            "curl -s http://127.0.0.1:8080/metrics\n",
            "BIDLOOP_DATABASE__URL='sqlite://my data/bidloop.db' bidloop activity",
            "1 job a second",
        ] {
            assert!(header.contains(part), "{part} is missing in:\n{header}");
        }
    }
}
