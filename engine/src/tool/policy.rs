//! What the rules of a definition say about one call, and what a vote on it binds to.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::definition::{Mode, Tool};
use super::rule::{Rule, RuleError};
use super::values::{Context, caller_value};
use crate::action::{Caller, Difference, Snapshot};
use crate::approval::{Need, Requirement};
use crate::canon::{CanonicalJson, Digest};
use crate::seeded::Bug;
use crate::time::Timestamp;

impl Tool {
    /// Whether this caller may do this; true where the tool has no identity rule.
    pub fn check_identity(&self, ctx: &Context<'_>) -> Result<bool, RuleError> {
        self.identity
            .as_ref()
            .map_or(Ok(true), |rule| evaluate(rule, ctx))
    }

    /// The message of the first precondition that does not hold.
    pub fn failed_precondition(&self, ctx: &Context<'_>) -> Result<Option<String>, RuleError> {
        for precondition in &self.preconditions {
            if !evaluate(&precondition.rule, ctx)? {
                return Ok(Some(precondition.message.clone()));
            }
        }
        Ok(None)
    }

    /// What people must agree to, and until when.
    ///
    /// Every matching rule adds its need to that of the tool. A rule that cannot be evaluated counts
    /// as matching. `expires_in` may shorten the time that the tool gives, never lengthen it.
    pub fn requirement(
        &self,
        ctx: &Context<'_>,
        now: Timestamp,
        expires_in: Option<Duration>,
    ) -> Requirement {
        let policy = &self.approval;
        let base = Need {
            required: policy.required,
            groups: policy.groups.clone(),
            because: None,
        };
        let further = policy.rules.iter().filter_map(|rule| {
            let because = match evaluate(&rule.when, ctx) {
                Ok(false) => return None,
                Ok(true) => rule.reason.clone(),
                Err(_) => format!(
                    "{} (the rule could not be evaluated, so it applies)",
                    rule.reason
                ),
            };
            Some(Need {
                required: rule.required,
                groups: rule.groups.clone(),
                because: Some(because),
            })
        });
        let time = expires_in.map_or(policy.expires_in, |wish| wish.min(policy.expires_in));
        Requirement {
            needs: std::iter::once(base).chain(further).collect(),
            deadline: now.plus(time),
            hold_ms: super::definition::millis(policy.hold),
        }
    }

    /// Whether the answer of the source of truth says that it happened; an error where the tool has
    /// no check, or its rule gives no answer (then nothing is known).
    pub fn happened(
        &self,
        status: u16,
        body: &Value,
        ctx: &Context<'_>,
    ) -> Result<bool, RuleError> {
        let Some(check) = &self.check else {
            let message = format!("{} has no check", self.name);
            return Err(RuleError {
                rule: String::new(),
                message,
            });
        };
        let caller = caller_value(ctx.caller);
        let status = json!(status);
        let key = ctx.idempotency_key.map(|key| json!(key));
        let mut input = vec![
            ("args", ctx.args),
            ("caller", &caller),
            ("status", &status),
            ("body", body),
        ];
        input.extend(key.as_ref().map(|key| ("idempotency_key", key)));
        let happened = check.happened.holds(&input)?;
        Ok(happened || (Bug::MatchByAmount.is_on() && has_same_number(body, ctx.args)))
    }

    /// What the state query returned, with the fields that are watched. A watched field that is not
    /// there is left out, so that its appearing is a difference too.
    pub fn snapshot(&self, body: &Value, etag: Option<String>, at: Timestamp) -> Snapshot {
        let watch = self.state.as_ref().map_or(&[][..], |state| &state.watch);
        let whole = [String::new()];
        let watch = if watch.is_empty() { &whole } else { watch };
        let fields: BTreeMap<&String, &Value> = watch
            .iter()
            .filter_map(|pointer| Some((pointer, body.pointer(pointer)?)))
            .collect();
        let object: Map<String, Value> = fields
            .iter()
            .map(|(pointer, value)| ((*pointer).clone(), (*value).clone()))
            .collect();
        Snapshot {
            state: CanonicalJson::of(body),
            watched: fields
                .into_iter()
                .map(|(pointer, value)| (pointer.clone(), CanonicalJson::of(value)))
                .collect(),
            digest: CanonicalJson::of(&Value::Object(object)).digest(),
            etag,
            taken_at: at,
        }
    }

    /// Whether watched fields may move as long as the preconditions hold.
    pub fn state_may_move(&self) -> bool {
        self.state.as_ref().is_some_and(|state| match state.mode {
            Mode::Conditions => true,
            Mode::Strict => false,
        })
    }

    /// What an approval binds to: the tool's name, its definition, the arguments and the caller.
    /// The caller's display name is not part of it.
    pub fn binding_digest(
        &self,
        args: &CanonicalJson,
        caller: &Caller,
        not_before: Option<Timestamp>,
    ) -> Digest {
        let caller = json!({
            "id": caller.id, "kind": caller.kind.name(), "owner": caller.owner,
            "attributes": caller.attributes,
        });
        // The arguments go in as their stored bytes, so the canonical text is put together by hand:
        // its keys are in order.
        let caller = CanonicalJson::of(&caller);
        let tool = CanonicalJson::of(&json!(self.name));
        let digest = (!Bug::DigestWithoutTool.is_on()).then_some(self.digest);
        let digest = digest.unwrap_or(Digest([0; 32]));
        // An approval of a call tomorrow is none of a call now.
        let when =
            not_before.map_or_else(String::new, |moment| format!(r#""not_before":"{moment}","#));
        let text = format!(
            r#"{{"args":{args},"caller":{caller},"definition":"{digest}",{when}"tool":{tool}}}"#
        );
        Digest::of(text.as_bytes())
    }
}

/// The mistake of [`Bug::MatchByAmount`]: any effect of the same size is taken for ours.
fn has_same_number(body: &Value, args: &Value) -> bool {
    let body = body.to_string();
    let args = args.as_object().into_iter().flat_map(Map::values);
    let mut numbers = args.filter(|value| value.is_number());
    numbers.any(|number| body.contains(&number.to_string()))
}

/// Field by field, what moved between two snapshots of the same tool.
pub fn differences(approved: &Snapshot, now: &Snapshot) -> Vec<Difference> {
    let mut paths: Vec<&String> = approved.watched.keys().chain(now.watched.keys()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
        .into_iter()
        .map(|path| (path, approved.watched.get(path), now.watched.get(path)))
        .filter(|(_, before, after)| before != after)
        .map(|(path, before, after)| Difference {
            path: path.clone(),
            approved: before.cloned(),
            now: after.cloned(),
        })
        .collect()
}

fn evaluate(rule: &Rule, ctx: &Context<'_>) -> Result<bool, RuleError> {
    let caller = caller_value(ctx.caller);
    let mut input = vec![("args", ctx.args), ("caller", &caller)];
    input.extend(ctx.state.map(|state| ("state", state.body)));
    rule.holds(&input)
}
