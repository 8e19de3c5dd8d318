//! What the engine holds in memory beside the steps of runs, and never stores.
//!
//! A step may need a secret that its run was given: what is stored and approved has a hole in its place
//! (`{{token}}`), and it is filled right before the call (`filled`). And a run looks at an answer as it
//! came, where the history keeps evidence of bounded length.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::Answer;
use super::given::Given;
use crate::action::{Action, ActionId, AnswerBody, AttemptOutcome, Proposal};
use crate::canon::CanonicalJson;
use crate::skill::{Secrets, secret_holes_in};
use crate::tool::{SecretHole, Tool};

/// The label of an action that names the secret inputs which must be filled in before it is sent.
pub(crate) const SECRETS_LABEL: &str = "secret_inputs";

/// Where the arguments of an action with these labels have the hole of a secret input.
pub(crate) fn secret_holes(labels: &BTreeMap<String, String>, args: &Value) -> Vec<SecretHole> {
    let names: Vec<&str> = labels
        .get(SECRETS_LABEL)
        .map_or_else(Vec::new, |names| names.split(' ').collect());
    secret_holes_in(args, &|name| names.contains(&name))
}

/// Why nothing may be told of an action: its tool decides by what a secret stands for. Such an action is not
/// taken on any more.
pub(crate) fn undecided(tool: &Tool, action: &Action) -> Option<String> {
    let Proposal { args, labels, .. } = &action.proposal;
    let wrong = tool.check_secrets(&secret_holes(labels, &args.value()));
    wrong.first().map(ToString::to_string)
}

/// An answer as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    /// The status.
    pub(crate) status: u16,
    /// The body.
    pub(crate) body: AnswerBody,
}

/// What is held beside each action that is a step of a run.
#[derive(Default)]
pub(crate) struct Asides(Arc<Mutex<HashMap<ActionId, Aside>>>);

#[derive(Default)]
struct Aside {
    given: Arc<Given>,
    /// What this process sent the last attempt with.
    sent: Option<Arc<Secrets>>,
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
        let aside = Aside {
            given,
            ..Aside::default()
        };
        lock(&self.0).insert(id, aside);
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
        missing(action, &self.secrets(action.id)).map(str::to_owned)
    }

    /// Why an action cannot be sent again as it was: a secret input of it has another value by now, or
    /// nobody knows any more which one it had. No version of a value is stored that could be compared.
    pub(crate) fn sent_otherwise(&self, action: &Action) -> Option<String> {
        sent_otherwise(action, lock(&self.0).get(&action.id))
    }

    /// The secrets that an attempt of an action is sent with, from now on the ones that it was sent with.
    /// Fails where one of them is not known, or where the same call is to be sent again and another one was
    /// sent.
    pub(super) fn to_send(&self, action: &Action, is_resend: bool) -> Result<Arc<Secrets>, String> {
        let mut all = lock(&self.0);
        let mut aside = all.get_mut(&action.id);
        if is_resend && let Some(why) = sent_otherwise(action, aside.as_deref()) {
            return Err(why);
        }
        let known = aside.as_ref().map(|aside| aside.given.now());
        let known = known.unwrap_or_default();
        if let Some(name) = missing(action, &known) {
            return Err(format!(
                "the secret input {name} is not known to this process; resume the run with it"
            ));
        }
        if let Some(aside) = &mut aside {
            aside.sent = Some(Arc::clone(&known));
        }
        Ok(known)
    }

    /// Keeps an answer for whoever listens.
    pub(super) fn hear(&self, id: ActionId, answer: &Answer) {
        if let Some(aside) = lock(&self.0).get_mut(&id) {
            aside.heard = Some(Heard {
                status: answer.status,
                body: answer.body.as_it_came(),
            });
        }
    }
}

/// The secret inputs that are filled into an action.
fn names(action: &Action) -> impl Iterator<Item = &str> {
    let names = action.proposal.labels.get(SECRETS_LABEL);
    names.into_iter().flat_map(|names| names.split(' '))
}

fn missing<'a>(action: &'a Action, known: &Secrets) -> Option<&'a str> {
    names(action).find(|name| !known.has(name))
}

fn sent_otherwise(action: &Action, aside: Option<&Aside>) -> Option<String> {
    let sent = aside.and_then(|aside| Some((aside.sent.as_ref()?, aside.given.now())));
    let Some((sent, given)) = sent else {
        let name = names(action).next()?;
        return Some(format!(
            "it was sent by a process that has ended, and took the value of the secret input {name} with it; \
             no other value goes out under the same key"
        ));
    };
    let name = names(action).find(|name| !sent.is_same(name, &given))?;
    Some(format!(
        "the secret input {name} was given another value since it was sent, which does not go out under the \
         same key"
    ))
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

#[cfg(test)]
mod tests {
    use super::super::Body;
    use super::*;
    use crate::skill::{Skill, Vars};

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
            Some(AnswerBody::Text("{ \"a\": 1 }".to_owned()))
        );
        drop(beside);
        assert!(!asides.secrets(id).has("pin"));
    }
}
