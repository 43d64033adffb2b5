//! The order of reading, planning, copying and committing; all or nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::executor::block_on;
use futures::stream::{self, BoxStream};
use serde_json::{Value, json};

use super::*;
use crate::model::{ApiKey, ApiKeyHash, CampaignId, EndpointId, OrganizationId, Timestamp};
use crate::port::{
    AttachmentPieces, AttachmentSourceError, BlobPath, ByPerson, ProvisioningChange, ProvisioningSnapshot,
    Revision, StagedBlob, WebhookUrl,
};
use crate::provisioning::tests::world::{BraceChecker, CountingIds, SaltingHasher, World};

#[derive(Debug, Default)]
struct Store {
    world: Mutex<World>,
    revision: Mutex<i64>,
    /// Changes by others that are still to come between a snapshot and its commit.
    interruptions: Mutex<u32>,
    commits: Mutex<u32>,
}

#[async_trait]
impl ProvisioningStore for Store {
    async fn snapshot(
        &self,
        organizations: &[OrganizationId],
        key_hashes: &[ApiKeyHash],
    ) -> Result<ProvisioningSnapshot, StoreError> {
        let snapshot = self.world.lock().unwrap().snapshot(organizations, key_hashes);
        let revision = Revision(*self.revision.lock().unwrap());
        Ok(ProvisioningSnapshot { revision, ..snapshot })
    }

    async fn people(&self, keys: &[EmailKey]) -> Result<Vec<StoredPerson>, StoreError> {
        Ok(self.world.lock().unwrap().people(keys))
    }

    async fn webhook_urls(
        &self,
        _after: Option<&(OrganizationId, EndpointId)>,
        _limit: u32,
    ) -> Result<Vec<WebhookUrl>, StoreError> {
        Ok(Vec::new())
    }

    async fn commit_by(
        &self,
        expected: Revision,
        changes: &[ProvisioningChange],
        _person: Option<&ByPerson>,
        _at: Timestamp,
    ) -> Result<CommitProvisioning, StoreError> {
        let mut revision = self.revision.lock().unwrap();
        let mut interruptions = self.interruptions.lock().unwrap();
        if *interruptions > 0 {
            *interruptions -= 1;
            *revision += 1;
        }
        if expected.0 != *revision {
            return Ok(CommitProvisioning::RevisionMoved);
        }
        *revision += 1;
        *self.commits.lock().unwrap() += 1;
        let mut world = self.world.lock().unwrap();
        for change in changes {
            world.carry_out(change);
        }
        Ok(CommitProvisioning::Committed)
    }

    async fn has_history(&self, _: &OrganizationId, _: &CampaignId) -> Result<bool, StoreError> {
        Ok(false)
    }
}

#[derive(Debug, Clone, Default)]
struct Blobs(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

#[derive(Debug)]
struct Staged(Blobs, Vec<u8>);

#[async_trait]
impl BlobStore for Blobs {
    async fn stage(&self) -> Result<Box<dyn StagedBlob>, BlobError> {
        Ok(Box::new(Staged(self.clone(), Vec::new())))
    }

    async fn read(&self, _: &BlobPath) -> Result<BoxStream<'static, Result<Bytes, BlobError>>, BlobError> {
        Err(BlobError::NotFound)
    }

    async fn delete(&self, _: &BlobPath) -> Result<(), BlobError> {
        Ok(())
    }

    fn list(&self, _: &BlobPath) -> BoxStream<'static, Result<BlobPath, BlobError>> {
        stream::empty().boxed()
    }
}

#[async_trait]
impl StagedBlob for Staged {
    async fn write(&mut self, piece: Bytes) -> Result<(), BlobError> {
        self.1.extend_from_slice(&piece);
        Ok(())
    }

    async fn publish(self: Box<Self>, path: &BlobPath) -> Result<(), BlobError> {
        self.0.0.lock().unwrap().insert(path.as_str().to_owned(), self.1);
        Ok(())
    }
}

/// Files by path, each a list of what successive readings find.
#[derive(Debug, Default)]
struct Files(Mutex<BTreeMap<String, Vec<Vec<u8>>>>);

impl Files {
    fn with(files: &[(&str, &[&[u8]])]) -> Self {
        let files = files.iter().map(|(path, readings)| {
            (
                (*path).to_owned(),
                readings.iter().rev().map(|content| content.to_vec()).collect(),
            )
        });
        Self(Mutex::new(files.collect()))
    }
}

#[async_trait]
impl AttachmentSource for Files {
    async fn open(&self, path: &str) -> Result<AttachmentPieces, AttachmentSourceError> {
        let mut files = self.0.lock().unwrap();
        let readings = files.get_mut(path).ok_or(AttachmentSourceError::NotFound)?;
        let content = if readings.len() > 1 {
            readings.pop()
        } else {
            readings.last().cloned()
        };
        let pieces: Vec<_> = content
            .unwrap()
            .chunks(7)
            .map(|piece| Ok(Bytes::copy_from_slice(piece)))
            .collect();
        Ok(stream::iter(pieces).boxed())
    }
}

#[derive(Debug)]
struct At(Timestamp);

impl Clock for At {
    fn now(&self) -> Timestamp {
        self.0
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// Counts how often was waited.
#[derive(Debug, Default)]
struct Pauses(AtomicUsize);

#[async_trait]
impl Pause for Pauses {
    async fn pause(&self, _: Duration) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Debug, Default)]
struct Woken(Mutex<Vec<WorkKind>>);

impl WorkSignal for Woken {
    fn wake(&self, kind: WorkKind) {
        self.0.lock().unwrap().push(kind);
    }
}

struct Setting {
    store: Arc<Store>,
    blobs: Blobs,
    woken: Arc<Woken>,
    pauses: Arc<Pauses>,
    apply: ApplyProvisioning,
}

impl Setting {
    fn new() -> Self {
        let (store, blobs, woken) = (
            Arc::new(Store::default()),
            Blobs::default(),
            Arc::new(Woken::default()),
        );
        let pauses = Arc::new(Pauses::default());
        let apply = ApplyProvisioning {
            store: store.clone(),
            blobs: Arc::new(blobs.clone()),
            templates: Arc::new(BraceChecker),
            passwords: Arc::new(SaltingHasher::default()),
            clock: Arc::new(At(Timestamp::from_seconds(1_790_000_000))),
            entropy: Arc::new(CountingIds::default()),
            signal: woken.clone(),
            pause: pauses.clone(),
        };
        Self {
            store,
            blobs,
            woken,
            pauses,
            apply,
        }
    }

    fn apply(&self, file: &Value, files: &Files) -> Result<ProvisioningReport, Vec<String>> {
        block_on(self.apply.execute(file, files))
            .map_err(|error| error.to_string().lines().map(str::to_owned).collect())
    }

    fn blob_paths(&self) -> Vec<String> {
        self.blobs.0.lock().unwrap().keys().cloned().collect()
    }
}

fn file(attachments: &Value) -> Value {
    json!({"organizations": [{"id": "o", "name": "O",
        "subscription": {"status": "active", "currentPeriodStart": 1, "currentPeriodEnd": 2, "proposalLimit": 1},
        "apiKeys": [{"id": "k"}],
        "campaigns": [{"id": "c", "name": "C", "mode": "automatic", "attachments": attachments}]}]})
}

fn attachment(name: &str, path: &str) -> Value {
    json!({"name": name, "contentType": "text/plain", "path": path})
}

const SHA_OF_HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

#[test]
fn attachments_are_copied_to_where_their_content_says_and_applying_twice_changes_nothing() {
    let setting = Setting::new();
    let files = Files::with(&[("files/a.txt", &[b"hello"]), ("files/b.txt", &[b"hello"])]);
    let file = file(&json!([
        attachment("a.txt", "files/a.txt"),
        attachment("b.txt", "files/b.txt")
    ]));
    let report = setting.apply(&file, &files).unwrap();
    assert_eq!(report.created.len(), 3);
    assert_eq!(setting.blob_paths(), [format!("campaigns/o/{SHA_OF_HELLO}")]);
    {
        let world = setting.store.world.lock().unwrap();
        let stored = &world.organizations[0].campaigns[0].attachments;
        assert_eq!(stored[0].blob.sha256, SHA_OF_HELLO);
        assert_eq!((stored[0].blob.size_bytes, stored.len()), (5, 2));
    }
    let again = setting.apply(&file, &files).unwrap();
    assert_eq!(
        (again.changed.len(), again.unchanged, again.secrets.len()),
        (0, 3, 0)
    );
    assert_eq!(
        *setting.store.commits.lock().unwrap(),
        1,
        "nothing to commit the second time"
    );
    assert_eq!(*setting.woken.0.lock().unwrap(), [WorkKind::Backfills]);
}

/// Decision D7: when the file is reported as applied, no process accepts a key on what it read before it was so, whoever
/// made it so.
#[test]
fn what_ends_access_is_reported_when_no_key_is_accepted_any_more() {
    let setting = Setting::new();
    let files = Files::with(&[]);
    let mut file = file(&json!([]));
    let mut waited_after = |path: &str, value: Value| {
        *file.pointer_mut(path).unwrap() = value;
        let before = setting.pauses.0.load(Ordering::SeqCst);
        setting.apply(&file, &files).unwrap();
        setting.pauses.0.load(Ordering::SeqCst) - before
    };
    assert_eq!(waited_after("/organizations/0/name", json!("O")), 0, "all is new");
    let status = "/organizations/0/subscription/status";
    assert_eq!(waited_after(status, json!("past_due")), 1);
    assert_eq!(
        waited_after(status, json!("past_due")),
        1,
        "another command may have just ended it"
    );
    assert_eq!(waited_after(status, json!("canceled")), 1);
    assert_eq!(waited_after(status, json!("active")), 0);
    assert_eq!(waited_after("/organizations/0/name", json!("Other")), 0);
    let keys = "/organizations/0/apiKeys";
    assert_eq!(waited_after(keys, json!([{"id": "k_new"}])), 0);
    assert_eq!(
        waited_after(keys, json!([{"id": "k", "name": "Other"}])),
        1,
        "Activity names it"
    );
    let another = ApiKey::from_random([9; 32]);
    let another = json!([{"id": "k", "key": another.expose()}]);
    assert_eq!(waited_after(keys, another), 1);
    assert_eq!(waited_after(keys, json!([{"id": "k", "state": "absent"}])), 1);
}

#[test]
fn an_end_of_access_that_another_command_made_is_waited_for_beside_other_changes() {
    let setting = Setting::new();
    let files = Files::with(&[]);
    let mut file = file(&json!([]));
    let other = json!({"id": "p", "name": "P", "apiKeys": []});
    file["organizations"].as_array_mut().unwrap().push(other);
    let mut names = 0;
    let mut waited_with = |path: &str, value: Value| {
        *file.pointer_mut(path).unwrap() = value;
        setting.apply(&file, &files).unwrap();
        names += 1;
        file["organizations"][0]["name"] = json!(format!("Name {names}"));
        let before = setting.pauses.0.load(Ordering::SeqCst);
        let report = setting.apply(&file, &files).unwrap();
        assert_eq!(report.changed.len(), 1, "{report:?}");
        setting.pauses.0.load(Ordering::SeqCst) - before
    };
    let keys = "/organizations/0/apiKeys";
    let key = |random| json!([{"id": "k", "key": ApiKey::from_random([random; 32]).expose()}]);
    assert_eq!(waited_with(keys, json!([{"id": "k"}])), 0);
    assert_eq!(
        waited_with(keys, key(7)),
        1,
        "it may have just replaced another one"
    );
    assert_eq!(waited_with(keys, json!([{"id": "k", "state": "absent"}])), 1);
    assert_eq!(waited_with(keys, json!([])), 0);
    let removed = json!({"id": "p", "state": "absent"});
    assert_eq!(waited_with("/organizations/1", removed), 1);
}

#[test]
fn changed_content_changes_the_campaign() {
    let setting = Setting::new();
    let file = file(&json!([attachment("a.txt", "a")]));
    setting.apply(&file, &Files::with(&[("a", &[b"one"])])).unwrap();
    let report = setting.apply(&file, &Files::with(&[("a", &[b"two"])])).unwrap();
    assert_eq!(report.changed.len(), 1);
    assert_eq!(setting.blob_paths().len(), 2);
}

#[test]
fn a_missing_or_faulty_file_is_a_fault_beside_all_others_and_nothing_is_kept() {
    let setting = Setting::new();
    let files = Files::with(&[
        ("good", &[b"hello"]),
        ("empty", &[b""]),
        ("pdf", &[b"%PDF-1.7 ..."]),
    ]);
    let mut file = file(&json!([
        attachment("good.txt", "good"),
        attachment("missing.txt", "missing"),
        attachment("empty.txt", "empty"),
        attachment("really.txt", "pdf"),
    ]));
    file["organizations"][0]["campaigns"][0]["mode"] = json!("manual");
    let lines = setting.apply(&file, &files).unwrap_err();
    assert_eq!(
        lines,
        [
            "organizations[0].campaigns[0].attachments[1].path: \"missing\": there is no such file",
            "organizations[0].campaigns[0].attachments[2].path: \"empty.txt\" is empty: send a file with content",
            "organizations[0].campaigns[0].attachments[3].path: \"really.txt\" is declared as text/plain, but its content is application/pdf: type, name and content must agree",
            "organizations[0].campaigns[0].mode: must be one of \"automatic\", \"external\", not \"manual\"",
        ]
    );
    assert!(setting.blob_paths().is_empty());
    assert_eq!(*setting.store.commits.lock().unwrap(), 0);
    assert!(setting.woken.0.lock().unwrap().is_empty());
}

#[test]
fn a_file_that_changes_between_judging_and_copying_is_a_fault() {
    let setting = Setting::new();
    let files = Files::with(&[("a", &[b"one", b"two"])]);
    assert_eq!(
        setting
            .apply(&file(&json!([attachment("a.txt", "a")])), &files)
            .unwrap_err(),
        [
            "organizations[0].campaigns[0].attachments[0].path: the file changed while it was read: apply again"
        ]
    );
    assert!(setting.blob_paths().is_empty());
    assert!(setting.store.world.lock().unwrap().organizations.is_empty());
}

#[test]
fn the_attachments_of_a_campaign_that_leaves_are_not_read() {
    let setting = Setting::new();
    let mut file = file(&json!([attachment("a.txt", "missing")]));
    file["organizations"][0]["campaigns"][0]["state"] = json!("absent");
    assert!(setting.apply(&file, &Files::default()).is_ok());
}

#[test]
fn a_plan_is_made_anew_when_the_store_moved_and_tells_only_the_committed_secrets() {
    let setting = Setting::new();
    *setting.store.interruptions.lock().unwrap() = 3;
    let report = setting.apply(&file(&json!([])), &Files::default()).unwrap();
    let world = setting.store.world.lock().unwrap();
    let key = crate::model::ApiKey::parse(report.secrets[0].value.expose()).unwrap();
    assert_eq!(report.secrets.len(), 1);
    assert_eq!(world.organizations[0].api_keys[0].1, key.hash());
}

#[test]
fn planning_anew_comes_to_an_end() {
    let setting = Setting::new();
    *setting.store.interruptions.lock().unwrap() = u32::MAX;
    let error = block_on(setting.apply.execute(&file(&json!([])), &Files::default())).unwrap_err();
    assert_eq!(error, ApplyProvisioningError::Contended);
    assert!(setting.store.world.lock().unwrap().organizations.is_empty());
}
