//! Lists and counts.
//!
//! Both orders read an index in order and filter on the way: the views backwards (ids sort by the
//! time of submission), or the open index from what is due first. The work of one page is bounded:
//! a page that met few matches ends early and says where to go on.

use holdpoint_storage::{Direction, ReadError, ScanRange};

use super::{Counts, Engine, ListError, ListOrder, ListQuery, Page, Versioned, may_see};
use crate::action::{ActionId, Status};
use crate::canon::Digest;
use crate::identity::Principal;
use crate::store::index::{self, OpenKey};
use crate::store::{LoadError, codec};
use crate::time::Timestamp;

/// The most actions on one page.
pub const LIST_MAX: usize = 200;

/// The most entries that one page looks at.
const EXAMINED_MAX: usize = 5000;

/// How many entries are read from an index at once.
const CHUNK: usize = 256;

impl Engine {
    /// One action, where the principal may see it.
    pub fn get(&self, by: &Principal, id: ActionId) -> Result<Versioned, super::ActError> {
        self.visible(by, id)
    }

    /// How many actions there are by status, and how old the oldest staged one is.
    pub fn counts(&self) -> Counts {
        let store = &self.inner.store;
        let counts = store.tally.counts(|id| {
            let loaded = store.load(id).ok().flatten();
            loaded.is_some_and(|view| view.action.status() == Status::Staged)
        });
        let age = counts
            .oldest_staged
            .map_or(0.0, |oldest| self.now().since(oldest).as_secs_f64());
        metrics::gauge!("holdpoint_oldest_staged_seconds").set(age);
        counts
    }

    /// One page of a list.
    pub fn list(&self, by: &Principal, query: &ListQuery) -> Result<Page, ListError> {
        let tag = filters_tag(query);
        let cursor = match query.cursor.as_deref().map(|text| text.split_once('.')) {
            None => None,
            Some(Some((sent, place))) if sent == tag => Some(Cursor::parse(place)?),
            Some(_) => return Err(ListError::BadCursor),
        };
        let filter = Filter {
            by,
            query,
            text: query.text.as_deref().map(str::to_lowercase),
        };
        let mut page = match query.order {
            ListOrder::NewestFirst => self.newest_first(&filter, cursor),
            ListOrder::DueFirst => self.due_first(&filter, cursor),
        }?;
        page.next_cursor = page.next_cursor.map(|place| format!("{tag}.{place}"));
        Ok(page)
    }

    fn newest_first(&self, filter: &Filter<'_>, cursor: Option<Cursor>) -> Result<Page, ListError> {
        let mut below = match cursor {
            Some(Cursor::Newest(id)) => Some(id.as_bytes().to_vec()),
            Some(Cursor::Due(..)) => return Err(ListError::BadCursor),
            None => filter.query.to.map(first_id_at),
        };
        // Bounds are left out, so the key right before the first one of `from`.
        let from = filter.query.from.map(first_id_at);
        let mut page = Collected::new(filter.query.limit);
        loop {
            let range = ScanRange {
                prefix: &[],
                above: None,
                below: below.as_deref(),
            };
            let entries = self
                .log()
                .scan(index::VIEW, range, CHUNK, Direction::Backward)?;
            if entries.is_empty() {
                return Ok(page.last());
            }
            for (key, value) in entries {
                if from.as_ref().is_some_and(|from| key < *from) {
                    return Ok(page.last());
                }
                let view = codec::decode_view(&value).map_err(damaged)?;
                let cursor = Cursor::Newest(view.action.id);
                if page.examine(view, filter, cursor) {
                    return Ok(page.more());
                }
                below = Some(key);
            }
        }
    }

    fn due_first(&self, filter: &Filter<'_>, cursor: Option<Cursor>) -> Result<Page, ListError> {
        let after = match cursor {
            Some(Cursor::Due(due, id)) => Some((due, id)),
            Some(Cursor::Newest(_)) => return Err(ListError::BadCursor),
            None => None,
        };
        let wanted = |status: &Status| {
            filter.query.statuses.is_empty() || filter.query.statuses.contains(status)
        };
        let mut lanes: Vec<LaneReader<'_>> = index::LANES
            .into_iter()
            .filter(wanted)
            .map(|status| LaneReader::new(self, status, after))
            .collect();
        let mut page = Collected::new(filter.query.limit);
        loop {
            let mut first: Option<(usize, OpenKey)> = None;
            for (place, lane) in lanes.iter_mut().enumerate() {
                if let Some(open) = lane.peek()?
                    && first.is_none_or(|(_, best)| (open.due, open.id) < (best.due, best.id))
                {
                    first = Some((place, open));
                }
            }
            let Some((place, open)) = first else {
                return Ok(page.last());
            };
            lanes[place].advance();
            // It may have become final since the entry was read.
            let Some(view) = self.inner.store.load(open.id).map_err(unreadable)? else {
                continue;
            };
            if page.examine(view, filter, Cursor::Due(open.due, open.id)) {
                return Ok(page.more());
            }
        }
    }
}

/// The entries of one lane of the open index, in order.
struct LaneReader<'a> {
    engine: &'a Engine,
    prefix: Vec<u8>,
    above: Option<Vec<u8>>,
    read: std::collections::VecDeque<OpenKey>,
    is_at_end: bool,
}

impl<'a> LaneReader<'a> {
    fn new(engine: &'a Engine, status: Status, after: Option<(Timestamp, ActionId)>) -> Self {
        Self {
            engine,
            prefix: index::lane(status).into_iter().collect(),
            above: after.map(|(due, id)| OpenKey { status, due, id }.bytes()),
            read: std::collections::VecDeque::new(),
            is_at_end: false,
        }
    }

    fn peek(&mut self) -> Result<Option<OpenKey>, ReadError> {
        if self.read.is_empty() && !self.is_at_end {
            let range = ScanRange {
                prefix: &self.prefix,
                above: self.above.as_deref(),
                below: None,
            };
            let log = self.engine.log();
            let entries = log.scan(index::OPEN, range, CHUNK, Direction::Forward)?;
            self.is_at_end = entries.len() < CHUNK;
            self.read = entries
                .iter()
                .filter_map(|(key, _)| OpenKey::parse(key))
                .collect();
            if let Some((key, _)) = entries.into_iter().last() {
                self.above = Some(key);
            }
        }
        Ok(self.read.front().copied())
    }

    fn advance(&mut self) {
        self.read.pop_front();
    }
}

/// A page while it fills.
struct Collected {
    actions: Vec<Versioned>,
    limit: usize,
    examined: usize,
    cursor: Option<Cursor>,
}

impl Collected {
    fn new(limit: usize) -> Self {
        Self {
            actions: Vec::new(),
            limit: limit.clamp(1, LIST_MAX),
            examined: 0,
            cursor: None,
        }
    }

    /// Looks at one more; answers whether the page is done.
    fn examine(&mut self, view: Versioned, filter: &Filter<'_>, cursor: Cursor) -> bool {
        self.examined += 1;
        self.cursor = Some(cursor);
        if filter.takes(&view) {
            self.actions.push(view);
        }
        self.limit <= self.actions.len() || EXAMINED_MAX <= self.examined
    }

    fn more(self) -> Page {
        Page {
            actions: self.actions,
            next_cursor: self.cursor.map(Cursor::text),
        }
    }

    fn last(self) -> Page {
        Page {
            actions: self.actions,
            next_cursor: None,
        }
    }
}

struct Filter<'a> {
    by: &'a Principal,
    query: &'a ListQuery,
    text: Option<String>,
}

impl Filter<'_> {
    fn takes(&self, view: &Versioned) -> bool {
        let action = &view.action;
        let proposal = &action.proposal;
        let query = self.query;
        let status = action.status();
        let created = action.created_at;
        may_see(self.by, action)
            && (query.statuses.is_empty() || query.statuses.contains(&status))
            && (query.order == ListOrder::NewestFirst || !status.is_final())
            && query
                .tool
                .as_ref()
                .is_none_or(|tool| *tool == proposal.tool)
            && query
                .caller
                .as_ref()
                .is_none_or(|caller| *caller == proposal.caller.id)
            && query.from.is_none_or(|from| from <= created)
            && query.to.is_none_or(|to| created < to)
            && query
                .labels
                .iter()
                .all(|(name, value)| proposal.labels.get(name) == Some(value))
            && self.text.as_ref().is_none_or(|text| contains(view, text))
    }
}

fn contains(view: &Versioned, text: &str) -> bool {
    let proposal = &view.action.proposal;
    let id = view.action.id.to_string();
    [
        &proposal.summary,
        &proposal.tool,
        &proposal.caller.name,
        &id,
    ]
    .into_iter()
    .chain(proposal.labels.values())
    .any(|field| field.to_lowercase().contains(text))
}

/// Stands for the filters and the order of a list, so that its cursor is good for no other.
fn filters_tag(query: &ListQuery) -> String {
    let filters = ListQuery {
        cursor: None,
        limit: 0,
        ..query.clone()
    };
    let digest = Digest::of(format!("{filters:?}").as_bytes()).to_string();
    let hex = digest.trim_start_matches("sha256:");
    hex.chars().take(8).collect()
}

/// Where a page ended.
#[derive(Clone, Copy)]
enum Cursor {
    Newest(ActionId),
    Due(Timestamp, ActionId),
}

impl Cursor {
    fn text(self) -> String {
        match self {
            Self::Newest(id) => format!("n-{id}"),
            Self::Due(due, id) => format!("d-{:x}-{id}", due.0),
        }
    }

    fn parse(text: &str) -> Result<Self, ListError> {
        let parsed = match text.split_once('-') {
            Some(("n", id)) => id.parse().ok().map(Self::Newest),
            Some(("d", rest)) => rest.split_once('-').and_then(|(due, id)| {
                let due = i64::from_str_radix(due, 16).ok()?;
                Some(Self::Due(Timestamp(due), id.parse().ok()?))
            }),
            Some(_) | None => None,
        };
        parsed.ok_or(ListError::BadCursor)
    }
}

/// The key before every id of that moment or later.
fn first_id_at(at: Timestamp) -> Vec<u8> {
    let millis = at.0.clamp(0, (1 << 48) - 1).to_be_bytes();
    millis[2..].to_vec()
}

impl From<ReadError> for ListError {
    fn from(error: ReadError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

fn unreadable(error: LoadError) -> ListError {
    ListError::Unavailable(Box::new(error))
}

fn damaged(error: codec::CodecError) -> ListError {
    ListError::Unavailable(Box::new(error))
}
