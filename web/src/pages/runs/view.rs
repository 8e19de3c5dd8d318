//! What the page of a run shows.

use askama::Template;
use holdpoint_engine::engine::HistoryEntry;
use holdpoint_engine::run::{Origin, Receipt, Run};
use holdpoint_engine::time::Timestamp;

use super::schedules::ScheduleLink;
use super::standing::{Standing, in_form_words};
use super::step::{Bar, StepView, bar_of, took};
use crate::display::Shown;
use crate::pages::shell::Shell;
use crate::pages::view::{
    Names, Row, StatusView, When, Words, describe_run, flag_words, kind_badge, rows, run_status,
};

/// What a form brought back.
#[derive(Clone, Debug, Default)]
pub(super) struct FormState {
    pub(super) reason: String,
    pub(super) errors: Vec<(&'static str, String)>,
}

/// An event of the run.
pub(super) struct EventView {
    pub(super) position: u64,
    pub(super) at: When,
    pub(super) actor: Shown,
    pub(super) kind: Shown,
    pub(super) headline: Shown,
    pub(super) quote: Option<Shown>,
    pub(super) facts: Vec<Row>,
    pub(super) hash: String,
}

/// The text of the skill file.
pub(super) struct FileView {
    pub(super) sha256: String,
    pub(super) text: Shown,
}

/// The page.
#[derive(Template)]
#[template(path = "run.html")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a part of the page of its own"
)]
pub(super) struct RunPage {
    shell: Shell,
    form: FormState,
    id: String,
    name: Shown,
    kind: &'static str,
    status: StatusView,
    message: Option<Shown>,
    is_cancelling: bool,
    continued_as: Option<String>,
    continues: Option<String>,
    totals: String,
    bar: Bar,
    took: String,
    caller: Shown,
    caller_kind: &'static str,
    owner: Option<Shown>,
    created: When,
    ended: Option<When>,
    flags: String,
    is_skill: bool,
    schedule: Option<ScheduleLink>,
    unattended: bool,
    steps: Vec<StepView>,
    input: Vec<Row>,
    secrets: Vec<Shown>,
    output: Vec<Row>,
    file: Option<FileView>,
    standing: Standing,
    events: Vec<EventView>,
    event_count: u64,
    is_whole: bool,
}

/// What the page is made from.
pub(super) struct Source<'a> {
    pub(super) run: &'a Run,
    pub(super) is_carried_on: bool,
    pub(super) history: &'a [HistoryEntry],
    pub(super) names: &'a Names,
    pub(super) standing: Standing,
    pub(super) receipt: Receipt,
    pub(super) schedule: Option<ScheduleLink>,
    pub(super) now: Timestamp,
}

impl RunPage {
    pub(super) fn new(shell: Shell, form: FormState, source: Source<'_>) -> Self {
        let Source {
            run,
            is_carried_on,
            history,
            names,
            standing,
            receipt,
            schedule,
            now,
        } = source;
        let start = &run.start;
        let caller = &start.caller;
        let (kind, file) = match &start.origin {
            Origin::Skill { text, digest, .. } => {
                let sha256 = digest.to_string();
                let file = FileView {
                    sha256: sha256.trim_start_matches("sha256:").to_owned(),
                    text: Shown::block(text),
                };
                ("skill file", Some(file))
            }
            Origin::Code { version, .. } if 1 < *version => ("workflow of a later version", None),
            Origin::Code { .. } => ("workflow", None),
        };
        let until = run.ended.as_ref().map_or(now, |ended| ended.at);
        Self {
            id: run.id.to_string(),
            name: Shown::line(start.origin.name()),
            kind,
            status: run_status(run.status(), is_carried_on),
            message: receipt
                .message
                .as_deref()
                .map(|text| Shown::block(&in_form_words(text))),
            is_cancelling: run.cancel.is_some() && run.ended.is_none(),
            continued_as: receipt.continued_as.clone(),
            continues: start.continues.map(|run| run.to_string()),
            totals: totals(&receipt),
            bar: bar_of(receipt.totals.passed, receipt.totals.steps),
            took: took(receipt.ms),
            caller: Shown::line(&caller.name),
            caller_kind: kind_badge(caller.kind),
            owner: caller
                .owner
                .as_ref()
                .map(|owner| Shown::line(&names.short(owner))),
            created: When::new(run.created_at, now),
            ended: run.ended.as_ref().map(|ended| When::new(ended.at, now)),
            flags: flag_words(run.flags).join("; "),
            is_skill: run.is_skill(),
            schedule,
            unattended: start.unattended,
            steps: receipt
                .steps
                .iter()
                .map(|step| StepView::new(step, run, until))
                .collect(),
            input: match start.input.as_str() {
                "{}" | "null" => Vec::new(),
                _ => rows(&start.input),
            },
            secrets: start.secrets.iter().map(|name| Shown::line(name)).collect(),
            output: match &run.ended {
                Some(ended) if ended.output.as_str() != "null" => rows(&ended.output),
                Some(_) | None => Vec::new(),
            },
            file,
            standing,
            event_count: run.events,
            is_whole: u64::try_from(history.len()) == Ok(run.events),
            events: history
                .iter()
                .map(|entry| event(entry, names, now))
                .collect(),
            form,
            shell,
        }
    }
}

fn event(entry: &HistoryEntry, names: &Names, now: Timestamp) -> EventView {
    let Words {
        headline,
        quote,
        facts,
        ..
    } = describe_run(entry);
    EventView {
        position: entry.position,
        at: When::new(entry.at, now),
        actor: Shown::line(&names.short(&entry.actor)),
        kind: Shown::line(&entry.kind),
        // It names steps, whose paths come from code.
        headline: Shown::line(&headline),
        quote,
        facts,
        hash: entry.hash.clone(),
    }
}

/// How many steps ended how, in words; what there is none of is left out.
fn totals(receipt: &Receipt) -> String {
    let totals = receipt.totals;
    let parts = [
        (totals.passed, "passed"),
        (totals.failed, "did not pass"),
        (totals.withheld, "withheld"),
        (totals.waiting, "under way or not begun"),
        (totals.skipped, "left out or not reached"),
    ];
    let said = parts.iter().filter(|(count, _)| *count != 0);
    let said: Vec<_> = said
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    match (totals.steps, said.is_empty()) {
        (0, _) => "No step has begun.".to_owned(),
        (1, true) => "1 step.".to_owned(),
        (steps, true) => format!("{steps} steps."),
        (1, false) => format!("1 step: {}.", said.join(", ")),
        (steps, false) => format!("{steps} steps: {}.", said.join(", ")),
    }
}
