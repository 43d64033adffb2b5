//! Acme, the organization of these tests: its people, and how they sign in.

use acceptance::{Kind, Service, World, document};
use serde_json::{Value, json};

use crate::browser::Browser;

/// Acme's owner.
pub(crate) const OPS: &str = "ops@acme.test";
/// A member of Acme.
pub(crate) const BOB: &str = "bob@acme.test";
/// Everybody's password.
pub(crate) const PASSWORD: &str = "correct horse battery";

/// Acme with its people and these campaigns, to provision.
pub(crate) fn organization(world: &World, campaigns: &[Value]) -> Value {
    let mut organization = world.organization();
    organization["campaigns"] = json!(campaigns);
    organization["users"] = json!([
        {"email": OPS, "password": PASSWORD, "name": "Ops"},
        {"email": BOB, "password": PASSWORD, "name": "Bob", "role": "member"},
    ]);
    organization
}

/// Acme, served, with the campaigns that `of` makes.
pub(crate) fn started(kind: Kind, of: impl FnOnce(&World) -> Value) -> (World, Service) {
    let mut world = World::new(kind);
    let log = "info,bidloop_http_server=debug";
    world.installation.set_variable("RUST_LOG", log);
    let organization = organization(&world, &[of(&world)]);
    world.installation.apply(&document::document(organization));
    let service = world.installation.serve();
    (world, service)
}

/// Acme, served, with the paused campaign `camp_ext` for Rust jobs.
pub(crate) fn with_paused_campaign(kind: Kind) -> (World, Service) {
    started(kind, |_| document::campaign(document::EXTERNAL, "rust"))
}

/// Acme, served, with the active campaign `camp` for Rust jobs.
pub(crate) fn with_active_campaign(kind: Kind) -> (World, Service) {
    started(kind, |world| world.external("camp", "rust"))
}

/// A browser that shows the service's pages, in which nobody is signed in.
pub(crate) fn stranger(service: &Service) -> Browser {
    Browser::open(&format!("http://{}", service.address()))
}

/// Signs in on the page that asks for it.
#[track_caller]
pub(crate) fn sign_in(browser: &Browser, email: &str, password: &str) {
    browser.fill("E-mail", email);
    browser.fill("Password", password);
    browser.press("Sign in");
}

/// A browser in which this person is signed in, on this page.
#[track_caller]
pub(crate) fn browser_of(service: &Service, email: &str, path: &str) -> Browser {
    let browser = stranger(service);
    browser.go(path);
    sign_in(&browser, email, PASSWORD);
    browser.wait_for_path(path);
    browser
}
