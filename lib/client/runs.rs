//! Runs: jobs of several calls, written down in skill files.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::calls::{encoded, quoted};
use super::{Client, Error};

/// Which runs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only these statuses; empty for all.
    pub statuses: Vec<String>,
    /// Only of the skill or workflow of that name.
    pub name: Option<String>,
    /// At most this many, 1 to 200.
    pub limit: Option<u16>,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

impl Client {
    /// Starts a run: `skill` is the text of the file; `inputs`, `allow_writes`, `yes`, `stage` and
    /// `ignore_manifest` may be left out. The same key with the same body is answered with the first run.
    pub async fn start_run(&self, new: &Value, key: &str) -> Result<Value, Error> {
        let key = quoted(key)?;
        self.read_again(|| {
            let request = self.with_body("/v1/runs", new.to_string());
            request.header("Idempotency-Key", key.as_str())
        })
        .await
    }

    /// A run as it is now, with its receipt.
    pub async fn run(&self, id: &str) -> Result<Value, Error> {
        self.read_again(|| self.read_request(&run_path(id, "")))
            .await
    }

    /// A run once it has more events than `known`, or as it is when `at_most` has passed.
    pub async fn wait_for_run(
        &self,
        id: &str,
        known: u64,
        at_most: Duration,
    ) -> Result<Value, Error> {
        let seconds = at_most.as_millis().div_ceil(1000);
        let path = run_path(id, &format!("?wait={seconds}s&after={known}"));
        self.read_again(|| self.waiting(Method::GET, &path, at_most))
            .await
    }

    /// Goes on with a run: `secrets`, `allow_writes`, `yes` and `stage` may be left out. Sent once.
    pub async fn resume_run(&self, id: &str, how: &Value) -> Result<Value, Error> {
        Ok(self.post(&run_path(id, "/resume"), how).await?.body)
    }

    /// Calls a run off. Sent once.
    pub async fn cancel_run(&self, id: &str, reason: Option<&str>) -> Result<Value, Error> {
        let body = json!({ "reason": reason });
        Ok(self.post(&run_path(id, "/cancel"), &body).await?.body)
    }

    /// Sends a run an event that its code may be waiting for. The same event under the same key is taken
    /// once, however often it is sent.
    pub async fn signal_run(
        &self,
        id: &str,
        name: &str,
        data: &Value,
        key: &str,
    ) -> Result<Value, Error> {
        let (key, path) = (quoted(key)?, run_path(id, "/events"));
        let body = json!({ "name": name, "data": data }).to_string();
        self.read_again(|| {
            let request = self.with_body(&path, body.clone());
            request.header("Idempotency-Key", key.as_str())
        })
        .await
    }

    /// One page of runs, the newest first.
    pub async fn runs(&self, filter: &RunFilter) -> Result<Value, Error> {
        let limit = filter.limit.map(|limit| limit.to_string());
        let statuses = filter.statuses.join(",");
        let statuses = (!statuses.is_empty()).then_some(statuses);
        let query: Vec<String> = [
            ("status", &statuses),
            ("name", &filter.name),
            ("limit", &limit),
            ("cursor", &filter.cursor),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", encoded(value.as_ref()?))))
        .collect();
        let path = format!("/v1/runs?{}", query.join("&"));
        self.read_again(|| self.read_request(&path)).await
    }
}

fn run_path(id: &str, rest: &str) -> String {
    format!("/v1/runs/{}{rest}", encoded(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_run_cannot_lead_to_another_address() {
        assert_eq!(run_path("run_1", "/cancel"), "/v1/runs/run_1/cancel");
        assert!(!run_path("../keys?x#", "").contains("/../"));
    }
}
