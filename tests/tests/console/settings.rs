//! Bidder accounts and billing (decisions B3 and E1).

use acceptance::{Kind, document};
use serde_json::json;

use crate::acme::{BOB, OPS, browser_of, with_paused_campaign};
use crate::session::Session;

on_both_databases!(
    an_account_is_connected_once_the_marketplace_takes_its_token,
    members_read_accounts_and_billing_and_change_no_account,
);

fn an_account_is_connected_once_the_marketplace_takes_its_token(kind: Kind) {
    let (world, service) = with_paused_campaign(kind);
    let token = "token-of-the-design-profile";
    let account = json!({"id": "market-2", "name": "Design", "connectsBalance": 80, "profileHourlyRate": 35});
    world.simulator.put_account(token, account).unwrap();
    let browser = browser_of(&service, OPS, "/settings/accounts");
    browser.press("Connect account…");
    browser.fill("Name", "Design profile");
    browser.fill("Token", "no-such-token");
    browser.press("Connect account");
    browser.see("The marketplace does not accept this token.");
    assert_eq!(browser.value("Name"), "Design profile");
    assert_eq!(browser.value("Token"), "", "a token is not shown again");
    browser.fill("Token", token);
    browser.press("Connect account");
    browser.see("Account connected");
    browser.see("Design profile");

    browser.press("New token… Design profile");
    browser.fill("New token", "another-wrong-one");
    browser.press("Save account");
    browser.see("The marketplace does not accept this token.");
    browser.follow("Cancel");
    browser.press("Remove… Design profile");
    browser.press("Remove account");
    browser.see("Account removed.");
    let record = world
        .installation
        .activity(&["--organization", document::ORGANIZATION]);
    let changes: Vec<_> = record.iter().filter(|entry| entry["kind"] == "change").collect();
    assert_eq!(changes.len(), 2);
    assert!(!format!("{record:?}{}", service.log()).contains(token));
}

fn members_read_accounts_and_billing_and_change_no_account(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let bob = Session::of(&service, BOB);
    let shown = bob.get("/settings/accounts").expect(200).text();
    assert!(shown.contains("Jane&#39;s profile"), "{shown}");
    for button in ["Connect account", "New token", "Remove…"] {
        assert!(!shown.contains(button), "{button}");
    }
    for path in ["new", "acct_1/edit", "acct_1/remove"] {
        bob.get(&format!("/settings/accounts/{path}")).expect(403);
    }
    let fields = [("name", "Mine"), ("token", document::TOKEN)];
    bob.post("/settings/accounts", &fields).expect(403);
    bob.post("/settings/accounts/acct_1/edit", &fields).expect(403);
    bob.post("/settings/accounts/acct_1/remove", &[]).expect(403);
    let billing = bob.get("/settings/billing").expect(200).text();
    assert!(billing.contains("0 of 100,000 proposals"), "{billing}");
}
