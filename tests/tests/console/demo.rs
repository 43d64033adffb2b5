//! The demo opens with the console.

use std::time::Duration;

use acceptance::{Installation, Kind, eventually};

use crate::session::Session;

#[test]
fn the_demo_prints_the_consoles_address_and_an_account_first() {
    let installation = Installation::new(Kind::Sqlite);
    let mut demo = installation.start(&["demo", "--for", "20", "--data-dir", "data"]);
    let row = |name: &str| {
        let shown = demo.out();
        let row = shown
            .lines()
            .find_map(|line| line.trim().strip_prefix(name).map(str::to_owned))?;
        row.split_whitespace().next().map(str::to_owned)
    };
    let within = Duration::from_secs(20);
    let password = eventually("the password is shown", within, || row("Password "));
    assert_eq!(row("Console "), Some(format!("http://{}", demo.address())));
    let email = row("Sign in ").unwrap();
    let first = demo
        .out()
        .lines()
        .find(|line| line.starts_with("  "))
        .unwrap()
        .to_owned();
    assert!(first.trim().starts_with("Console"), "{first}");
    let session = Session::open(&demo, &email, &password);
    let page = session.get("/campaigns").expect(200).text();
    assert!(
        page.contains("Software and data") && page.contains("Design and words"),
        "{page}"
    );
    demo.ask_to_stop();
    assert!(demo.wait_for_end().success(), "{}", demo.log());
}
