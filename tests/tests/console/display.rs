//! What a browser remembers: its colours and whether keys act.

use acceptance::Kind;

use crate::acme::{OPS, browser_of, with_paused_campaign};
use crate::browser::Browser;

on_both_databases!(colours_and_keys_are_as_the_browser_has_chosen);

fn theme(browser: &Browser) -> String {
    browser.script("return document.documentElement.dataset.theme ?? 'as the system'")
}

fn strike(browser: &Browser, key: &str) {
    browser.script(&format!(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true }}))"
    ));
}

fn colours_and_keys_are_as_the_browser_has_chosen(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let browser = browser_of(&service, OPS, "/settings/users");
    assert_eq!(theme(&browser), "as the system");
    strike(&browser, "?");
    browser.see("Go to the overview");
    browser.follow("Display settings");
    browser.wait_for_path("/settings/display");
    browser.press_label("Dark");
    browser.press_label("Single keys act");
    browser.press("Save display");
    browser.see("Saved.");
    assert_eq!(theme(&browser), "dark");

    browser.go("/settings/users");
    assert_eq!(theme(&browser), "dark");
    strike(&browser, "g");
    strike(&browser, "a");
    strike(&browser, "?");
    assert_eq!(browser.path(), "/settings/users");
    assert_eq!(
        browser.script("return document.querySelector('dialog').innerHTML"),
        ""
    );

    browser.go("/settings/display");
    browser.press_label("Single keys act");
    browser.press_label("As the system");
    browser.press("Save display");
    browser.see("Saved.");
    assert_eq!(theme(&browser), "as the system");
    strike(&browser, "g");
    strike(&browser, "a");
    browser.wait_for_path("/activity");
}
