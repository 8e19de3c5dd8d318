//! What needs a person: unknown outcomes, what stands still, what cannot be approved, and alarms
//! (invariant I27).

use std::collections::BTreeSet;
use std::error::Error;

use holdpoint_storage::{Direction, EventLog, ScanRange};

use super::voters::shortages;
use super::{Engine, ListError, Versioned};
use crate::action::{
    ActionId, Event, Explanation, Status, Trouble, explain, explain_alarm, explain_short,
};
use crate::approval::Voter;
use crate::identity::Principal;
use crate::limits::{ALARM_SHOWN_DAYS, OVERDUE_MS};
use crate::store::codec::{self, VIEW_FORMAT};
use crate::store::index::{self, OpenKey, WorkKey};
use crate::store::{PauseSwitch, load, open_of};
use crate::time::{Elapsed, Timestamp};

/// The most of each trouble that are explained at once.
pub const ATTENTION_MAX: usize = 200;

/// The most entries of one range of an index that are looked at for what stands still.
const EXAMINED_MAX: usize = 5000;

/// The most actions that wait for people that are looked at: those that expire first.
const STAGED_MAX: usize = 1000;

/// The most events that one explanation looks at: the last ones.
const EVENTS_MAX: usize = 1000;

/// An action that needs a person, explained.
#[derive(Clone, Debug)]
pub struct Attention {
    /// The action.
    pub view: Versioned,
    /// Why, and what to do.
    pub why: Explanation,
}

/// What needs a person, with how much of it there is.
#[derive(Clone, Debug, Default)]
pub struct AttentionList {
    /// Unknown outcomes: first those that only a person can end, then those that the engine still
    /// asks about; at most [`ATTENTION_MAX`].
    pub unknown: Vec<Attention>,
    /// How many outcomes are unknown.
    pub unknown_total: u64,
    /// What could be called and is not, the longest first; at most [`ATTENTION_MAX`].
    pub stuck: Vec<Attention>,
    /// How many stand still: at least so many, where there are thousands.
    pub stuck_total: u64,
    /// What cannot be approved, since fewer people may vote than it asks for: what expires first,
    /// first; at most [`ATTENTION_MAX`].
    pub short: Vec<Attention>,
    /// How many cannot be approved: at least so many, where thousands wait for people.
    pub short_total: u64,
    /// What ended with an alarm in the last [`ALARM_SHOWN_DAYS`], the last one first; at most
    /// [`ATTENTION_MAX`].
    pub alarms: Vec<Attention>,
    /// How many ended with an alarm: at least so many, where there are thousands.
    pub alarm_total: u64,
}

impl AttentionList {
    /// All that are explained, unknown outcomes first.
    pub fn iter(&self) -> impl Iterator<Item = &Attention> {
        let rest = self.stuck.iter().chain(&self.short).chain(&self.alarms);
        self.unknown.iter().chain(rest)
    }

    /// How many unknown outcomes, how many that stand still, how many that cannot be approved, and how
    /// many alarms are not explained here.
    pub fn left_off(&self) -> [u64; 4] {
        let rest = |total: u64, told: &[Attention]| total.saturating_sub(told.len() as u64);
        [
            rest(self.unknown_total, &self.unknown),
            rest(self.stuck_total, &self.stuck),
            rest(self.short_total, &self.short),
            rest(self.alarm_total, &self.alarms),
        ]
    }
}

impl Engine {
    /// What needs a person; nothing for whoever may not see all actions.
    pub fn attention(&self, by: &Principal) -> Result<AttentionList, ListError> {
        if !by.sees_all() {
            return Ok(AttentionList::default());
        }
        let elapsed = self.inner.store.time.elapsed();
        let total = self.unknown_count();
        let approvers = self.identity().approvers();
        let log = self.log().as_ref();
        attention(log, self.is_paused(), total, &approvers, &elapsed)
    }

    /// How many outcomes are unknown.
    pub fn unknown_count(&self) -> u64 {
        let counts = self.counts().by_status;
        counts.get(&Status::Unknown).copied().unwrap_or(0)
    }
}

/// What needs a person, as a log on disk says that no engine runs on; none where it has actions and no
/// indexes of this version, so that the next start builds them first. `approvers` are those of the log.
pub fn attention_in(
    log: &dyn EventLog,
    approvers: &[Voter],
    now: Timestamp,
) -> Result<Option<AttentionList>, ListError> {
    let marker = log.get(index::META, index::META_VIEWS)?;
    if marker.as_deref() != Some(&[VIEW_FORMAT]) {
        return Ok((!has_actions(log)?).then(AttentionList::default));
    }
    let paused = PauseSwitch::load(log).map_err(unreadable)?;
    attention(
        log,
        paused.is_paused(),
        open_of(log, Status::Unknown)?,
        approvers,
        &Elapsed::by_clock(now),
    )
    .map(Some)
}

fn attention(
    log: &dyn EventLog,
    paused: bool,
    unknown_total: u64,
    approvers: &[Voter],
    elapsed: &Elapsed,
) -> Result<AttentionList, ListError> {
    let overdue = overdue(log, elapsed.now())?;
    let mut stuck = Vec::new();
    let mut not_stuck = 0;
    for id in &overdue {
        if ATTENTION_MAX <= stuck.len() {
            break;
        }
        match explained(log, *id, paused, elapsed)? {
            Some(found) if found.why.trouble == Trouble::Stuck => stuck.push(found),
            Some(_) | None => not_stuck += 1,
        }
    }
    let unknown = unknown(log, paused, elapsed)?;
    let (short, short_total) = short(log, approvers, elapsed.now())?;
    let (alarms, alarm_total) = alarms(log, elapsed.now())?;
    Ok(AttentionList {
        // Of one that came since the count there is at least this one.
        unknown_total: unknown_total.max(unknown.len() as u64),
        unknown,
        stuck,
        stuck_total: overdue.len().saturating_sub(not_stuck) as u64,
        short,
        short_total,
        alarms,
        alarm_total,
    })
}

fn has_actions(log: &dyn EventLog) -> Result<bool, ListError> {
    let mut position = 0;
    loop {
        let records = log.read_all(position, EVENTS_MAX)?;
        let Some(last) = records.last() else {
            return Ok(false);
        };
        position = last.position;
        let mut streams = records.iter().map(|record| &record.stream);
        if streams.any(|stream| codec::action_of(stream).is_some()) {
            return Ok(true);
        }
    }
}

/// Unknown outcomes, no more than are explained. What has nothing due stands at the end of its lane, and
/// is read first: nothing but a person ends it.
fn unknown(
    log: &dyn EventLog,
    paused: bool,
    elapsed: &Elapsed,
) -> Result<Vec<Attention>, ListError> {
    let lane: Vec<u8> = index::lane(Status::Unknown).into_iter().collect();
    let at_the_end = index::never(Status::Unknown);
    let never = ScanRange {
        prefix: &at_the_end,
        ..ScanRange::default()
    };
    let checked = ScanRange {
        prefix: &lane,
        above: None,
        below: Some(&at_the_end),
    };
    let mut found = Vec::new();
    for range in [never, checked] {
        let left = ATTENTION_MAX.saturating_sub(found.len());
        let entries = log.scan(index::OPEN, range, left, Direction::Forward)?;
        for open in entries.iter().filter_map(|(key, _)| OpenKey::parse(key)) {
            found.extend(explained(log, open.id, paused, elapsed)?);
        }
    }
    Ok(found)
}

/// What was to be called some time ago, in the order of since when: what the engine calls by the open
/// index, what workers pull by the index of work, whose order is not that of their deadlines.
fn overdue(log: &dyn EventLog, now: Timestamp) -> Result<Vec<ActionId>, ListError> {
    let before = Timestamp(now.0.saturating_sub_unsigned(OVERDUE_MS));
    let mut due = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut note = |at: Timestamp, id: ActionId| {
        if seen.insert(id) {
            due.insert((at, id));
        }
    };
    let mut above: Option<Vec<u8>> = None;
    loop {
        let range = ScanRange {
            above: above.as_deref(),
            ..ScanRange::default()
        };
        // The next tool that has work at all.
        let next = log.scan(index::WORK, range, 1, Direction::Forward)?;
        let Some(first) = next
            .first()
            .and_then(|(key, value)| WorkKey::parse(key, value))
        else {
            break;
        };
        let below = index::work_after(&first.tool, before);
        let tool = index::work_of(&first.tool);
        let range = ScanRange {
            prefix: &tool,
            above: None,
            below: Some(&below),
        };
        for (key, value) in log.scan(index::WORK, range, EXAMINED_MAX, Direction::Forward)? {
            if let Some(work) = WorkKey::parse(&key, &value) {
                note(work.due, work.id);
            }
        }
        above = Some(index::work_end(&first.tool));
    }
    for status in [Status::Approved, Status::Accepted] {
        let lane: Vec<u8> = index::lane(status).into_iter().collect();
        let below = index::after(status, before);
        let range = ScanRange {
            prefix: &lane,
            above: None,
            below: Some(&below),
        };
        for (key, _) in log.scan(index::OPEN, range, EXAMINED_MAX, Direction::Forward)? {
            if let Some(open) = OpenKey::parse(&key) {
                note(open.due, open.id);
            }
        }
    }
    Ok(due.into_iter().map(|(_, id)| id).collect())
}

/// What waits for more people than may vote on it, and how many there are of that.
fn short(
    log: &dyn EventLog,
    approvers: &[Voter],
    now: Timestamp,
) -> Result<(Vec<Attention>, u64), ListError> {
    let lane: Vec<u8> = index::lane(Status::Staged).into_iter().collect();
    let range = ScanRange {
        prefix: &lane,
        ..ScanRange::default()
    };
    let (mut found, mut total) = (Vec::new(), 0);
    for (key, _) in log.scan(index::OPEN, range, STAGED_MAX, Direction::Forward)? {
        let Some(open) = OpenKey::parse(&key) else {
            continue;
        };
        let Some(view) = load(log, open.id).map_err(unreadable)? else {
            continue;
        };
        let missing = shortages(&view.action, approvers, now);
        if missing.is_empty() {
            continue;
        }
        total += 1;
        if found.len() < ATTENTION_MAX {
            let why = explain_short(&view.action, &missing);
            found.push(Attention { view, why });
        }
    }
    Ok((found, total))
}

/// What ended with an alarm a short time ago, the last one first, and how much there is of that.
fn alarms(log: &dyn EventLog, now: Timestamp) -> Result<(Vec<Attention>, u64), ListError> {
    let shown_ms = ALARM_SHOWN_DAYS * 24 * 60 * 60 * 1000;
    let before = Timestamp(now.0.saturating_sub_unsigned(shown_ms));
    let above = index::alarms_after(before);
    let range = ScanRange {
        above: Some(&above),
        ..ScanRange::default()
    };
    let entries = log.scan(index::ALARM, range, EXAMINED_MAX, Direction::Backward)?;
    let mut found = Vec::new();
    for (key, _) in entries.iter().take(ATTENTION_MAX) {
        let Some((at, id)) = index::parse_moment_and_id(key) else {
            continue;
        };
        if let Some(view) = load(log, id).map_err(unreadable)? {
            let why = explain_alarm(&view.action, at);
            found.push(Attention { view, why });
        }
    }
    Ok((found, entries.len() as u64))
}

/// An action with why it does not move; none where it moves, or is not there any more.
fn explained(
    log: &dyn EventLog,
    id: ActionId,
    paused: bool,
    elapsed: &Elapsed,
) -> Result<Option<Attention>, ListError> {
    let Some(view) = load(log, id).map_err(unreadable)? else {
        return Ok(None);
    };
    let events = if view.action.status() == Status::Unknown {
        events_of(log, &view)?
    } else {
        Vec::new()
    };
    let why = explain(&view.action, &events, paused, elapsed);
    Ok(why.map(|why| Attention { view, why }))
}

fn events_of(log: &dyn EventLog, view: &Versioned) -> Result<Vec<Event>, ListError> {
    let stream = codec::stream_of(view.action.id);
    let from = view.version.saturating_sub(EVENTS_MAX as u64);
    let records = log.read_stream(&stream, from, EVENTS_MAX)?;
    let decoded = records.iter().map(codec::decode_event);
    decoded.collect::<Result<_, _>>().map_err(unreadable)
}

fn unreadable(error: impl Error + Send + Sync + 'static) -> ListError {
    ListError::Unavailable(Box::new(error))
}

#[cfg(test)]
mod tests;
