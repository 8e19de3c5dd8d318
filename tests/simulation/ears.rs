//! What endpoints must be told: everything that they may hear of and ask for, in the order of the log,
//! at least once, and of nothing that is not durable. One that is enabled goes on at the place that the
//! log names; what was on its way to it before may still arrive.

use std::collections::BTreeMap;

use holdpoint_engine::webhook::Event;
use holdpoint_storage::{Position, Record};

use crate::model::Model;
use crate::watch::decode;

/// Kinds that only add to the event before them: no message is about them.
const NEVER_TOLD: [&str; 4] = [
    "action.answer_kept",
    "action.key_kept",
    "action.lease_keyed",
    "action.secret_named",
];

/// An endpoint, as those know it who asked for it.
#[derive(Clone)]
pub(crate) struct Wish {
    /// The hexadecimal part of its id.
    pub(crate) id: String,
    pub(crate) secret: String,
    /// The only one whose actions it may hear of; none for everybody's.
    pub(crate) owner: Option<String>,
    /// The only kinds of events it asks for; empty for all.
    pub(crate) kinds: Vec<&'static str>,
    /// The only tools; empty for all.
    pub(crate) tools: &'static [&'static str],
    /// It hears of what follows this position.
    pub(crate) from: Position,
}

/// One message that an endpoint is to get.
#[derive(Clone)]
struct Wanted {
    position: Position,
    /// The action, its version and its status then; none for what is about no action.
    about: Option<(String, u64, &'static str)>,
}

/// What is known of the last message that an endpoint was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// It has not been taken, and comes again.
    Open,
    /// It was taken, in this process, after so many changes of the endpoint.
    Taken { start: u64, changes: u64 },
    /// It was taken, unless it was another one that was on its way before a change.
    Perhaps,
}

/// A message that its endpoint may take.
pub(crate) struct Heard {
    id: String,
    place: usize,
    start: u64,
}

/// One endpoint.
#[derive(Clone)]
struct Ear {
    wish: Wish,
    wanted: Vec<Wanted>,
    /// How many of them it was sent or is past; the last of them may come again.
    heard: usize,
    last: Last,
    /// How often it was disabled and enabled.
    changes: u64,
    is_disabled: bool,
    /// Which of them were perhaps on their way when it was disabled.
    late: Vec<usize>,
}

impl Ear {
    /// It is disabled, or goes on after a position.
    fn change(&mut self, event: &Event, start: u64) {
        match event {
            Event::Disabled { .. } => {
                self.is_disabled = true;
                self.late.push(self.heard);
                self.late.extend(self.heard.checked_sub(1));
            }
            Event::Enabled { from, .. } => {
                self.is_disabled = false;
                self.heard = self
                    .wanted
                    .iter()
                    .filter(|one| one.position <= *from)
                    .count();
            }
            Event::Created { .. }
            | Event::Changed { .. }
            | Event::SecretRotated { .. }
            | Event::Deleted { .. }
            | Event::DeliveryExhausted { .. }
            | Event::Progressed { .. } => return,
        }
        self.changes += 1;
        if !self.is_disabled {
            let changes = self.changes;
            self.last = Last::Taken { start, changes };
        }
    }

    fn is_behind(&self) -> bool {
        self.heard < self.wanted.len() || self.last == Last::Open && 0 < self.heard
    }
}

/// All endpoints.
#[derive(Clone, Default)]
pub(crate) struct Ears {
    all: BTreeMap<String, Ear>,
    /// How many messages came.
    pub(crate) messages: u64,
    /// What each message said, by its `webhook-id`, and the other way round: endpoints forget nothing.
    told: BTreeMap<String, String>,
    ids: BTreeMap<(String, String), String>,
}

impl Ears {
    /// Somebody asked for one more.
    pub(crate) fn begin(&mut self, wish: Wish) {
        let ear = Ear {
            wanted: Vec::new(),
            heard: 0,
            last: Last::Open,
            changes: 0,
            is_disabled: false,
            late: Vec::new(),
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

    /// A durable event of anything else, read in process number `start`.
    pub(crate) fn other(&mut self, record: &Record, start: u64) -> Result<(), String> {
        let Some(id) = record.stream.as_str().strip_prefix("webhook/") else {
            return Ok(());
        };
        let event: Event = decode(record)?;
        let is_end = matches!(event, Event::Disabled { .. });
        for (other, ear) in &mut self.all {
            let wish = &ear.wish;
            let hears_all = wish.owner.is_none() && wish.kinds.is_empty() && wish.tools.is_empty();
            if other == id {
                ear.change(&event, start);
            } else if is_end && hears_all && wish.from < record.position {
                let position = record.position;
                let about = None;
                ear.wanted.push(Wanted { position, about });
            }
        }
        Ok(())
    }

    /// The secret of an endpoint.
    pub(crate) fn secret(&self, id: &str) -> Option<String> {
        self.all.get(id).map(|ear| ear.wish.secret.clone())
    }

    /// A message about `position` came, from process number `start`. Everything durable is known.
    pub(crate) fn hear(
        &mut self,
        id: &str,
        position: Position,
        told: (&str, u64, &str),
        start: u64,
    ) -> Result<Option<Heard>, String> {
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
        let (is_again, is_next) = (place + 1 == ear.heard, place == ear.heard);
        if let Some(late) = ear.late.iter().position(|late| *late == place) {
            ear.late.remove(late);
            if is_again || is_next {
                ear.heard = place + 1;
                ear.last = Last::Perhaps;
            }
            return Ok(None);
        }
        let changes = ear.changes;
        if is_again && ear.last == (Last::Taken { start, changes }) {
            return Err(format!(
                "{id} is told of {position} again, though it has taken it"
            ));
        }
        let may_be_next = is_next && (ear.heard == 0 || ear.last != Last::Open);
        if !is_again && !may_be_next {
            let heard = ear.heard;
            return Err(format!(
                "{id} is told of number {place} ({position}) after {heard} messages, the last taken: {:?}",
                ear.last
            ));
        }
        ear.last = Last::Open;
        ear.heard = place + 1;
        let id = id.to_owned();
        Ok(Some(Heard { id, place, start }))
    }

    /// A message came to an endpoint under this id: nothing else is ever told under it, and the same under
    /// no other one, even where an older copy has taken the place of the log.
    pub(crate) fn tell(&mut self, endpoint: &str, id: &str, body: &str) -> Result<(), String> {
        let before = self.told.entry(id.to_owned());
        let before = before.or_insert_with(|| body.to_owned());
        if before != body {
            return Err(format!("I15: {id} says {body}, and said {before}"));
        }
        let own = self.ids.entry((endpoint.to_owned(), body.to_owned()));
        let own = own.or_insert_with(|| id.to_owned());
        if own != id {
            return Err(format!("I15: {body} comes as {id}, and came as {own}"));
        }
        Ok(())
    }

    /// An older copy has taken the place of the log; what endpoints have heard they know.
    pub(crate) fn remember(&mut self, now: Self) {
        (self.messages, self.told, self.ids) = (now.messages, now.told, now.ids);
    }

    /// The endpoint takes what it heard: its answer is on the way.
    pub(crate) fn take(&mut self, heard: &Heard) {
        if let Some(ear) = self.all.get_mut(&heard.id)
            && ear.heard == heard.place + 1
        {
            let (start, changes) = (heard.start, ear.changes);
            ear.last = Last::Taken { start, changes };
        }
    }

    /// All of them, and whether each is disabled.
    pub(crate) fn list(&self) -> Vec<(String, bool)> {
        let all = self.all.iter();
        all.map(|(id, ear)| (id.clone(), ear.is_disabled)).collect()
    }

    /// The first place at which an endpoint can be.
    pub(crate) fn first(&self, id: &str) -> Position {
        self.all.get(id).map_or(0, |ear| ear.wish.from)
    }

    /// The process is gone, and whatever was on its way with it.
    pub(crate) fn bury(&mut self) {
        for ear in self.all.values_mut() {
            ear.late.clear();
        }
    }

    /// Those that have not taken all that is for them.
    pub(crate) fn behind(&self) -> Vec<String> {
        let behind = self.all.iter().filter(|(_, ear)| ear.is_behind());
        behind.map(|(id, _)| id.clone()).collect()
    }

    /// What an endpoint was never told, once everything is quiet.
    pub(crate) fn missing(&self) -> Vec<String> {
        let behind = self.behind();
        let words = |id: &String| {
            let ear = &self.all[id];
            format!(
                "I27: {id} heard {} of {} messages (disabled: {})",
                ear.heard,
                ear.wanted.len(),
                ear.is_disabled
            )
        };
        behind.iter().map(words).collect()
    }
}
