//! Those who wait for a change of one action (invariant I27): no wake-up is lost.

use std::sync::Arc;

use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::thread;

use crate::given::id;
use crate::store::waiters::Waiters;

const CHANGES: u64 = 3;

/// Two wait, one of them again and again; one changes. Whoever is never woken waits for ever, which
/// the scheduler reports.
pub fn waiters() {
    let waiters = Arc::new(Waiters::default());
    let version = Arc::new(AtomicU64::new(0));
    let mut threads = Vec::new();
    for patient in [true, false] {
        let (waiters, version) = (Arc::clone(&waiters), Arc::clone(&version));
        threads.push(thread::spawn(move || {
            let mut known = 0;
            while known < CHANGES {
                // As `Engine::wait` does: first register, then look.
                let mut waiter = waiters.register(id());
                let until = if patient { CHANGES } else { known + 1 };
                while version.load(Ordering::SeqCst) < until {
                    shuttle::future::block_on(waiter.changed());
                }
                known = version.load(Ordering::SeqCst);
            }
        }));
    }
    let changes = Arc::clone(&version);
    threads.push(thread::spawn(move || {
        for number in 1..=CHANGES {
            changes.store(number, Ordering::SeqCst);
            waiters.wake(id(), number);
        }
    }));
    for thread in threads {
        thread.join().expect("no panic");
    }
}
