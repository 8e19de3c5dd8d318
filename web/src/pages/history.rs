//! Everything that ever happened, with filters in the address.

use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use chrono::{Days, NaiveDate};
use holdpoint_engine::action::Status;
use holdpoint_engine::engine::{ListOrder, ListQuery};
use holdpoint_engine::time::Timestamp;
use http::StatusCode;
use serde::Deserialize;

use super::error::PageError;
use super::list::{ListRow, collect};
use super::query;
use super::shell::{Shell, Visit, page};
use super::view::StatusView;

/// What the address asks for; also what an export exports. A mistyped name is refused: left out, it
/// would find more than was asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Filter {
    text: String,
    status: String,
    tool: String,
    caller: String,
    label: String,
    from: String,
    to: String,
    cursor: String,
    #[serde(skip)]
    errors: Vec<(&'static str, String)>,
}

impl Filter {
    /// As a query of the engine; what cannot be read is left out and noted in `errors`.
    pub(super) fn read(&mut self) -> ListQuery {
        let some = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
        let mut query = ListQuery {
            statuses: Status::parse(&self.status).into_iter().collect(),
            tool: some(&self.tool),
            caller: some(&self.caller),
            text: some(&self.text),
            cursor: some(&self.cursor),
            order: ListOrder::NewestFirst,
            limit: 50,
            ..ListQuery::default()
        };
        if let Some(label) = some(&self.label) {
            match label.split_once('=') {
                Some((name, value)) if !name.is_empty() => {
                    query.labels.insert(name.to_owned(), value.to_owned());
                }
                Some(_) | None => {
                    let message = "Write a label as name=value, for example order_id=8812";
                    self.errors.push(("label", message.into()));
                }
            }
        }
        if query.statuses.is_empty() && !self.status.is_empty() {
            // Left out, it would find more than was asked for.
            let message = "There is no such status; choose one from the list";
            self.errors.push(("status", message.into()));
        }
        query.from = self.day("from", 0);
        query.to = self.day("to", 1);
        query
    }

    /// Whether anything is asked for in the fields that are folded away.
    fn has_more(&self) -> bool {
        let fields = [&self.tool, &self.caller, &self.label, &self.from, &self.to];
        fields.iter().any(|field| !field.trim().is_empty())
    }

    pub(super) fn is_readable(&self) -> bool {
        self.errors.is_empty()
    }

    /// The first moment of a day in UTC, some days later.
    fn day(&mut self, field: &'static str, later: u64) -> Option<Timestamp> {
        let text = if field == "from" {
            &self.from
        } else {
            &self.to
        };
        if text.trim().is_empty() {
            return None;
        }
        let moment = NaiveDate::parse_from_str(text.trim(), "%Y-%m-%d")
            .ok()
            .and_then(|day| day.checked_add_days(Days::new(later)))
            .and_then(|day| day.and_hms_opt(0, 0, 0))
            .map(|moment| Timestamp(moment.and_utc().timestamp_millis()));
        if moment.is_none() {
            let message = "Write a day as year-month-day, for example 2026-03-01";
            self.errors.push((field, message.into()));
        }
        moment
    }

    fn error(&self, field: &str) -> Option<&str> {
        self.errors
            .iter()
            .find(|(name, _)| *name == field)
            .map(|(_, message)| message.as_str())
    }

    /// As the query of a link, starting at `cursor`.
    fn link(&self, cursor: &str) -> String {
        query::join(&[
            ("text", self.text.trim()),
            ("status", &self.status),
            ("tool", self.tool.trim()),
            ("caller", self.caller.trim()),
            ("label", self.label.trim()),
            ("from", self.from.trim()),
            ("to", self.to.trim()),
            ("cursor", cursor),
        ])
    }
}

struct StatusOption {
    code: &'static str,
    word: &'static str,
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage {
    shell: Shell,
    form: Filter,
    statuses: Vec<StatusOption>,
    is_filtered: bool,
    rows: Vec<ListRow>,
    query: String,
    is_later: bool,
    next_query: Option<String>,
}

/// `GET /history`.
pub(super) async fn get(
    visit: Visit,
    Query(mut filter): Query<Filter>,
) -> Result<Response, PageError> {
    let person = visit.person()?;
    let now = visit.now();
    let query = filter.read();
    let (found, next) = if filter.is_readable() {
        collect(&visit.state.engine, person, &query, |_| true)?
    } else {
        (Vec::new(), None)
    };
    let is_later = query.cursor.is_some();
    let mut shell = visit
        .shell(if is_later {
            "History, continued"
        } else {
            "History"
        })
        .section("history");
    shell.has_errors = !filter.is_readable();
    let link = filter.link("");
    let template = HistoryPage {
        shell,
        statuses: Status::ALL
            .into_iter()
            .map(|status| StatusOption {
                code: status.name(),
                word: StatusView::new(status).word,
                is_chosen: filter.status == status.name(),
            })
            .collect(),
        is_filtered: !link.is_empty(),
        rows: found
            .iter()
            .map(|it| {
                ListRow::new(&it.action, now).with_step(&visit.state.engine, person, &it.action)
            })
            .collect(),
        query: link,
        is_later,
        next_query: next.map(|cursor| filter.link(&cursor)),
        form: filter,
    };
    let mut response = page(&visit, &template)?;
    if !template.form.is_readable() {
        *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    }
    Ok(response)
}
