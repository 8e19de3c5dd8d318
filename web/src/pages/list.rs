//! Actions as rows of a list.

use holdpoint_engine::action::{Action, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::engine::{Engine, ListError, ListQuery, Versioned};
use holdpoint_engine::identity::Principal;
use holdpoint_engine::time::Timestamp;

use super::view::{StatusView, When, kind_badge};
use crate::display::Shown;
use crate::step_of::StepOf;

/// How many actions one read of the store brings.
const CHUNK: usize = 50;
/// A page ends after the chunk in which it has this many rows.
const ROWS_ENOUGH: usize = 25;
/// The most chunks that are read for one page, so that a rare filter does not read everything.
const CHUNKS_MAX: usize = 20;

/// One action in a list.
#[derive(Clone, Debug)]
pub(super) struct ListRow {
    pub(super) id: String,
    pub(super) headline: Shown,
    pub(super) status: StatusView,
    pub(super) class: &'static str,
    pub(super) votes: Option<String>,
    pub(super) due: Option<When>,
    /// When it will run, where that is decided and not now.
    pub(super) runs: Option<When>,
    /// Before when it will not run, where that is not decided.
    pub(super) not_before: Option<When>,
    pub(super) because: Option<Shown>,
    pub(super) caller: Shown,
    pub(super) caller_kind: &'static str,
    pub(super) tool: Shown,
    pub(super) created: When,
    pub(super) step: Option<StepNote>,
}

/// Which step of which run an action is.
#[derive(Clone, Debug)]
pub(super) struct StepNote {
    pub(super) run: String,
    pub(super) name: Shown,
    pub(super) path: Shown,
}

impl ListRow {
    pub(super) fn new(action: &Action, now: Timestamp) -> Self {
        let proposal = &action.proposal;
        let approval = action.approval.as_ref();
        let because: Vec<_> = approval
            .iter()
            .flat_map(|approval| &approval.requirement.needs)
            .filter_map(|need| need.because.as_deref())
            .collect();
        Self {
            id: action.id.to_string(),
            headline: Shown::line(&proposal.summary),
            status: StatusView::new(action.status()),
            class: proposal.class.name(),
            votes: approval.map(|approval| {
                let yes = |vote: &Vote| *vote == Vote::Approve;
                let have = approval.votes.iter().filter(|cast| yes(&cast.vote)).count();
                let required = approval.requirement.required();
                format!("votes {have} of {required}")
            }),
            due: (action.status() == Status::Staged)
                .then(|| action.deadline().map(|deadline| When::new(deadline, now)))
                .flatten(),
            runs: action
                .run_at()
                .filter(|moment| now < *moment)
                .map(|moment| When::new(moment, now)),
            not_before: action
                .not_before
                .filter(|moment| action.status() == Status::Staged && now < *moment)
                .map(|moment| When::new(moment, now)),
            because: (!because.is_empty()).then(|| Shown::line(&because.join("; "))),
            caller: Shown::line(&proposal.caller.name),
            caller_kind: kind_badge(proposal.caller.kind),
            tool: Shown::line(&proposal.tool),
            created: When::new(action.created_at, now),
            step: None,
        }
    }

    /// With the step that it is, where that is true and may be seen.
    pub(super) fn with_step(mut self, engine: &Engine, by: &Principal, action: &Action) -> Self {
        let said = StepOf::said_by(action);
        self.step = said.and_then(|step| {
            let run = step.run_of(engine, by, action.id)?;
            Some(StepNote {
                run: run.id.to_string(),
                name: Shown::line(&run.name),
                path: Shown::line(step.path.as_str()),
            })
        });
        self
    }
}

/// The next actions that `wanted` keeps, and where to go on. Whole chunks of the store, so that
/// nothing is left out or seen twice.
pub(super) fn collect(
    engine: &Engine,
    by: &Principal,
    query: &ListQuery,
    wanted: impl Fn(&Action) -> bool,
) -> Result<(Vec<Versioned>, Option<String>), ListError> {
    let mut query = query.clone();
    query.limit = CHUNK;
    let mut found = Vec::new();
    for _ in 0..CHUNKS_MAX {
        let page = engine.list(by, &query)?;
        let kept = page.actions.into_iter().filter(|it| wanted(&it.action));
        found.extend(kept);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() || ROWS_ENOUGH <= found.len() {
            break;
        }
    }
    Ok((found, query.cursor))
}

/// How many actions `wanted` keeps, as far as is counted for a tab: `12`, or `500+`.
pub(super) fn count(
    engine: &Engine,
    by: &Principal,
    query: &ListQuery,
    wanted: impl Fn(&Action) -> bool,
) -> Result<String, ListError> {
    let mut query = query.clone();
    query.limit = 100;
    let mut found = 0;
    for _ in 0..5 {
        let page = engine.list(by, &query)?;
        found += page.actions.iter().filter(|it| wanted(&it.action)).count();
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(found.to_string());
        }
    }
    Ok(format!("{found}+"))
}

#[cfg(test)]
mod tests {
    use holdpoint_engine::action::Phase;

    use super::*;
    use crate::pages::samples::{self, NOW};

    fn words(action: &Action) -> (Option<String>, Option<String>) {
        let row = ListRow::new(action, NOW);
        let text = |when: Option<When>| when.map(|when| when.text().to_owned());
        (text(row.runs), text(row.not_before))
    }

    #[test]
    fn a_row_says_when_a_scheduled_action_will_run() {
        let mut action = samples::refund();
        assert_eq!(words(&action), (None, None));
        let run_at = NOW.plus_ms(60_000);
        let moment = Some("1 Mar 2026, 12:01:00 UTC".to_owned());
        action.not_before = Some(run_at);
        assert_eq!(words(&action), (None, moment.clone()), "if it is approved");
        let hold_until = Some(run_at);
        action.phase = Phase::Approved { run_at, hold_until };
        assert_eq!(words(&action), (moment.clone(), None));
        action.phase = Phase::Accepted { run_at };
        assert_eq!(words(&action), (moment, None));
        action.phase = Phase::Accepted { run_at: NOW };
        assert_eq!(words(&action), (None, None), "it runs now");
    }
}
