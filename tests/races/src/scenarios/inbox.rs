//! The scheduler's inbox (invariant I27): whatever becomes due is looked at, whenever it comes.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use holdpoint_engine::action::{Action, ActionId, SafetyClass};
use holdpoint_engine::approval::Requirement;
use shuttle::sync::Mutex;
use shuttle::sync::atomic::{AtomicI64, Ordering};
use shuttle::thread;

use crate::given::{Case, DEADLINE, HOUR, T0, approve, at, need, proposal, requirement};
use crate::scheduler::inbox::{Inbox, Receivers};
use crate::store::index::{NEVER, OpenKey};
use crate::time::Timestamp;

/// The open index, as far as this is about it.
type Index = Mutex<BTreeSet<Vec<u8>>>;

/// Actions of each kind: due at once in either lane, and due at a deadline.
fn actions() -> Vec<Action> {
    // A deadline after the others: it must not be forgotten while they are looked at.
    let needs = requirement(vec![need(1, &[])]);
    let late = Requirement {
        deadline: Timestamp(DEADLINE.0 + HOUR),
        ..needs
    };
    let late = Case::staged_with(proposal(SafetyClass::ApprovalBound), late);
    let cases = [
        Case::staged(),
        Case::accepted(SafetyClass::WriteOnceCheckable),
        Case::staged().then(approve("ana", at(1))),
        late,
    ];
    let numbered = cases.into_iter().zip(1..).map(|(case, number)| Action {
        id: ActionId::new(T0, [number; 10]),
        ..case.action
    });
    numbered.collect()
}

/// The turns of `Dispatcher::run`: what is due is taken out of the index, until all of it was.
fn dispatch(inbox: &Inbox, mut receivers: Receivers, index: &Index, clock: &AtomicI64, all: usize) {
    let mut handled = 0;
    let now = || Timestamp(clock.load(Ordering::SeqCst));
    while handled < all {
        let reached = inbox.next_due() <= now();
        if reached {
            inbox.forget_due();
        }
        if inbox.take_spilled() || reached {
            let mut index = index.lock().expect("nobody panicked");
            let before = index.len();
            let is_due = |key: &Vec<u8>| OpenKey::parse(key).expect("an entry").due <= now();
            index.retain(|key| !is_due(key));
            handled += before - index.len();
            let next = index.iter().filter_map(|key| OpenKey::parse(key));
            if let Some(due) = next.map(|open| open.due).min() {
                inbox.due_at(due);
            }
        }
        if handled == all {
            return;
        }
        let due = inbox.next_due();
        if due != NEVER {
            // The sleep ends when it is due.
            clock.fetch_max(due.0, Ordering::SeqCst);
            continue;
        }
        let job = shuttle::future::block_on(async {
            let mut woken = pin!(inbox.woken());
            poll_fn(|cx| {
                for lane in [&mut receivers.approved, &mut receivers.ordinary] {
                    if let Poll::Ready(job) = lane.poll_recv(cx) {
                        return Poll::Ready(job);
                    }
                }
                woken.as_mut().poll(cx).map(|()| None)
            })
            .await
        });
        if let Some(job) = job {
            let mut index = index.lock().expect("nobody panicked");
            let before = index.len();
            index.retain(|key| OpenKey::parse(key).expect("an entry").id != job.id);
            handled += before - index.len();
        }
    }
}

/// Several commit; each makes the entry of the index first and offers the action then.
pub fn inbox() {
    let inbox = Arc::new(Inbox::new());
    let receivers = inbox.receivers().expect("the first to ask");
    assert!(inbox.receivers().is_none(), "once");
    let index = Arc::new(Index::default());
    let clock = Arc::new(AtomicI64::new(at(10).0));
    let actions = actions();
    let all = actions.len();
    let mut threads: Vec<_> = actions
        .into_iter()
        .map(|action| {
            let (inbox, index, clock) =
                (Arc::clone(&inbox), Arc::clone(&index), Arc::clone(&clock));
            thread::spawn(move || {
                let open = OpenKey::of(&action).expect("it is not final");
                index.lock().expect("nobody panicked").insert(open.bytes());
                inbox.offer(&action, Timestamp(clock.load(Ordering::SeqCst)));
            })
        })
        .collect();
    let (dispatching, left, time) = (Arc::clone(&inbox), Arc::clone(&index), Arc::clone(&clock));
    threads.push(thread::spawn(move || {
        dispatch(&dispatching, receivers, &left, &time, all);
    }));
    for thread in threads {
        thread.join().expect("no panic");
    }
    assert!(index.lock().expect("nobody panicked").is_empty());
    assert!(DEADLINE.0 <= clock.load(Ordering::SeqCst), "deadlines too");
}
