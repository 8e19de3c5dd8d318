//! What endpoints must be told: everything that they may hear of and ask for, in the order of the log,
//! at least once, and of nothing that is not durable.

use std::collections::BTreeMap;

use holdpoint_storage::{Position, Record};

use crate::model::Model;

/// Kinds that only add to the event before them: no message is about them.
const NEVER_TOLD: [&str; 4] = [
    "action.answer_kept",
    "action.key_kept",
    "action.lease_keyed",
    "action.secret_named",
];

/// An endpoint, as those know it who asked for it.
pub(crate) struct Wish {
    /// The hexadecimal part of its id.
    pub(crate) id: String,
    pub(crate) secret: String,
    /// The only one whose actions it may hear of; none for everybody's.
    pub(crate) owner: Option<String>,
    /// The only kinds of events it asks for; empty for all.
    pub(crate) kinds: &'static [&'static str],
    /// The only tools; empty for all.
    pub(crate) tools: &'static [&'static str],
    /// It hears of what follows this position.
    pub(crate) from: Position,
}

/// One message that an endpoint is to get.
struct Wanted {
    position: Position,
    /// The action, its version and its status then; none for what is about no action.
    about: Option<(String, u64, &'static str)>,
}

/// One endpoint.
struct Ear {
    wish: Wish,
    wanted: Vec<Wanted>,
    /// How many of them it was sent; the last of them may come again.
    heard: usize,
    /// It took the last one, in this process, before so many changes of the endpoint.
    took: Option<(u64, u64)>,
    /// How often it was disabled and enabled.
    changes: u64,
    is_disabled: bool,
}

/// All endpoints.
#[derive(Default)]
pub(crate) struct Ears {
    all: BTreeMap<String, Ear>,
    /// How many messages came.
    pub(crate) messages: u64,
}

impl Ears {
    /// Somebody asked for one more.
    pub(crate) fn begin(&mut self, wish: Wish) {
        let ear = Ear {
            wanted: Vec::new(),
            heard: 0,
            took: None,
            changes: 0,
            is_disabled: false,
            wish,
        };
        self.all.insert(ear.wish.id.clone(), ear);
    }

    /// A durable event of an action.
    pub(crate) fn action(&mut self, record: &Record, id: &str, model: &Model) {
        if NEVER_TOLD.contains(&record.kind.as_str()) {
            return;
        }
        for ear in self.all.values_mut() {
            let wish = &ear.wish;
            let hears = wish.from < record.position
                && wish.owner.as_ref().is_none_or(|owner| model.is_of(owner))
                && (wish.kinds.is_empty() || wish.kinds.contains(&record.kind.as_str()))
                && (wish.tools.is_empty() || wish.tools.contains(&model.tool.as_str()));
            if hears {
                let about = Some((format!("act_{id}"), record.version, model.status));
                let position = record.position;
                ear.wanted.push(Wanted { position, about });
            }
        }
    }

    /// A durable event of anything else.
    pub(crate) fn other(&mut self, record: &Record) {
        let Some(id) = record.stream.as_str().strip_prefix("webhook/") else {
            return;
        };
        let is_end = record.kind == "webhook.disabled";
        for (other, ear) in &mut self.all {
            let wish = &ear.wish;
            let hears_all = wish.owner.is_none() && wish.kinds.is_empty() && wish.tools.is_empty();
            if other == id {
                if is_end || record.kind == "webhook.enabled" {
                    ear.changes += 1;
                    ear.is_disabled = is_end;
                }
            } else if is_end && hears_all && wish.from < record.position {
                let position = record.position;
                let about = None;
                ear.wanted.push(Wanted { position, about });
            }
        }
    }

    /// The secret of an endpoint.
    pub(crate) fn secret(&self, id: &str) -> Option<String> {
        self.all.get(id).map(|ear| ear.wish.secret.clone())
    }

    /// A message about `position` came, to an endpoint of process number `start`. Everything durable
    /// is known.
    pub(crate) fn hear(
        &mut self,
        id: &str,
        position: Position,
        told: (&str, u64, &str),
        start: u64,
    ) -> Result<(), String> {
        let Some(ear) = self.all.get_mut(id) else {
            return Err(format!("I18: a message for {id}, which nobody asked for"));
        };
        self.messages += 1;
        let place = ear.wanted.iter().position(|one| one.position == position);
        let Some(place) = place else {
            return Err(format!(
                "I18: {id} is told of {position}, which is not durable or not for it"
            ));
        };
        let about = &ear.wanted[place].about;
        let is_so = about
            .as_ref()
            .is_none_or(|(action, version, status)| (action.as_str(), *version, *status) == told);
        if !is_so {
            return Err(format!(
                "I5: {id} is told {told:?} of {position}, durable: {about:?}"
            ));
        }
        let is_again = place + 1 == ear.heard;
        if is_again && ear.took == Some((start, ear.changes)) {
            return Err(format!(
                "{id} is told of {position} again, though it has taken it"
            ));
        }
        let is_next = place == ear.heard && (ear.heard == 0 || ear.took.is_some());
        if !is_again && !is_next {
            let heard = ear.heard;
            return Err(format!(
                "{id} is told of number {place} ({position}) after {heard} messages, the last taken: {}",
                ear.took.is_some()
            ));
        }
        ear.took = None;
        ear.heard = place + 1;
        Ok(())
    }

    /// The endpoint takes the last message: its answer is on the way to process number `start`.
    pub(crate) fn take(&mut self, id: &str, start: u64) {
        if let Some(ear) = self.all.get_mut(id) {
            ear.took = Some((start, ear.changes));
        }
    }

    /// Those that are behind, and whether they are disabled.
    pub(crate) fn behind(&self) -> Vec<(String, bool)> {
        let behind =
            |ear: &&Ear| ear.heard < ear.wanted.len() || ear.took.is_none() && 0 < ear.heard;
        let found = self.all.values().filter(behind);
        found
            .map(|ear| (ear.wish.id.clone(), ear.is_disabled))
            .collect()
    }

    /// What an endpoint was never told, once everything is quiet.
    pub(crate) fn missing(&self) -> Vec<String> {
        let behind = self.behind();
        let words = |(id, is_disabled): &(String, bool)| {
            let ear = &self.all[id];
            format!(
                "I27: {id} heard {} of {} messages (disabled: {is_disabled})",
                ear.heard,
                ear.wanted.len()
            )
        };
        behind.iter().map(words).collect()
    }
}
