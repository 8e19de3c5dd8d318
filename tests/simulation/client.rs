//! Programs and browsers: requests to the real router, without a socket, and what their answers
//! claim.

use axum::body::Body;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::world::World;

/// An answer, read to its end.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The message that the next page would show: its code, `voted` for example.
    pub(crate) fn message(&self) -> String {
        let cookies = self.headers.get_all("set-cookie").iter();
        let mut texts = cookies.filter_map(|value| value.to_str().ok());
        let message = texts.find_map(|text| text.strip_prefix("holdpoint-message="));
        let code = message.and_then(|text| text.split('.').next());
        code.unwrap_or_default().to_owned()
    }

    /// How the action of a page stands, in the words of its badge.
    fn status_word(&self) -> Option<&str> {
        let (_, badge) = self.text.split_once("id=\"status-title\"")?;
        let (_, word) = badge.split_once("</span> ")?;
        word.split_once('<').map(|(word, _)| word)
    }

    /// Whether the session has ended.
    pub(crate) fn asks_to_sign_in(&self) -> bool {
        self.status == StatusCode::UNAUTHORIZED || self.header("location").starts_with("/sign-in")
    }
}

impl World {
    /// Sends a request and reads the answer; none where there is no process to answer. What the
    /// answer claims is compared with what is durable at this moment.
    async fn send(&self, request: Request<Body>) -> Option<Answer> {
        let router = self.router()?;
        let line = format!("{} {}", request.method(), request.uri());
        let response = router.oneshot(request).await.ok()?;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.ok()?.to_bytes();
        let answer = Answer {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        };
        self.note(format!("{line} answered {}", answer.status.as_u16()));
        self.must_not_tell(&answer.text, &line);
        if answer.status == StatusCode::INTERNAL_SERVER_ERROR {
            self.fail(format!("{line} is answered with 500: {}", answer.text));
        }
        Some(answer)
    }

    /// A program calls the API with its key.
    pub(crate) async fn call(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
        key: Option<&str>,
    ) -> Option<Answer> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {token}"));
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let answer = self.send(request.body(body).ok()?).await?;
        if answer.status.is_success() {
            self.check(&answer);
        }
        Some(answer)
    }

    /// An answer of success tells of nothing that is not durable (I5).
    fn check(&self, answer: &Answer) {
        let json = answer.json();
        let (Some(id), Some(status)) = (json["id"].as_str(), json["status"].as_str()) else {
            return;
        };
        let version = answer.header("etag").trim_matches('"').parse().unwrap_or(0);
        self.pull();
        self.watch().told(id, version, status);
    }

    /// A browser asks for a page.
    pub(crate) async fn page(&self, session: &str, path: &str) -> Option<Answer> {
        let request = Request::builder()
            .uri(path)
            .header("host", "holdpoint.example")
            .header("cookie", format!("holdpoint-session={session}"));
        let known = self.known_of(path);
        let answer = self.send(request.body(Body::empty()).ok()?).await?;
        self.check_page(known, &answer);
        Some(answer)
    }

    /// The action that a path is about, and how many versions of it are durable.
    fn known_of(&self, path: &str) -> Option<(String, usize)> {
        let id = path.strip_prefix("/actions/act_")?.split('/').next()?;
        self.pull();
        let versions = self.watch().versions(id);
        Some((id.to_owned(), versions))
    }

    /// A page of an action says nothing of it that is not durable (I5).
    fn check_page(&self, known: Option<(String, usize)>, answer: &Answer) {
        let Some(((id, versions), word)) = known.zip(answer.status_word()) else {
            return;
        };
        self.pull();
        self.watch().told_word(&id, word, versions);
    }

    /// A browser sends a form.
    pub(crate) async fn form(&self, session: &str, path: &str, form: &str) -> Option<Answer> {
        let request = Request::builder()
            .method("POST")
            .uri(path)
            .header("host", "holdpoint.example")
            .header("origin", "http://holdpoint.example")
            .header("sec-fetch-site", "same-origin")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("cookie", format!("holdpoint-session={session}"));
        let known = self.known_of(path);
        let request = request.body(Body::from(form.to_owned())).ok()?;
        let answer = self.send(request).await?;
        self.check_page(known, &answer);
        Some(answer)
    }
}

/// The value of the first hidden field of that name on a page.
pub(crate) fn field<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let start = page.find(&format!("name=\"{name}\" value=\""))?;
    let rest = &page[start..];
    rest.split('"').nth(3)
}

/// A value as it stands in a form.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let code = format!("%{byte:02X}");
            out.push_str(&code);
        }
    }
    out
}
