//! Which version of a secret a call was sent with (invariant I16).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use holdpoint_engine::action::{Action, ActionId, AttemptResult, SecretVersion, Status};
use holdpoint_engine::engine::{Engine, Options};
use holdpoint_storage::{AppendError, Appended, Batch, EventLog, MemoryLog, forward_reads};
use serde_json::{Value, json};

use crate::world::{Scene, Shop, alice, auditor, open_with};

/// A log that rotates the secret while the first commit record is on its way to the disk.
struct Meddling {
    inner: MemoryLog,
    secret: PathBuf,
    commits: AtomicUsize,
    /// How many of the first commits it meddles with.
    meddles: usize,
}

#[async_trait]
impl EventLog for Meddling {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        let mut records = batch.streams.iter().flat_map(|stream| &stream.records);
        if records.any(|record| record.kind == "action.commit_recorded") {
            let number = self.commits.fetch_add(1, Ordering::SeqCst);
            if number < self.meddles {
                rotate(&self.secret, &format!("canary-{number}"));
            }
        }
        self.inner.append(batch).await
    }

    forward_reads!(self => self.inner);

    async fn close(&self) {
        self.inner.close().await;
    }
}

/// Puts another file in its place, as rotations do.
fn rotate(secret: &PathBuf, value: &str) {
    let new = secret.with_extension("new");
    std::fs::write(&new, value).expect("written");
    std::fs::rename(new, secret).expect("in its place");
}

struct Stage {
    _folder: tempfile::TempDir,
    secret: PathBuf,
    scene: Scene,
    log: Arc<Meddling>,
}

impl Stage {
    async fn open(meddles: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let secret = folder.path().join("shop.token");
        std::fs::write(&secret, "canary-first").expect("a secret");
        let shop = Shop::open().await;
        let base = format!("http://{}", shop.address);
        let call = json!({
            "http": {
                "post": format!("{base}/refunds"),
                "json": { "amount": "{amount_minor}" },
                "auth": { "bearer": { "file": secret.to_str().expect("a path") } },
            },
            "retry": { "attempts": 3, "backoff": "1ms..5ms" },
        });
        let tools = json!({ "tools": {
            "pay": { "safetyClass": "irreversible", "execute": call },
            "refund": { "safetyClass": "approval-bound", "execute": call },
        } });
        let inner = MemoryLog::new();
        let log = Arc::new(Meddling {
            inner,
            secret: secret.clone(),
            commits: AtomicUsize::new(0),
            meddles,
        });
        let engine = open_with(log.clone(), &tools, None, Options::default()).await;
        let scene = Scene {
            shop,
            engine,
            log: Arc::new(MemoryLog::new()),
            clock: None,
        };
        Self {
            _folder: folder,
            secret,
            scene,
            log,
        }
    }

    /// With which credentials the shop was called.
    fn sent(&self) -> Vec<String> {
        let books = self.scene.shop.books();
        let header = |headers: &axum::http::HeaderMap| {
            let value = headers["authorization"].to_str().expect("text");
            value.trim_start_matches("Bearer ").to_owned()
        };
        let posts = books.posts.iter();
        posts.map(|(headers, _)| header(headers)).collect()
    }
}

fn named(action: &Action) -> Vec<SecretVersion> {
    let attempts = action.attempts.iter();
    attempts
        .map(|attempt| attempt.secret.clone().expect("named"))
        .collect()
}

fn told(engine: &Engine, id: ActionId) -> Vec<Value> {
    let history = engine.history(&auditor(), id, 0, 100).expect("visible");
    let mut entries = history.into_iter();
    let mut told = Vec::new();
    while let Some(entry) = entries.next() {
        if entry.kind == "action.commit_recorded" {
            let next = entries.next().expect("right behind it");
            assert_eq!(next.kind, "action.secret_named");
            told.push(next.data);
        }
    }
    told
}

fn refund() -> Value {
    json!({ "amount_minor": 100 })
}

#[tokio::test(flavor = "multi_thread")]
async fn i16_a_secret_may_be_rotated_while_people_decide_and_the_history_says_which_was_sent() {
    let stage = Stage::open(0).await;
    let scene = &stage.scene;
    let before = scene.submit("pay", refund()).await;
    let before = scene.until(before.action.id, Status::Succeeded).await;
    let staged = scene.submit("refund", refund()).await;
    rotate(&stage.secret, "canary-second");
    scene.approve(&alice(), &staged).await;
    let after = scene.until(staged.action.id, Status::Succeeded).await;
    assert_eq!(stage.sent(), ["canary-first", "canary-second"]);
    let (old, new) = (&named(&before.action)[0], &named(&after.action)[0]);
    assert_eq!(old.name, new.name);
    assert_ne!(old.version, new.version);
    let again = scene.submit("pay", json!({ "amount_minor": 101 })).await;
    let again = scene.until(again.action.id, Status::Succeeded).await;
    assert_eq!(
        named(&again.action)[0],
        *new,
        "the same file, the same version"
    );
    let told = told(&scene.engine, after.action.id);
    assert_eq!(told[0]["version"], new.version.as_str());
    let records = stage.log.read_all(0, 1000).expect("the records");
    for record in records {
        let body = String::from_utf8_lossy(&record.body).into_owned();
        assert!(!body.contains("canary"), "{}: {body}", record.kind);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i16_no_version_is_sent_but_the_one_that_the_commit_record_names() {
    let stage = Stage::open(1).await;
    let scene = &stage.scene;
    let view = scene.submit("pay", refund()).await;
    let ended = scene.until(view.action.id, Status::Succeeded).await;
    let results: Vec<_> = ended
        .action
        .attempts
        .iter()
        .map(|attempt| attempt.result.clone())
        .collect();
    assert_eq!(
        results,
        [Some(AttemptResult::NotDone), Some(AttemptResult::Done)]
    );
    assert_eq!(stage.sent(), ["canary-0"], "once, with what came second");
    let versions = named(&ended.action);
    assert_ne!(versions[0], versions[1]);
    assert_eq!(told(&scene.engine, view.action.id).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn i16_a_secret_that_is_not_there_is_not_sent_and_has_no_version() {
    let stage = Stage::open(0).await;
    std::fs::remove_file(&stage.secret).expect("removed");
    let view = stage.scene.submit("pay", refund()).await;
    let ended = stage.scene.until(view.action.id, Status::Failed).await;
    assert!(ended.action.attempts.iter().all(|one| one.secret.is_none()));
    assert_eq!(stage.sent(), Vec::<String>::new());
}
