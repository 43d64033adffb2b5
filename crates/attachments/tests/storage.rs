//! The storage as the service uses it: a folder in a temporary place, a bucket of a fake S3 on the loopback.

#![expect(clippy::unwrap_used, reason = "test code")]

mod contracts;
mod fake_s3;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bidloop_attachments::{StorageSettings, StorageSettingsError};
use bidloop_domain::port::{BlobError, BlobPath, BlobStore};
use bytes::Bytes;
use futures::StreamExt;
use futures::future::join_all;
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;

use fake_s3::FakeS3;

const NO_VARIABLES: [(String, String); 0] = [];

fn parse(
    url: &str,
    aws_variables: impl IntoIterator<Item = (String, String)>,
) -> Result<StorageSettings, StorageSettingsError> {
    let tls = ClientConfig::builder()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    StorageSettings::parse(url, aws_variables, Arc::new(tls))
}

async fn open_folder(folder: &Path) -> Arc<dyn BlobStore> {
    StorageSettings::folder(folder).open().await.unwrap()
}

async fn open_bucket(s3: &FakeS3, url: &str) -> Arc<dyn BlobStore> {
    parse(url, s3.variables()).unwrap().open().await.unwrap()
}

fn path(text: &str) -> BlobPath {
    BlobPath::parse(text).unwrap()
}

/// Bytes of which no two stretches are alike.
fn content(length: usize) -> Vec<u8> {
    (0..length)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0])
        .collect()
}

async fn store(storage: &Arc<dyn BlobStore>, at: &str, content: &[u8]) -> Result<(), BlobError> {
    let mut staged = storage.stage().await?;
    for piece in content.chunks(60_000) {
        staged.write(Bytes::copy_from_slice(piece)).await?;
    }
    staged.publish(&path(at)).await
}

async fn load(storage: &Arc<dyn BlobStore>, at: &str) -> Result<Vec<u8>, BlobError> {
    let mut pieces = storage.read(&path(at)).await?;
    let mut content = Vec::new();
    while let Some(piece) = pieces.next().await {
        content.extend_from_slice(&piece?);
    }
    Ok(content)
}

/// Every file below a folder, the staging folder's among them.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            files.extend(files_below(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files
}

#[tokio::test]
async fn a_folder_is_made_and_keeps_what_is_published_across_openings() {
    let temporary = TempDir::new().unwrap();
    let folder = temporary.path().join("not/yet/there");
    let storage = open_folder(&folder).await;
    for (at, length) in [
        ("a", 0),
        ("leads/ld_1/a.pdf", 1),
        ("leads/ld_1/b.pdf", 300_000),
        ("c/d/e/f.zip", 9_000_000),
    ] {
        store(&storage, at, &content(length)).await.unwrap();
    }
    let reopened = open_folder(&folder).await;
    for (at, length) in [
        ("a", 0),
        ("leads/ld_1/a.pdf", 1),
        ("leads/ld_1/b.pdf", 300_000),
        ("c/d/e/f.zip", 9_000_000),
    ] {
        assert!(load(&reopened, at).await.unwrap() == content(length), "{at}");
    }
    assert_eq!(files_below(&folder).len(), 4);
}

#[tokio::test]
async fn a_folder_may_be_written_as_an_absolute_url() {
    let temporary = TempDir::new().unwrap();
    let url = format!("file://{}", temporary.path().display());
    let storage = parse(&url, NO_VARIABLES).unwrap().open().await.unwrap();
    store(&storage, "a.txt", b"text").await.unwrap();
    assert_eq!(fs::read(temporary.path().join("a.txt")).unwrap(), b"text");
}

#[tokio::test]
async fn content_is_visible_once_published_and_removed_if_dropped_before() {
    let temporary = TempDir::new().unwrap();
    let storage = open_folder(temporary.path()).await;
    let mut staged = storage.stage().await.unwrap();
    staged.write(Bytes::from(content(1_000_000))).await.unwrap();
    assert_eq!(load(&storage, "a.pdf").await, Err(BlobError::NotFound));
    drop(staged);
    assert_eq!(files_below(temporary.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn publishing_replaces_what_was_there() {
    let temporary = TempDir::new().unwrap();
    let storage = open_folder(temporary.path()).await;
    store(&storage, "leads/a.pdf", b"the first, longer text")
        .await
        .unwrap();
    store(&storage, "leads/a.pdf", b"the second").await.unwrap();
    assert_eq!(load(&storage, "leads/a.pdf").await.unwrap(), b"the second");
}

#[tokio::test]
async fn a_reader_keeps_the_content_that_it_began_with() {
    let temporary = TempDir::new().unwrap();
    let storage = open_folder(temporary.path()).await;
    store(&storage, "a.pdf", &content(500_000)).await.unwrap();
    let mut pieces = storage.read(&path("a.pdf")).await.unwrap();
    let mut read = pieces.next().await.unwrap().unwrap().to_vec();
    store(&storage, "a.pdf", b"other").await.unwrap();
    storage.delete(&path("a.pdf")).await.unwrap();
    while let Some(piece) = pieces.next().await {
        read.extend_from_slice(&piece.unwrap());
    }
    assert!(read == content(500_000));
}

#[tokio::test]
async fn deleting_removes_the_blob_and_its_empty_folders_and_may_be_repeated() {
    let temporary = TempDir::new().unwrap();
    let storage = open_folder(temporary.path()).await;
    store(&storage, "leads/ld_1/a.pdf", b"a").await.unwrap();
    store(&storage, "leads/ld_2/a.pdf", b"a").await.unwrap();
    for _ in 0..2 {
        storage.delete(&path("leads/ld_1/a.pdf")).await.unwrap();
    }
    assert_eq!(load(&storage, "leads/ld_1/a.pdf").await, Err(BlobError::NotFound));
    assert!(!temporary.path().join("leads/ld_1").exists());
    assert_eq!(load(&storage, "leads/ld_2/a.pdf").await.unwrap(), b"a");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishing_into_a_folder_that_is_being_emptied_succeeds() {
    let temporary = TempDir::new().unwrap();
    let storage = open_folder(temporary.path()).await;
    let tasks: Vec<_> = (0..8)
        .map(|n| {
            let storage = Arc::clone(&storage);
            tokio::spawn(async move {
                let at = format!("one/folder/{n}");
                for _ in 0..20 {
                    store(&storage, &at, b"x").await.unwrap();
                    storage.delete(&path(&at)).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(files_below(temporary.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn opening_removes_staging_files_that_a_crash_left_an_hour_ago() {
    let temporary = TempDir::new().unwrap();
    drop(open_folder(temporary.path()).await);
    let staging = temporary.path().join(".staging");
    let leave = |name: &str, age: Duration| {
        let file = fs::File::create(staging.join(name)).unwrap();
        let now = file.metadata().unwrap().modified().unwrap();
        file.set_modified(now - age).unwrap();
    };
    leave("upload-old", Duration::from_secs(61 * 60));
    leave("upload-young", Duration::from_secs(59 * 60));
    drop(open_folder(temporary.path()).await);
    assert_eq!(files_below(temporary.path()), [staging.join("upload-young")]);
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let temporary = TempDir::new().unwrap();
    let file = temporary.path().join("file");
    fs::write(&file, b"").unwrap();
    let refused = StorageSettings::folder(&file).open().await.unwrap_err();
    assert_eq!(refused.folder, file.display().to_string());
}

#[tokio::test]
async fn a_folder_that_is_gone_makes_the_storage_unavailable() {
    let temporary = TempDir::new().unwrap();
    let folder = temporary.path().join("attachments");
    let storage = open_folder(&folder).await;
    fs::remove_dir_all(&folder).unwrap();
    assert!(matches!(
        store(&storage, "a", b"a").await,
        Err(BlobError::Unavailable(_))
    ));
}

#[tokio::test]
async fn a_bucket_keeps_a_small_file_under_its_prefix_with_one_signed_request() {
    let s3 = FakeS3::start().await;
    let storage = open_bucket(&s3, "s3://files/some/prefix/").await;
    store(&storage, "leads/ld_1/a.pdf", &content(5 * 1024 * 1024 - 1))
        .await
        .unwrap();
    assert_eq!(s3.requests(), ["PUT /files/some/prefix/leads/ld_1/a.pdf"]);
    assert!(load(&storage, "leads/ld_1/a.pdf").await.unwrap() == content(5 * 1024 * 1024 - 1));
    for _ in 0..2 {
        storage.delete(&path("leads/ld_1/a.pdf")).await.unwrap();
    }
    assert_eq!(load(&storage, "leads/ld_1/a.pdf").await, Err(BlobError::NotFound));
    assert_eq!(s3.unsigned_requests(), 0);
}

#[tokio::test]
async fn a_large_file_goes_up_in_parts_and_is_visible_when_it_is_whole() {
    const MIB: usize = 1024 * 1024;
    let s3 = FakeS3::start().await;
    let storage = open_bucket(&s3, "s3://files").await;
    store(&storage, "a.zip", &content(12 * MIB + 5)).await.unwrap();
    assert_eq!(s3.part_lengths(), [5 * MIB, 5 * MIB, 2 * MIB + 5]);
    assert!(load(&storage, "a.zip").await.unwrap() == content(12 * MIB + 5));
}

/// Each has two parts in memory.
#[tokio::test]
async fn large_files_take_turns_however_many_are_published_at_once() {
    let s3 = FakeS3::start().await;
    let storage = open_bucket(&s3, "s3://files").await;
    let large = content(11_000_000);
    let names: Vec<String> = (0..6).map(|number| format!("{number}.zip")).collect();
    let stored = names.iter().map(|name| store(&storage, name, &large));
    for stored in join_all(stored).await {
        stored.unwrap();
    }
    assert_eq!(s3.most_uploads(), 2);
    for name in &names {
        assert!(load(&storage, name).await.unwrap() == large, "{name}");
    }
}

#[tokio::test]
async fn an_upload_that_breaks_off_is_aborted_and_leaves_nothing() {
    let s3 = FakeS3::start().await;
    s3.refuse_part(2);
    let storage = open_bucket(&s3, "s3://files").await;
    let stored = store(&storage, "a.zip", &content(11_000_000)).await;
    assert!(matches!(stored, Err(BlobError::Unavailable(_))), "{stored:?}");
    assert_eq!(s3.open_uploads(), 0);
    assert_eq!(load(&storage, "a.zip").await, Err(BlobError::NotFound));
}

#[tokio::test]
async fn content_that_is_dropped_unpublished_never_reaches_the_bucket() {
    let s3 = FakeS3::start().await;
    let storage = open_bucket(&s3, "s3://files").await;
    let mut staged = storage.stage().await.unwrap();
    staged.write(Bytes::from(content(6_000_000))).await.unwrap();
    drop(staged);
    assert_eq!(s3.requests(), Vec::<String>::new());
}

/// A wrong setting must not look like lost files, or like files that are deleted already.
#[tokio::test]
async fn a_bucket_that_is_not_there_makes_the_storage_unavailable_and_no_file_look_absent() {
    let s3 = FakeS3::start().await;
    let elsewhere = open_bucket(&s3, "s3://no-such-bucket").await;
    let answers = [
        store(&elsewhere, "a", b"a").await.err(),
        load(&elsewhere, "a").await.err(),
        elsewhere.delete(&path("a")).await.err(),
        elsewhere.list(&path("a")).next().await.and_then(Result::err),
    ];
    for answer in answers {
        let Some(BlobError::Unavailable(why)) = answer else {
            panic!("{answer:?}");
        };
        assert!(why.starts_with("there is no such bucket: create it"), "{why}");
    }
}

fn variables<'v>(set: &'v [(&str, &str)]) -> impl Iterator<Item = (String, String)> + 'v {
    set.iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
}

#[test]
fn a_plain_connection_needs_the_permission_of_a_variable() {
    for name in ["AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"] {
        let set = [
            (name, "http://storage.test:9000"),
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "s3cret"),
        ];
        let refused = parse("s3://files", variables(&set)).unwrap_err();
        assert_eq!(refused, StorageSettingsError::PlainEndpoint);
        assert!(refused.to_string().contains("AWS_ALLOW_HTTP=true"), "{refused}");
        for permission in ["true", "1", "Yes"] {
            let allowed = [set.as_slice(), &[("AWS_ALLOW_HTTP", permission)]].concat();
            assert!(parse("s3://files", variables(&allowed)).is_ok(), "{permission}");
        }
    }
    for endpoint in ["storage.test", "ftp://storage.test", "http//x"] {
        let refused = parse("s3://files", variables(&[("AWS_ENDPOINT_URL", endpoint)])).unwrap_err();
        assert_eq!(refused, StorageSettingsError::Endpoint, "{endpoint}");
    }
}

#[test]
fn another_storage_needs_credentials_and_a_machine_at_aws_is_asked_for_its_own() {
    let elsewhere = ("AWS_ENDPOINT_URL", "https://storage.test");
    let refused = parse("s3://files", variables(&[elsewhere])).unwrap_err();
    assert_eq!(refused, StorageSettingsError::NoCredentials);
    let unsigned = [elsewhere, ("AWS_SKIP_SIGNATURE", "true")];
    assert_eq!(parse("s3://files", variables(&unsigned)).unwrap().warning(), None);
    for set in [
        &[][..],
        &[(
            "AWS_ENDPOINT_URL",
            "https://vpce-1.s3.eu-central-1.vpce.amazonaws.com",
        )],
    ] {
        let warning = parse("s3://files", variables(set)).unwrap().warning();
        assert!(warning.is_some_and(|warning| warning.contains("metadata service")));
    }
    let role = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token"),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/x"),
    ];
    assert_eq!(parse("s3://files", variables(&role)).unwrap().warning(), None);
    assert_eq!(parse("file:data", NO_VARIABLES).unwrap().warning(), None);
}

#[test]
fn half_a_credential_is_refused_before_anything_is_opened() {
    let variables =
        [("AWS_SECRET_ACCESS_KEY", "secret"), ("PATH", "/bin")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    let refused = parse("s3://files", variables).unwrap_err();
    assert!(matches!(refused, StorageSettingsError::Bucket(_)), "{refused}");
    let refused = parse("ftp://files", NO_VARIABLES).unwrap_err();
    assert!(matches!(refused, StorageSettingsError::Url(_)), "{refused}");
}

#[test]
fn settings_of_a_bucket_print_no_credential() {
    let variables = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "s3cret")]
        .map(|(k, v)| (k.to_owned(), v.to_owned()));
    let settings = parse("s3://files", variables).unwrap();
    assert!(!format!("{settings:?}").contains("s3cret"));
}

#[test]
fn settings_of_a_folder_touch_no_disk() {
    let temporary = TempDir::new().unwrap();
    let absent = temporary.path().join("absent");
    parse(&format!("file:{}", absent.display()), NO_VARIABLES).unwrap();
    assert!(!absent.exists());
}
