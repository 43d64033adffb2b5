//! Provisioning documents to begin from. Tests change what their rule is about.

use serde_json::{Value, json};

/// The API key that the documents provision.
pub const KEY: &str = "lk_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
/// The organization.
pub const ORGANIZATION: &str = "org_acme";
/// The External campaign. Its filter finds the word `rust`.
pub const EXTERNAL: &str = "camp_ext";
/// The automatic campaign. Its filter finds the word `logo`.
pub const AUTOMATIC: &str = "camp_auto";
/// The bidder account's token at the marketplace.
pub const TOKEN: &str = "token-1";

/// An organization with an active subscription and a key, and nothing else.
pub fn organization() -> Value {
    json!({
        "id": ORGANIZATION, "name": "Acme",
        "subscription": {
            "status": "active", "collectionPaused": false, "currentPeriodStart": 1_700_000_000_i64,
            "currentPeriodEnd": 4_000_000_000_i64, "proposalLimit": 100_000,
        },
        "apiKeys": [{"id": "key_ci", "name": "CI", "key": KEY}],
        "bidderAccounts": [{"id": "acct_1", "name": "Jane's profile", "token": TOKEN}],
    })
}

/// An External campaign over one filter, with an account.
pub fn campaign(id: &str, keywords: &str) -> Value {
    json!({
        "id": id, "name": format!("Campaign {id}"), "mode": "external", "state": "paused",
        "bidderAccountId": "acct_1",
        "filters": [{"id": format!("f_{id}"), "name": "Words", "keywords": keywords}],
        "biddingConfig": {"biddingHourlyRateStrategy": "fixed_rate", "biddingFixedHourlyRate": 45},
    })
}

/// Makes an External campaign send its `job.new` to `url`, and active.
pub fn active(mut campaign: Value, url: &str) -> Value {
    campaign["state"] = "active".into();
    let webhook = format!("wh_{}", campaign["id"].as_str().unwrap());
    campaign["webhooks"] =
        json!([{"id": webhook, "url": url, "events": ["job.new"], "active": true, "secret": SECRET}]);
    campaign
}

/// The secret of every webhook that the documents provision.
pub const SECRET: &str = "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";

/// The document with this organization alone.
pub fn document(organization: Value) -> Value {
    json!({ "organizations": [organization] })
}
