//! Any byte of what an approval binds to: another one, and neither the vote nor the commit goes
//! through (invariant I3). Every change goes the whole way, from the text that is parsed.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use holdpoint_engine::action::{Refusal, Status};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::canon::{CanonicalJson, parse_strict};
use holdpoint_engine::engine::{ActError, Engine, Options, Submitted, Versioned};
use holdpoint_engine::target::{Answer, Body, CallError, Outgoing, Target};
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::MemoryLog;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::world::{alice, auditor, ballot, service, submission};

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

/// The texts that everything is made from, in canonical form: no byte of them is without meaning.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Texts {
    tools: Vec<u8>,
    args: Vec<u8>,
    state: Vec<u8>,
}

const POLICY: &str = r#""approval":{"expiresIn":"5h","groups":["finance"],"required":1}"#;

fn texts() -> Texts {
    let text = |value| CanonicalJson::of(&value).as_str().as_bytes().to_vec();
    Texts {
        tools: text(json!({ "tools": { "refund": {
            "description": "Refund an order",
            "safetyClass": "approval-bound",
            "summary": "Refund {amount} for order {order}",
            "idempotencyKey": "refund:{order}",
            "state": { "http": { "get": "https://shop.example/orders/{order}" }, "watch": ["/left"] },
            "execute": {
                "http": {
                    "post": "https://shop.example/refunds",
                    "json": { "amount": "{amount}", "order": "{order}", "note": "{state.note}" },
                },
                "timeout": "7s",
            },
            "approval": { "required": 1, "groups": ["finance"], "expiresIn": "5h" },
        } } })),
        args: text(json!({ "amount": 1200, "order": "8812", "why": ["late", "broken", true] })),
        state: text(json!({ "left": 5000, "note": "of the third of May" })),
    }
}

fn find(text: &[u8], part: &str) -> Range<usize> {
    let text = std::str::from_utf8(text).expect("text");
    let start = text.find(part).expect("the part is there");
    start..start + part.len()
}

/// One changed byte, and nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Args,
    Definition,
    Policy,
    /// What is watched.
    Snapshot,
    /// What the request is made from beside the arguments.
    Request,
}

fn changed(part: Part, place: Index, by: u8) -> Texts {
    let mut texts = texts();
    let before = texts.clone();
    let (text, range) = match part {
        Part::Args => {
            let all = 0..texts.args.len();
            (&mut texts.args, all)
        }
        Part::Definition => {
            let all = 0..texts.tools.len();
            (&mut texts.tools, all)
        }
        Part::Policy => {
            let range = find(&texts.tools, POLICY);
            (&mut texts.tools, range)
        }
        Part::Snapshot => {
            let range = find(&texts.state, r#""left":5000"#);
            (&mut texts.state, range)
        }
        Part::Request => {
            let range = find(&texts.state, "of the third of May");
            (&mut texts.state, range)
        }
    };
    text[range.start + place.index(range.len())] ^= by;
    assert_ne!(texts, before, "the change is none");
    texts
}

/// An engine over these texts; none where the tools file is refused.
async fn open(texts: &Texts, shop: &Arc<Shop>, log: &Arc<MemoryLog>) -> Option<Engine> {
    let tools = std::str::from_utf8(&texts.tools).ok()?;
    let file = ToolsFile::from_str(tools, Format::Json).ok()?;
    let options = Options {
        target: Some(shop.clone()),
        ..Options::default()
    };
    let engine = Engine::open(log.clone(), Arc::new(file.registry), options).await;
    Some(engine.expect("an engine"))
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
    let original = self::texts();
    let (first, second) = (shop(&original), shop(texts));
    let log = Arc::default();
    let engine = open(&original, &first, &log).await.expect("it is valid");
    let shown = staged(&original, &engine).await.expect("it is taken");
    let other_log = Arc::default();
    let other = open(texts, &second, &other_log).await?;
    let action = staged(texts, &other).await?;
    let vote = other
        .vote(&alice(), action.action.id, ballot(&shown, Vote::Approve))
        .await;
    assert!(vote.is_ok() || second.posts.load(Ordering::SeqCst) == 0);
    Some(vote)
}

/// Approves what the unchanged texts made, changes them, and looks at what comes of it: the status
/// and the number of calls.
async fn commit_after(texts: &Texts) -> Option<(Status, usize)> {
    let original = self::texts();
    let shop = shop(&original);
    let log: Arc<MemoryLog> = Arc::default();
    let engine = open(&original, &shop, &log).await.expect("it is valid");
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
        open(texts, &shop, &log).await?
    };
    engine
        .vote(&alice(), id, ballot(&action, Vote::Approve))
        .await
        .expect("it counts");
    let mut view = engine.get(&auditor(), id).expect("it is there");
    // It ends, or it waits for a state that can be read.
    while !view.action.status().is_final() && view.action.deferrals == 0 {
        let patience = std::time::Duration::from_secs(30);
        let next = engine
            .wait(&auditor(), id, view.version, patience)
            .await
            .expect("visible");
        assert_ne!(next.version, view.version, "nothing happens");
        view = next;
    }
    Some((view.action.status(), shop.posts.load(Ordering::SeqCst)))
}

#[test]
fn nothing_stands_in_the_way_where_no_byte_changed() {
    let runtime = Runtime::new().expect("a runtime");
    let vote = runtime.block_on(vote_on(&texts())).expect("it is taken");
    assert!(vote.is_ok(), "{vote:?}");
    let ended = runtime.block_on(commit_after(&texts()));
    assert_eq!(ended, Some((Status::Succeeded, 1)));
}

proptest! {
    #[test]
    fn i03_a_vote_is_stale_whatever_byte_of_what_it_binds_to_is_another(
        part in prop::sample::select(vec![Part::Args, Part::Definition, Part::Policy, Part::Snapshot]),
        place in any::<Index>(),
        by in 1..=255_u8,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let vote = runtime.expect("a runtime").block_on(vote_on(&changed(part, place, by)));
        let is_stale = vote.as_ref().is_none_or(|vote| matches!(
            vote,
            Err(ActError::Refused(Refusal::StaleDigest { .. } | Refusal::StaleSnapshot | Refusal::Ineligible(_)))
        ));
        prop_assert!(is_stale, "{vote:?}");
    }

    #[test]
    fn i03_nothing_is_sent_whatever_byte_changed_after_it_was_shown(
        part in prop::sample::select(vec![Part::Definition, Part::Policy, Part::Snapshot, Part::Request]),
        place in any::<Index>(),
        by in 1..=255_u8,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let ended = runtime.expect("a runtime").block_on(commit_after(&changed(part, place, by)));
        let Some((status, posts)) = ended else {
            return Ok(());
        };
        prop_assert_eq!(posts, 0);
        // A state that cannot be read any more is read again until the deadline.
        prop_assert!(matches!(status, Status::ReplanRequired | Status::Approved), "{status:?}");
    }
}
