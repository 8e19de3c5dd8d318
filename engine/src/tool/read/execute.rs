//! Reading how a tool is executed.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::http::{Use, call};
use super::policy::schema;
use crate::limits::{ATTEMPTS_MAX, TIMEOUT_MAX};
use crate::tool::definition::{Execute, Retry, StatusSet};
use crate::tool::duration;
use crate::tool::fields::{Fields, Place};
use crate::tool::problem::Report;
use crate::tool::schema::Schema;

/// Statuses by which a target says for certain that it did not do it. 409 and 412 mean more than
/// that, and are classed where the outcome is.
const REFUSED: [u16; 9] = [400, 401, 403, 404, 405, 410, 413, 415, 422];

/// What stands under `execute`, or its defaults.
pub(super) struct Execution {
    pub(super) execute: Execute,
    pub(super) timeout: Duration,
    pub(super) retry: Retry,
    pub(super) success: StatusSet,
    pub(super) refused: StatusSet,
    pub(super) result: Option<Schema>,
}

pub(super) fn execution(tool: &Fields<'_>, base: &Path, report: &mut Report<'_>) -> Execution {
    let mut all = Execution {
        execute: Execute::Worker,
        timeout: Duration::from_secs(30),
        retry: Retry {
            attempts: 5,
            backoff_min: Duration::from_secs(1),
            backoff_max: Duration::from_mins(5),
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
