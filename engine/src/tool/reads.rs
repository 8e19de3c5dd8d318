//! By which of its arguments a tool decides.
//!
//! A secret stands in the arguments as a hole until its call leaves, so that nothing may be decided by what
//! stands there: a rule would look at the hole, a key would be made of it, and the source of truth would be
//! asked about it. What cannot be told counts as read.

use super::definition::{Execute, Tool};
use super::http::{Body, HttpCall, JsonTemplate};
use super::rule::Rule;
use super::schema::ArgError;
use super::template::{Currency, Root, Slot, Template};
use crate::canon::pointer_push;

/// A text of the arguments in which a secret stands as a hole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretHole {
    /// Where the text is: names of members, and places in arrays.
    pub path: Vec<String>,
    /// The name of the secret.
    pub name: String,
}

/// An argument that is read, by its path, and what of the definition reads it.
type Read = (Vec<String>, &'static str);

impl Tool {
    /// What is wrong with secrets at these places: the tool decides by what stands there.
    ///
    /// The built-in tools decide by nothing. Where a secret would change more of their request than its place,
    /// it is refused when it is filled in.
    pub fn check_secrets(&self, holes: &[SecretHole]) -> Vec<ArgError> {
        if holes.is_empty() || self.is_built_in() {
            return Vec::new();
        }
        let reads = self.reads();
        let wrong = holes.iter().filter_map(|hole| {
            let read = reads.iter().find(|(path, _)| meet(path, &hole.path));
            let by_schema = || {
                let schema = self.input.as_ref()?;
                schema.looks_at(&hole.path).then_some("its input schema")
            };
            let by = read.map(|(_, by)| *by).or_else(by_schema)?;
            let pointer = hole.path.iter();
            Some(ArgError {
                pointer: pointer.fold(String::new(), |at, name| pointer_push(&at, name)),
                message: format!(
                    "{by} decides by this argument, and the secret input {} is filled in only when the call \
                     leaves; so it cannot be secret",
                    hole.name
                ),
            })
        });
        wrong.collect()
    }

    /// All that is read before a call leaves, or after it, but for the input schema.
    fn reads(&self) -> Vec<Read> {
        let mut reads = Vec::new();
        if matches!(self.execute, Execute::Worker) {
            reads.push((
                Vec::new(),
                "the worker, which reads its arguments from the log,",
            ));
        }
        let mut add = |rule: &Rule, by: &'static str| {
            reads.extend(rule.paths_of("args").into_iter().map(|path| (path, by)));
        };
        if let Some(rule) = &self.identity {
            add(rule, "its identity rule");
        }
        for one in &self.preconditions {
            add(&one.rule, "one of its preconditions");
        }
        for one in &self.approval.rules {
            add(&one.when, "one of its approval rules");
        }
        if let Some(check) = &self.check {
            add(&check.happened, "its check");
        }
        let key = self.key.iter().map(|key| (key, "its idempotencyKey"));
        let summary = self.summary.iter().map(|text| (text, "its summary"));
        let state = self.state.iter().flat_map(|state| templates(&state.http));
        let check = self.check.iter().flat_map(|check| templates(&check.http));
        let all = key
            .chain(summary)
            .chain(state.map(|template| (template, "its state query")))
            .chain(check.map(|template| (template, "its check")));
        for (template, by) in all {
            let paths = template.slots().flat_map(paths);
            reads.extend(paths.map(|path| (path, by)));
        }
        let labels = self.labels.iter();
        reads.extend(labels.map(|path| (path.clone(), "one of its labels")));
        reads
    }
}

/// Whether what is read is the place, or around it, or inside of what stands there.
fn meet(read: &[String], place: &[String]) -> bool {
    read.iter()
        .zip(place)
        .all(|(read, place)| is_same(read, place))
}

/// Whether two names lead to the same value: a place in an array may be written with zeros before it.
fn is_same(one: &str, other: &str) -> bool {
    let place = |name: &str| name.parse::<usize>().ok();
    one == other || place(one).is_some_and(|one| place(other) == Some(one))
}

/// The arguments that a placeholder reads.
fn paths(slot: &Slot) -> Vec<Vec<String>> {
    let value = match slot.root {
        Root::Args => Some(slot.path.clone()),
        Root::State | Root::StateEtag | Root::Caller | Root::ActionId | Root::IdempotencyKey => {
            None
        }
    };
    let currency = match &slot.money {
        Some(Currency::Argument(path)) => Some(path.clone()),
        Some(Currency::Code(_)) | None => None,
    };
    value.into_iter().chain(currency).collect()
}

/// All templates of a call.
fn templates(call: &HttpCall) -> Vec<&Template> {
    let mut all = vec![&call.url];
    all.extend(call.headers.iter().map(|(_, value)| value));
    match &call.body {
        Body::None => {}
        Body::Json(json) => in_json(json, &mut all),
        Body::Form(fields) => all.extend(fields.iter().map(|(_, value)| value)),
    }
    all
}

fn in_json<'a>(json: &'a JsonTemplate, all: &mut Vec<&'a Template>) {
    match json {
        JsonTemplate::Literal(_) => {}
        JsonTemplate::Text(template) => all.push(template),
        JsonTemplate::Array(items) => items.iter().for_each(|item| in_json(item, all)),
        JsonTemplate::Object(members) => {
            for (_, member) in members {
                in_json(member, all);
            }
        }
    }
}
