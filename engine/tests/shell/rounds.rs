//! Everybody at once, again and again: one outcome each time (invariant I4).
//!
//! `HOLDPOINT_ROUNDS` sets the number of rounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use holdpoint_engine::action::{ActionId, Refusal, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::engine::{ActError, Engine, Options, Versioned};
use holdpoint_engine::target::Locals;
use holdpoint_storage::MemoryLog;
use serde_json::json;

use crate::world::{
    ManualClock, alice, approver, auditor, ballot, open_with, service, submission, taken,
};

const AT_ONCE: usize = 100;

/// What one of the hundred wants.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    Approve,
    Reject,
    /// Approves and takes it back.
    Waver,
    Cancel,
    /// The deadline passes.
    Wait,
}

impl Wish {
    fn of(number: usize, round: usize) -> Self {
        match number % 10 {
            4..=6 => Self::Reject,
            7 => Self::Waver,
            // In some rounds nobody cancels and the deadline stays away, so that votes decide.
            8 if !round.is_multiple_of(3) => Self::Cancel,
            9 if number == 99 && round.is_multiple_of(4) => Self::Wait,
            _ => Self::Approve,
        }
    }
}

struct Round {
    engine: Engine,
    clock: Arc<ManualClock>,
    called: Arc<AtomicUsize>,
    staged: Versioned,
}

impl Round {
    async fn open(round: usize) -> Self {
        let called = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&called);
        let locals = Locals::default().with("pay", move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok(json!({ "id": 1 })) }
        });
        let options = Options {
            locals,
            ..Options::default()
        };
        let clock = ManualClock::new();
        let tools = json!({ "tools": { "pay": {
            "safetyClass": "approval-bound",
            "execute": { "local": "pay" },
            "approval": { "required": 1 + round % 3, "expiresIn": "1h" },
        } } });
        let log = Arc::new(MemoryLog::new());
        let engine = open_with(log, &tools, Some(clock.clone()), options).await;
        let staged = engine
            .submit(&service(), submission("pay", json!({})))
            .await;
        Self {
            engine,
            clock,
            called,
            staged: taken(staged),
        }
    }

    /// Whether it was taken.
    async fn wish(&self, number: usize, wish: Wish) -> bool {
        let id = self.staged.action.id;
        let by = approver(&format!("p{number}"));
        let vote = async |vote| self.engine.vote(&by, id, ballot(&self.staged, vote)).await;
        let outcome = match wish {
            Wish::Approve => vote(Vote::Approve).await,
            Wish::Reject => vote(Vote::Reject).await,
            Wish::Waver => match vote(Vote::Approve).await {
                Ok(voted) => match self.engine.withdraw(&by, id, None).await {
                    // Too late: then the vote stands.
                    Err(ActError::Refused(_)) => Ok(voted),
                    other => other,
                },
                refused => refused,
            },
            Wish::Cancel => self.engine.cancel(&service(), id, None).await,
            Wish::Wait => {
                self.clock.advance(Duration::from_hours(2));
                self.engine.wake();
                return false;
            }
        };
        match outcome {
            Ok(_) => true,
            Err(ActError::Refused(
                Refusal::AlreadyDecided { .. } | Refusal::TooLate { .. } | Refusal::NotWithdrawable,
            )) => false,
            Err(error) => panic!("{error:?}"),
        }
    }

    fn kinds(&self, id: ActionId) -> Vec<String> {
        let history = self.engine.history(&auditor(), id, 0, 1000);
        let entries = history.expect("a history").into_iter();
        entries.map(|entry| entry.kind).collect()
    }
}

/// What may follow, once the outcome of the approval is there.
fn check(kinds: &[String], status: Status, called: usize) {
    let told = || format!("{kinds:?}, {called} calls");
    let is_outcome = |kind: &&String| {
        [
            "action.approved",
            "action.rejected",
            "action.expired",
            "action.cancelled",
        ]
        .contains(&kind.as_str())
    };
    let first = kinds.iter().find(is_outcome).expect("an outcome");
    let outcomes = kinds.iter().filter(is_outcome).count();
    // An approval may still be cancelled, or run out, before the call; no other outcome has a second.
    let followed =
        first == "action.approved" && matches!(status, Status::Cancelled | Status::Expired);
    assert_eq!(outcomes, 1 + usize::from(followed), "{}", told());
    let count = |wanted: &str| kinds.iter().filter(|kind| *kind == wanted).count();
    let commits = count("action.commit_recorded");
    // The deadline may come between the record and the call: then it is recorded that nothing left.
    let unsent = count("action.attempt_not_delivered");
    assert_eq!(commits - unsent, called, "{}", told());
    assert_eq!(
        called,
        usize::from(status == Status::Succeeded),
        "{}",
        told()
    );
    let expected = match status {
        Status::Succeeded => "action.approved",
        Status::Rejected => "action.rejected",
        Status::Expired | Status::Cancelled => kinds.iter().rfind(is_outcome).expect("one"),
        other => panic!("{other:?}: {}", told()),
    };
    assert!(followed || first == expected, "{status:?}: {}", told());
}

#[tokio::test(flavor = "multi_thread")]
async fn i04_a_hundred_at_once_have_one_outcome_a_thousand_times() {
    let rounds = std::env::var("HOLDPOINT_ROUNDS").ok();
    let rounds = rounds.map_or(1000, |text| text.parse().expect("a number of rounds"));
    let mut ends = std::collections::BTreeMap::new();
    for number in 0..rounds {
        let round = Arc::new(Round::open(number).await);
        let id = round.staged.action.id;
        let mut tasks = tokio::task::JoinSet::new();
        for place in 0..AT_ONCE {
            let (round, wish) = (Arc::clone(&round), Wish::of(place, number));
            tasks.spawn(async move { round.wish(place, wish).await });
        }
        let mut taken = 0;
        while let Some(outcome) = tasks.join_next().await {
            taken += usize::from(outcome.expect("no panic"));
        }
        let mut view = round.engine.get(&auditor(), id).expect("it is there");
        while !view.action.status().is_final() {
            let patience = Duration::from_secs(30);
            let next = round
                .engine
                .wait(&auditor(), id, view.version, patience)
                .await;
            let next = next.expect("visible");
            assert_ne!(
                next.version, view.version,
                "it stays {:?}",
                view.action.phase
            );
            view = next;
        }
        // The deadline may come before everybody.
        let is_heard = 0 < taken || view.action.status() == Status::Expired;
        assert!(is_heard, "nobody is heard: {:?}", view.action.phase);
        // A repeat of any vote has the same answer for ever, and nobody else gets one.
        let again = round
            .engine
            .vote(&alice(), id, ballot(&view, Vote::Approve))
            .await;
        assert!(again.is_err(), "it is over");
        round.engine.shutdown(Duration::from_mins(1)).await;
        let status = round
            .engine
            .get(&auditor(), id)
            .expect("it is there")
            .action
            .status();
        check(
            &round.kinds(id),
            status,
            round.called.load(Ordering::SeqCst),
        );
        *ends.entry(status.name()).or_insert(0) += 1;
    }
    assert!(
        rounds < 1000 || 3 <= ends.len(),
        "every kind of end is met: {ends:?}"
    );
}
