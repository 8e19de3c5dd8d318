//! The page of operators and auditors: outcomes that nobody knows, what stands still, what cannot be
//! approved, and alarms.

use askama::Template;
use axum::response::Response;
use holdpoint_engine::action::{Action, Trouble};
use holdpoint_engine::engine::Attention;
use holdpoint_engine::identity::{Principal, Role};
use holdpoint_engine::time::Timestamp;

use super::error::PageError;
use super::shell::{Shell, Visit, page};
use super::view::{StatusView, When};
use crate::display::Shown;

/// Whether the page is for this person.
pub(super) fn may_see(person: &Principal) -> bool {
    let roles = [Role::Operator, Role::Auditor, Role::Admin];
    roles.into_iter().any(|role| person.has(role))
}

/// One action that needs somebody.
struct OutcomeView {
    id: String,
    headline: Shown,
    tool: Shown,
    status: StatusView,
    since: When,
    tried: Vec<Shown>,
    next: Shown,
    help: Shown,
    quiet: Option<When>,
    /// Whether the reader may settle it; else why not.
    may_settle: bool,
    why_not: Option<&'static str>,
}

impl OutcomeView {
    fn new(found: &Attention, person: &Principal, now: Timestamp) -> Self {
        let action = &found.view.action;
        let why_not = why_not(action, found.why.trouble, person);
        Self {
            id: action.id.to_string(),
            headline: Shown::line(&action.proposal.summary),
            tool: Shown::line(&action.proposal.tool),
            status: StatusView::new(action.status()),
            since: When::new(found.why.since, now),
            tried: found
                .why
                .tried
                .iter()
                .map(|line| Shown::line(line))
                .collect(),
            next: Shown::line(&found.why.next),
            help: Shown::line(&found.why.help),
            quiet: action
                .doubt
                .filter(|doubt| now < doubt.quiet_at)
                .map(|doubt| When::new(doubt.quiet_at, now)),
            may_settle: found.why.trouble == Trouble::Unknown && why_not.is_none(),
            why_not,
        }
    }
}

/// Why the reader may not settle the outcome; none where they may, and where there is nothing to
/// settle. Only for show: the engine decides again.
fn why_not(action: &Action, trouble: Trouble, person: &Principal) -> Option<&'static str> {
    let requester = action.requester();
    let asked = requester.asks(&person.id);
    let pushed = requester.instigators.contains(&person.id);
    let voted = action.approval.as_ref().is_some_and(|approval| {
        let mut votes = approval.votes.iter();
        votes.any(|cast| cast.voter.id == person.id)
    });
    if trouble != Trouble::Unknown {
        return None;
    }
    if asked {
        return Some(
            "You asked for it, or own the key that did: somebody else must say what became of it.",
        );
    }
    if pushed {
        return Some(
            "You made the run go on that it is a step of: somebody else must say what became of it.",
        );
    }
    if voted {
        return Some("You approved it: somebody else must say what became of it.");
    }
    (!person.has(Role::Operator)).then_some("Settling is for people with the role of operator.")
}

#[derive(Template)]
#[template(path = "outcomes.html")]
struct OutcomesPage {
    shell: Shell,
    unknown: Vec<OutcomeView>,
    /// How many more are not shown.
    unknown_more: u64,
    still: Vec<StillView>,
}

/// What does not move, for one reason.
struct StillView {
    heading: &'static str,
    words: &'static str,
    outcomes: Vec<OutcomeView>,
    /// How many more are not shown.
    more: u64,
    /// The statuses under which they are listed.
    statuses: &'static [&'static str],
}

/// `GET /outcomes`.
pub(super) async fn get(visit: Visit) -> Result<Response, PageError> {
    let person = visit.person()?;
    if !may_see(person) {
        return Err(PageError::Forbidden(
            "This page is for operators, auditors and administrators. Your own requests are in the queue under “My requests”.".into(),
        ));
    }
    let now = visit.now();
    let found = visit.state.engine.attention(person)?;
    let of = |found: &[Attention]| {
        let views = found.iter();
        views
            .map(|found| OutcomeView::new(found, person, now))
            .collect()
    };
    let [unknown_more, stuck_more, short_more, alarms_more] = found.left_off();
    let mut still = vec![
        StillView {
            heading: "What stands still",
            words: "These could be called now, and are not.",
            outcomes: of(&found.stuck),
            more: stuck_more,
            statuses: &["approved", "accepted"],
        },
        StillView {
            heading: "What cannot be approved",
            words: "Fewer people may vote on these than are asked for.",
            outcomes: of(&found.short),
            more: short_more,
            statuses: &["staged"],
        },
        StillView {
            heading: "Alarms",
            words: "The target answered 422 to these: it may know the key with another request.",
            outcomes: of(&found.alarms),
            more: alarms_more,
            statuses: &["failed"],
        },
    ];
    still.retain(|part| !part.outcomes.is_empty());
    let template = OutcomesPage {
        shell: visit.shell("Unknown outcomes").section("outcomes"),
        unknown: of(&found.unknown),
        unknown_more,
        still,
    };
    page(&visit, &template)
}
