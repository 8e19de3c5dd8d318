//! Reading what must hold and who must agree: schemas, rules, state, check, approval.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::http::{Use, call};
use crate::limits::{APPROVERS_MAX, DURATION_MAX};
use crate::tool::definition::{
    ApprovalPolicy, ApprovalRule, Check, Mode, OnMismatch, Precondition, StateQuery,
};
use crate::tool::fields::{Fields, Place};
use crate::tool::problem::Report;
use crate::tool::rule::Rule;
use crate::tool::schema::Schema;

pub(super) fn schema(place: Option<Place<'_>>, report: &mut Report<'_>) -> Option<Schema> {
    let place = place?;
    Schema::compile(place.value)
        .map_err(|error| {
            report.wrong(
                &format!("{}{}", place.pointer, error.pointer),
                error.message,
                None,
            );
        })
        .ok()
}

pub(super) fn rule(place: &Place<'_>, variables: &[&str], report: &mut Report<'_>) -> Option<Rule> {
    let source = place.text(report)?;
    Rule::compile(source, variables)
        .map_err(|message| {
            report.wrong(&place.pointer, message, None);
        })
        .ok()
}

pub(super) fn preconditions(
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

pub(super) fn state(place: &Place<'_>, base: &Path, report: &mut Report<'_>) -> Option<StateQuery> {
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

pub(super) fn check(place: &Place<'_>, base: &Path, report: &mut Report<'_>) -> Option<Check> {
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

pub(super) fn approval(
    place: Option<Place<'_>>,
    variables: &[&str],
    report: &mut Report<'_>,
) -> ApprovalPolicy {
    let mut policy = ApprovalPolicy {
        required: 1,
        groups: BTreeSet::new(),
        expires_in: Duration::from_hours(24),
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
