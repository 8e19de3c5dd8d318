//! One client: submits, approves, waits for the end, cancels.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use holdpoint_engine::time::{Entropy as _, SystemEntropy};
use hyper::Method;
use serde::Deserialize;
use serde_json::json;

use super::connection::{Ask, Connection, Place};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};

/// How long one step of an action may take before the run is given up.
const STEP_TIME: Duration = Duration::from_mins(1);

/// The longest rest after a request that was refused for its rate.
const REST_MAX: Duration = Duration::from_secs(1);

/// A server, and who asks it for what.
pub(super) struct Target {
    place: Place,
    submitter: String,
    approvers: Vec<String>,
    /// Told apart from every other run.
    run: String,
    next: AtomicU64,
    refused_for_rate: AtomicU64,
}

impl Target {
    /// A server, the credential that submits, and those that approve.
    pub(super) fn new(place: Place, submitter: String, approvers: Vec<String>) -> Outcome<Self> {
        let mut bytes = [0; 4];
        SystemEntropy
            .fill(&mut bytes)
            .map_err(|error| Failure::because("cannot name the run", &error))?;
        Ok(Self {
            place,
            submitter,
            approvers,
            run: format!("{:08x}", u32::from_be_bytes(bytes)),
            next: AtomicU64::new(0),
            refused_for_rate: AtomicU64::new(0),
        })
    }

    /// A name that no action had before, in this run or another.
    pub(super) fn next_name(&self) -> String {
        format!("{}-{}", self.run, self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// How many names were given.
    pub(super) fn names(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// How many requests the server refused for their rate since this was asked last.
    pub(super) fn take_refused_for_rate(&self) -> u64 {
        self.refused_for_rate.swap(0, Ordering::Relaxed)
    }
}

/// What is submitted over and over.
#[derive(Clone, Debug)]
pub(super) struct Proposal {
    /// The tool.
    pub(super) tool: String,
    /// JSON text; `{n}` in it becomes the name of the action.
    pub(super) args: String,
}

impl Proposal {
    /// The body of the submission with this name.
    fn body(&self, name: &str) -> String {
        let (tool, args) = (json!(self.tool), self.args.replace("{n}", name));
        format!("{{\"tool\":{tool},\"args\":{args}}}")
    }
}

/// What a client reads of an action.
#[derive(Deserialize)]
pub(super) struct Action {
    /// Its id.
    pub(super) id: String,
    /// How it stands.
    pub(super) status: String,
    revision: u32,
    digest: String,
    snapshot: Option<Snapshot>,
    replayed: bool,
}

#[derive(Deserialize)]
struct Snapshot {
    digest: String,
}

/// One client with a connection of its own.
pub(super) struct Client {
    target: Arc<Target>,
    connection: Connection,
    /// Which approver it asks first.
    number: usize,
}

impl Client {
    /// Connects.
    pub(super) async fn open(target: &Arc<Target>, number: usize) -> Outcome<Self> {
        Ok(Self {
            target: Arc::clone(target),
            connection: Connection::open(target.place.clone()).await?,
            number,
        })
    }

    /// Submits; answers once it is durable.
    pub(super) async fn submit(&mut self, proposal: &Proposal, name: &str) -> Outcome<Action> {
        let target = Arc::clone(&self.target);
        let action = self
            .action(&Ask {
                method: Method::POST,
                path: "/v1/actions",
                token: &target.submitter,
                idempotency_key: Some(name),
                body: Some(&proposal.body(name)),
            })
            .await?;
        if action.replayed {
            return Err(
                Failure::failed("the server answered with an action that was there before").help(
                    "the tool takes equal arguments for one action: put {n} into --args, which is another text each time",
                ),
            );
        }
        Ok(action)
    }

    /// Approves as one approver after another, until no further approval is asked for.
    pub(super) async fn approve(&mut self, action: &Action) -> Outcome<()> {
        let target = Arc::clone(&self.target);
        let body = json!({
            "vote": "approve",
            "digest": action.digest,
            "revision": action.revision,
            "snapshot_digest": action.snapshot.as_ref().map(|snapshot| &snapshot.digest),
        })
        .to_string();
        let path = format!("/v1/actions/{}/votes", action.id);
        for turn in 0..target.approvers.len() {
            let approver = (self.number + turn) % target.approvers.len();
            let now = self
                .action(&Ask {
                    method: Method::POST,
                    path: &path,
                    token: &target.approvers[approver],
                    idempotency_key: None,
                    body: Some(&body),
                })
                .await?;
            if now.status != "staged" {
                return Ok(());
            }
        }
        Err(Failure::failed(format!(
            "{} needs more approvals than there are approvers",
            action.id
        ))
        .help("name one --approver-token-file for each approval that the tool asks for"))
    }

    /// Waits until the action is final; answers the status. What is final to nobody within a
    /// minute ends the run.
    pub(super) async fn end(&mut self, action: &Action) -> Outcome<String> {
        let target = Arc::clone(&self.target);
        let path = format!("/v1/actions/{}?wait=5s", action.id);
        let start = Instant::now();
        while start.elapsed() < STEP_TIME {
            let now = self
                .action(&Ask {
                    method: Method::GET,
                    path: &path,
                    token: &target.submitter,
                    idempotency_key: None,
                    body: None,
                })
                .await?;
            let is_approved = now.status == "approved";
            if !is_approved && ExitCode::of_status(&now.status) != ExitCode::Pending {
                return Ok(now.status);
            }
        }
        Err(Failure::failed(format!("{} did not end in time", action.id)).help(
            "a hold window of the tool, a slow target or an unknown outcome is not for this measurement",
        ))
    }

    /// Cancels an action that waits.
    pub(super) async fn cancel(&mut self, id: &str) -> Outcome<()> {
        let target = Arc::clone(&self.target);
        let path = format!("/v1/actions/{id}/cancel");
        self.action(&Ask {
            method: Method::POST,
            path: &path,
            token: &target.submitter,
            idempotency_key: None,
            body: Some("{}"),
        })
        .await
        .map(|_| ())
    }

    /// Asks until the answer is not that there were too many requests.
    async fn action(&mut self, ask: &Ask<'_>) -> Outcome<Action> {
        let start = Instant::now();
        let answer = loop {
            let answer = self.connection.send(ask).await?;
            if answer.status != 429 {
                break answer;
            }
            self.target.refused_for_rate.fetch_add(1, Ordering::Relaxed);
            if STEP_TIME < start.elapsed() {
                return Err(crate::problem::of_answer(429, &answer.body, true)
                    .detail("refused for a minute, again and again"));
            }
            let rest = answer.retry_after.unwrap_or(REST_MAX).min(REST_MAX);
            tokio::time::sleep(rest).await;
        };
        if !(200..300).contains(&answer.status) {
            return Err(crate::problem::of_answer(answer.status, &answer.body, true));
        }
        serde_json::from_slice(&answer.body)
            .map_err(|error| Failure::because("the server did not answer with an action", &error))
    }
}

#[cfg(test)]
mod tests {
    use super::Proposal;

    #[test]
    fn every_submission_has_arguments_of_its_own() {
        let proposal = Proposal {
            tool: "refund".to_owned(),
            args: "{\"order\":\"bench-{n}\",\"amount\":1}".to_owned(),
        };
        assert_eq!(
            proposal.body("7"),
            "{\"tool\":\"refund\",\"args\":{\"order\":\"bench-7\",\"amount\":1}}"
        );
    }
}
