//! What can be said of a call whose arguments are not all known yet.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::built_in;
use super::definition::{Execute, Tool};
use super::schema::ArgError;
use super::values::{Context, RenderError};
use crate::action::{ActionId, Caller, PrincipalKind};
use crate::canon::pointer_push;

/// The texts of some arguments that are not known yet, by their JSON Pointers.
pub type Open = BTreeMap<String, OpenText>;

/// A text with holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenText {
    /// Nothing but a hole: any value may come to stand here.
    Whole,
    /// A text that has holes in it, and stays a text.
    Part {
        /// What stands before the first hole.
        before: String,
        /// All of it, with something plain in place of the holes.
        sample: String,
    },
}

/// Whether something is open at a pointer or below it.
pub(super) fn is_open_in(open: &Open, pointer: &str) -> bool {
    open.keys().any(|at| {
        at.strip_prefix(pointer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

impl Tool {
    /// What is wrong with the arguments whatever comes to stand where they are open: against the schema,
    /// and where the request is made from them.
    pub fn check_ahead(&self, args: &Value, open: &Open) -> Vec<ArgError> {
        let wrong = match &self.input {
            Some(schema) => schema.check_ahead(args, open),
            None => Vec::new(),
        };
        if !wrong.is_empty() || open.contains_key("") {
            return wrong;
        }
        let rendered = match &self.execute {
            Execute::Request(method) => {
                let sample = sample("", args, open);
                let caller = nobody();
                built_in::render(method, &context(&sample, &caller), None).map(|_| ())
            }
            Execute::Http(_) | Execute::Local(_) | Execute::Worker => {
                let caller = nobody();
                let ctx = context(args, &caller);
                let key = self.has_key_template().then(|| self.render_key(&ctx));
                key.transpose()
                    .and_then(|_| self.render_execute(&ctx).map(|_| ()))
            }
        };
        match rendered {
            Err(RenderError {
                pointer: Some(pointer),
                message,
            }) if self.is_built_in() || !is_open_in(open, &pointer) => {
                vec![ArgError { pointer, message }]
            }
            // What is missing besides comes from the caller or from the state.
            Ok(()) | Err(_) => Vec::new(),
        }
    }
}

fn nobody() -> Caller {
    Caller {
        id: String::new(),
        name: String::new(),
        kind: PrincipalKind::Person,
        owner: None,
        attributes: BTreeMap::new(),
    }
}

fn context<'a>(args: &'a Value, caller: &'a Caller) -> Context<'a> {
    Context {
        args,
        caller,
        state: None,
        action_id: Some(ActionId::from_bytes([0; 16])),
        idempotency_key: Some("key"),
    }
}

/// The arguments of a built-in tool, with something that can be sent in place of what is open.
fn sample(pointer: &str, value: &Value, open: &Open) -> Value {
    match open.get(pointer) {
        Some(OpenText::Whole) => match pointer {
            "/url" => json!("http://a.example/"),
            "/headers" | "/query" => json!({}),
            _ => json!("1"),
        },
        // Where the host is not known, nothing can be said of the address.
        Some(OpenText::Part { before, .. }) if pointer == "/url" && !names_host(before) => {
            json!("http://a.example/")
        }
        Some(OpenText::Part { sample, .. }) => json!(sample),
        None => match value {
            Value::Object(members) => members
                .iter()
                .map(|(key, member)| {
                    let at = pointer_push(pointer, key);
                    (key.clone(), sample(&at, member, open))
                })
                .collect(),
            Value::Array(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => value.clone(),
        },
    }
}

/// Whether the start of an address has all of its host and port, or something else than an address.
fn names_host(before: &str) -> bool {
    match before.split_once("://") {
        Some((_, rest)) => rest.contains(['/', '?']),
        None => false,
    }
}
