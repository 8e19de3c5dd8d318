//! The queue: what waits, and for whom.

use askama::Template;
use axum::extract::Query;
use axum::response::{IntoResponse, Redirect, Response};
use holdpoint_engine::action::{Action, Status};
use holdpoint_engine::engine::{ListOrder, ListQuery};
use holdpoint_engine::identity::{Principal, Role};
use holdpoint_engine::time::Timestamp;
use serde::Deserialize;

use super::action::{is_requester, may_vote};
use super::error::PageError;
use super::list::{ListRow, collect, count};
use super::query;
use super::shell::{Shell, Visit, page};

/// A part of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tab {
    NeedsMe,
    Others,
    Mine,
    Open,
    Unknown,
    Done,
}

const OPEN: [Status; 5] = [
    Status::Staged,
    Status::Approved,
    Status::Accepted,
    Status::Executing,
    Status::Unknown,
];

impl Tab {
    const ALL: [Self; 6] = [
        Self::NeedsMe,
        Self::Others,
        Self::Mine,
        Self::Open,
        Self::Unknown,
        Self::Done,
    ];

    fn code(self) -> &'static str {
        match self {
            Self::NeedsMe => "needs-me",
            Self::Others => "others",
            Self::Mine => "mine",
            Self::Open => "open",
            Self::Unknown => "unknown",
            Self::Done => "done",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::NeedsMe => "Needs me",
            Self::Others => "Waiting on others",
            Self::Mine => "My requests",
            Self::Open => "All open",
            Self::Unknown => "Unknown outcomes",
            Self::Done => "Done",
        }
    }

    /// What to say where there is nothing: the fact, and what would appear.
    fn empty(self) -> (&'static str, &'static str) {
        match self {
            Self::NeedsMe => (
                "Nothing needs you.",
                "Actions that you may vote on, and have not voted on yet, appear here. What is due first stands first.",
            ),
            Self::Others => (
                "Nothing waits on others.",
                "Actions that wait for votes of other people appear here, also those that you have voted on.",
            ),
            Self::Mine => (
                "You have no requests.",
                "What you ask for, yourself or with a key that belongs to you, appears here.",
            ),
            Self::Open => (
                "Nothing is open.",
                "Everything that waits, is being sent, or whose outcome is unknown appears here.",
            ),
            Self::Unknown => (
                "No outcome is unknown.",
                "Actions that were sent and gave no reliable answer appear here, until the target or an operator says what became of them.",
            ),
            Self::Done => (
                "Nothing is done yet.",
                "Everything that has come to its end appears here, the newest first.",
            ),
        }
    }

    fn query(self) -> ListQuery {
        let (statuses, order) = match self {
            Self::NeedsMe | Self::Others => (vec![Status::Staged], ListOrder::DueFirst),
            Self::Mine => (Vec::new(), ListOrder::NewestFirst),
            Self::Open => (OPEN.to_vec(), ListOrder::DueFirst),
            // An outcome that only a person can settle has no due time.
            Self::Unknown => (vec![Status::Unknown], ListOrder::NewestFirst),
            Self::Done => (
                Status::ALL.into_iter().filter(|s| s.is_final()).collect(),
                ListOrder::NewestFirst,
            ),
        };
        ListQuery {
            statuses,
            order,
            limit: 1,
            ..ListQuery::default()
        }
    }

    fn keeps(self, action: &Action, person: &Principal, now: Timestamp) -> bool {
        match self {
            Self::NeedsMe => may_vote(action, person, now),
            Self::Others => !may_vote(action, person, now) && !is_requester(action, person),
            Self::Mine => is_requester(action, person),
            Self::Open | Self::Unknown | Self::Done => true,
        }
    }

    /// Whether the tab is there for this person.
    fn is_for(self, person: &Principal) -> bool {
        match self {
            Self::NeedsMe => person.has(Role::Approver),
            Self::Others | Self::Open => person.sees_all(),
            Self::Unknown => person.has(Role::Operator),
            Self::Mine | Self::Done => true,
        }
    }
}

/// What the address asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct QueueQuery {
    tab: String,
    text: String,
    tool: String,
    cursor: String,
}

struct TabView {
    name: &'static str,
    query: String,
    count: Option<String>,
    is_open: bool,
}

#[derive(Template)]
#[template(path = "queue.html")]
struct QueuePage {
    shell: Shell,
    tabs: Vec<TabView>,
    tab: &'static str,
    tab_name: &'static str,
    text: String,
    tool: String,
    is_filtered: bool,
    rows: Vec<ListRow>,
    empty_title: &'static str,
    empty_words: &'static str,
    is_later: bool,
    first_query: String,
    next_query: Option<String>,
}

/// `GET /`.
pub(super) async fn root() -> Redirect {
    Redirect::to("/queue")
}

/// `GET /queue`.
pub(super) async fn get(
    visit: Visit,
    Query(asked): Query<QueueQuery>,
) -> Result<Response, PageError> {
    let person = visit.person()?;
    let now = visit.now();
    let engine = &visit.state.engine;
    let offered = || Tab::ALL.into_iter().filter(|tab| tab.is_for(person));
    let tab = offered()
        .find(|tab| tab.code() == asked.tab)
        .or_else(|| offered().next())
        .unwrap_or(Tab::Mine);
    let text = asked.text.trim();
    let tool = asked.tool.trim();
    let mut query = tab.query();
    query.text = (!text.is_empty()).then(|| text.to_owned());
    query.tool = (!tool.is_empty()).then(|| tool.to_owned());
    query.cursor = (!asked.cursor.is_empty()).then(|| asked.cursor.clone());
    let (found, next) = collect(engine, person, &query, |it| tab.keeps(it, person, now))?;

    let link = |cursor: &str| {
        query::join(&[
            ("tab", tab.code()),
            ("text", text),
            ("tool", tool),
            ("cursor", cursor),
        ])
    };
    let mut tabs = Vec::new();
    for other in offered() {
        let counted = match other {
            Tab::Done => None,
            Tab::NeedsMe | Tab::Others | Tab::Mine | Tab::Open | Tab::Unknown => {
                let keeps = |it: &Action| {
                    other.keeps(it, person, now) && (other != Tab::Mine || !it.status().is_final())
                };
                Some(count(engine, person, &other.query(), keeps)?)
            }
        };
        tabs.push(TabView {
            name: other.name(),
            query: query::pair("tab", other.code()),
            count: counted,
            is_open: other == tab,
        });
    }
    let is_filtered = !text.is_empty() || !tool.is_empty();
    let (empty_title, empty_words) = if is_filtered {
        (
            "Nothing fits this filter.",
            "Take a condition away, or clear the filter.",
        )
    } else if next.is_some() {
        (
            "Nothing on this page.",
            "There may be more on the next one.",
        )
    } else {
        tab.empty()
    };
    let is_later = query.cursor.is_some();
    let position = if is_later { ", continued" } else { "" };
    let template = QueuePage {
        shell: visit
            .shell(format!("{}{position} – Queue", tab.name()))
            .section("queue"),
        tabs,
        tab: tab.code(),
        tab_name: tab.name(),
        text: text.to_owned(),
        tool: tool.to_owned(),
        is_filtered,
        rows: found
            .iter()
            .map(|it| ListRow::new(&it.action, now).with_step(engine, person, &it.action))
            .collect(),
        empty_title,
        empty_words,
        is_later,
        first_query: link(""),
        next_query: next.map(|cursor| link(&cursor)),
    };
    Ok(page(&visit, &template)?.into_response())
}
