//! The order in which code learns what it asked for: one answer after the other, as the history has them.
//!
//! What runs side by side goes on in the order in which answers come. So code is handed one answer at a
//! time, in the order in which they became durable, and the next one only when it has made of it what it
//! makes: the same at every replay. Code that stops waiting for some of what it asked for, because another
//! answer came first, does so again.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

use super::shared::Shared;

/// Whether the code wants to go on without another answer.
struct Woken {
    is: AtomicBool,
    by: AtomicWaker,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.is.store(true, Ordering::Release);
        self.by.wake();
    }
}

/// Carries the code on to its end, and hands it its answers in turn.
pub(super) async fn play<T>(shared: &Shared, code: impl Future<Output = T>) -> T {
    let mut code = pin!(code);
    let woken = Arc::new(Woken {
        is: AtomicBool::new(true),
        by: AtomicWaker::new(),
    });
    let waker = Waker::from(Arc::clone(&woken));
    let mut changed = shared.driver.live.watch();
    loop {
        let turn = poll_fn(|context| {
            woken.by.register(context.waker());
            if !woken.is.swap(false, Ordering::AcqRel) && !shared.hand_over() {
                return Poll::Pending;
            }
            let polled = code.as_mut().poll(&mut Context::from_waker(&waker));
            if polled.is_pending() {
                // It may want to go on, or the next answer may be there.
                context.waker().wake_by_ref();
            }
            polled
        });
        tokio::select! {
            biased;
            ended = turn => return ended,
            // The driver holds what it watches: it does not go away.
            _ = changed.changed() => {}
        }
    }
}
