//! What the engine holds in memory beside the steps of runs, and never stores.
//!
//! A step may need a secret that its run was given: what is stored and approved has a hole in its place
//! (`{{token}}`), and it is filled here, right before the call. And a run looks at an answer as it
//! came, where the history keeps evidence of bounded length.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::given::Given;
use super::{Answer, Hidden, Outgoing};
use crate::action::{Action, ActionId, AttemptOutcome};
use crate::canon::CanonicalJson;
use crate::skill::Secrets;
use crate::tool::{percent, unreserved};

/// The label of an action that names the secret inputs which must be filled in before it is sent.
pub(crate) const SECRETS_LABEL: &str = "secret_inputs";

/// An answer as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    /// The status.
    pub(crate) status: u16,
    /// The body; else why it is none that can be looked at.
    pub(crate) body: Result<String, String>,
}

/// What is held beside each action that is a step of a run.
#[derive(Default)]
pub(crate) struct Asides(Arc<Mutex<HashMap<ActionId, Aside>>>);

#[derive(Default)]
struct Aside {
    given: Arc<Given>,
    heard: Option<Heard>,
}

/// Holds what stands beside one action; gone when dropped.
pub(crate) struct Beside {
    all: Arc<Mutex<HashMap<ActionId, Aside>>>,
    id: ActionId,
}

impl Asides {
    /// Holds secrets for an action, also those that its run is given later, and listens for its answer.
    pub(crate) fn begin(&self, id: ActionId, given: Arc<Given>) -> Beside {
        let heard = None;
        lock(&self.0).insert(id, Aside { given, heard });
        Beside {
            all: Arc::clone(&self.0),
            id,
        }
    }

    /// The secrets of an action; none where it has none.
    pub(super) fn secrets(&self, id: ActionId) -> Arc<Secrets> {
        let all = lock(&self.0);
        all.get(&id)
            .map(|aside| aside.given.now())
            .unwrap_or_default()
    }

    /// The first secret input of its run that an action needs and this process does not know.
    pub(crate) fn missing_secret(&self, action: &Action) -> Option<String> {
        let mut names = action.proposal.labels.get(SECRETS_LABEL)?.split(' ');
        let known = self.secrets(action.id);
        names.find(|name| !known.has(name)).map(str::to_owned)
    }

    /// Keeps an answer for whoever listens.
    pub(super) fn hear(&self, id: ActionId, answer: &Answer) {
        if let Some(aside) = lock(&self.0).get_mut(&id) {
            aside.heard = Some(Heard {
                status: answer.status,
                body: answer.body.text(),
            });
        }
    }
}

impl Beside {
    /// The last answer, where there was one in this process.
    pub(crate) fn heard(&self) -> Option<Heard> {
        lock(&self.all).get(&self.id)?.heard.clone()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        lock(&self.all).remove(&self.id);
    }
}

fn lock(all: &Mutex<HashMap<ActionId, Aside>>) -> MutexGuard<'_, HashMap<ActionId, Aside>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Fills the holes of secrets in a request, escaped for where each stands.
pub(super) fn fill_request(outgoing: &mut Outgoing, secrets: &Secrets) -> Result<(), String> {
    let is_json = |name: &str, value: &str| {
        name.eq_ignore_ascii_case("content-type") && value.to_ascii_lowercase().contains("json")
    };
    let in_json = outgoing
        .headers
        .iter()
        .any(|(name, value)| is_json(name, value));
    for (name, value) in secrets.iter() {
        let hole = format!("{{{{{name}}}}}");
        let json = CanonicalJson::of(value);
        let (text, inside) = match value {
            Value::String(text) => (text.as_str(), &json.as_str()[1..json.as_str().len() - 1]),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => (json.as_str(), json.as_str()),
        };
        outgoing.url = outgoing.url.replace(&hole, &percent_encoded(text));
        // What a tool of the tools file put into a URL is percent-encoded already.
        let encoded = percent_encoded(&hole);
        outgoing.url = outgoing.url.replace(&encoded, &percent_encoded(text));
        let (with, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut outgoing.headers)
            .into_iter()
            .partition(|(_, header)| header.contains(&hole));
        outgoing.headers = rest;
        for (header, with_hole) in with {
            let filled = with_hole.replace(&hole, text);
            if !filled.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
                return Err(format!(
                    "the secret {name} has characters that the header {header} cannot carry"
                ));
            }
            outgoing.secret_headers.push((header, Hidden::new(filled)));
        }
        if let Some(body) = &mut outgoing.body {
            if in_json && !value.is_string() {
                // A value that is exactly one hole keeps its type.
                *body = body.replace(&format!("\"{hole}\""), json.as_str());
            }
            *body = body.replace(&hole, if in_json { inside } else { text });
        }
    }
    Ok(())
}

/// What a local function answered, with each secret that it was given replaced by its hole.
pub(super) fn without_secrets(outcome: AttemptOutcome, secrets: &Secrets) -> AttemptOutcome {
    let json = |json: &CanonicalJson| CanonicalJson::of(&secrets.hide_in(&json.value()));
    match outcome {
        AttemptOutcome::Done {
            http_status,
            result,
        } => AttemptOutcome::Done {
            http_status,
            result: json(&result),
        },
        AttemptOutcome::Refused {
            http_status,
            answer,
        } => AttemptOutcome::Refused {
            http_status,
            answer: json(&answer),
        },
        AttemptOutcome::VersionMoved { answer } => AttemptOutcome::VersionMoved {
            answer: json(&answer),
        },
        AttemptOutcome::NotDelivered { message } => AttemptOutcome::NotDelivered {
            message: secrets.hide(&message),
        },
        AttemptOutcome::Unknown {
            http_status,
            message,
        } => AttemptOutcome::Unknown {
            http_status,
            message: secrets.hide(&message),
        },
    }
}

fn percent_encoded(text: &str) -> String {
    let mut out = String::new();
    percent(&mut out, text, unreserved);
    out
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Body;
    use super::*;
    use crate::skill::{Skill, Vars};
    use crate::tool::Origin;

    fn secrets() -> Secrets {
        let text = concat!(
            "---\nname: a\ndescription: b\n",
            r#"inputs: {"token": {"type": "string", "secret": true}, "pin": {"type": "integer", "secret": true}}"#,
            "\n---\n### Step 1 — A\n- intent: x\n",
            r#"- action: http.get {"url": "https://shop.example/{{token}}{{pin}}"}"#,
            "\n",
        );
        let skill = Skill::parse(text).expect("a skill");
        let given = [("token", "a\"b&c"), ("pin", "42")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let vars = Vars::given(&skill, &given).expect("its inputs");
        vars.secrets().clone()
    }

    #[test]
    fn a_secret_is_escaped_for_where_it_stands() {
        let mut outgoing = Outgoing {
            method: "POST".to_owned(),
            url: "https://shop.example/x?a={{token}}&b=%7B%7Btoken%7D%7D".to_owned(),
            origin: Origin {
                scheme: "https".to_owned(),
                host: "shop.example".to_owned(),
                port: 443,
            },
            headers: vec![
                ("Authorization".to_owned(), "Bearer {{token}}".to_owned()),
                ("Content-Type".to_owned(), "application/json".to_owned()),
            ],
            secret_headers: Vec::new(),
            body: Some(r#"{"p":"{{pin}}","t":"{{token}}","u":"{{other}}"}"#.to_owned()),
            connect_timeout: Duration::from_secs(1),
            timeout: Duration::from_secs(1),
        };
        fill_request(&mut outgoing, &secrets()).expect("it fits");
        assert_eq!(
            outgoing.url,
            "https://shop.example/x?a=a%22b%26c&b=a%22b%26c"
        );
        assert_eq!(outgoing.headers.len(), 1, "only what is no secret");
        assert_eq!(outgoing.secret_headers[0].1.expose(), "Bearer a\"b&c");
        let body = outgoing.body.expect("a body");
        assert_eq!(body, r#"{"p":42,"t":"a\"b&c","u":"{{other}}"}"#);
        assert!(!format!("{:?}", outgoing.secret_headers).contains("a\"b"));
    }

    #[test]
    fn what_stands_beside_an_action_is_gone_with_its_step() {
        let (asides, id) = (
            Asides::default(),
            ActionId::new(crate::time::Timestamp(1), [1; 10]),
        );
        let given = Arc::new(Given::default());
        let beside = asides.begin(id, Arc::clone(&given));
        assert!(!asides.secrets(id).has("pin"));
        given.add(&secrets());
        assert!(asides.secrets(id).has("pin"), "it was given later");
        asides.hear(
            id,
            &Answer {
                status: 200,
                etag: None,
                body: Body::Whole(b"{ \"a\": 1 }".to_vec()),
            },
        );
        assert_eq!(
            beside.heard().map(|heard| heard.body),
            Some(Ok("{ \"a\": 1 }".to_owned()))
        );
        drop(beside);
        assert!(!asides.secrets(id).has("pin"));
    }
}
