//! People: invitations, roles, password links and passwords (decisions E1 and E2).

use acceptance::Kind;
use serde_json::json;

use crate::acme::{BOB, OPS, PASSWORD, browser_of, sign_in, stranger, with_paused_campaign};
use crate::browser::Browser;
use crate::session::Session;

on_both_databases!(
    an_owner_invites_a_member_changes_the_role_and_removes_the_member,
    somebody_of_another_organization_joins_with_the_present_password_and_switches,
    a_password_link_sets_another_password_once,
    a_member_is_refused_what_only_owners_may,
    another_password_signs_out_everywhere_else,
    no_link_is_in_the_log_or_the_record,
);

const USERS: &str = "/settings/users";
const CHOSEN: &str = "another battery staple";
const NEW: &str = "new@acme.test";

/// Signs in on the way to the page of users.
fn signs_in(browser: &Browser, email: &str, password: &str) {
    browser.wait_for_path("/sign-in?next=%2Fsettings%2Fusers");
    sign_in(browser, email, password);
    browser.wait_for_path(USERS);
}

/// The path of the link that the page shows.
fn shown_link(browser: &Browser) -> String {
    let url = browser.content("#secret");
    let path = url.find("/invite/").unwrap();
    url[path..].to_owned()
}

fn an_owner_invites_a_member_changes_the_role_and_removes_the_member(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let owner = browser_of(&service, OPS, USERS);
    owner.press("Invite user");
    owner.fill("E-mail", BOB);
    owner.press("Make invitation");
    owner.see("This person is a member already.");
    owner.fill("E-mail", NEW);
    owner.fill("Name", "Newcomer");
    owner.press("Make invitation");
    owner.see("It is not stored and cannot be shown again.");
    let link = shown_link(&owner);
    owner.follow("I have copied it");
    owner.see("Invitation as member");

    let newcomer = stranger(&service);
    newcomer.go(&link);
    newcomer.see("You are invited as a member.");
    assert_eq!(newcomer.value("E-mail"), NEW);
    assert_eq!(newcomer.value("Name"), "Newcomer");
    newcomer.fill("Password", CHOSEN);
    newcomer.press("Join organization");
    newcomer.wait_for_path("/");
    newcomer.go(&link);
    newcomer.see("This link does not work any more");
    newcomer.go("/settings/users");
    newcomer.see("Newcomer");
    assert!(!newcomer.text().contains("Invite user"), "{}", newcomer.text());
    newcomer.go("/settings/users/invite");
    newcomer.see("For owners only");

    owner.go("/settings/users");
    owner.press("Make owner new@acme.test");
    owner.see("Role changed.");
    newcomer.go("/settings/users");
    signs_in(&newcomer, NEW, CHOSEN);
    newcomer.see("Invite user");

    owner.press("Remove… new@acme.test");
    owner.see("Remove “Newcomer”?");
    owner.press("Remove user");
    owner.see("User removed.");
    newcomer.go("/settings/users");
    newcomer.wait_for_path("/sign-in?next=%2Fsettings%2Fusers");
    sign_in(&newcomer, NEW, CHOSEN);
    newcomer.see("That e-mail and password do not belong together.");
}

fn somebody_of_another_organization_joins_with_the_present_password_and_switches(kind: Kind) {
    let (world, service) = with_paused_campaign(kind);
    let eve = "eve@beta.test";
    let beta = json!({
        "id": "org_beta", "name": "Beta",
        "subscription": acceptance::document::organization()["subscription"],
        "users": [{"email": eve, "password": PASSWORD, "name": "Eve"}],
    });
    world.installation.apply(&acceptance::document::document(beta));
    let owner = Session::of(&service, eve);
    owner
        .get("/settings/users/remove?user=bob%40acme.test")
        .expect(404);
    owner.post("/settings/users/reset", &[("user", BOB)]).expect(404);
    let made = owner.post("/settings/users/invite", &[("email", BOB), ("role", "owner")]);
    let page = made.expect(200).text();
    let token = page.split("/invite/").nth(1).unwrap().get(..64).unwrap();

    let bob = stranger(&service);
    bob.go(&format!("/invite/{token}"));
    bob.see("You have an account here: enter its password.");
    bob.fill("Password", CHOSEN);
    bob.press("Join organization");
    bob.see("That is not your password.");
    bob.fill("Password", PASSWORD);
    bob.press("Join organization");
    bob.wait_for_path("/");
    bob.press("Switch to Acme");
    bob.press("Switch to Beta");
    bob.go("/settings/users");
    bob.see("Eve");
    bob.see("Invite user");
    // Eve does not own Acme.
    owner.post("/settings/users/reset", &[("user", BOB)]).expect(409);
}

fn a_password_link_sets_another_password_once(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let owner = browser_of(&service, OPS, USERS);
    let before = Session::of(&service, BOB);
    owner.press("Password link… bob@acme.test");
    owner.press("Make password link");
    owner.see("Password link for bob@acme.test");
    let link = shown_link(&owner);

    let bob = stranger(&service);
    bob.go(&link);
    bob.fill("New password", CHOSEN);
    assert!(before.lives());
    bob.press("Set password");
    bob.wait_for_path("/");
    bob.see(BOB);
    assert!(!before.lives());
    Session::open(&service, BOB, CHOSEN);
    bob.go(&link);
    bob.see("This link does not work any more");
}

fn a_member_is_refused_what_only_owners_may(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let bob = Session::of(&service, BOB);
    let page = bob.get("/settings/users").expect(200).text();
    for button in [
        "Invite user",
        "Make owner",
        "Make member",
        "Password link",
        "Remove",
    ] {
        assert!(!page.contains(button), "{button}");
    }
    for page in [
        "/settings/users/invite",
        "/settings/users/remove?user=ops%40acme.test",
        "/settings/users/reset?user=ops%40acme.test",
    ] {
        bob.get(page).expect(403);
    }
    let forms: [(&str, &[(&str, &str)]); 5] = [
        ("/settings/users/invite", &[("email", NEW), ("role", "owner")]),
        ("/settings/users/role", &[("user", BOB), ("role", "owner")]),
        ("/settings/users/remove", &[("user", OPS)]),
        ("/settings/users/reset", &[("user", OPS)]),
        ("/settings/users/withdraw", &[("link", "link_1")]),
    ];
    for (path, fields) in forms {
        bob.post(path, fields).expect(403);
    }
    let ops = Session::of(&service, OPS);
    ops.get("/settings/users/remove?user=eve%40acme.test").expect(404);
    ops.post("/settings/users/remove", &[("user", "eve@acme.test")])
        .expect(404);
    ops.post("/settings/users/leave", &[]).expect(409);
    ops.post("/settings/users/role", &[("user", OPS), ("role", "member")])
        .expect(409);
    assert!(ops.lives());
    bob.post("/settings/users/leave", &[]).expect(303);
    assert!(!bob.lives());
}

fn another_password_signs_out_everywhere_else(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let other = Session::of(&service, BOB);
    let bob = browser_of(&service, BOB, USERS);
    bob.fill("Present password", "wrong horse battery");
    bob.fill("New password", CHOSEN);
    bob.press("Change password");
    bob.see("That is not your present password.");
    assert!(other.lives());
    bob.fill("Present password", PASSWORD);
    bob.fill("New password", CHOSEN);
    bob.press("Change password");
    bob.see("Password changed. Other sessions are signed out.");
    assert!(!other.lives());
    Session::open(&service, BOB, CHOSEN);
}

fn no_link_is_in_the_log_or_the_record(kind: Kind) {
    let (world, service) = with_paused_campaign(kind);
    let ops = Session::of(&service, OPS);
    let made = ops.post("/settings/users/invite", &[("email", NEW), ("role", "member")]);
    let made = made.expect(200);
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let page = made.text();
    let token = page
        .split("/invite/")
        .nth(1)
        .unwrap()
        .get(..64)
        .unwrap()
        .to_owned();
    let link = format!("/invite/{token}");
    let opened = ops.get(&link).expect(200);
    assert_eq!(opened.header("cache-control"), Some("no-store"));
    assert!(!ops.get("/settings/users").expect(200).text().contains(&token));
    let record = format!(
        "{:?}",
        world.installation.activity(&["--organization", "org_acme"])
    );
    assert!(
        record.contains("new@acme.test was invited as a member."),
        "{record}"
    );
    assert!(!record.contains(&token), "{record}");
    let log = service.log();
    assert!(log.contains("/invite/…"), "{log}");
    assert!(!log.contains(&token));
}
