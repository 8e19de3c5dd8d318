//! The history, and waiting for it to go on.

use std::time::Duration;

use holdpoint_storage::{Position, Record, Subscription, Version};
use serde_json::Value;

use super::{ActError, Engine, HistoryEntry, Versioned, may_see};
use crate::action::{ActionId, describe};
use crate::identity::{self, Principal};
use crate::incarnation;
use crate::run::{self, RunError, RunId};
use crate::schedule;
use crate::store::{codec, pause, tools};
use crate::time::Timestamp;
use crate::webhook;

/// The most entries that are answered at once.
pub const HISTORY_MAX: usize = 1000;

/// A reader that follows the history.
pub struct History {
    engine: Engine,
    by: Principal,
    subscription: Subscription,
}

impl Engine {
    /// The events of one action, in order, after a version, at most `limit`.
    pub fn history(
        &self,
        by: &Principal,
        id: ActionId,
        after: Version,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>, ActError> {
        self.visible(by, id)?;
        let stream = codec::stream_of(id);
        let records = self
            .log()
            .read_stream(&stream, after, limit.min(HISTORY_MAX))
            .map_err(|error| ActError::Unavailable(Box::new(error)))?;
        records.into_iter().map(entry).collect()
    }

    /// The events of one run, in order, after a version, at most `limit`.
    pub fn run_history(
        &self,
        by: &Principal,
        id: RunId,
        after: Version,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>, RunError> {
        self.run(by, id)?;
        let unavailable = |error| RunError::Unavailable(error);
        let stream = run::layout::stream_of(id);
        let records = self
            .log()
            .read_stream(&stream, after, limit.min(HISTORY_MAX))
            .map_err(|error| unavailable(Box::new(error)))?;
        let entries = records.into_iter().map(entry).collect::<Result<_, _>>();
        entries.map_err(|error: ActError| unavailable(Box::new(error)))
    }

    /// The events of the whole log, in order, after a position; only for those who see all.
    pub fn events(
        &self,
        by: &Principal,
        after: Position,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>, ActError> {
        if !by.sees_all() {
            return Err(ActError::Forbidden(
                "the history of everything is for people with a role and for keys with the scope \
                 actions:read"
                    .to_owned(),
            ));
        }
        let records = self
            .log()
            .read_all(after, limit.min(HISTORY_MAX))
            .map_err(|error| ActError::Unavailable(Box::new(error)))?;
        records.into_iter().map(entry).collect()
    }

    /// Waits until the action has another version than `known`, or `at_most` has passed, or the
    /// engine stops; answers it as it is then.
    pub async fn wait(
        &self,
        by: &Principal,
        id: ActionId,
        known: Version,
        at_most: Duration,
    ) -> Result<Versioned, ActError> {
        let store = &self.inner.store;
        let mut waiter = store.waiters.register(id);
        let changed = async {
            loop {
                let view = self.visible(by, id)?;
                if view.version != known {
                    return Ok(view);
                }
                waiter.changed().await;
            }
        };
        tokio::select! {
            biased;
            found = changed => found,
            () = store.stop.reached() => self.visible(by, id),
            () = tokio::time::sleep(at_most) => self.visible(by, id),
        }
    }

    /// Follows the log after a position. Entries are those that `by` may see.
    pub fn subscribe(&self, by: &Principal, after: Position) -> History {
        History {
            engine: self.clone(),
            by: by.clone(),
            subscription: self.log().subscribe(after),
        }
    }
}

impl History {
    /// The next entries, never empty; none once the engine has stopped.
    pub async fn next(&mut self) -> Option<Result<Vec<HistoryEntry>, ActError>> {
        loop {
            let stop = &self.engine.inner.store.stop;
            let records = tokio::select! {
                biased;
                records = self.subscription.next() => records?,
                () = stop.reached() => return None,
            };
            let records = match records {
                Ok(records) => records,
                Err(error) => return Some(Err(ActError::Unavailable(Box::new(error)))),
            };
            let visible = records.into_iter().filter(|record| self.may_see(record));
            match visible.map(entry).collect::<Result<Vec<_>, _>>() {
                Ok(entries) if entries.is_empty() => {}
                outcome => return Some(outcome),
            }
        }
    }

    fn may_see(&self, record: &Record) -> bool {
        if self.by.sees_all() {
            return true;
        }
        if let Some(id) = run::layout::of_stream(&record.stream) {
            return self.engine.run_summary(&self.by, id).is_ok();
        }
        codec::action_of(&record.stream)
            .and_then(|id| self.engine.inner.store.load(id).ok().flatten())
            .is_some_and(|view| may_see(&self.by, &view.action))
    }
}

fn entry(record: Record) -> Result<HistoryEntry, ActError> {
    let event = match codec::action_of(&record.stream) {
        Some(_) => Some(
            codec::decode_event(&record).map_err(|error| ActError::Unavailable(Box::new(error)))?,
        ),
        None => None,
    };
    let data = match &event {
        Some(event) => describe(event),
        None => identity::describe(&record)
            .or_else(|| incarnation::describe(&record))
            .or_else(|| pause::describe(&record))
            .or_else(|| tools::describe(&record))
            .or_else(|| webhook::describe(&record))
            .or_else(|| run::describe::describe(&record))
            .or_else(|| schedule::shell::describe(&record))
            .unwrap_or(Value::Null),
    };
    Ok(HistoryEntry {
        position: record.position,
        stream: record.stream.as_str().to_owned(),
        version: record.version,
        at: Timestamp(record.time_ms),
        actor: record.actor,
        kind: record.kind,
        event,
        data,
        hash: record.hash.to_string(),
        prev: record.prev.to_string(),
    })
}
