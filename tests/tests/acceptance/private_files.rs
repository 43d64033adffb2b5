//! Nobody but the program's user reads what it stores, whatever the umask is.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use acceptance::document::{campaign, document, organization};
use acceptance::installation::free_address;
use acceptance::{Installation, Kind};
use serde_json::json;

/// Every file and folder below, with its mode.
fn modes(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = std::fs::metadata(&path).unwrap();
        if metadata.is_dir() {
            found.extend(modes(&path));
        }
        found.push((path, metadata.permissions().mode() & 0o777));
    }
    found
}

#[track_caller]
fn assert_private(folder: &Path, at_least: usize) {
    let modes = modes(folder);
    assert!(modes.len() >= at_least, "{modes:?}");
    for (path, mode) in modes {
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
    }
}

#[test]
fn files_and_folders_are_their_owners_whatever_the_umask_is() {
    let mut installation = Installation::new(Kind::Sqlite);
    installation.set_umask(0o000);
    let data = installation.folder().join("data");
    let database = format!("sqlite://{}", data.join("db/bidloop.db").display());
    installation.set("database.url", &database);
    let attachments = format!("file:{}", data.join("files").display());
    installation.set("attachments.url", &attachments);
    installation.file("cv.txt", "what I have done");
    let mut with_file = campaign("camp_1", "rust");
    with_file["attachments"] = json!([{"name": "cv.txt", "contentType": "text/plain", "path": "cv.txt"}]);
    let mut acme = organization();
    acme["campaigns"] = json!([with_file]);
    installation.apply(&document(acme));
    let service = installation.serve();
    // The database with its log and shared memory, an attachment, and the folders on the way.
    assert_private(&data, 8);
    drop(service);
}

#[test]
fn an_older_versions_database_loses_other_peoples_rights() {
    let installation = Installation::new(Kind::Sqlite);
    installation.run(&["migrate"]).expect(0);
    let file = installation.folder().join("bidloop.db");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    installation.run(&["activity"]).expect(0);
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_demos_folder_is_its_owners() {
    let mut installation = Installation::new(Kind::Sqlite);
    installation.set_umask(0o000);
    let data = installation.folder().join("demo");
    let listen = free_address().to_string();
    let folder = data.display().to_string();
    let arguments = ["demo", "--data-dir", &folder, "--listen", &listen, "--for", "1"];
    installation.run(&arguments).expect(0);
    assert_private(&data, 4);
}
