//! The credential for the bank, in the place of the file of the tools file (I16, K2).
//!
//! It is rotated now and then. The bank repeats it in answers, in several forms; none of them may become
//! durable or be told to anybody, and each call is sent with the version that its commit record names.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use holdpoint_engine::action::SecretVersion;
use holdpoint_engine::target::{Answer, Body, CallError, Hidden, SecretSource};
use holdpoint_engine::tool::SecretRef;
use holdpoint_storage::{Direction, EventLog, ScanRange};
use serde_json::{Value, json};

use crate::client::escaped;
use crate::dice::Dice;
use crate::watch::Watch;
use crate::weather::{Fault, Weather};
use crate::world::World;

/// What it was so far, the present one last.
pub(crate) struct Safe {
    dice: Dice,
    weather: Arc<Weather>,
    all: Mutex<Vec<String>>,
}

impl Safe {
    pub(crate) fn new(dice: Dice, weather: Arc<Weather>) -> Self {
        let safe = Self {
            dice,
            weather,
            all: Mutex::default(),
        };
        safe.rotate();
        safe
    }

    fn all(&self) -> MutexGuard<'_, Vec<String>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another one takes its place.
    pub(crate) fn rotate(&self) {
        let mut all = self.all();
        let secret = format!("sk/{}+{:016x}", all.len(), self.dice.below(u64::MAX));
        all.push(secret);
    }

    fn version_at(number: usize) -> String {
        format!("7.{number}")
    }

    /// The version of a secret that was sent.
    pub(crate) fn version_of(&self, secret: &str) -> String {
        let place = self.all().iter().position(|known| known == secret);
        place.map_or_else(|| "of no version".to_owned(), Self::version_at)
    }

    /// The form of it that stands in a text, if one does.
    pub(crate) fn found_in(&self, text: &str) -> Option<String> {
        let all = self.all();
        let mut forms = all.iter().flat_map(|secret| forms(secret));
        forms.find(|form| text.contains(form))
    }

    /// The same answer, with what it was asked with.
    pub(crate) fn repeat(
        &self,
        secret: &str,
        seen: Result<Answer, CallError>,
    ) -> Result<Answer, CallError> {
        let forms = forms(secret);
        let form = self.dice.pick(&forms).cloned().unwrap_or_default();
        let words = |message: &str| format!("{message}: we were sent Bearer {form}");
        match seen {
            Ok(answer) => Ok(Answer {
                body: match answer.body {
                    Body::Whole(bytes) => Body::Whole(self.repeat_in(bytes, &form)),
                    Body::Broken(reason) => Body::Broken(words(&reason)),
                },
                ..answer
            }),
            Err(CallError::NotDelivered(message)) => Err(CallError::NotDelivered(words(&message))),
            Err(CallError::Unknown(message)) => Err(CallError::Unknown(words(&message))),
        }
    }

    fn repeat_in(&self, mut bytes: Vec<u8>, form: &str) -> Vec<u8> {
        let Ok(Value::Object(mut body)) = serde_json::from_slice(&bytes) else {
            bytes.extend_from_slice(form.as_bytes());
            return bytes;
        };
        match self.dice.below(4) {
            0 => body.insert("authorization".to_owned(), json!(format!("Bearer {form}"))),
            1 => body.insert(form.to_owned(), json!(1)),
            2 => body.insert("seen".to_owned(), json!([{ "headers": [form, form] }])),
            _ => body.insert(
                "seen".to_owned(),
                json!(json!({ "auth": form }).to_string()),
            ),
        };
        Value::Object(body).to_string().into_bytes()
    }
}

/// The forms in which the bank repeats it.
fn forms(secret: &str) -> [String; 5] {
    [
        secret.to_owned(),
        STANDARD.encode(secret),
        STANDARD_NO_PAD.encode(secret),
        URL_SAFE_NO_PAD.encode(secret),
        escaped(secret),
    ]
}

#[async_trait]
impl SecretSource for Safe {
    async fn read(&self, secret: &SecretRef) -> Result<(Hidden, SecretVersion), String> {
        let version = self.version(secret).await;
        let version = version.ok_or("the secret cannot be read: no such file")?;
        let present = self.all().last().cloned().unwrap_or_default();
        Ok((Hidden::new(present), version))
    }

    async fn version(&self, secret: &SecretRef) -> Option<SecretVersion> {
        if self.weather.strikes(Fault::SecretMissing, &self.dice) {
            return None;
        }
        let number = self.all().len().saturating_sub(1);
        Some(SecretVersion {
            name: secret.name.clone(),
            version: Self::version_at(number),
            changed_at: None,
        })
    }
}

impl World {
    /// Nobody is told the secret.
    pub(crate) fn must_not_tell(&self, text: &str, what: &str) {
        if let Some(form) = self.safe.found_in(text) {
            self.fail(format!("I16: {what} says {form}"));
        }
    }

    /// It stands in no index, and in no record.
    pub(crate) fn must_not_keep(&self) {
        let disk = self.disk();
        let log = disk.durable();
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        for index in 0..=u8::MAX {
            let range = ScanRange::default();
            let entries = log.scan(index, range, usize::MAX, Direction::Forward);
            for (key, value) in entries.unwrap_or_default() {
                self.must_not_tell(&lossy(&key), "a key of an index");
                self.must_not_tell(&lossy(&value), "an index");
            }
        }
        for record in log.read_all(0, usize::MAX).unwrap_or_default() {
            let what = format!("record {}", record.position);
            self.must_not_tell(&lossy(&record.body), &what);
        }
    }
}

impl Watch {
    /// A call is sent with the version of the secret that its commit record names.
    pub(crate) fn must_be_named(&mut self, key: &str, version: Option<&str>) {
        let model = self.by_key.get(key).and_then(|id| self.models.get(id));
        let last = model.and_then(|model| model.attempts.last());
        let named = last.and_then(|last| last.secret.clone());
        if named.as_deref() != version {
            self.fail(format!(
                "I16: {key} is sent with the secret {version:?}, its commit record names {named:?}"
            ));
        }
    }
}
