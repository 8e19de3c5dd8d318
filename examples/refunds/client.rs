//! A client of the HTTP API, as a service or a person's program would write one.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Why the example cannot go on, in words.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How long a condition is waited for before the story gives up.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long to wait before asking again.
const PAUSE: Duration = Duration::from_millis(40);

/// An HTTP client that knows where Holdpoint is.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
}

/// What was answered.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The body; a JSON string where it is not JSON.
    pub(crate) body: Value,
}

impl Reply {
    /// Whether the status is 2xx.
    pub(crate) fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// A text in the body by JSON Pointer; empty where there is none.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.body
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The body of a 2xx, else the answer as an error.
    pub(crate) fn expect_ok(self, what: &str) -> Result<Self, Failure> {
        if self.is_ok() {
            return Ok(self);
        }
        Err(format!("{what} was answered with {}: {}", self.status, self.body).into())
    }
}

impl Client {
    /// A client of the server at `base`, such as `http://127.0.0.1:7070`.
    pub(crate) fn new(base: impl Into<String>) -> Result<Self, Failure> {
        let http = reqwest::Client::builder()
            .no_proxy()
            .timeout(Duration::from_secs(40))
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Self {
            http,
            base: base.into(),
        })
    }

    /// Sends one request.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Reply, Failure> {
        let method = reqwest::Method::from_bytes(method.as_bytes())?;
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let response = request.send().await?;
        let status = response.status().as_u16();
        let text = response.text().await?;
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok(Reply { status, body })
    }

    /// Sends a request with a bearer token.
    pub(crate) async fn call(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, Failure> {
        let bearer = format!("Bearer {token}");
        self.send(method, path, &[("authorization", &bearer)], body)
            .await
    }

    /// Signs a person in and returns the session token.
    pub(crate) async fn sign_in(&self, email: &str, password: &str) -> Result<String, Failure> {
        let body = json!({ "email": email, "password": password });
        let reply = self.send("POST", "/v1/sessions", &[], Some(&body)).await?;
        Ok(reply.expect_ok("signing in")?.text("/token").to_owned())
    }

    /// Signs a person in as their browser does, and returns the cookie.
    pub(crate) async fn sign_in_as_browser(
        &self,
        email: &str,
        password: &str,
    ) -> Result<String, Failure> {
        let form = format!(
            "return=&email={}&password={password}",
            email.replace('@', "%40")
        );
        let response = self
            .http
            .post(format!("{}/sign-in", self.base))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form)
            .send()
            .await?;
        let cookie = response
            .headers()
            .get("set-cookie")
            .and_then(|value| value.to_str().ok());
        let pair = cookie.and_then(|cookie| cookie.split(';').next());
        let status = response.status();
        Ok(pair
            .ok_or_else(|| format!("the sign-in page answered {status} without a cookie"))?
            .to_owned())
    }

    /// Submits an action under a request key.
    pub(crate) async fn submit(
        &self,
        token: &str,
        key: &str,
        action: &Value,
    ) -> Result<Reply, Failure> {
        let bearer = format!("Bearer {token}");
        let key = format!("\"{key}\"");
        let headers = [
            ("authorization", bearer.as_str()),
            ("idempotency-key", key.as_str()),
        ];
        self.send("POST", "/v1/actions", &headers, Some(action))
            .await
    }

    /// The action as it is now.
    pub(crate) async fn action(&self, token: &str, id: &str) -> Result<Value, Failure> {
        let reply = self
            .call(token, "GET", &format!("/v1/actions/{id}"), None)
            .await?;
        Ok(reply.expect_ok("reading an action")?.body)
    }

    /// Votes on what `action` says, as a page that shows it would.
    pub(crate) async fn vote(
        &self,
        token: &str,
        action: &Value,
        vote: &str,
        reason: Option<&str>,
    ) -> Result<Reply, Failure> {
        let body = json!({
            "vote": vote,
            "reason": reason,
            "digest": action["digest"],
            "revision": action["revision"],
            "snapshot_digest": action["snapshot"]["digest"],
        });
        let id = action["id"].as_str().unwrap_or_default();
        self.call(
            token,
            "POST",
            &format!("/v1/actions/{id}/votes"),
            Some(&body),
        )
        .await
    }

    /// Waits until the action has one of these statuses.
    pub(crate) async fn wait_for(
        &self,
        token: &str,
        id: &str,
        statuses: &[&str],
    ) -> Result<Value, Failure> {
        let begun = Instant::now();
        loop {
            let action = self.action(token, id).await?;
            let status = action["status"].as_str().unwrap_or_default();
            if statuses.contains(&status) {
                return Ok(action);
            }
            if begun.elapsed() > PATIENCE {
                return Err(
                    format!("{id} is still {status} after {PATIENCE:?}, not {statuses:?}").into(),
                );
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// The statuses that nothing follows.
pub(crate) const FINAL: [&str; 7] = [
    "succeeded",
    "failed",
    "rejected",
    "expired",
    "cancelled",
    "refused",
    "replan_required",
];

/// A refund as it is submitted.
pub(crate) fn refund(order: &str, customer: &str, amount_minor: i64, reason: &str) -> Value {
    json!({
        "tool": "issue_refund",
        "args": {
            "order_id": order,
            "customer_id": customer,
            "refund_ref": "r1",
            "amount_minor": amount_minor,
            "currency": "EUR",
        },
        "reason": reason,
    })
}
