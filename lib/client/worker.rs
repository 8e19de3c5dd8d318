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
                Ok(_) => failed = 0,
                Err(error) if error.is("lease_lost") => failed = 0,
                Err(error) if error.is_retryable() => {
                    failed += 1;
                    let rest = tokio::time::sleep(PATIENCE.wait(failed, &error));
                    tokio::select! {
                        () = &mut stop => return Ok(()),
                        () = rest => {}
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Claims one piece of work, carries it out and reports; none where there was nothing in time.
    ///
    /// A panic is reported as unknown. Where the lease is lost, the work is dropped at its next
    /// `await`, since nothing that it says counts any more, and the error is `lease_lost`.
    pub async fn once<F, Fut>(&self, work: &mut F) -> Result<Option<WorkDone>, Error>
    where
        F: FnMut(Work) -> Fut,
        Fut: Future<Output = Outcome>,
    {
        self.step(work, &mut None).await
    }

    /// As [`Worker::once`]. Where nobody knows what a claim came to, its key stays in `pending`: the
    /// next one is the same claim, and is answered with the same work. Once there is work, it is gone:
    /// what was begun must not be given to this worker as if it were new.
    async fn step<F, Fut>(
        &self,
        work: &mut F,
        pending: &mut Option<String>,
    ) -> Result<Option<WorkDone>, Error>
    where
        F: FnMut(Work) -> Fut,
        Fut: Future<Output = Outcome>,
    {
        let key = match pending.take() {
            Some(key) => key,
            None => random_key()?,
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
        let Some(given) = claimed? else {
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
            error = self.keep(&attempt, epoch) => return Err(error),
        };
        self.report(&attempt, epoch, outcome).await.map(Some)
    }

    /// Keeps the lease until it cannot be kept.
    async fn keep(&self, attempt: &str, epoch: u64) -> Error {
        let beat = WorkHeartbeat {
            epoch,
            lease_seconds: Some(self.lease.as_secs()),
        };
        loop {
            tokio::time::sleep(self.lease / 3).await;
            match self.client.heartbeat(attempt, &beat).await {
                Ok(_) => {}
                // The work goes on: it may still be reported in time.
                Err(error) if error.is_retryable() => {}
                Err(error) => return error,
            }
        }
    }

    /// Reports until it is heard, for as long as a lease lasts.
    async fn report(&self, attempt: &str, epoch: u64, outcome: Outcome) -> Result<WorkDone, Error> {
        let report = match outcome {
            Outcome::Succeeded(result) => WorkReport {
                epoch,
                outcome: "succeeded".to_owned(),
                result: Some(Json::value(&result)),
                reason: None,
            },
            Outcome::Failed(reason) => refused(epoch, "failed", &reason),
            Outcome::Unknown(reason) => refused(epoch, "unknown", &reason),
        };
        let end = Instant::now() + self.lease;
        let mut tried = 0;
        loop {
            tried += 1;
            match self.client.complete(attempt, &report).await {
                Err(error) if error.is_retryable() && Instant::now() < end => {
                    tokio::time::sleep(PATIENCE.wait(tried, &error)).await;
                }
                ended => return ended,
            }
        }
    }
}

fn refused(epoch: u64, outcome: &str, reason: &str) -> WorkReport {
    let reason = if reason.trim().is_empty() {
        "the worker gave no reason".to_owned()
    } else {
        reason.chars().take(2000).collect()
    };
    WorkReport {
        epoch,
        outcome: outcome.to_owned(),
        result: None,
        reason: Some(reason),
    }
}
