//! The layout of the engine's indexes, numbers 1 to 19 and 60 to 69.
//!
//! | index | key | value |
//! |---|---|---|
//! | 1 view | id (16) | format byte, version and action |
//! | 2 open | status (1), due (8), id (16) | the name of the tool |
//! | 3 meta | a name | see [`META_VIEWS`], [`META_TOTALS`], [`META_KINDS`] |
//! | 10 work | tool, 0, due (8), id (16) | the digest of the tool (32) |
//! | 11 claimed | digest of worker and key (32), id (16) | the fingerprint of the claim (32) |
//! | 12 alarm | when (8), id (16) | the name of the tool |
//! | 60 remind | due (8), id (16) | the name of the tool |
//!
//! Index 2 holds what is waiting, not what has happened: every action that is not final has exactly
//! one entry in it. Each status is a lane of its own, in the order of what is due first, so that the
//! scheduler finds an approved action without looking at anything that is merely submitted. What is
//! never due by itself (it waits for a person or a worker) stands at the end of its lane.
//!
//! Index 10 holds what workers may pull, now or later, by tool. What a worker has is not in it. Index 11
//! holds what workers have, where they asked for it under a key. Index 12 holds what has ended with an
//! alarm, in the order of when.

use crate::action::{Action, ActionId, ClaimKey, Phase, Status};
use crate::canon::Digest;
use crate::time::Timestamp;

/// Views of actions, by id.
pub(crate) const VIEW: u8 = 1;
/// What is not final.
pub(crate) const OPEN: u8 = 2;
/// What the engine remembers about its indexes.
pub(crate) const META: u8 = 3;
/// What workers may pull.
pub(crate) const WORK: u8 = 10;
/// What workers have, by the key under which they asked.
pub(crate) const CLAIMED: u8 = 11;
/// What ended with an alarm, and when.
pub(crate) const ALARM: u8 = 12;
/// Who is to be reminded, and when. Apart from the open index, whose order is that of the deadlines.
pub(crate) const REMIND: u8 = 60;

/// The format of the views and of the open index; missing or another: they are built again.
pub(crate) const META_VIEWS: &[u8] = b"views";
/// How many actions have become final, up to a position.
pub(crate) const META_TOTALS: &[u8] = b"totals";
/// Up to where every record was found to be of a known kind.
pub(crate) const META_KINDS: &[u8] = b"kinds";

/// The statuses that are not final: the lanes of the open index, in order.
pub(crate) const LANES: [Status; 5] = [
    Status::Staged,
    Status::Approved,
    Status::Accepted,
    Status::Executing,
    Status::Unknown,
];

/// When nothing but a person or a worker can move it.
pub(crate) const NEVER: Timestamp = Timestamp(i64::MAX);

/// One entry of the open index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenKey {
    /// The lane.
    pub(crate) status: Status,
    /// When the engine must look at it; [`NEVER`] where it need not.
    pub(crate) due: Timestamp,
    /// Which action.
    pub(crate) id: ActionId,
}

impl OpenKey {
    /// The entry of an action; none for a final one.
    pub(crate) fn of(action: &Action) -> Option<Self> {
        let status = action.status();
        lane(status)?;
        Some(Self {
            status,
            due: due_of(action),
            id: action.id,
        })
    }

    /// The 25 bytes. Moments before 1970 are as due as 1970.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut key = Vec::with_capacity(25);
        key.push(lane(self.status).unwrap_or(0));
        key.extend_from_slice(&self.due.0.max(0).to_be_bytes());
        key.extend_from_slice(self.id.as_bytes());
        key
    }

    /// The other way round; none for bytes that are no entry.
    pub(crate) fn parse(key: &[u8]) -> Option<Self> {
        let (lane, rest) = key.split_first()?;
        let (due, id) = rest.split_at_checked(8)?;
        Some(Self {
            status: *LANES.get(usize::from(lane.checked_sub(1)?))?,
            due: Timestamp(i64::from_be_bytes(due.try_into().ok()?)),
            id: ActionId::from_bytes(id.try_into().ok()?),
        })
    }
}

/// When the people of a staged action are to be reminded next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RemindKey {
    /// When.
    pub(crate) due: Timestamp,
    /// Which action.
    pub(crate) id: ActionId,
}

impl RemindKey {
    /// The entry of an action; none where nobody is to be reminded (any more).
    pub(crate) fn of(action: &Action) -> Option<Self> {
        let (_, due) = action.next_reminder()?;
        Some(Self { due, id: action.id })
    }

    /// The 24 bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        moment_and_id(self.due, self.id)
    }

    /// The other way round; none for bytes that are no entry.
    pub(crate) fn parse(key: &[u8]) -> Option<Self> {
        let (due, id) = parse_moment_and_id(key)?;
        Some(Self { due, id })
    }

    /// The first key that is due after `now`.
    pub(crate) fn after(now: Timestamp) -> Vec<u8> {
        now.0.max(0).saturating_add(1).to_be_bytes().to_vec()
    }
}

/// The key of what is sorted by a moment, in 24 bytes. Moments before 1970 are as old as 1970.
fn moment_and_id(moment: Timestamp, id: ActionId) -> Vec<u8> {
    let mut key = moment.0.max(0).to_be_bytes().to_vec();
    key.extend_from_slice(id.as_bytes());
    key
}

/// What the keys of alarms after a moment come behind.
pub(crate) fn alarms_after(moment: Timestamp) -> Vec<u8> {
    moment_and_id(moment, ActionId::from_bytes([u8::MAX; 16]))
}

/// The other way round; none for bytes that are no such key.
pub(crate) fn parse_moment_and_id(key: &[u8]) -> Option<(Timestamp, ActionId)> {
    let (moment, id) = key.split_at_checked(8)?;
    let moment = Timestamp(i64::from_be_bytes(moment.try_into().ok()?));
    Some((moment, ActionId::from_bytes(id.try_into().ok()?)))
}

/// One entry beside a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) index: u8,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// Every entry that an action has beside its view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entries(Vec<Entry>);

impl Entries {
    /// Those of an action.
    pub(crate) fn of(action: &Action) -> Self {
        let tool = || action.proposal.tool.clone().into_bytes();
        let open = OpenKey::of(action).map(|open| Entry {
            index: OPEN,
            key: open.bytes(),
            value: tool(),
        });
        let work = WorkKey::of(action).map(|work| Entry {
            index: WORK,
            key: work.bytes(),
            value: work.tool_digest.as_bytes().to_vec(),
        });
        let remind = RemindKey::of(action).map(|remind| Entry {
            index: REMIND,
            key: remind.bytes(),
            value: tool(),
        });
        let claimed = ClaimedKey::of(action).map(|claimed| Entry {
            index: CLAIMED,
            key: claimed.bytes(),
            value: claimed.asked.fingerprint.as_bytes().to_vec(),
        });
        let alarm = action.alarmed_at().map(|at| Entry {
            index: ALARM,
            key: moment_and_id(at, action.id),
            value: tool(),
        });
        let all = [open, work, claimed, remind, alarm];
        Self(all.into_iter().flatten().collect())
    }

    /// Those that are not among `others`.
    pub(crate) fn without(&self, others: &Self) -> impl Iterator<Item = Entry> {
        let own = self.0.iter();
        own.filter(|entry| !others.0.contains(entry)).cloned()
    }
}

/// The first byte of the keys of a lane; none for a final status.
pub(crate) fn lane(status: Status) -> Option<u8> {
    let place = LANES.iter().position(|lane| *lane == status)?;
    u8::try_from(place + 1).ok()
}

/// The first key of a lane that is due after `now`.
pub(crate) fn after(status: Status, now: Timestamp) -> Vec<u8> {
    let mut key = vec![lane(status).unwrap_or(0)];
    key.extend_from_slice(&now.0.max(0).saturating_add(1).to_be_bytes());
    key
}

/// What the entries of a lane start with that nothing but a person or a worker can move.
pub(crate) fn never(status: Status) -> Vec<u8> {
    let mut key = vec![lane(status).unwrap_or(0)];
    key.extend_from_slice(&NEVER.0.to_be_bytes());
    key
}

/// When the engine must look at the action. A worker's action is looked at for its deadline and for
/// the end of a lease only. A call of the engine's own is not looked at: recovery reads its lane whole
/// at start, and while the process lives, the task that made the call records what became of it.
fn due_of(action: &Action) -> Timestamp {
    let due = match &action.phase {
        Phase::Approved { .. } if action.is_pulled() => action.deadline(),
        Phase::Accepted { .. } if action.is_pulled() => None,
        // A worker that says nothing any more.
        Phase::Executing => action
            .attempts
            .last()
            .and_then(|last| Some(last.lease.as_ref()?.until)),
        Phase::Staged
        | Phase::Approved { .. }
        | Phase::Accepted { .. }
        | Phase::Unknown { .. }
        | Phase::Succeeded { .. }
        | Phase::Failed(_)
        | Phase::Rejected { .. }
        | Phase::Expired
        | Phase::Cancelled { .. }
        | Phase::Refused(_)
        | Phase::ReplanRequired { .. } => action.due_at(),
    };
    due.unwrap_or(NEVER)
}

/// From when on a worker may pull the action; none where there is nothing to pull.
pub(crate) fn pulled_from(action: &Action) -> Option<Timestamp> {
    action.run_at().filter(|_| action.is_pulled())
}

/// One entry of the work index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkKey {
    /// The name of the tool.
    pub(crate) tool: String,
    /// Not to be pulled before this.
    pub(crate) due: Timestamp,
    /// Which action.
    pub(crate) id: ActionId,
    /// The digest of the definition that it was proposed with.
    pub(crate) tool_digest: Digest,
}

impl WorkKey {
    /// The entry of an action; none where there is nothing to pull.
    pub(crate) fn of(action: &Action) -> Option<Self> {
        Some(Self {
            tool: action.proposal.tool.clone(),
            due: pulled_from(action)?,
            id: action.id,
            tool_digest: action.proposal.tool_digest,
        })
    }

    /// The key.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut key = work_of(&self.tool);
        key.extend_from_slice(&self.due.0.max(0).to_be_bytes());
        key.extend_from_slice(self.id.as_bytes());
        key
    }

    /// The other way round; none for bytes that are no entry.
    pub(crate) fn parse(key: &[u8], value: &[u8]) -> Option<Self> {
        let (tool, rest) = key.split_at_checked(key.len().checked_sub(25)?)?;
        let (due, id) = rest.strip_prefix(&[0])?.split_at_checked(8)?;
        Some(Self {
            tool: String::from_utf8(tool.to_vec()).ok()?,
            due: Timestamp(i64::from_be_bytes(due.try_into().ok()?)),
            id: ActionId::from_bytes(id.try_into().ok()?),
            tool_digest: Digest::from_bytes(value.try_into().ok()?),
        })
    }
}

/// One entry of the index of claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClaimedKey {
    /// The key, and what was asked for.
    pub(crate) asked: ClaimKey,
    /// What was given.
    pub(crate) id: ActionId,
}

impl ClaimedKey {
    /// The entry of an action that a worker has, where it asked under a key.
    fn of(action: &Action) -> Option<Self> {
        let last = action.attempts.last().filter(|_| action.is_leased())?;
        let asked = last.lease.as_ref()?.key?;
        let id = action.id;
        Some(Self { asked, id })
    }

    fn bytes(&self) -> Vec<u8> {
        let mut key = self.asked.key.as_bytes().to_vec();
        key.extend_from_slice(self.id.as_bytes());
        key
    }

    /// The other way round; none for bytes that are no entry.
    pub(crate) fn parse(key: &[u8], value: &[u8]) -> Option<Self> {
        let (key, id) = key.split_at_checked(32)?;
        Some(Self {
            asked: ClaimKey {
                key: Digest::from_bytes(key.try_into().ok()?),
                fingerprint: Digest::from_bytes(value.try_into().ok()?),
            },
            id: ActionId::from_bytes(id.try_into().ok()?),
        })
    }
}

/// What the keys of one tool start with: no name holds a zero.
pub(crate) fn work_of(tool: &str) -> Vec<u8> {
    let mut key = tool.as_bytes().to_vec();
    key.push(0);
    key
}

/// A key behind all those of one tool, and before those of the next.
pub(crate) fn work_end(tool: &str) -> Vec<u8> {
    let mut key = tool.as_bytes().to_vec();
    key.push(1);
    key
}

/// The first key of a tool that is due after `now`.
pub(crate) fn work_after(tool: &str, now: Timestamp) -> Vec<u8> {
    let mut key = work_of(tool);
    key.extend_from_slice(&now.0.max(0).saturating_add(1).to_be_bytes());
    key
}
