//! What is checked after every step: the durable log, against the oracle and against the truth.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_engine::action::Event;
use holdpoint_engine::target::Outgoing;
use holdpoint_storage::{EventLog, MemoryLog, Position, Record};

use serde_json::Value;

use crate::access::People;
use crate::books::Books;
use crate::claims::Claims;
use crate::copies::Restored;
use crate::disk::Failure;
use crate::ears::Ears;
use crate::model::{End, Model};
use crate::switch::Switch;

/// How long a decision may wait to be written, in milliseconds, while the disk is slow.
const LATE_MS: i64 = 600_000;

/// Everything that is known from outside.
#[derive(Clone, Default)]
pub(crate) struct Watch {
    /// By the hexadecimal part of the id.
    pub(crate) models: BTreeMap<String, Model>,
    pub(crate) by_key: BTreeMap<String, String>,
    /// Where the last commit record of each action is.
    commits: BTreeMap<String, Position>,
    read: Position,
    time_ms: i64,
    /// What does not hold; the first is enough.
    pub(crate) wrong: Option<String>,
    /// Event, status before, status after.
    pub(crate) transitions: BTreeSet<(String, String, String)>,
    pub(crate) trace: Vec<String>,
    /// Which process this is, from 1 on.
    pub(crate) start: u64,
    /// Which tools file it has.
    tools: usize,
    /// The time of the log when this process began, where the clock was behind it.
    blind_before: Option<i64>,
    pub(crate) switch: Switch,
    pub(crate) claims: Claims,
    pub(crate) ears: Ears,
    pub(crate) people: People,
    /// Where the log was a copy when this process began.
    pub(crate) restored: Restored,
    /// What is unknown, and when that became durable, in milliseconds of true time.
    doubts: BTreeMap<String, u64>,
    /// What programs asked for, by the reference that each of them chose.
    pub(crate) asked: BTreeMap<String, Vec<Value>>,
}

impl Watch {
    /// A process begins, at this time of the clock on the wall, with one of the tools files.
    pub(crate) fn begin(&mut self, start: u64, now: i64, tools: usize) {
        (self.start, self.tools) = (start, tools);
        self.blind_before = (now + 1_000 < self.time_ms).then_some(self.time_ms);
    }

    /// Writes down what happens.
    pub(crate) fn note(&mut self, line: String) {
        self.trace.push(line);
    }

    /// Something does not hold.
    pub(crate) fn fail(&mut self, what: String) {
        self.note(format!("VIOLATED {what}"));
        self.wrong.get_or_insert(what);
    }

    /// Reads what has become durable since the last time.
    pub(crate) fn pull(&mut self, log: &MemoryLog, books: &Books) {
        loop {
            let records = log.read_all(self.read, 256).unwrap_or_default();
            let Some(last) = records.last() else {
                return;
            };
            self.read = last.position;
            for record in &records {
                if let Err(what) = self.record(record, books) {
                    self.fail(format!(
                        "{what} (record {}, {})",
                        record.position, record.stream
                    ));
                }
            }
        }
    }

    fn record(&mut self, record: &Record, books: &Books) -> Result<(), String> {
        self.restored.record(record)?;
        if record.time_ms < self.time_ms {
            return Err("I9: the time of the log goes back".to_owned());
        }
        self.time_ms = record.time_ms;
        let Some(id) = record.stream.as_str().strip_prefix("action/") else {
            if record.stream.as_str() == "engine/pause" {
                self.note(format!("{} {}", record.position, record.kind));
                self.switch.record(&record.kind)?;
            }
            if record.stream.as_str().starts_with("person/") {
                self.people.record(record, &decode(record)?, books.now)?;
            }
            return self.ears.other(record, self.start);
        };
        self.note(format!(
            "{} {} {id} {}",
            record.position, record.time_ms, record.kind
        ));
        let event: Event = decode(record)?;
        if event.at().0 + LATE_MS < record.time_ms {
            return Err(format!("I9: {} of a time that is long over", event.kind()));
        }
        self.switch.allows(&event)?;
        self.restored.allows(id, &event)?;
        let (before, model) = if record.version == 1 {
            let model = Model::begin(&event, id, &self.asked, self.tools)?;
            if model.status != "refused"
                && let Some(other) = self.by_key.insert(model.key.clone(), id.to_owned())
            {
                return Err(format!(
                    "I15: the key {} belongs to {other} already",
                    model.key
                ));
            }
            ("none", self.models.entry(id.to_owned()).or_insert(model))
        } else {
            let Some(model) = self.models.get_mut(id) else {
                return Err("I6: an event of an action that never began".to_owned());
            };
            let before = model.status;
            if let Event::VoteRecorded { cast, .. } = &event {
                self.people.votes(id, cast)?;
            }
            model.apply(&event)?;
            let is_blind = self
                .blind_before
                .is_some_and(|before| model.was_sent_by(before));
            if is_blind && matches!(event, Event::ResendRecorded { .. }) {
                return Err("I2: sent again though nobody knows how long ago it was".to_owned());
            }
            (before, model)
        };
        if model.statuses.len() as u64 != record.version {
            return Err("I6: the versions of a stream are not dense".to_owned());
        }
        if let Event::CommitRecorded { .. } | Event::ResendRecorded { .. } = event {
            self.commits.insert(id.to_owned(), record.position);
        }
        let (kind, after) = (record.kind.clone(), model.status);
        if after == "unknown" {
            self.doubts.entry(id.to_owned()).or_insert(books.now);
        } else {
            self.doubts.remove(id);
        }
        self.transitions
            .insert((kind, before.to_owned(), after.to_owned()));
        self.ears.action(record, id, model);
        compare(model, &event, books)?;
        match event {
            Event::LeaseKeyed { key, at, .. } => self.must_be_alone(id, key.key, at.0),
            _ => Ok(()),
        }
    }

    /// A program is about to ask for something.
    pub(crate) fn asks(&mut self, body: &Value) {
        let reference = body["args"]["reference"].as_str().unwrap_or_default();
        let asked = self.asked.entry(reference.to_owned()).or_default();
        if !asked.contains(body) {
            asked.push(body.clone());
        }
    }

    /// A request is about to leave. Everything durable is known, and which write failed. Answers with the
    /// number of the attempt.
    pub(crate) fn sends(
        &mut self,
        books: &Books,
        outgoing: &Outgoing,
        key: &str,
        failure: Option<Failure>,
    ) -> usize {
        self.note(format!("sent {key}"));
        if !self.restored.is_over() {
            self.fail(format!("I29: {key} is sent before the copy is confirmed"));
        }
        let id = self.by_key.get(key).cloned().unwrap_or_default();
        let committed = self.commits.get(&id).copied().unwrap_or_default();
        // Whoever waits for that write hears of it within the moment.
        let is_after = |failure: Failure| failure.at < books.now || failure.from <= committed;
        if failure.is_some_and(is_after) {
            self.fail(format!("I22: {key} is sent after a write failed"));
        }
        let sent = match self.models.get_mut(&id) {
            Some(model) => model.send(outgoing),
            None => Err("I1: sent for an action that is not durable".to_owned()),
        };
        if let Err(what) = sent {
            self.fail(format!("{what} (key {key})"));
        }
        let model = self.models.get(&id);
        model.map_or(0, |model| model.attempts.len())
    }

    /// Somebody was told that the action has this status at this version.
    pub(crate) fn told(&mut self, id: &str, version: u64, status: &str) {
        let id = id.strip_prefix("act_").unwrap_or(id);
        let place = usize::try_from(version.saturating_sub(1)).unwrap_or(usize::MAX);
        let known = self
            .models
            .get(id)
            .and_then(|model| model.statuses.get(place));
        if known != Some(&status) {
            let durable = known.unwrap_or(&"not there");
            let what = format!("I5: {id} is told to be {status} at {version}, durable: {durable}");
            self.fail(what);
        }
    }

    /// Somebody was told that the action came to be of this status.
    pub(crate) fn told_once(&mut self, id: &str, status: &str) {
        let id = id.strip_prefix("act_").unwrap_or(id);
        let model = self.models.get(id);
        if !model.is_some_and(|model| model.statuses.contains(&status)) {
            self.fail(format!("I5: {id} is told to be {status}, and never was"));
        }
    }

    /// How many statuses an action has had.
    pub(crate) fn versions(&self, id: &str) -> usize {
        self.models.get(id).map_or(0, |model| model.statuses.len())
    }

    /// A page says how an action stands: as it stands now, or since it was asked for.
    pub(crate) fn told_word(&mut self, id: &str, word: &str, since: usize) {
        let known = self.models.get(id).is_some_and(|model| {
            let since = model.statuses.iter().skip(since.saturating_sub(1));
            since.copied().any(|status| word_of(status) == word)
        });
        if !known {
            self.fail(format!(
                "I5: a page says of {id} \"{word}\", and it is not durable"
            ));
        }
    }

    /// What has been unknown since before this moment of true time.
    pub(crate) fn doubts_before(&self, moment: u64) -> Vec<String> {
        let old = self.doubts.iter().filter(|(_, since)| **since < moment);
        old.map(|(id, _)| id.clone()).collect()
    }

    /// Somebody was told that their vote counts.
    pub(crate) fn told_vote(&mut self, id: &str, person: &str, vote: &'static str) {
        let id = id.strip_prefix("act_").unwrap_or(id);
        // The answer to a vote that came too late has words of its own.
        let is_there = self.models.get(id).is_some_and(|model| {
            model.said.contains(&(person.to_owned(), vote)) || model.status == "expired"
        });
        if !is_there {
            self.fail(format!(
                "I5: {person} is told that {vote} on {id} counts, and it is not durable"
            ));
        }
    }

    /// What must hold when everything is quiet. Answers whether anything was done twice, as it may be where
    /// the log was restored.
    pub(crate) fn conserve(&mut self, books: &Books) -> bool {
        let (mut wrong, mut is_doubled) = (Vec::new(), false);
        for (id, model) in &self.models {
            let done = model
                .attempts
                .iter()
                .filter(|attempt| attempt.end == Some(End::Done))
                .count();
            let (known, all) = if model.status == "refused" {
                (0, 0)
            } else {
                (books.known(&model.key), books.effects(&model.key))
            };
            // What the log no longer knows of may be found, or done again.
            if !(known..=all).contains(&done) {
                wrong.push(format!(
                    "I25: {id} ({}) is {} with {done} done, the bank has {known} of {}, and {all} with what \
                     was lost",
                    model.tool, model.status, model.key
                ));
            }
            is_doubled |= 0 < known && known < all;
            if !model.is_final() {
                wrong.push(format!(
                    "I27: {id} ({}) is still {}",
                    model.tool, model.status
                ));
            }
        }
        let is_unknown = |key: &&str| 0 < books.known(key) && !self.by_key.contains_key(*key);
        let unknown = books.keys().find(is_unknown);
        wrong.extend(unknown.map(|key| format!("I25: nobody knows of the effect of {key}")));
        wrong.extend(self.ears.missing());
        for what in wrong {
            self.fail(what);
        }
        is_doubled
    }
}

/// How pages name a status.
fn word_of(status: &str) -> &'static str {
    match status {
        "staged" => "Waiting for approval",
        "approved" => "Approved, not sent yet",
        "accepted" => "Accepted, not sent yet",
        "executing" => "Being sent",
        "unknown" => "Outcome unknown",
        "succeeded" => "Done",
        "failed" => "Failed",
        "rejected" => "Rejected",
        "expired" => "Expired",
        "cancelled" => "Cancelled",
        "refused" => "Refused",
        "replan_required" => "Must be planned again",
        other => panic!("no page has a word for {other}"),
    }
}

/// What an event claims, against what is true.
fn compare(model: &Model, event: &Event, books: &Books) -> Result<(), String> {
    let key = &model.key;
    let (effects, coming) = (books.known(key), books.is_known_to_come(key));
    let last = model.attempts.last().and_then(|attempt| attempt.end);
    match event {
        Event::AttemptSucceeded { .. } | Event::FoundDone { .. } if books.effects(key) == 0 => {
            Err(format!("I10: {} of what did not happen", event.kind()))
        }
        Event::FoundNotDone { .. } if books.is_plain(key) => {
            Err(format!("I10: {} of what anybody can find", event.kind()))
        }
        Event::AttemptRefused { .. }
        | Event::AttemptNotDelivered { .. }
        | Event::FoundNotDone { .. }
            if last == Some(End::NotDone) && (effects > 0 || coming) =>
        {
            Err(format!(
                "I10: {} of what happened {effects} times{}",
                event.kind(),
                if coming { " and may again" } else { "" }
            ))
        }
        _ => Ok(()),
    }
}

/// The body of a record, by its published form: a format byte, then bincode.
pub(crate) fn decode<T: bincode::Decode<()>>(record: &Record) -> Result<T, String> {
    let (format, body) = record.body.split_first().ok_or("an empty record")?;
    if *format != 1 {
        return Err(format!("the format {format} is not known"));
    }
    bincode::decode_from_slice(body, bincode::config::standard())
        .map(|(event, _)| event)
        .map_err(|error| format!("the record cannot be read: {error}"))
}
