//! A receiver of messages on loopback that does as it is told, and checks every signature.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::Value;
use standardwebhooks::Webhook;
use tokio::sync::watch;

/// How long a test waits for something that must come.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// What to do with a message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// This status.
    Status(u16),
    /// This status and a `Retry-After`.
    RetryAfter(u16, &'static str),
    /// A redirect to the receiver's other path.
    Redirect,
    /// Take it, and close the connection without an answer.
    Lost,
    /// Take it, answer 200 and begin a body that never ends.
    Endless,
}

/// A message as it came.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Message {
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).expect("the header is there");
        value.to_str().expect("ascii")
    }

    pub(crate) fn id(&self) -> &str {
        self.header("webhook-id")
    }

    pub(crate) fn kind(&self) -> &str {
        self.body["type"].as_str().expect("a type")
    }

    pub(crate) fn position(&self) -> u64 {
        self.body["data"]["position"].as_u64().expect("a position")
    }

    pub(crate) fn signatures(&self) -> Vec<&str> {
        self.header("webhook-signature").split(' ').collect()
    }

    /// Whether the standard library would make one of the signatures, whatever the time is.
    pub(crate) fn is_signed_with(&self, secret: &str) -> bool {
        let webhook = Webhook::new(secret).expect("a secret");
        let at = self.header("webhook-timestamp").parse().expect("seconds");
        let expected = webhook.sign(self.id(), at, self.text.as_bytes());
        self.signatures()
            .contains(&expected.expect("signed").as_str())
    }
}

#[derive(Default)]
struct Inner {
    answers: VecDeque<Answer>,
    usual: Option<Answer>,
    messages: Vec<Message>,
    elsewhere: usize,
}

#[derive(Clone)]
pub(crate) struct Receiver {
    inner: Arc<Mutex<Inner>>,
    count: Arc<watch::Sender<usize>>,
    pub(crate) url: String,
}

impl Receiver {
    pub(crate) async fn open() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a free port");
        let receiver = Self {
            inner: Arc::default(),
            count: Arc::new(watch::Sender::new(0)),
            url: format!("http://{}/hook", listener.local_addr().expect("bound")),
        };
        let router = Router::new()
            .route("/hook", post(hook))
            .route("/elsewhere", post(elsewhere))
            .with_state(receiver.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        receiver
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the next messages like this, then as usual.
    pub(crate) fn answers(&self, answers: &[Answer]) {
        self.inner().answers.extend(answers);
    }

    /// Answers like this from now on; 204 where nothing else is said.
    pub(crate) fn usually(&self, answer: Answer) {
        self.inner().usual = Some(answer);
    }

    pub(crate) fn messages(&self) -> Vec<Message> {
        self.inner().messages.clone()
    }

    pub(crate) fn positions(&self) -> Vec<u64> {
        self.messages().iter().map(Message::position).collect()
    }

    pub(crate) fn was_led_elsewhere(&self) -> bool {
        0 < self.inner().elsewhere
    }

    /// Waits until this many messages have come, and answers with all of them.
    pub(crate) async fn until(&self, count: usize) -> Vec<Message> {
        let mut seen = self.count.subscribe();
        let came = tokio::time::timeout(PATIENCE, seen.wait_for(|came| count <= *came)).await;
        assert!(
            came.is_ok(),
            "{count} messages never came: {:?}",
            self.positions()
        );
        self.messages()
    }
}

async fn hook(State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes) -> Response {
    let text = String::from_utf8(body.to_vec()).expect("UTF-8");
    let body = serde_json::from_str(&text).expect("JSON");
    let (answer, count) = {
        let mut inner = receiver.inner();
        inner.messages.push(Message {
            headers,
            text,
            body,
        });
        let next = inner.answers.pop_front();
        (next.or(inner.usual), inner.messages.len())
    };
    receiver.count.send_replace(count);
    let status = |code| StatusCode::from_u16(code).expect("a status");
    match answer {
        None => StatusCode::NO_CONTENT.into_response(),
        Some(Answer::Status(code)) => status(code).into_response(),
        Some(Answer::RetryAfter(code, after)) => {
            (status(code), [("retry-after", after)]).into_response()
        }
        Some(Answer::Redirect) => (status(307), [("location", "/elsewhere")]).into_response(),
        // The server drops the connection of a handler that panics.
        Some(Answer::Lost) => std::panic::resume_unwind(Box::new("the answer is lost")),
        Some(Answer::Endless) => {
            let drops =
                futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>("x".repeat(1000)));
            axum::body::Body::from_stream(drops).into_response()
        }
    }
}

async fn elsewhere(State(receiver): State<Receiver>) {
    receiver.inner().elsewhere += 1;
}
