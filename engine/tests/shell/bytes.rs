//! Any byte of what an approval binds to: another one, and neither the vote nor the commit goes
//! through (invariant I3). All changes that are accepted are held against the digests; some of each
//! part go the whole way, from the text that is parsed.

mod texts;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use holdpoint_engine::action::{Refusal, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::canon::parse_strict;
use holdpoint_engine::engine::{ActError, Engine, Options, Submitted, Versioned};
use holdpoint_engine::target::{Answer, Body, CallError, Outgoing, Target};
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::MemoryLog;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

use texts::{Change, Part, Texts, accepted, bound, file, texts, tool};

use crate::world::{alice, auditor, ballot, service, submission};

/// So many changes of each part go the whole way.
const RUNS: u32 = 64;

/// A target that answers each question with these bytes, and counts what it is told to do.
struct Shop {
    state: Mutex<Vec<u8>>,
    posts: AtomicUsize,
}

#[async_trait]
impl Target for Shop {
    async fn call(&self, outgoing: Outgoing) -> Result<Answer, CallError> {
        let body = if outgoing.method == "GET" {
            self.state
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
        } else {
            self.posts.fetch_add(1, Ordering::SeqCst);
            b"{}".to_vec()
        };
        Ok(Answer {
            status: 200,
            etag: None,
            body: Body::Whole(body),
        })
    }
}

async fn open(texts: &Texts, shop: &Arc<Shop>, log: &Arc<MemoryLog>) -> Engine {
    let tools = std::str::from_utf8(&texts.tools).expect("text");
    let file = ToolsFile::from_str(tools, Format::Json).expect("a tools file");
    let options = Options {
        target: Some(shop.clone()),
        ..Options::default()
    };
    let engine = Engine::open(log.clone(), Arc::new(file.registry), options).await;
    engine.expect("an engine")
}

fn shop(texts: &Texts) -> Arc<Shop> {
    Arc::new(Shop {
        state: Mutex::new(texts.state.clone()),
        posts: AtomicUsize::new(0),
    })
}

/// The action staged from these texts; none where any of them is refused.
async fn staged(texts: &Texts, engine: &Engine) -> Option<Versioned> {
    let args = parse_strict(&texts.args).ok()?;
    match engine.submit(&service(), submission("refund", args)).await {
        Ok(Submitted::Action { action, .. }) => Some(*action),
        Ok(Submitted::Answered(answered)) => panic!("answered at once: {answered:?}"),
        Err(_) => None,
    }
}

/// Casts the vote for what the page of the unchanged texts showed.
async fn vote_on(texts: &Texts) -> Option<Result<Versioned, ActError>> {
    let original = texts::texts();
    let (first, second) = (shop(&original), shop(texts));
    let log = Arc::default();
    let engine = open(&original, &first, &log).await;
    let shown = staged(&original, &engine).await.expect("it is taken");
    let other_log = Arc::default();
    let other = open(texts, &second, &other_log).await;
    let action = staged(texts, &other).await?;
    let vote = other
        .vote(&alice(), action.action.id, ballot(&shown, Vote::Approve))
        .await;
    assert!(vote.is_ok() || second.posts.load(Ordering::SeqCst) == 0);
    Some(vote)
}

/// Approves what the unchanged texts made, changes them, and looks at what comes of it: the status
/// and the number of calls.
async fn commit_after(texts: &Texts) -> (Status, usize) {
    let original = texts::texts();
    let shop = shop(&original);
    let log: Arc<MemoryLog> = Arc::default();
    let engine = open(&original, &shop, &log).await;
    let action = staged(&original, &engine).await.expect("it is taken");
    // From here on the world is another one. The vote is for what was shown all the same.
    shop.state
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone_from(&texts.state);
    let id = action.action.id;
    let engine = if texts.tools == original.tools {
        engine
    } else {
        engine.shutdown(std::time::Duration::from_mins(1)).await;
        let log = Arc::new(log.reopen());
        open(texts, &shop, &log).await
    };
    engine
        .vote(&alice(), id, ballot(&action, Vote::Approve))
        .await
        .expect("it counts");
    let mut view = engine.get(&auditor(), id).expect("it is there");
    // It ends, or it waits for a state that can be read.
    while !view.action.status().is_final() && view.action.reads_failed == 0 {
        let patience = std::time::Duration::from_secs(30);
        let next = engine
            .wait(&auditor(), id, view.version, patience)
            .await
            .expect("visible");
        assert_ne!(next.version, view.version, "nothing happens");
        view = next;
    }
    (view.action.status(), shop.posts.load(Ordering::SeqCst))
}

#[test]
fn nothing_stands_in_the_way_where_no_byte_changed() {
    let vote = run(vote_on(&texts())).expect("it is taken");
    assert!(vote.is_ok(), "{vote:?}");
    let ended = run(commit_after(&texts()));
    assert_eq!(ended, (Status::Succeeded, 1));
}

#[test]
fn i03_no_byte_of_what_is_bound_to_is_another_under_the_same_digest() {
    let before = bound(&tool(&texts()).expect("a tool"), &texts()).expect("it is accepted");
    for part in Part::ALL {
        let accepted = accepted(part);
        let least = if part == Part::Policy { 50 } else { 400 };
        assert!(least <= accepted.len(), "{part:?}: {}", accepted.len());
        for (change, after) in accepted {
            let is_another = match part {
                Part::Args | Part::Definition | Part::Policy => before.binding != after.binding,
                Part::Snapshot => before.snapshot != after.snapshot,
                Part::Request => before.request != after.request,
            };
            assert!(is_another, "{change:?} is not seen");
        }
    }
}

/// Takes some of these changes the whole way. What is refused where it is read does not count.
fn try_some(changes: Vec<Change>, runs: u32, outcome: impl Fn(Texts) -> Result<(), TestCaseError>) {
    let config = Config {
        cases: runs,
        max_global_rejects: u32::MAX,
        failure_persistence: None,
        ..Config::default()
    };
    let tried = TestRunner::new(config).run(&select(changes), |change| outcome(change.texts()));
    // The change that is named is all that it takes to see it again.
    tried.unwrap_or_else(|failure| panic!("{failure}"));
}

fn reject_unless(is_accepted: bool) -> Result<(), TestCaseError> {
    if is_accepted {
        Ok(())
    } else {
        Err(TestCaseError::reject("it is not accepted"))
    }
}

fn run<T>(task: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(task)
}

#[test]
fn i03_a_vote_is_stale_whatever_byte_of_what_it_binds_to_is_another() {
    for part in [Part::Args, Part::Definition, Part::Policy, Part::Snapshot] {
        try_some(Change::all(part), RUNS, |texts| {
            reject_unless(tool(&texts).is_some_and(|tool| bound(&tool, &texts).is_some()))?;
            let vote = run(vote_on(&texts));
            let vote = vote.ok_or_else(|| TestCaseError::reject("it cannot be staged"))?;
            let is_refused = match (&vote, part) {
                (Err(ActError::Refused(Refusal::StaleSnapshot)), Part::Snapshot) => true,
                (Err(ActError::Refused(Refusal::StaleDigest { .. })), _) => part != Part::Snapshot,
                // Whoever is not in the group of another policy is told so first.
                (Err(ActError::Refused(Refusal::Ineligible(_))), _) => part == Part::Policy,
                _ => false,
            };
            prop_assert!(is_refused, "{vote:?}");
            Ok(())
        });
    }
}

#[test]
fn i03_nothing_is_sent_whatever_byte_changed_after_it_was_shown() {
    for part in [
        Part::Definition,
        Part::Policy,
        Part::Snapshot,
        Part::Request,
    ] {
        try_some(Change::all(part), RUNS, |texts| {
            reject_unless(file(&texts).is_some() && parse_strict(&texts.state).is_ok())?;
            prop_assert_eq!(run(commit_after(&texts)), (Status::ReplanRequired, 0));
            Ok(())
        });
    }
}

#[test]
fn i03_nothing_is_sent_while_the_state_cannot_be_read() {
    try_some(Change::all(Part::Snapshot), RUNS / 4, |texts| {
        reject_unless(parse_strict(&texts.state).is_err())?;
        // It is read again until the deadline.
        prop_assert_eq!(run(commit_after(&texts)), (Status::Approved, 0));
        Ok(())
    });
}
