//! The endpoint that is told of events: it answers what it is told to, and keeps what it was sent.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use holdpoint_engine::target::{CallError, Notice, Noticed, Notifier};

/// In the place of the network.
#[derive(Default)]
pub(crate) struct Post {
    answer: Mutex<Option<Noticed>>,
    last: Mutex<Option<Notice>>,
}

impl Post {
    /// From now on this is the answer; none is one that never comes.
    pub(crate) fn will_answer(&self, answer: Option<Noticed>) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    }

    /// What was sent last.
    pub(crate) fn last(&self) -> Option<Notice> {
        let last = self.last.lock();
        last.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Notifier for Post {
    async fn notify(&self, notice: Notice) -> Result<Noticed, CallError> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(notice);
        let answer = self.answer.lock();
        let answer = answer.unwrap_or_else(PoisonError::into_inner).clone();
        answer.ok_or_else(|| CallError::Unknown("the answer was lost".to_owned()))
    }
}
