//! Reading one definition.

mod auth;
mod body;
mod execute;
mod http;
mod origin;
mod policy;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use self::execute::execution;
use self::http::template;
use self::policy::{approval, check, preconditions, rule, schema, state};
use super::definition::{Mode, OnMismatch, StatusSet, Tool, millis};
use super::effect::{Annotations, EffectClass, classify_effect};
use super::fields::{Fields, Place};
use super::lint;
use super::problem::Report;
use super::template::{Part, Root, Template, segments};
use crate::action::SafetyClass;
use crate::canon::{CanonicalJson, Digest};
use crate::limits::{CONCURRENCY_MAX, DURATION_MAX, LABELS_MAX, TOOL_NAME_BYTES_MAX};

const KNOWN: [&str; 18] = [
    "description",
    "safetyClass",
    "effect",
    "annotations",
    "input",
    "summary",
    "labels",
    "idempotencyKey",
    "requiredScopes",
    "identity",
    "preconditions",
    "state",
    "execute",
    "check",
    "requestLifetime",
    "keyRetention",
    "approval",
    "concurrency",
];

/// Reads one definition; none where it is not even an object. Whether it can be used is in the
/// report.
pub(super) fn tool(
    name: &str,
    place: &Place<'_>,
    base: &Path,
    report: &mut Report<'_>,
) -> Option<Tool> {
    report.slots.clear();
    check_name(name, place, report);
    let fields = Fields::open(place, &KNOWN, report)?;
    let told = classify_effect(name, annotations(&fields, report));
    let effects = EffectClass::ALL.map(|effect| (effect.name(), effect));
    let effect = fields
        .word("effect", &effects, report)
        .unwrap_or(told.effect);
    let classes = SafetyClass::ALL.map(|class| (class.name(), class));
    let class = fields
        .word("safetyClass", &classes, report)
        .unwrap_or(effect.safety_class());
    let state = fields
        .get("state")
        .and_then(|place| state(&place, base, report));
    let has_state = fields.get("state").is_some();
    let variables: &[&str] = if has_state {
        &["args", "state", "caller"]
    } else {
        &["args", "caller"]
    };
    let execution = execution(&fields, base, report);
    let input = schema(fields.get("input"), report);
    let args = &[Root::Args, Root::Caller, Root::ActionId];
    let summary_roots: &[Root] = if has_state {
        &[Root::Args, Root::Caller, Root::State]
    } else {
        &args[..2]
    };
    let mut tool = Tool {
        name: name.to_owned(),
        description: fields.text("description", report).map(str::to_owned),
        class,
        effect,
        told,
        digest: Digest::of(b""),
        concurrency: fields
            .integer("concurrency", 1, CONCURRENCY_MAX, report)
            .unwrap_or(8),
        execute: execution.execute,
        timeout: execution.timeout,
        retry: execution.retry,
        success: execution.success,
        refused: execution.refused,
        result: execution.result,
        request_lifetime: fields
            .duration("requestLifetime", DURATION_MAX, report)
            .unwrap_or(Duration::from_mins(1)),
        key_retention: fields.duration("keyRetention", DURATION_MAX, report),
        required_scopes: fields
            .texts("requiredScopes", report)
            .unwrap_or_default()
            .into_iter()
            .collect(),
        approval: approval(fields.get("approval"), variables, report),
        input,
        summary: fields
            .get("summary")
            .and_then(|place| template(&place, summary_roots, report)),
        labels: labels(&fields, report),
        key: fields
            .get("idempotencyKey")
            .and_then(|place| key(&place, &args[..2], report)),
        identity: fields
            .get("identity")
            .and_then(|place| rule(&place, &["args", "caller"], report)),
        preconditions: preconditions(&fields, variables, report),
        state,
        check: fields
            .get("check")
            .and_then(|place| check(&place, base, report)),
    };
    tool.digest = digest(&tool, place.value);
    lint::tool(&tool, &fields, report);
    Some(tool)
}

/// What the tool's server says of it: hints, and members that are only for people.
fn annotations(fields: &Fields<'_>, report: &mut Report<'_>) -> Annotations {
    let Some(place) = fields.get("annotations") else {
        return Annotations::default();
    };
    let known = [
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
        "title",
    ];
    let members = Fields::open(&place, &known, report).map(|_| place.value.as_object());
    members.flatten().map(Annotations::of).unwrap_or_default()
}

fn check_name(name: &str, place: &Place<'_>, report: &mut Report<'_>) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-/".contains(&byte);
    let ok = name.bytes().all(plain) && name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !ok || TOOL_NAME_BYTES_MAX < name.len() {
        let help = format!(
            "letters, digits, _ . : - /, a letter or digit first, at most {TOOL_NAME_BYTES_MAX}"
        );
        report.wrong_key(
            &place.pointer,
            format!("{name:?} cannot be the name of a tool"),
            Some(help),
        );
    }
}

/// Over the definition as it is written (whatever its format) and the values in force, so that any
/// change of either is another definition, and a change of layout is not.
fn digest(tool: &Tool, written: &Value) -> Digest {
    let approval = &tool.approval;
    let state = tool
        .state
        .as_ref()
        .map(|state| match (state.mode, state.on_mismatch) {
            (Mode::Strict, OnMismatch::Replan) => "strict replan",
            (Mode::Strict, OnMismatch::Restage) => "strict restage",
            (Mode::Conditions, OnMismatch::Replan) => "conditions replan",
            (Mode::Conditions, OnMismatch::Restage) => "conditions restage",
        });
    let statuses = |set: &StatusSet| match set {
        StatusSet::AnySuccess => json!("2xx"),
        StatusSet::These(set) => json!(set),
    };
    let terms = tool.terms();
    let all = json!({
        "name": tool.name,
        "written": written,
        "in_force": {
            "class": tool.class.name(), "concurrency": tool.concurrency, "state": state,
            "timeout_ms": terms.timeout_ms, "settle_ms": terms.settle_ms,
            "request_lifetime_ms": terms.request_lifetime_ms,
            "key_retention_ms": tool.key_retention.map(millis),
            "attempts": terms.attempts_max, "backoff_ms": [terms.backoff_min_ms, terms.backoff_max_ms],
            "success": statuses(&tool.success), "refused": statuses(&tool.refused),
            "required": approval.required, "groups": approval.groups,
            "expires_in_ms": millis(approval.expires_in), "hold_ms": millis(approval.hold),
        },
    });
    CanonicalJson::of(&all).digest()
}

fn key(place: &Place<'_>, roots: &[Root], report: &mut Report<'_>) -> Option<Template> {
    let template = template(place, roots, report)?;
    let ascii = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'%')
    };
    if !template.texts().all(ascii) {
        report.wrong(
            &place.pointer,
            "a key is made of visible ASCII characters, without %",
            None,
        );
    }
    if template.slots().next().is_none() {
        let help = "name the arguments that make one intent differ from another, such as refund:{order_id}";
        report.wrong(
            &place.pointer,
            "this key would be the same for every call",
            Some(help.to_owned()),
        );
    }
    let touching = template
        .parts
        .windows(2)
        .any(|pair| matches!(pair, [Part::Slot(_), Part::Slot(_)]));
    if touching {
        let help = "put a character between them, such as a colon".to_owned();
        report.wrong(
            &place.pointer,
            "two placeholders touch: 1 and 23 would make the same key as 12 and 3",
            Some(help),
        );
    }
    Some(template)
}

fn labels(fields: &Fields<'_>, report: &mut Report<'_>) -> Vec<Vec<String>> {
    let names = fields.texts("labels", report).unwrap_or_default();
    if LABELS_MAX < names.len() {
        report.wrong(
            &fields.at("labels"),
            format!("a tool has at most {LABELS_MAX} labels"),
            None,
        );
    }
    let mut paths = Vec::new();
    for (index, name) in names.iter().enumerate() {
        if let Some(path) = segments(name.strip_prefix("args.").unwrap_or(name)) {
            paths.push(path);
        } else {
            let pointer = format!("{}/{index}", fields.at("labels"));
            report.wrong(
                &pointer,
                format!("{name:?} is not the name of an argument"),
                None,
            );
        }
    }
    paths
}
