//! The target, with its books, and the keeper of the secret.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_engine::target::{Answer, Body, CallError, Outgoing, Target};
use rustix::fs::{CWD, FileType, Mode};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;

use crate::hooks::{Ask, Hooks, Moment, Site, Verdict};

/// How the shop answers a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Kind,
    /// The first call is done, and answered with 500.
    DoneThenFails,
    /// The first call is not done, and answered with 500.
    FailsOnce,
}

/// What really happened.
pub(crate) struct Books {
    pub(crate) mood: Mood,
    pub(crate) effects: BTreeMap<String, u32>,
    pub(crate) calls: u32,
    /// How long the world has lasted.
    pub(crate) now: Duration,
    keeps_keys: bool,
    /// When a key was first seen, where keys are kept.
    seen: BTreeMap<String, Duration>,
}

/// How long keys are kept, where they are.
pub(crate) const KEPT: Duration = Duration::from_mins(40);

/// The shop outlives every life of the engine.
#[derive(Clone)]
pub(crate) struct Shop(Arc<Mutex<Books>>);

impl Shop {
    pub(crate) fn new(mood: Mood, keeps_keys: bool) -> Self {
        Self(Arc::new(Mutex::new(Books {
            mood,
            effects: BTreeMap::new(),
            calls: 0,
            now: Duration::ZERO,
            keeps_keys,
            seen: BTreeMap::new(),
        })))
    }

    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    /// Whether this key is kept from an earlier request that was done.
    fn knows(&mut self, key: &str) -> bool {
        let now = self.now;
        let first = *self.seen.entry(key.to_owned()).or_insert(now);
        if KEPT <= now.saturating_sub(first) {
            self.seen.insert(key.to_owned(), now);
            return false;
        }
        self.keeps_keys && self.effects.contains_key(key)
    }
}

/// The way from one life of the engine to the shop.
pub(crate) struct Way {
    pub(crate) shop: Shop,
    pub(crate) hooks: Hooks,
}

fn answer(status: u16, body: &serde_json::Value) -> Answer {
    let body = Body::Whole(body.to_string().into_bytes());
    Answer {
        status,
        etag: None,
        body,
    }
}

#[async_trait]
impl Target for Way {
    async fn call(&self, outgoing: Outgoing) -> Result<Answer, CallError> {
        if outgoing.method == "POST" {
            return self.refund(&outgoing).await;
        }
        let key = outgoing.url.split("key=").nth(1);
        let ask = if key.is_some() {
            Ask::Check
        } else {
            Ask::State
        };
        let down = || Ok(answer(503, &json!(null)));
        if self.hooks.at_target(ask, Moment::Before).await == Verdict::Fail {
            return down();
        }
        let body = match key {
            Some(key) => {
                let count = self.shop.books().effects.get(key).copied().unwrap_or(0);
                json!({ "refunds": vec![key; count as usize] })
            }
            None => json!({ "status": "paid" }),
        };
        if self.hooks.at_target(ask, Moment::Answered).await == Verdict::Fail {
            return down();
        }
        Ok(answer(200, &body))
    }
}

impl Way {
    async fn refund(&self, outgoing: &Outgoing) -> Result<Answer, CallError> {
        let fails =
            |moment| async move { self.hooks.at_target(Ask::Call, moment).await == Verdict::Fail };
        let lost = |text: &str| CallError::Unknown(text.to_owned());
        let begun = self.shop.books().now;
        // Nothing leaves after the time that the call was given.
        let is_over = || outgoing.timeout <= self.shop.books().now.saturating_sub(begun);
        if fails(Moment::Before).await || is_over() {
            return Err(CallError::NotDelivered("no such name".to_owned()));
        }
        if fails(Moment::Connect).await || is_over() {
            return Err(CallError::NotDelivered("refused".to_owned()));
        }
        if fails(Moment::FirstByte).await || is_over() {
            return Err(lost("reset in the request"));
        }
        let failed = self.perform(outgoing);
        for moment in [
            Moment::LastByte,
            Moment::FirstAnswerByte,
            Moment::LastAnswerByte,
        ] {
            if fails(moment).await {
                return Err(lost("reset in the answer"));
            }
        }
        if fails(Moment::Answered).await {
            return Ok(answer(200, &json!("nothing of the kind")));
        }
        if failed {
            return Ok(answer(500, &json!(null)));
        }
        Ok(answer(201, &json!({ "id": "re_1" })))
    }

    /// Takes the whole request; whether it is answered with 500. Every request that is done counts,
    /// unless its key is kept from an earlier one.
    fn perform(&self, outgoing: &Outgoing) -> bool {
        let mut books = self.shop.books();
        books.calls += 1;
        let headers = &outgoing.headers;
        let key = headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("idempotency-key"))
            .map_or("", |(_, key)| key.trim_matches('"'))
            .to_owned();
        let mood = if books.calls == 1 {
            books.mood
        } else {
            Mood::Kind
        };
        let is_known = books.knows(&key);
        if mood != Mood::FailsOnce && !is_known {
            *books.effects.entry(key).or_default() += 1;
        }
        mood != Mood::Kind
    }
}

/// A secret that is handed out through a pipe, so that its reading can be seen.
pub(crate) struct Secret {
    _folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

impl Secret {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .expect("a pipe");
        Self {
            _folder: folder,
            path,
        }
    }
}

/// Hands the secret to everybody who opens the pipe, until it is aborted.
pub(crate) async fn keep(path: PathBuf, hooks: Hooks) {
    loop {
        // There is somebody to write to once somebody reads.
        let Ok(mut reader) = pipe::OpenOptions::new().open_sender(&path) else {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
        if hooks.at(Site::Secret).await == Verdict::Go {
            // Fails where the reader is gone.
            let _gone = reader.write_all(b"token-of-the-shop\n").await;
        }
        drop(reader);
        // Until that reader has seen the end and closed it.
        while pipe::OpenOptions::new().open_sender(&path).is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
