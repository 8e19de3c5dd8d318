//! A loop that claims work, carries it out, keeps the lease, and reports.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::time::Instant;

use super::wire::{Json, Work, WorkClaim, WorkDone, WorkHeartbeat, WorkReport};
use super::{Client, Error, Retry, random_key};

/// How long a claim waits where there is nothing to do. Stopping takes at most that long.
const WAIT: Duration = Duration::from_secs(20);

/// The silence that is asked for, unless the program says otherwise.
const LEASE: Duration = Duration::from_secs(30);

/// The rests of a worker that cannot reach its server.
const PATIENCE: Retry = Retry {
    tries: u32::MAX,
    wait_min: Duration::from_millis(500),
    wait_max: Duration::from_secs(30),
};

/// The longest result that is reported as it is, in bytes: the server reads 1 MiB.
const RESULT_BYTES_MAX: usize = 1_000_000;

/// The most characters of a result that the server cannot take as it is.
const RESULT_CHARS_MAX: usize = 10_000;

/// The most characters of a reason.
const REASON_CHARS_MAX: usize = 2000;

/// How a piece of work ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It took effect; what came of it.
    Succeeded(Value),
    /// It is certain that nothing happened, and nothing will; why. In doubt, this is the wrong one.
    Failed(String),
    /// It may or may not have happened; why that is not known.
    Unknown(String),
}

/// Carries out the calls of some tools.
///
/// ```no_run
/// use holdpoint::client::{Client, Outcome, Worker, wire::Work};
///
/// async fn refund(work: Work) -> Outcome {
///     // Send work.idempotency_key along: it is the same for every attempt.
///     match call_the_bank(work.args.get(), &work.idempotency_key).await {
///         Ok(reference) => Outcome::Succeeded(serde_json::json!({ "reference": reference })),
///         Err(lost) => Outcome::Unknown(lost),
///     }
/// }
/// # async fn call_the_bank(_args: &str, _key: &str) -> Result<String, String> { Ok(String::new()) }
///
/// # async fn example(key: String) -> Result<(), holdpoint::client::Error> {
/// let client = Client::new("https://holdpoint.example")?.with_token(&key)?;
/// let worker = Worker::new(client, ["issue_refund"]);
/// worker.run(async { tokio::signal::ctrl_c().await.unwrap_or_default() }, refund).await
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Worker {
    client: Client,
    tools: Vec<String>,
    lease: Duration,
    wait: Duration,
}

/// What went wrong: the claim itself, or what became of the work that it gave.
enum Failed {
    Claim(Error),
    Work(Error),
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Claim(error) | Failed::Work(error) => error,
        }
    }
}

impl Worker {
    /// A worker for these tools; its key needs the scope `work:{tool}` of each.
    pub fn new<T: Into<String>>(client: Client, tools: impl IntoIterator<Item = T>) -> Self {
        Self {
            client,
            tools: tools.into_iter().map(Into::into).collect(),
            lease: LEASE,
            wait: WAIT,
        }
    }

    /// With another lease: how long the worker may be silent before its work counts as unknown, 5 s
    /// to 1 h. Heartbeats are sent three times as often.
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// With another wait of one claim, up to 60 s.
    pub fn with_wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Works until `stop` is done, one piece after another, and finishes what it has then. Ends with
    /// an error only where coming back would not help: a wrong key, a missing scope, a wrong tool.
    ///
    /// A report that does not count (a lost lease, a server that was away for as long as the lease)
    /// ends nothing: its attempt becomes unknown, and the next piece is asked for. See
    /// [`Worker::once`] for whoever wants to know of it.
    pub async fn run<F, Fut>(
        &self,
        stop: impl Future<Output = ()>,
        mut work: F,
    ) -> Result<(), Error>
    where
        F: FnMut(Work) -> Fut,
        Fut: Future<Output = Outcome>,
    {
        let mut stop = std::pin::pin!(stop);
        let mut failed = 0;
        let mut key = None;
        loop {
            if stop.as_mut().now_or_never().is_some() {
                return Ok(());
            }
            // Not broken off: what the server has just given out would be lost until its lease ends.
            match self.step(&mut work, &mut key).await {
                Ok(_) | Err(Failed::Work(_)) => failed = 0,
                Err(Failed::Claim(error)) if error.is_retryable() => {
                    failed += 1;
                    let rest = tokio::time::sleep(PATIENCE.wait(failed, &error));
                    tokio::select! {
                        () = &mut stop => return Ok(()),
                        () = rest => {}
                    }
                }
                Err(Failed::Claim(error)) => return Err(error),
            }
        }
    }

    /// Claims one piece of work, carries it out and reports; none where there was nothing in time.
    ///
    /// A panic is reported as unknown, and a result that the server cannot take (a number beyond
    /// 2^53, more than 1 MB) as text, shortened if it must be. Where the lease is lost, the work is dropped at its next
    /// `await`, since nothing that it says counts any more, and the error is `lease_lost`.
    pub async fn once<F, Fut>(&self, work: &mut F) -> Result<Option<WorkDone>, Error>
    where
        F: FnMut(Work) -> Fut,
        Fut: Future<Output = Outcome>,
    {
        Ok(self.step(work, &mut None).await?)
    }

    /// As [`Worker::once`]. Where nobody knows what a claim came to, its key stays in `pending`: the
    /// next one is the same claim, and is answered with the same work. Once there is work, it is gone:
    /// what was begun must not be given to this worker as if it were new.
    async fn step<F, Fut>(
        &self,
        work: &mut F,
        pending: &mut Option<String>,
    ) -> Result<Option<WorkDone>, Failed>
    where
        F: FnMut(Work) -> Fut,
        Fut: Future<Output = Outcome>,
    {
        let key = match pending.take() {
            Some(key) => key,
            None => random_key().map_err(Failed::Claim)?,
        };
        let claim = WorkClaim {
            tools: self.tools.clone(),
            wait: Some(format!("{}s", self.wait.as_secs())),
            lease_seconds: Some(self.lease.as_secs()),
        };
        let asked = Instant::now();
        let claimed = self.client.claim(&claim, self.wait, &key).await;
        if claimed.as_ref().is_err_and(Error::is_retryable) {
            *pending = Some(key);
        }
        let Some(given) = claimed.map_err(Failed::Claim)? else {
            if asked.elapsed() < Duration::from_millis(200) {
                // A server that does not wait is not asked without end.
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            return Ok(None);
        };
        let (attempt, epoch) = (given.attempt.clone(), given.epoch);
        let done = AssertUnwindSafe(work(given)).catch_unwind();
        let outcome = tokio::select! {
            outcome = done => outcome.unwrap_or_else(|_| {
                Outcome::Unknown("the worker panicked in the middle of it".to_owned())
            }),
            error = self.keep(&attempt, epoch) => return Err(Failed::Work(error)),
        };
        let reported = self.report(&attempt, epoch, outcome).await;
        reported.map(Some).map_err(Failed::Work)
    }

    /// Keeps the lease until it cannot be kept. A heartbeat that hangs must leave time for another one.
    async fn keep(&self, attempt: &str, epoch: u64) -> Error {
        let beat = WorkHeartbeat {
            epoch,
            lease_seconds: Some(self.lease.as_secs()),
        };
        let mut rest = self.lease / 3;
        loop {
            tokio::time::sleep(rest).await;
            let heard = self.client.heartbeat(attempt, &beat);
            rest = match tokio::time::timeout(self.lease / 4, heard).await {
                Ok(Ok(_)) => self.lease / 3,
                Ok(Err(error)) if !error.is_retryable() => return error,
                // The work goes on: it may still be reported in time.
                Ok(Err(_)) | Err(_) => self.lease / 12,
            };
        }
    }

    /// Reports until it is heard, for as long as a lease lasts. What the server cannot read is said in
    /// other words: the work was done, whatever came of it.
    async fn report(&self, attempt: &str, epoch: u64, outcome: Outcome) -> Result<WorkDone, Error> {
        let end = Instant::now() + self.lease;
        let mut outcome = fitting(outcome);
        loop {
            let report = report_of(epoch, &outcome);
            let mut tried = 0;
            let ended = loop {
                tried += 1;
                let heard = self.client.complete(attempt, &report);
                let heard = if Instant::now() + self.lease / 3 < end {
                    match tokio::time::timeout(self.lease / 3, heard).await {
                        Ok(heard) => heard,
                        // It hangs. The same report twice is answered as once.
                        Err(_) => continue,
                    }
                } else {
                    heard.await
                };
                match heard {
                    Err(error) if error.is_retryable() && Instant::now() < end => {
                        tokio::time::sleep(PATIENCE.wait(tried, &error)).await;
                    }
                    ended => break ended,
                }
            };
            match ended {
                Err(error) if is_unreadable(&error) => {
                    outcome = in_other_words(outcome, &error).ok_or(error)?;
                }
                ended => return ended,
            }
        }
    }
}

/// Whether the server could not take a report as it was, and would take another one.
fn is_unreadable(error: &Error) -> bool {
    matches!(error, Error::Problem(problem) if matches!(problem.status, 400 | 413 | 422))
}

/// The outcome, with its result as text where the server would not read all of it.
fn fitting(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Succeeded(result) if RESULT_BYTES_MAX < result.to_string().len() => {
            Outcome::Succeeded(as_text(&result))
        }
        fits => fits,
    }
}

/// The beginning of a result, as a JSON string that says how much it is.
fn as_text(result: &Value) -> Value {
    let text = result.to_string();
    match text.char_indices().nth(RESULT_CHARS_MAX) {
        None => Value::String(text),
        Some((end, _)) => Value::String(format!(
            "{}… (the first {RESULT_CHARS_MAX} of {} characters)",
            &text[..end],
            text.chars().count()
        )),
    }
}

/// What to say instead of a report that the server could not read; none where there is nothing else.
fn in_other_words(outcome: Outcome, error: &Error) -> Option<Outcome> {
    let refused =
        |word| Outcome::Unknown(format!("the report that it {word} was refused: {error}"));
    match outcome {
        Outcome::Succeeded(Value::String(_)) => Some(refused("succeeded")),
        Outcome::Succeeded(result) => Some(Outcome::Succeeded(as_text(&result))),
        Outcome::Failed(_) => Some(refused("failed")),
        Outcome::Unknown(_) => None,
    }
}

fn report_of(epoch: u64, outcome: &Outcome) -> WorkReport {
    let (word, result, reason) = match outcome {
        // As it is: brought into another form, a large number would be another one.
        Outcome::Succeeded(result) => (
            "succeeded",
            Some(Json::from_text(&result.to_string())),
            None,
        ),
        Outcome::Failed(reason) => ("failed", None, Some(words_of(reason))),
        Outcome::Unknown(reason) => ("unknown", None, Some(words_of(reason))),
    };
    WorkReport {
        epoch,
        outcome: word.to_owned(),
        result,
        reason,
    }
}

fn words_of(reason: &str) -> String {
    if reason.trim().is_empty() {
        return "the worker gave no reason".to_owned();
    }
    reason.chars().take(REASON_CHARS_MAX).collect()
}
