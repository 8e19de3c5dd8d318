//! What a key or a session can do.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::transport::Unread;
use super::wire::{
    Action, Answered, Decision, List, Submission, Work, WorkClaim, WorkDone, WorkHeartbeat,
    WorkLease, WorkReport,
};
use super::{Client, Error};

/// The longest that one request asks the server to wait.
const POLL_MAX: Duration = Duration::from_secs(30);

/// The shortest time between two requests, for a server that does not wait.
const POLL_MIN: Duration = Duration::from_millis(200);

/// The statuses that nothing follows.
const FINAL: [&str; 7] = [
    "succeeded",
    "failed",
    "rejected",
    "expired",
    "cancelled",
    "refused",
    "replan_required",
];

/// The answer to a submission.
#[derive(Clone, Debug, PartialEq)]
pub enum Submitted {
    /// It is durable.
    Action(Box<Action>),
    /// An idempotent tool was called at once; nothing is recorded.
    Answered(Box<Answered>),
}

/// What to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Only these statuses; empty for all.
    pub statuses: Vec<String>,
    /// Only this tool.
    pub tool: Option<String>,
    /// Only this caller.
    pub caller: Option<String>,
    /// Only with all of these labels.
    pub labels: BTreeMap<String, String>,
    /// At most this many, 1 to 200.
    pub limit: Option<u16>,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

impl Client {
    /// Proposes a call. The same key with the same submission is answered with the first action,
    /// however often it is sent; keep the key with the intent, so that a restart finds it again.
    pub async fn submit(&self, submission: &Submission, key: &str) -> Result<Submitted, Error> {
        let body = self.text_of(submission)?;
        let bytes = self.retry.run(|| self.submit_once(&body, key));
        let bytes = bytes.await?.body;
        let head: Value = self.json(&bytes)?;
        Ok(if head.get("id").is_some() {
            Submitted::Action(self.json(&bytes)?)
        } else {
            Submitted::Answered(self.json(&bytes)?)
        })
    }

    /// Sends a submission exactly as it is written, once.
    pub async fn submit_text(&self, body: &str, key: &str) -> Result<super::Answer, Error> {
        let Unread {
            etag,
            replayed,
            body,
        } = self.submit_once(body, key).await?;
        Ok(super::Answer {
            etag,
            replayed,
            body: self.json(&body)?,
        })
    }

    async fn submit_once(&self, body: &str, key: &str) -> Result<Unread, Error> {
        let request = self
            .with_body("/v1/actions", body.to_owned())
            .timeout(Duration::from_mins(1))
            .header("Idempotency-Key", quoted(key)?);
        self.send_bytes(request).await
    }

    /// An action as it is now.
    pub async fn action(&self, id: &str) -> Result<Action, Error> {
        self.read_again(|| self.read_request(&action_path(id, "")))
            .await
    }

    /// An action once it is final, or as it is when the time is over.
    pub async fn wait_for_end(&self, id: &str, at_most: Duration) -> Result<Action, Error> {
        let end = Instant::now() + at_most;
        let path = action_path(id, "");
        let read = || self.send_bytes(self.read_request(&path));
        let first = self.retry.run(read).await?;
        let (mut action, mut etag): (Action, _) = (self.json(&first.body)?, first.etag);
        while !FINAL.contains(&action.status.as_str()) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let asked = Instant::now();
            let wait = left.min(POLL_MAX);
            let changed = || self.send_bytes(self.changed(&path, etag.as_deref(), wait));
            let answer = self.retry.run(changed).await?;
            if !answer.body.is_empty() {
                action = self.json(&answer.body)?;
                etag = answer.etag;
            }
            if let Some(rest) = POLL_MIN.checked_sub(asked.elapsed()) {
                tokio::time::sleep(rest.min(left)).await;
            }
        }
        Ok(action)
    }

    /// One page of a list.
    pub async fn list(&self, filter: &ListFilter) -> Result<List, Error> {
        let limit = filter.limit.map(|limit| limit.to_string());
        let single = [
            ("tool", &filter.tool),
            ("caller", &filter.caller),
            ("limit", &limit),
            ("cursor", &filter.cursor),
        ];
        let single = single
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value.as_ref()?)));
        let statuses = filter.statuses.iter().map(|one| ("status".to_owned(), one));
        let labels = filter.labels.iter();
        let labels = labels.map(|(name, value)| (format!("label.{name}"), value));
        let query: Vec<String> = statuses
            .chain(single)
            .chain(labels)
            .map(|(name, value)| format!("{}={}", encoded(&name), encoded(value)))
            .collect();
        let path = format!("/v1/actions?{}", query.join("&"));
        self.read_again(|| self.read_request(&path)).await
    }

    /// Votes on what was shown. Sent once.
    pub async fn vote(&self, id: &str, decision: &Decision) -> Result<Action, Error> {
        let body = self.text_of(decision)?;
        self.change(&action_path(id, "/votes"), body).await
    }

    /// Takes an action back before anything is sent. Sent once.
    pub async fn cancel(&self, id: &str, reason: Option<&str>) -> Result<Action, Error> {
        let body = json!({ "reason": reason }).to_string();
        self.change(&action_path(id, "/cancel"), body).await
    }

    /// Settles an unknown outcome. Sent once.
    pub async fn settle(&self, id: &str, happened: bool, reason: &str) -> Result<Action, Error> {
        let body = json!({ "happened": happened, "reason": reason }).to_string();
        self.change(&action_path(id, "/settle"), body).await
    }

    /// Claims work; none where there was nothing in time. The same claim with the same key is answered
    /// with the same work, however often it is sent, while the lease runs: use one key until there is
    /// an answer, and a new one for the next claim.
    pub async fn claim(
        &self,
        claim: &WorkClaim,
        wait: Duration,
        key: &str,
    ) -> Result<Option<Work>, Error> {
        let body = self.text_of(claim)?;
        let key = quoted(key)?;
        let ask = || {
            let request = self
                .waiting(Method::POST, "/v1/work/claim", wait)
                .header(reqwest::header::CONTENT_TYPE, "application/json")
                .header("Idempotency-Key", &key)
                .body(body.clone());
            self.send_bytes(request)
        };
        let answer = self.retry.run(ask).await?;
        if answer.body.is_empty() {
            return Ok(None);
        }
        self.json(&answer.body).map(Some)
    }

    /// Says that the worker is still at it; answers the lease as it is now.
    pub async fn heartbeat(&self, attempt: &str, beat: &WorkHeartbeat) -> Result<WorkLease, Error> {
        let body = self.text_of(beat)?;
        let path = work_path(attempt, "heartbeat");
        self.read_again(|| self.with_body(&path, body.clone()))
            .await
    }

    /// Says how an attempt ended. The same report again is answered as the first one was.
    pub async fn complete(&self, attempt: &str, report: &WorkReport) -> Result<WorkDone, Error> {
        let body = self.text_of(report)?;
        let path = work_path(attempt, "complete");
        self.read_again(|| self.with_body(&path, body.clone()))
            .await
    }

    /// Sends what does no harm twice, and reads the answer.
    pub(super) async fn read_again<T: DeserializeOwned>(
        &self,
        request: impl Fn() -> reqwest::RequestBuilder,
    ) -> Result<T, Error> {
        let answer = self.retry.run(|| self.send_bytes(request()));
        self.json(&answer.await?.body)
    }

    /// Sends a change, once.
    async fn change(&self, path: &str, body: String) -> Result<Action, Error> {
        let answer = self.send_bytes(self.with_body(path, body)).await?;
        self.json(&answer.body)
    }
}

fn action_path(id: &str, rest: &str) -> String {
    format!("/v1/actions/{}{rest}", encoded(id))
}

fn work_path(attempt: &str, what: &str) -> String {
    format!("/v1/work/{}/{what}", encoded(attempt))
}

/// A text as one part of a path or a query, whatever it holds.
pub fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// The key as a quoted string of a structured header (RFC 9651).
pub(super) fn quoted(key: &str) -> Result<String, Error> {
    let printable = key.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if key.is_empty() || 255 < key.len() || !printable {
        return Err(Error::BadKey);
    }
    let escaped = key.replace('\\', "\\\\").replace('"', "\\\"");
    Ok(format!("\"{escaped}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sent_as_a_quoted_string_or_not_at_all() {
        assert_eq!(quoted(r#"a"b\c"#).expect("a key"), r#""a\"b\\c""#);
        for key in ["", "a\nb", "é", &"x".repeat(256)] {
            assert!(matches!(quoted(key), Err(Error::BadKey)), "{key}");
        }
    }

    #[test]
    fn an_id_cannot_lead_to_another_address() {
        assert_eq!(action_path("act_1", "/votes"), "/v1/actions/act_1/votes");
        assert_eq!(
            work_path("act_1.1", "complete"),
            "/v1/work/act_1.1/complete"
        );
        assert!(!action_path("../keys?x#", "").contains("/../"));
        assert!(!action_path("a/b?c", "").contains("a/b"));
    }
}
