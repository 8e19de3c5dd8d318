//! What code learns when a call did not do it.

use serde::Serialize;
use serde_json::Value;

use crate::run::event::{End, StepOutcome, StepReport};

/// Why a call did not do it. Whatever it is, the call certainly did not take effect: so code knows what there
/// is to undo.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/play.rs"));
/// use holdpoint_engine::run::code::{Context, Failure, Workflows};
/// use serde_json::{Value, json};
///
/// async fn book_trip(ctx: Context, trip: Value) -> Result<bool, Failure> {
///     ctx.call("book_flight", &trip).await?;
///     if let Err(why) = ctx.call("book_hotel", &trip).await {
///         // There is no hotel, so the flight is of no use.
///         ctx.call("cancel_flight", &trip).intent(why.to_string()).await?;
///         return Ok(false);
///     }
///     Ok(true)
/// }
///
/// # #[tokio::main]
/// # async fn main() {
/// let workflows = Workflows::default().with("book_trip", 1, book_trip);
/// let tools = ["book_flight", "!book_hotel", "cancel_flight"];
/// let (booked, done) = play(workflows, json!({ "to": "Rome" }), &tools).await;
/// assert_eq!(booked, json!(false));
/// assert_eq!(done, ["book_flight", "cancel_flight"]);
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// A person said no; why.
    #[error("{0}")]
    Rejected(String),
    /// Its deadline passed: nobody decided in time, or it could not be called in time.
    #[error("its deadline passed before it was called")]
    Expired,
    /// The world is not the one that was approved; what moved.
    #[error("{0}")]
    ReplanRequired(String),
    /// The engine refused it: a scope, a rule, a precondition.
    #[error("{0}")]
    Refused(String),
    /// It was called off before it was made.
    #[error("{0}")]
    Cancelled(String),
    /// Nobody knew whether it happened, and then a person settled that it did not.
    #[error("{0}")]
    SettledNotDone(String),
    /// The target said no, or it was never delivered.
    #[error("{message}")]
    Failed {
        /// Why.
        message: String,
        /// The status of the answer, where there was one.
        http_status: Option<u16>,
        /// The answer; null where there was none.
        answer: Value,
    },
}

impl CallError {
    /// What a step came to, where it did not pass.
    pub(super) fn of(report: &StepReport) -> Option<Self> {
        let message = || report.failures.join("; ");
        Some(match report.outcome {
            StepOutcome::Passed => return None,
            StepOutcome::Rejected => Self::Rejected(message()),
            StepOutcome::Expired => Self::Expired,
            StepOutcome::ReplanRequired => Self::ReplanRequired(message()),
            StepOutcome::Refused | StepOutcome::Withheld => Self::Refused(message()),
            StepOutcome::Cancelled => Self::Cancelled(message()),
            StepOutcome::SettledNotDone => Self::SettledNotDone(message()),
            StepOutcome::Failed => Self::Failed {
                message: message(),
                http_status: report.http_status,
                answer: report.answer.value(),
            },
        })
    }
}

/// How a workflow ends where it does not end well, or goes on as another run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failure {
    /// A call did not do it, and the code did not make up for it.
    #[error(transparent)]
    Call(#[from] CallError),
    /// For a reason of its own.
    #[error("{0}")]
    Message(String),
    /// It goes on as a new run with this input and an empty history: for what has no end, before the
    /// history is full. Events that it was sent and has not taken go along.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/play.rs"));
    /// use holdpoint_engine::run::code::{Context, Failure, Workflows};
    /// use serde_json::json;
    ///
    /// /// Ten reports in a history, then a new one: `left` is all that is carried along.
    /// async fn report(ctx: Context, mut left: u32) -> Result<u32, Failure> {
    ///     while 0 < left {
    ///         if 10 <= ctx.asked() {
    ///             return Err(Failure::continue_as_new(left));
    ///         }
    ///         ctx.call("send_report", json!({ "left": left })).await?;
    ///         left -= 1;
    ///     }
    ///     Ok(left)
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() {
    /// let workflows = Workflows::default().with("report", 1, report);
    /// let (left, done) = play(workflows, json!(25), &["send_report"]).await;
    /// assert_eq!((left, done.len()), (json!(0), 25));
    /// # }
    /// ```
    #[error("it goes on as another run")]
    ContinueAsNew(Value),
}

/// An answer is not what the code reads, or what it answers cannot be written.
impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Message(error.to_string())
    }
}

impl Failure {
    /// Why, in words of the code's own.
    pub fn message(text: impl Into<String>) -> Self {
        Self::Message(text.into())
    }

    /// It goes on as a new run with this input.
    pub fn continue_as_new(input: impl Serialize) -> Self {
        serde_json::to_value(input).map_or_else(Self::from, Self::ContinueAsNew)
    }

    pub(super) fn end(&self) -> End {
        match self {
            Self::Call(CallError::Rejected(_)) => End::Rejected,
            Self::Call(CallError::Expired) => End::Expired,
            Self::Call(CallError::ReplanRequired(_)) => End::ReplanRequired,
            Self::Call(CallError::Cancelled(_)) => End::Cancelled,
            Self::Call(
                CallError::Refused(_) | CallError::SettledNotDone(_) | CallError::Failed { .. },
            )
            | Self::Message(_)
            | Self::ContinueAsNew(_) => End::Failed,
        }
    }
}
