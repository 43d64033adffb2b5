//! Secrets at rest, as operators meet them.

use acceptance::document::{TOKEN, document, organization};
use acceptance::{Installation, Kind};

#[test]
fn postgres_without_a_key_file_warns_and_with_one_it_does_not() {
    let mut installation = Installation::new(Kind::Postgres);
    let warning =
        "secrets.key_file: is not set, so marketplace tokens and webhook secrets are stored in plain text";
    let checked = installation.run(&["config", "check"]).expect(0);
    assert!(checked.out.contains(warning), "{}", checked.out);
    let service = installation.serve();
    assert!(service.log().contains(warning), "{}", service.log());
    drop(service);

    let absent = installation.folder().join("keys").display().to_string();
    installation.set("secrets.key_file", &absent);
    let refused = installation.run(&["config", "check"]).expect(2);
    assert!(
        refused
            .err
            .starts_with("secrets.key_file (from BIDLOOP_SECRETS__KEY_FILE): ")
            && refused.err.contains("openssl rand -hex 32"),
        "{}",
        refused.err
    );
    installation.file("keys", "1f".repeat(32));
    let checked = installation.run(&["config", "check"]).expect(0);
    assert!(!checked.out.contains("Warning"), "{}", checked.out);
}

#[test]
fn migrate_seals_what_was_stored_before_there_was_a_key() {
    let mut installation = Installation::new(Kind::Postgres);
    installation.apply(&document(organization()));
    let stored = |installation: &Installation| {
        let tables = installation.database().rows_as_text();
        tables.into_iter().any(|(_, rows)| rows.contains(TOKEN))
    };
    assert!(stored(&installation), "without a key, secrets stay plain");
    let keys = installation.file("keys", "1f".repeat(32));
    installation.set("secrets.key_file", &keys.display().to_string());
    installation.run(&["migrate"]).expect(0);
    assert!(!stored(&installation));
    let again = installation.apply(&document(organization()));
    assert_eq!(
        again["changed"],
        serde_json::json!([]),
        "the token is known as before"
    );
}

#[test]
fn sqlite_makes_a_key_beside_its_database() {
    let installation = Installation::new(Kind::Sqlite);
    installation.apply(&document(organization()));
    let key = installation.folder().join("bidloop.db.key");
    let made = std::fs::read_to_string(&key).unwrap();
    assert!(made.lines().any(|line| line.len() == 64), "{made}");
    // A lost key costs the secrets, nothing else; they can be provisioned anew.
    std::fs::remove_file(&key).unwrap();
    let done = installation.try_apply(&document(organization())).expect(0);
    assert!(
        done.err
            .contains("secrets.key_file lacks: add that key to the file, or provision the secret anew"),
        "{}",
        done.err
    );
    let again = installation.try_apply(&document(organization())).expect(0);
    assert!(!again.err.contains("secrets.key_file lacks"), "{}", again.err);
}
