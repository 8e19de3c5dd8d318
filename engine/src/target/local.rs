//! Closures that an embedder registers as the execution of a tool.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{kept, shortened};
use crate::action::AttemptOutcome;

/// The longest words of a closure that are kept, in characters: every view of an action holds the words of
/// all its attempts.
const MESSAGE_CHARS_MAX: usize = 500;

/// Why a closure did not do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocalError {
    /// It certainly did not happen, and will not.
    #[error("{0}")]
    Refused(String),
    /// It certainly did not happen, and may be tried again.
    #[error("{0}")]
    NotDelivered(String),
    /// It may have happened.
    #[error("{0}")]
    Unknown(String),
}

type Answering = Pin<Box<dyn Future<Output = Result<Value, LocalError>> + Send>>;
type Closure = Arc<dyn Fn(LocalCall) -> Answering + Send + Sync>;

/// What a closure is given.
#[derive(Clone, Debug)]
pub struct LocalCall {
    /// The exact arguments.
    pub args: Value,
    /// The same for every attempt of one action.
    pub idempotency_key: String,
}

/// The closures, by the name that the tools file gives them.
#[derive(Clone, Default)]
pub struct Locals {
    closures: HashMap<String, Closure>,
}

impl Locals {
    /// Registers a closure under the name that a tool's `execute` gives.
    #[must_use]
    pub fn with<F, Fut>(mut self, name: impl Into<String>, closure: F) -> Self
    where
        F: Fn(LocalCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, LocalError>> + Send + 'static,
    {
        let boxed: Closure = Arc::new(move |call| Box::pin(closure(call)));
        self.closures.insert(name.into(), boxed);
        self
    }

    /// Calls a closure, once. A panic inside it, or too long a silence, leaves the outcome unknown.
    pub(crate) async fn call(
        &self,
        name: &str,
        call: LocalCall,
        timeout: Duration,
    ) -> AttemptOutcome {
        let Some(closure) = self.closures.get(name) else {
            return AttemptOutcome::NotDelivered {
                message: format!("no closure is registered under the name {name}"),
            };
        };
        // The closure itself may panic too, before there is a future: inside the task, not in ours.
        let closure = Arc::clone(closure);
        let running = tokio::spawn(async move { closure(call).await });
        let Ok(ended) = tokio::time::timeout(timeout, running).await else {
            return AttemptOutcome::Unknown {
                http_status: None,
                message: "the closure gave no answer in time".to_owned(),
            };
        };
        match ended {
            Ok(Ok(value)) => AttemptOutcome::Done {
                http_status: None,
                result: kept(&value),
            },
            Ok(Err(LocalError::Refused(message))) => AttemptOutcome::Refused {
                http_status: None,
                answer: kept(&Value::String(message)),
            },
            Ok(Err(LocalError::NotDelivered(message))) => AttemptOutcome::NotDelivered {
                message: shortened(&message, MESSAGE_CHARS_MAX),
            },
            Ok(Err(LocalError::Unknown(message))) => AttemptOutcome::Unknown {
                http_status: None,
                message: shortened(&message, MESSAGE_CHARS_MAX),
            },
            Err(_) => AttemptOutcome::Unknown {
                http_status: None,
                message: "the closure ended without an answer".to_owned(),
            },
        }
    }
}
