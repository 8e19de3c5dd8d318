//! The stop (invariant I22).

use std::sync::Arc;

use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::thread;

use crate::store::stop::Stop;

/// Once a failure is told, nobody begins and nobody writes; once the end has begun, nobody begins;
/// whoever waits for the end hears of it.
pub fn stop() {
    let stop = Arc::new(Stop::default());
    let failed = Arc::new(AtomicBool::new(false));
    let ending = Arc::new(AtomicBool::new(false));
    let mut threads = Vec::new();
    for _ in 0..2 {
        let (stop, failed, ending) = (Arc::clone(&stop), Arc::clone(&failed), Arc::clone(&ending));
        threads.push(thread::spawn(move || {
            for _ in 0..3 {
                let (is_failed, is_ending) =
                    (failed.load(Ordering::SeqCst), ending.load(Ordering::SeqCst));
                let (may_write, may_begin) = (stop.may_write().is_ok(), stop.may_begin().is_ok());
                assert!(!(is_failed && may_write), "written after a failure");
                assert!(
                    !((is_failed || is_ending) && may_begin),
                    "begun after the end"
                );
                assert!(
                    may_write || !may_begin,
                    "what may not be written is not begun"
                );
            }
        }));
    }
    for reason in ["one", "two"] {
        let (stop, failed) = (Arc::clone(&stop), Arc::clone(&failed));
        threads.push(thread::spawn(move || {
            stop.fail(reason);
            failed.store(true, Ordering::SeqCst);
            let told = stop.may_write().expect_err("it has failed").to_string();
            assert!(["one", "two"].contains(&told.as_str()));
        }));
    }
    let begins = Arc::clone(&stop);
    threads.push(thread::spawn(move || {
        begins.begin();
        ending.store(true, Ordering::SeqCst);
    }));
    let waits = Arc::clone(&stop);
    threads.push(thread::spawn(move || {
        shuttle::future::block_on(waits.reached());
        assert!(waits.may_begin().is_err());
    }));
    for thread in threads {
        thread.join().expect("no panic");
    }
    let first = stop.may_write().expect_err("it has failed").to_string();
    assert_eq!(stop.may_write().expect_err("for ever").to_string(), first);
}
