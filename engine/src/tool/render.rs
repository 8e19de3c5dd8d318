//! What a definition and the arguments make: summary, labels, key and requests.

use std::collections::BTreeMap;

use serde_json::Value;

use super::definition::{Execute, Tool};
use super::request::{render, seal};
use super::template::{Part, Root, Template};
use super::values::{Context, RenderError, child, percent, scalar, text, unreserved};
use crate::action::{Rendered, SafetyClass};
use crate::canon::CanonicalJson;
use crate::limits::{KEY_BYTES_MAX, LABEL_BYTES_MAX, SUMMARY_BYTES_MAX};
use crate::seeded::Bug;

impl Tool {
    /// One sentence about this call. A value that is missing is shown as such; what is too long is
    /// cut and says by how much.
    pub fn render_summary(&self, ctx: &Context<'_>) -> String {
        let text = match &self.summary {
            Some(template) => template.parts.iter().fold(String::new(), |mut out, part| {
                match part {
                    Part::Text(text) => out.push_str(text),
                    Part::Slot(slot) => {
                        out.push_str(
                            &text(slot, ctx)
                                .unwrap_or_else(|_| format!("({} is missing)", slot.written)),
                        );
                    }
                }
                out
            }),
            None => plain_summary(&self.name, ctx.args),
        };
        cut(&text, SUMMARY_BYTES_MAX)
    }

    /// The arguments that the summary writes as amounts of money: the path of each, and how it is
    /// written. For people to compare with the raw values.
    pub fn amounts(&self, ctx: &Context<'_>) -> Vec<(Vec<String>, String)> {
        self.summary
            .iter()
            .flat_map(Template::slots)
            .filter(|slot| slot.root == Root::Args && slot.money.is_some())
            .filter_map(|slot| Some((slot.path.clone(), text(slot, ctx).ok()?)))
            .collect()
    }

    /// What lists can be filtered by: the labels of the definition that the arguments have.
    pub fn labels(&self, args: &Value) -> BTreeMap<String, String> {
        let label = |path: &Vec<String>| {
            let value = path
                .iter()
                .try_fold(args, |value, name| child(value, name))?;
            Some((path.join("."), cut(&scalar(value)?, LABEL_BYTES_MAX)))
        };
        self.labels.iter().filter_map(label).collect()
    }

    /// The names of all labels that the definition makes, whether a call has them or not.
    pub fn label_names(&self) -> impl Iterator<Item = String> + '_ {
        self.labels.iter().map(|path| path.join("."))
    }

    /// The idempotency key: printable ASCII, different for different values of its fields (I15).
    ///
    /// What separates the fields of the template is escaped inside them. Two tools may
    /// render the same key, so that a key is only unique together with the tool's name.
    pub fn render_key(&self, ctx: &Context<'_>) -> Result<String, RenderError> {
        let Some(template) = &self.key else {
            return ctx.action_id.map(|id| id.to_string()).ok_or_else(|| {
                RenderError::whole(
                    "a tool without a key template needs the id of the action".to_owned(),
                )
            });
        };
        let reserved = template.separators();
        let mut key = String::new();
        for part in &template.parts {
            match part {
                Part::Text(text) => key.push_str(text),
                Part::Slot(slot) => {
                    let value = text(slot, ctx)?;
                    if value.is_empty() {
                        return Err(RenderError::of(slot, "is empty; a key needs a value there"));
                    }
                    percent(&mut key, &value, |byte| {
                        (unreserved(byte) && !reserved.contains(&byte))
                            || Bug::KeyByConcatenation.is_on()
                    });
                }
            }
        }
        if KEY_BYTES_MAX < key.len() {
            let length = key.len();
            return Err(RenderError::whole(format!(
                "the idempotency key would be {length} bytes long, at most {KEY_BYTES_MAX} are allowed"
            )));
        }
        Ok(key)
    }

    /// The request as it will be sent, without its secrets. `{state_etag}` stays as it is, see
    /// [`super::resolve_etag`].
    pub fn render_execute(&self, ctx: &Context<'_>) -> Result<Rendered, RenderError> {
        let work = |method: &str, url: String| {
            let body = CanonicalJson::of(ctx.args).as_str().to_owned();
            seal(
                method,
                url,
                Vec::new(),
                Some("application/json".to_owned()),
                Some(body),
                Vec::new(),
            )
        };
        match &self.execute {
            Execute::Worker => Ok(work("WORK", String::new())),
            Execute::Local(name) => Ok(work("LOCAL", format!("local:{name}"))),
            Execute::Request(method) => {
                let keyed = self.class != SafetyClass::Idempotent;
                super::built_in::render(method, ctx, ctx.idempotency_key.filter(|_| keyed))
            }
            Execute::Http(call) => {
                let keyed =
                    self.class != SafetyClass::Idempotent && !call.has_header("idempotency-key");
                let key = ctx.idempotency_key.filter(|_| keyed);
                render(call, ctx, key)
            }
        }
    }

    /// The request that reads the state; an error where the tool has no state query.
    pub fn render_state(&self, ctx: &Context<'_>) -> Result<Rendered, RenderError> {
        let none = || RenderError::whole(format!("{} has no state query", self.name));
        self.state_query()
            .ok_or_else(none)
            .and_then(|query| render(&query.http, ctx, None))
    }

    /// The request that asks the source of truth; an error where the tool has no check.
    pub fn render_check(&self, ctx: &Context<'_>) -> Result<Rendered, RenderError> {
        let none = || RenderError::whole(format!("{} has no check", self.name));
        self.check()
            .ok_or_else(none)
            .and_then(|check| render(&check.http, ctx, None))
    }
}

fn plain_summary(name: &str, args: &Value) -> String {
    let Some(map) = args.as_object().filter(|map| !map.is_empty()) else {
        return name.to_owned();
    };
    // In the order of the names: which order a map keeps depends on how it was built.
    let sorted: std::collections::BTreeMap<_, _> = map.iter().collect();
    let list: Vec<String> = sorted
        .iter()
        .map(|(key, value)| format!("{key} {value}"))
        .collect();
    format!("{name}: {}", list.join(", "))
}

/// At most `bytes_max` bytes, and how many characters are not shown.
fn cut(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let room = bytes_max.saturating_sub(40);
    let end = text
        .char_indices()
        .map(|(at, _)| at)
        .take_while(|at| *at <= room)
        .last()
        .unwrap_or(0);
    format!(
        "{}… ({} more characters)",
        &text[..end],
        text[end..].chars().count()
    )
}
