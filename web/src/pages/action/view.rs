//! Everything that the page of an action shows.

use std::collections::BTreeMap;

use askama::Template;
use holdpoint_engine::action::{Action, Event, Phase, SafetyClass, Status};
use holdpoint_engine::approval::{Vote, Voter};
use holdpoint_engine::engine::HistoryEntry;
use holdpoint_engine::identity::Principal;
use holdpoint_engine::time::Timestamp;

use super::of_run::OfRun;
use super::parts::{
    AttemptView, EventView, NeedView, RequestView, SnapshotView, VoteView, attempts, event_view,
    fail_rows, need_view, request_view, snapshot_view, status_note,
};
use super::standing::{Standing, standing};
use crate::display::Shown;
use crate::pages::shell::Shell;
use crate::pages::view::{
    ClassView, DiffRow, Names, Row, StatusView, When, diff_rows, kind_badge, rows, span_words,
    text_row,
};

/// The page.
#[derive(Template)]
#[template(path = "action.html")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts for the template"
)]
pub(in crate::pages) struct ActionPage {
    pub(in crate::pages) shell: Shell,
    pub(in crate::pages) form: FormState,
    pub(in crate::pages) id: String,
    /// How many events it has; the script asks whether there are more.
    pub(in crate::pages) version: u64,
    headline: Shown,
    tool: Shown,
    class: &'static str,
    /// What the class means for this call; none where it was not taken on.
    class_words: Option<String>,
    is_refused: bool,
    is_irreversible: bool,
    status: StatusView,
    status_note: Option<Shown>,
    is_read_again: bool,
    caller: Shown,
    caller_kind: &'static str,
    owner: Option<Shown>,
    created: When,
    updated: When,
    deadline: Option<When>,
    is_open_for_votes: bool,
    not_before: Option<When>,
    /// Until when a copy of a call whose outcome is unknown may still arrive.
    quiet: Option<When>,
    hold: Option<When>,
    hold_words: Option<String>,
    /// When it will run, where that is not now.
    run_at: Option<When>,
    is_pulled: bool,
    waits_for_worker: bool,
    standing: Standing,
    why: Shown,
    args: Vec<Row>,
    has_long: bool,
    has_marked: bool,
    request: Option<RequestView>,
    snapshot: Option<SnapshotView>,
    diff: Vec<DiffRow>,
    needs: Vec<NeedView>,
    votes: Vec<VoteView>,
    reason: Option<Shown>,
    labels: Vec<(Shown, Shown)>,
    key: Shown,
    revision: u32,
    digest: String,
    tool_digest: String,
    snapshot_digest: Option<String>,
    result: Vec<Row>,
    attempts: Vec<AttemptView>,
    timeline: Vec<EventView>,
    is_whole: bool,
    raw: Shown,
    of_run: Option<OfRun>,
}

/// What a form brought back.
#[derive(Clone, Debug, Default)]
pub(in crate::pages) struct FormState {
    /// The words typed so far.
    pub(in crate::pages) reason: String,
    /// What is wrong, with the id of the field it belongs to.
    pub(in crate::pages) errors: Vec<(&'static str, String)>,
    /// Why the answer does not fit any more.
    pub(in crate::pages) stale: Option<Stale>,
}

impl FormState {
    fn error(&self, field: &str) -> Option<&str> {
        self.errors
            .iter()
            .find(|(name, _)| *name == field)
            .map(|(_, message)| message.as_str())
    }
}

/// What changed since the reader's page was made.
#[derive(Clone, Debug, Default)]
pub(in crate::pages) struct Stale {
    pub(in crate::pages) words: String,
    pub(in crate::pages) diff: Vec<DiffRow>,
}

/// What the page is made from.
pub(in crate::pages) struct Source<'a> {
    pub(in crate::pages) action: &'a Action,
    pub(in crate::pages) version: u64,
    pub(in crate::pages) history: &'a [HistoryEntry],
    pub(in crate::pages) names: &'a Names,
    pub(in crate::pages) person: &'a Principal,
    pub(in crate::pages) now: Timestamp,
    /// Until when at least an approver may take the approval back.
    pub(in crate::pages) held_until: Option<Timestamp>,
    /// Arguments that are amounts, by the name of their row.
    pub(in crate::pages) amounts: &'a BTreeMap<String, String>,
    /// The action as programs see it.
    pub(in crate::pages) json: String,
    /// Who may still vote; none where nobody may any more.
    pub(in crate::pages) others: Option<&'a [Voter]>,
    /// The run that it is a step of.
    pub(in crate::pages) of_run: Option<OfRun>,
}

/// Whether the arguments or the body are too long to be taken in at a glance, so that a voter must
/// say that they were read (incident 85).
pub(super) fn has_long_values(action: &Action) -> bool {
    let body = action.request.as_ref().and_then(|it| it.body.as_deref());
    body.is_some_and(|body| text_row("", body).is_long)
        || rows(&action.proposal.args).iter().any(|row| row.is_long)
}

impl ActionPage {
    #[expect(
        clippy::too_many_lines,
        reason = "one line for each thing that the page shows"
    )]
    pub(in crate::pages) fn new(shell: Shell, form: FormState, source: Source<'_>) -> Self {
        let (action, names, now) = (source.action, source.names, source.now);
        let proposal = &action.proposal;
        let mine = standing(action, source.person, names, source.held_until, now);
        let mut args = rows(&proposal.args);
        for row in &mut args {
            let amount = source.amounts.get(&row.name.plain());
            row.formatted = amount.map(|amount| Shown::line(amount));
        }
        let request = action.request.as_ref().map(request_view);
        let snapshot = action.snapshot.as_ref().map(|s| snapshot_view(s, now));
        let is_refused = action.status() == Status::Refused;
        let run_at = action.run_at();
        let is_due = run_at.is_some_and(|moment| moment <= now);
        let approval = action.approval.as_ref();
        let hold_ms = approval.map_or(0, |approval| approval.requirement.hold_ms);
        Self {
            form,
            id: action.id.to_string(),
            version: source.version,
            headline: Shown::line(&proposal.summary),
            tool: Shown::line(&proposal.tool),
            class: proposal.class.name(),
            class_words: (!is_refused).then(|| ClassView::of_action(action).words()),
            is_refused,
            is_irreversible: proposal.class == SafetyClass::Irreversible,
            status: status_view(action, source.history),
            status_note: status_note(action, source.history, names),
            is_read_again: proposal.class.revalidates(),
            caller: Shown::line(&proposal.caller.name),
            caller_kind: kind_badge(proposal.caller.kind),
            owner: proposal
                .caller
                .owner
                .as_ref()
                .map(|owner| Shown::line(&names.short(owner))),
            created: When::new(action.created_at, now),
            updated: When::new(action.updated_at, now),
            deadline: action.deadline().map(|deadline| When::new(deadline, now)),
            is_open_for_votes: action.phase == Phase::Staged,
            quiet: action
                .doubt
                .filter(|doubt| now < doubt.quiet_at)
                .map(|doubt| When::new(doubt.quiet_at, now)),
            // Once it is decided, the moment at which it runs says all.
            not_before: action
                .not_before
                .filter(|_| action.phase == Phase::Staged)
                .map(|moment| When::new(moment, now)),
            hold: source.held_until.map(|moment| When::new(moment, now)),
            hold_words: (0 < hold_ms)
                .then(|| span_words(std::time::Duration::from_millis(hold_ms))),
            run_at: run_at
                .filter(|moment| now < *moment)
                .map(|moment| When::new(moment, now)),
            is_pulled: action.is_pulled(),
            waits_for_worker: is_due && action.is_pulled(),
            why: Shown::line(&mine.why),
            standing: mine,
            has_long: has_long_values(action),
            has_marked: args.iter().any(|row| row.marked),
            args,
            request,
            snapshot,
            diff: diff_rows(&action.diff),
            needs: approval.map_or_else(Vec::new, |approval| {
                let needs = approval.requirement.needs.iter();
                needs
                    .map(|need| need_view(need, &approval.votes, source.others))
                    .collect()
            }),
            votes: approval.map_or_else(Vec::new, |approval| {
                let votes = approval.votes.iter();
                votes
                    .map(|cast| VoteView {
                        name: Shown::line(&cast.voter.name),
                        word: match cast.vote {
                            Vote::Approve => "approved",
                            Vote::Reject => "rejected",
                        },
                        reason: cast.reason.as_deref().map(Shown::block),
                        at: When::new(cast.at, now),
                    })
                    .collect()
            }),
            reason: proposal.reason.as_deref().map(Shown::block),
            labels: proposal
                .labels
                .iter()
                .map(|(key, value)| (Shown::line(key), Shown::line(value)))
                .collect(),
            key: Shown::line(&proposal.idempotency_key),
            revision: action.revision,
            digest: proposal.digest.to_string(),
            tool_digest: proposal.tool_digest.to_string(),
            snapshot_digest: action.snapshot.as_ref().map(|s| s.digest.to_string()),
            result: match &action.phase {
                Phase::Succeeded { result } => rows(result),
                Phase::Failed(reason) => fail_rows(reason),
                Phase::Staged
                | Phase::Approved { .. }
                | Phase::Accepted { .. }
                | Phase::Executing
                | Phase::Unknown { .. }
                | Phase::Rejected { .. }
                | Phase::Expired
                | Phase::Cancelled { .. }
                | Phase::Refused(_)
                | Phase::ReplanRequired { .. } => Vec::new(),
            },
            attempts: attempts(action, now),
            is_whole: u64::try_from(source.history.len()) == Ok(source.version),
            timeline: source
                .history
                .iter()
                .map(|entry| event_view(entry, names, now))
                .collect(),
            raw: Shown::block(&source.json),
            of_run: source.of_run,
            shell,
        }
    }
}

/// The status, without more certainty than the evidence has.
fn status_view(action: &Action, history: &[HistoryEntry]) -> StatusView {
    let settled = history.iter().rev().find_map(|entry| match entry.event {
        Some(Event::Settled { happened, .. }) => Some(happened),
        Some(_) | None => None,
    });
    let status = StatusView::new(action.status());
    match settled {
        Some(happened) => status.by_word_of_a_person(happened),
        None => status,
    }
}
