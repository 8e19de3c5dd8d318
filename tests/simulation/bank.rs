//! The target: a bank that does what it is asked, and answers as the network lets it.
//!
//! A request becomes a letter. What is to become of it is drawn when it is sent: it may be lost, or
//! arrive late, even after its sender has died, but never later than `requestLifetime`. What the
//! bank has done is the truth that everything is measured by.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdpoint_engine::target::{Answer, Body, CallError, Outgoing, Target};
use serde_json::{Value, json};

use crate::books::{Books, Letter};
use crate::clock::SimClock;
use crate::dice::Dice;
use crate::hands::Hand;
use crate::safe::Safe;
use crate::tools::{LIFETIME_MS, SETTLE_MS, kept_ms};
use crate::weather::{Fault, Weather};
use crate::world::Broken;

/// Told of each request, and of its key, before any byte of it counts as sent. Answers with the number of
/// the attempt.
pub(crate) type OnSend = Box<dyn Fn(&Books, &Outgoing, &str) -> usize + Send + Sync>;

/// The bank. See the [module](self).
pub(crate) struct Bank {
    books: Mutex<Books>,
    dice: Arc<Dice>,
    weather: Arc<Weather>,
    clock: Arc<SimClock>,
    on_send: OnSend,
    safe: Arc<Safe>,
    /// How often it was called, whatever for.
    pub(crate) calls: AtomicU64,
    /// Until then the source of truth answers nobody, in true time.
    out_until: AtomicU64,
    /// What of it is broken on purpose: what the checks must find.
    broken: Broken,
}

/// What the sender is to see.
enum Seen {
    Reply,
    Instead(Result<Answer, CallError>),
    Nothing,
}

impl Bank {
    pub(crate) fn new(
        dice: Dice,
        weather: Arc<Weather>,
        clock: Arc<SimClock>,
        safe: Arc<Safe>,
        broken: Broken,
        on_send: OnSend,
    ) -> Self {
        Self {
            books: Mutex::default(),
            dice: Arc::new(dice),
            weather,
            clock,
            on_send,
            safe,
            calls: AtomicU64::new(0),
            out_until: AtomicU64::new(0),
            broken,
        }
    }

    /// The books as they are now.
    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        books.pass(self.clock.true_ms());
        books
    }

    /// Somebody else changes an order.
    pub(crate) fn moves(&self, order: &str, by: i64) {
        let mut books = self.books();
        let order = books.order(order);
        order.left -= by;
        order.version += 1;
    }

    fn strikes(&self, fault: Fault) -> bool {
        self.weather.strikes(fault, &self.dice)
    }

    async fn wait(&self, least_ms: u64, most_ms: u64) {
        let millis = self.dice.between(least_ms, most_ms);
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    async fn pay(&self, outgoing: Outgoing, kind: &str, order: &str) -> Result<Answer, CallError> {
        let header = |name: &str| {
            let found = outgoing
                .headers
                .iter()
                .find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.clone())
        };
        let key = header("idempotency-key").unwrap_or_default();
        let attempt = (self.on_send)(&self.books(), &outgoing, &key);
        if self.strikes(Fault::ConnectRefused) {
            self.wait(0, 50).await;
            return Err(CallError::NotDelivered("connection refused".to_owned()));
        }
        if self.strikes(Fault::CertainNo) {
            self.wait(1, 300).await;
            return Ok(answer(422, b"{\"no\":true}"));
        }
        if self.strikes(Fault::RequestLost) {
            self.wait(1, 300).await;
            return Err(unknown("connection reset"));
        }
        if self.strikes(Fault::NotDoneServerError) {
            self.wait(1, 300).await;
            return Ok(answer(500, b"oops"));
        }
        let body: Value =
            serde_json::from_str(outgoing.body.as_deref().unwrap_or("null")).unwrap_or_default();
        let letter = Letter {
            number: 0,
            due: 0,
            key,
            attempt,
            is_lost: false,
            order: order.to_owned(),
            amount: body["amount"].as_i64().unwrap_or(0),
            if_match: header("if-match"),
            // A clock that is set back before a start hides that much time from the engine, which
            // nothing could tell it (ADR 8).
            kept_ms: kept_ms(kind).map(|ms| ms + self.clock.hidden_ms()),
        };
        let (number, due, seen) = self.post(&letter);
        let now = self.clock.true_ms();
        match seen {
            Seen::Nothing => std::future::pending().await,
            Seen::Instead(Err(error)) => {
                self.wait(1, 400).await;
                Err(error)
            }
            Seen::Instead(Ok(_)) | Seen::Reply => {
                tokio::time::sleep(Duration::from_millis(due.saturating_sub(now))).await;
                let status = self.books().replies.remove(&number).unwrap_or(500);
                self.wait(0, 200).await;
                match seen {
                    Seen::Instead(Ok(other)) if status == 201 => Ok(other),
                    Seen::Instead(_) | Seen::Reply | Seen::Nothing => {
                        Ok(answer(status, b"{\"id\":\"re_1\"}"))
                    }
                }
            }
        }
    }

    /// A worker does what it was given, or at least begins it.
    pub(crate) fn carry_out(&self, hand: &Hand) {
        self.post(&Letter {
            number: 0,
            due: 0,
            key: hand.key.clone(),
            attempt: hand.number,
            is_lost: hand.is_lost,
            order: hand.order.clone(),
            amount: hand.amount,
            if_match: None,
            kept_ms: None,
        });
    }

    /// Puts a letter on its way. Answers with its number, when it arrives and what its sender sees.
    fn post(&self, letter: &Letter) -> (u64, u64, Seen) {
        let now = self.clock.true_ms();
        let is_late = self.strikes(Fault::RequestLate);
        let due = now
            + if is_late {
                self.dice.between(1_000, LIFETIME_MS - 1_000)
            } else {
                self.dice.between(0, 300)
            };
        let twice = letter.kept_ms.is_some() && self.strikes(Fault::RequestTwice)
            || self.broken == Broken::Twice;
        let copy_due = now + self.dice.between(0, LIFETIME_MS - 1_000);
        let instead = |status, body: &[u8]| Seen::Instead(Ok(answer(status, body)));
        let seen = if is_late || self.strikes(Fault::DoneAnswerLost) {
            Seen::Instead(Err(unknown("connection reset")))
        } else if self.strikes(Fault::DoneServerError) {
            let status = *self
                .dice
                .pick(&[500, 502, 503, 504, 408, 409, 425, 429])
                .unwrap_or(&500);
            instead(status, b"it went wrong")
        } else if self.strikes(Fault::DoneRedirect) {
            instead(302, b"")
        } else if self.strikes(Fault::DoneGarbage) {
            instead(200, &[0xff, 0xfe, b'{'])
        } else if self.strikes(Fault::DoneCut) {
            let body = Body::Broken("it was cut off".to_owned());
            Seen::Instead(Ok(Answer {
                status: 200,
                etag: None,
                body,
            }))
        } else if self.strikes(Fault::DoneSilent) {
            Seen::Nothing
        } else {
            Seen::Reply
        };
        let mut books = self.books();
        let mut put = |due: u64| {
            books.next += 1;
            let number = books.next;
            books.letters.push(Letter {
                number,
                due,
                key: letter.key.clone(),
                attempt: letter.attempt,
                is_lost: letter.is_lost,
                order: letter.order.clone(),
                if_match: letter.if_match.clone(),
                amount: letter.amount,
                kept_ms: letter.kept_ms,
            });
            number
        };
        let number = put(due);
        if twice {
            put(copy_due);
        }
        (number, due, seen)
    }

    async fn find(&self, key: &str) -> Result<Answer, CallError> {
        self.wait(1, 200).await;
        let now = self.clock.true_ms();
        if self.strikes(Fault::SourceOut) {
            let hour = 3_600_000;
            let until = now + self.dice.between(hour, 12 * hour);
            self.out_until.store(until, Ordering::Relaxed);
        }
        let is_out = now < self.out_until.load(Ordering::Relaxed) && self.weather.rages();
        if is_out || self.strikes(Fault::SourceDown) {
            return match self.dice.below(4) {
                0 => Err(CallError::NotDelivered("connection refused".to_owned())),
                1 => Ok(answer(503, b"down")),
                2 => Ok(answer(200, b"<html>")),
                _ => Err(unknown("connection reset")),
            };
        }
        let lag = if self.strikes(Fault::SourceLags) {
            self.dice.between(0, SETTLE_MS)
        } else {
            0
        };
        let now = self.clock.true_ms();
        let books = self.books();
        let effects = books.effects.get(key).map_or(&[][..], Vec::as_slice);
        let shown = effects
            .iter()
            .filter(|effect| effect.at + lag <= now && self.broken != Broken::Source);
        let found: Vec<_> = shown.map(|effect| json!({ "at": effect.at })).collect();
        // As many do, it also shows what others paid lately.
        let recent = books.recent.iter();
        let recent: Vec<_> = recent.map(|amount| json!({ "amount": amount })).collect();
        let body = json!({ "found": found, "recent": recent });
        Ok(answer(200, body.to_string().as_bytes()))
    }

    async fn take(&self, outgoing: Outgoing) -> Result<Answer, CallError> {
        let path = outgoing.url.trim_start_matches("https://bank.example/");
        let path = path.to_owned();
        if let Some(key) = path.strip_prefix("find?key=") {
            return self.find(&unescaped(key)).await;
        }
        match path.split_once('/') {
            Some(("orders" | "look", order)) => self.order(order).await,
            Some((kind, order)) => self.pay(outgoing, kind, order).await,
            None => Ok(answer(404, b"")),
        }
    }

    async fn order(&self, name: &str) -> Result<Answer, CallError> {
        self.wait(1, 200).await;
        if self.strikes(Fault::StateDown) {
            return match self.dice.below(3) {
                0 => Err(CallError::NotDelivered("connection refused".to_owned())),
                1 => Ok(answer(500, b"down")),
                _ => Err(unknown("connection reset")),
            };
        }
        let mut books = self.books();
        let order = books.order(name);
        let body = json!({ "status": "open", "left": order.left });
        Ok(Answer {
            etag: Some(format!("\"v{}\"", order.version)),
            ..answer(200, body.to_string().as_bytes())
        })
    }
}

/// The secret that a request bears.
pub(crate) fn secret_of(outgoing: &Outgoing) -> Option<&str> {
    let (_, value) = outgoing.secret_headers.first()?;
    value.expose().strip_prefix("Bearer ")
}

fn answer(status: u16, body: &[u8]) -> Answer {
    Answer {
        status,
        etag: None,
        body: Body::Whole(body.to_vec()),
    }
}

fn unknown(message: &str) -> CallError {
    CallError::Unknown(message.to_owned())
}

fn unescaped(text: &str) -> String {
    let mut parts = text.split('%');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        let byte = u8::from_str_radix(code, 16).unwrap_or(b'?');
        plain.push(char::from(byte));
        plain.push_str(rest);
    }
    plain
}

/// The bank as the engine calls it.
pub(crate) struct Line(pub(crate) Arc<Bank>);

#[async_trait]
impl Target for Line {
    async fn call(&self, outgoing: Outgoing) -> Result<Answer, CallError> {
        let bank = &self.0;
        bank.calls.fetch_add(1, Ordering::Relaxed);
        let secret = secret_of(&outgoing).map(str::to_owned);
        let seen = bank.take(outgoing).await;
        match secret {
            Some(secret) if bank.strikes(Fault::SecretRepeated) => bank.safe.repeat(&secret, seen),
            Some(_) | None => seen,
        }
    }
}
