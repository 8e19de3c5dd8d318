//! Reading one definition.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::definition::{
    ApprovalPolicy, ApprovalRule, Check, Execute, Mode, OnMismatch, Precondition, Retry,
    StateQuery, StatusSet, Tool, millis,
};
use super::duration;
use super::fields::{Fields, Place};
use super::lint;
use super::problem::Report;
use super::read_http::{Use, call, template};
use super::rule::Rule;
use super::schema::Schema;
use super::template::{Root, Template, segments};
use crate::action::SafetyClass;
use crate::canon::{CanonicalJson, Digest};
use crate::limits::{
    APPROVERS_MAX, ATTEMPTS_MAX, CONCURRENCY_MAX, DURATION_MAX, LABELS_MAX, TIMEOUT_MAX,
    TOOL_NAME_BYTES_MAX,
};

const KNOWN: [&str; 16] = [
    "description",
    "safetyClass",
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

/// Statuses by which a target says for certain that it did not do it. 409 and 412 mean more than
/// that, and are classed where the outcome is.
const REFUSED: [u16; 9] = [400, 401, 403, 404, 405, 410, 413, 415, 422];

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
    let classes = SafetyClass::ALL.map(|class| (class.name(), class));
    let class = fields
        .word("safetyClass", &classes, report)
        .unwrap_or(SafetyClass::ApprovalBound);
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
            .unwrap_or(Duration::from_secs(60)),
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
    let touching = template.parts.windows(2).any(|pair| {
        matches!(
            pair,
            [
                super::template::Part::Slot(_),
                super::template::Part::Slot(_)
            ]
        )
    });
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
        match segments(name.strip_prefix("args.").unwrap_or(name)) {
            Some(path) => paths.push(path),
            None => {
                let pointer = format!("{}/{index}", fields.at("labels"));
                report.wrong(
                    &pointer,
                    format!("{name:?} is not the name of an argument"),
                    None,
                );
            }
        }
    }
    paths
}

fn schema(place: Option<Place<'_>>, report: &mut Report<'_>) -> Option<Schema> {
    let place = place?;
    Schema::compile(place.value)
        .map_err(|error| {
            report.wrong(
                &format!("{}{}", place.pointer, error.pointer),
                error.message,
                None,
            )
        })
        .ok()
}

fn rule(place: &Place<'_>, variables: &[&str], report: &mut Report<'_>) -> Option<Rule> {
    let source = place.text(report)?;
    Rule::compile(source, variables)
        .map_err(|message| report.wrong(&place.pointer, message, None))
        .ok()
}

fn preconditions(
    fields: &Fields<'_>,
    variables: &[&str],
    report: &mut Report<'_>,
) -> Vec<Precondition> {
    let Some(list) = fields.get("preconditions") else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for place in list.elements(report) {
        let Some(fields) = Fields::open(&place, &["rule", "message"], report) else {
            continue;
        };
        let message = fields.text("message", report);
        let Some(place) = fields.require("rule", report) else {
            continue;
        };
        if let Some(rule) = rule(&place, variables, report) {
            let message =
                message.map_or_else(|| format!("{} does not hold", rule.source()), str::to_owned);
            all.push(Precondition { rule, message });
        }
    }
    all
}

fn state(place: &Place<'_>, base: &Path, report: &mut Report<'_>) -> Option<StateQuery> {
    let fields = Fields::open(place, &["http", "watch", "mode", "onMismatch"], report)?;
    let watch = fields.texts("watch", report).unwrap_or_default();
    for (index, pointer) in watch.iter().enumerate() {
        if !pointer.starts_with('/') {
            let help = format!(
                "a JSON Pointer starts with a slash: {:?}",
                format!("/{}", pointer.replace('.', "/"))
            );
            let place = format!("{}/{index}", fields.at("watch"));
            report.wrong(
                &place,
                format!("{pointer:?} is not a JSON Pointer"),
                Some(help),
            );
        }
    }
    let modes = [("strict", Mode::Strict), ("conditions", Mode::Conditions)];
    let mode = fields.word("mode", &modes, report).unwrap_or(Mode::Strict);
    let ways = [
        ("replan", OnMismatch::Replan),
        ("restage", OnMismatch::Restage),
    ];
    let on_mismatch = fields
        .word("onMismatch", &ways, report)
        .unwrap_or(OnMismatch::Replan);
    let http = call(&fields.require("http", report)?, Use::Read, base, report)?;
    Some(StateQuery {
        http,
        watch,
        mode,
        on_mismatch,
    })
}

fn check(place: &Place<'_>, base: &Path, report: &mut Report<'_>) -> Option<Check> {
    let fields = Fields::open(place, &["http", "happened", "settle"], report)?;
    let settle = fields
        .duration("settle", DURATION_MAX, report)
        .unwrap_or_default();
    let variables = ["status", "body", "args", "caller", "idempotency_key"];
    let happened = fields
        .require("happened", report)
        .and_then(|place| rule(&place, &variables, report));
    let http = fields
        .require("http", report)
        .and_then(|place| call(&place, Use::Read, base, report));
    Some(Check {
        http: http?,
        settle,
        happened: happened?,
    })
}

fn approval(
    place: Option<Place<'_>>,
    variables: &[&str],
    report: &mut Report<'_>,
) -> ApprovalPolicy {
    let mut policy = ApprovalPolicy {
        required: 1,
        groups: BTreeSet::new(),
        expires_in: Duration::from_secs(24 * 60 * 60),
        hold: Duration::ZERO,
        rules: Vec::new(),
    };
    let known = ["required", "groups", "expiresIn", "hold", "rules"];
    let Some(fields) = place.and_then(|place| Fields::open(&place, &known, report)) else {
        return policy;
    };
    let groups = |fields: &Fields<'_>, report: &mut Report<'_>| {
        fields
            .texts("groups", report)
            .map(|list| list.into_iter().collect::<BTreeSet<_>>())
    };
    policy.required = fields
        .integer("required", 1, APPROVERS_MAX, report)
        .unwrap_or(1);
    policy.groups = groups(&fields, report).unwrap_or_default();
    policy.expires_in = fields
        .duration("expiresIn", DURATION_MAX, report)
        .unwrap_or(policy.expires_in);
    if policy.expires_in.is_zero() {
        report.wrong(
            &fields.at("expiresIn"),
            "nobody could ever approve within no time",
            None,
        );
    }
    policy.hold = fields
        .duration("hold", DURATION_MAX, report)
        .unwrap_or_default();
    if policy.expires_in <= policy.hold && !policy.hold.is_zero() {
        report.wrong(
            &fields.at("hold"),
            "the hold must be shorter than expiresIn, or every approval expires",
            None,
        );
    }
    for place in fields
        .get("rules")
        .map(|list| list.elements(report))
        .unwrap_or_default()
    {
        let known = ["when", "required", "groups", "reason"];
        let Some(fields) = Fields::open(&place, &known, report) else {
            continue;
        };
        let required = fields
            .integer("required", 1, APPROVERS_MAX, report)
            .unwrap_or(policy.required);
        let groups = groups(&fields, report).unwrap_or_else(|| policy.groups.clone());
        let reason = fields.text("reason", report);
        let when = fields
            .require("when", report)
            .and_then(|place| rule(&place, variables, report));
        if let Some(when) = when {
            let reason = reason.map_or_else(|| when.source().to_owned(), str::to_owned);
            policy.rules.push(ApprovalRule {
                when,
                required,
                groups,
                reason,
            });
        }
    }
    policy
}

struct Execution {
    execute: Execute,
    timeout: Duration,
    retry: Retry,
    success: StatusSet,
    refused: StatusSet,
    result: Option<Schema>,
}

fn execution(tool: &Fields<'_>, base: &Path, report: &mut Report<'_>) -> Execution {
    let mut all = Execution {
        execute: Execute::Worker,
        timeout: Duration::from_secs(30),
        retry: Retry {
            attempts: 5,
            backoff_min: Duration::from_secs(1),
            backoff_max: Duration::from_secs(300),
        },
        success: StatusSet::AnySuccess,
        refused: StatusSet::These(REFUSED.into()),
        result: None,
    };
    let known = [
        "http", "worker", "local", "timeout", "retry", "success", "refused", "result",
    ];
    let Some(fields) = tool
        .get("execute")
        .and_then(|place| Fields::open(&place, &known, report))
    else {
        return all;
    };
    let kinds = ["http", "worker", "local"]
        .into_iter()
        .filter_map(|kind| Some((kind, fields.get(kind)?)));
    match kinds.collect::<Vec<_>>().as_slice() {
        [] => {}
        [(kind, place)] => {
            if let Some(execute) = execute(kind, place, base, report) {
                all.execute = execute;
            }
        }
        [_, (_, second), ..] => {
            report.wrong_key(
                &second.pointer,
                "a tool is executed in one way: http, worker or local",
                None,
            );
        }
    }
    all.timeout = fields
        .duration("timeout", TIMEOUT_MAX, report)
        .unwrap_or(all.timeout);
    if all.timeout.is_zero() {
        report.wrong(&fields.at("timeout"), "no call is done in no time", None);
    }
    if let Some(retry) = fields.get("retry") {
        read_retry(&retry, &mut all.retry, report);
    }
    all.success = statuses(&fields, "success", report).unwrap_or(all.success);
    all.refused = statuses(&fields, "refused", report).unwrap_or(all.refused);
    if let Some(both) =
        (100..600).find(|status| all.success.contains(*status) && all.refused.contains(*status))
    {
        report.wrong_key(
            &fields.pointer,
            format!("status {both} cannot mean both success and refusal"),
            None,
        );
    }
    all.result = schema(fields.get("result"), report);
    all
}

fn execute(kind: &str, place: &Place<'_>, base: &Path, report: &mut Report<'_>) -> Option<Execute> {
    match kind {
        "http" => call(place, Use::Execute, base, report).map(Execute::Http),
        "worker" => Fields::open(place, &[], report).map(|_| Execute::Worker),
        _ => place
            .text(report)
            .map(|name| Execute::Local(name.to_owned())),
    }
}

fn read_retry(place: &Place<'_>, retry: &mut Retry, report: &mut Report<'_>) {
    let Some(fields) = Fields::open(place, &["attempts", "backoff"], report) else {
        return;
    };
    retry.attempts = fields
        .integer("attempts", 1, ATTEMPTS_MAX, report)
        .unwrap_or(retry.attempts);
    if let Some(text) = fields.text("backoff", report) {
        match duration::parse_range(text) {
            Ok((from, to)) => (retry.backoff_min, retry.backoff_max) = (from, to),
            Err(error) => report.wrong(&fields.at("backoff"), error.to_string(), None),
        }
    }
}

fn statuses(fields: &Fields<'_>, key: &str, report: &mut Report<'_>) -> Option<StatusSet> {
    let mut set = BTreeSet::new();
    for place in fields.get(key)?.elements(report) {
        let status = place
            .value
            .as_u64()
            .and_then(|number| u16::try_from(number).ok());
        match status.filter(|status| (200..600).contains(status)) {
            Some(status) => {
                set.insert(status);
            }
            None => report.wrong(
                &place.pointer,
                "a status is a whole number from 200 to 599",
                None,
            ),
        }
    }
    Some(StatusSet::These(set))
}
