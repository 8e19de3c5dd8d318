//! What needs a person: unknown outcomes, and what stands still (invariant I27).

use holdpoint_storage::{Direction, EventLog, ScanRange};

use super::{Engine, ListError, Versioned, may_see};
use crate::action::{Event, Explanation, Status, explain};
use crate::identity::Principal;
use crate::store::codec::{self, VIEW_FORMAT};
use crate::store::index::{self, OpenKey};
use crate::store::{PauseSwitch, load};
use crate::time::Timestamp;

/// The most that is explained at once.
pub const ATTENTION_MAX: usize = 200;

/// The most entries of the open index that one look reads.
const EXAMINED_MAX: usize = 5000;

/// The most events that one explanation looks at: the last ones.
const EVENTS_MAX: usize = 1000;

/// Where to look, what hurts most first.
const LANES: [Status; 3] = [Status::Unknown, Status::Approved, Status::Accepted];

/// An action that needs a person, explained.
#[derive(Clone, Debug)]
pub struct Attention {
    /// The action.
    pub view: Versioned,
    /// Why, and what to do.
    pub why: Explanation,
}

impl Engine {
    /// What needs a person, unknown outcomes first; only what `by` may see, at most
    /// [`ATTENTION_MAX`].
    pub fn attention(&self, by: &Principal) -> Result<Vec<Attention>, ListError> {
        let log = self.log().as_ref();
        attention(log, self.is_paused(), self.now(), |view| {
            may_see(by, &view.action)
        })
    }

    /// How many outcomes are unknown.
    pub fn unknown_count(&self) -> u64 {
        let counts = self.counts().by_status;
        counts.get(&Status::Unknown).copied().unwrap_or(0)
    }
}

/// What needs a person, as a log on disk says that no engine runs on; none where its indexes are of
/// another version, so that the next start builds them first.
pub fn attention_in(
    log: &dyn EventLog,
    now: Timestamp,
) -> Result<Option<Vec<Attention>>, ListError> {
    let marker = log.get(index::META, index::META_VIEWS)?;
    if marker.as_deref() != Some(&[VIEW_FORMAT]) {
        return Ok(None);
    }
    let paused = PauseSwitch::load(log).map_err(|error| ListError::Unavailable(Box::new(error)))?;
    attention(log, paused.is_paused(), now, |_| true).map(Some)
}

fn attention(
    log: &dyn EventLog,
    paused: bool,
    now: Timestamp,
    is_visible: impl Fn(&Versioned) -> bool,
) -> Result<Vec<Attention>, ListError> {
    let mut found = Vec::new();
    for lane in LANES {
        let prefix: Vec<u8> = index::lane(lane).into_iter().collect();
        let range = ScanRange {
            prefix: &prefix,
            ..ScanRange::default()
        };
        for (key, _) in log.scan(index::OPEN, range, EXAMINED_MAX, Direction::Forward)? {
            if ATTENTION_MAX <= found.len() {
                return Ok(found);
            }
            let Some(open) = OpenKey::parse(&key) else {
                continue;
            };
            let loaded =
                load(log, open.id).map_err(|error| ListError::Unavailable(Box::new(error)))?;
            let Some(view) = loaded.filter(&is_visible) else {
                continue;
            };
            let events = match lane {
                Status::Unknown => events_of(log, &view)?,
                _ => Vec::new(),
            };
            if let Some(why) = explain(&view.action, &events, paused, now) {
                found.push(Attention { view, why });
            }
        }
    }
    Ok(found)
}

fn events_of(log: &dyn EventLog, view: &Versioned) -> Result<Vec<Event>, ListError> {
    let stream = codec::stream_of(view.action.id);
    let from = view.version.saturating_sub(EVENTS_MAX as u64);
    let records = log.read_stream(&stream, from, EVENTS_MAX)?;
    let decoded = records.iter().map(codec::decode_event);
    decoded
        .collect::<Result<_, _>>()
        .map_err(|error| ListError::Unavailable(Box::new(error)))
}
