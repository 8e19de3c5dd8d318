//! What a step came to, by the answer of its call.

use serde_json::Value;

use super::called::Called;
use super::event::{Assert, StepOutcome, StepReport};
use crate::canon::{CanonicalJson, parse_answer};
use crate::skill::{Answer, Assertion, Secrets, Step, Verdict};

/// Looks at an answer: every assertion and every bind, whatever the others say.
///
/// Whether a status is good is for the step to say; where it says nothing, one outside 200 to 299 is
/// not. Where the body did not come whole, nothing but the status can be looked at, and the step has failed.
pub(super) fn judge(step: &Step, called: &Called, secrets: &Secrets) -> StepReport {
    let mut report = called.report();
    let has_answer = match called.outcome {
        StepOutcome::Passed => true,
        StepOutcome::Failed => called.http_status.is_some(),
        StepOutcome::Withheld
        | StepOutcome::Rejected
        | StepOutcome::Expired
        | StepOutcome::ReplanRequired
        | StepOutcome::Cancelled
        | StepOutcome::Refused
        | StepOutcome::SettledNotDone => false,
    };
    if !has_answer {
        return report;
    }
    if called.answer_lost {
        return unanswered(step, report);
    }
    let text = text_of(called);
    let json = match &called.text {
        Some(text) => parse_answer(text.as_bytes()).ok(),
        None => Some(called.answer.clone()),
    };
    // Files also say `status == 200` of tools that have no status of their own: it stands for "done".
    let done = (called.outcome == StepOutcome::Passed).then_some(200);
    let answer = Answer {
        status: called.http_status.or(done),
        text: &text,
        json: json.as_ref(),
    };
    if step.asserts.iter().any(Assertion::is_on_status) {
        report.failures.clear();
        report.outcome = StepOutcome::Passed;
    }
    if let Some(why) = &called.broken {
        report.failures.insert(0, why.clone());
    }
    for assert in &step.asserts {
        let verdict = match &called.broken {
            // There is nothing else that could be looked at.
            Some(why) if !assert.is_on_status() => Verdict {
                text: assert.text().to_owned(),
                passed: false,
                seen: why.clone(),
            },
            Some(_) | None => assert.check(&answer),
        };
        let seen = secrets.hide(&verdict.seen);
        if !verdict.passed {
            report.failures.push(format!("{}: {seen}", verdict.text));
        }
        report.asserts.push(Assert {
            text: verdict.text,
            passed: verdict.passed,
            seen: (!verdict.passed).then_some(seen),
        });
    }
    for bind in &step.binds {
        let taken = match &called.broken {
            Some(why) => Err(why.clone()),
            None => bind.take(&answer),
        };
        match taken {
            Ok(value) => {
                let value = CanonicalJson::of(&secrets.hide_in(&value));
                report.binds.insert(bind.name.clone(), value);
            }
            Err(why) => report.failures.push(format!("{}: {why}", bind.text())),
        }
    }
    if !report.failures.is_empty() {
        report.outcome = StepOutcome::Failed;
    }
    report
}

/// The report of a step whose call took effect and whose answer was lost: there is nothing that its
/// assertions could be held against, and nothing to bind.
fn unanswered(step: &Step, mut report: StepReport) -> StepReport {
    let lost = "its answer was lost, and that it took effect was found out afterwards";
    report
        .notes
        .push(format!("{lost}: no assertion was looked at"));
    let binds = step.binds.iter();
    report.failures = binds
        .map(|bind| format!("{}: {lost}", bind.text()))
        .collect();
    if !report.failures.is_empty() {
        report.outcome = StepOutcome::Failed;
    }
    report
}

/// The body of an answer as text.
pub(super) fn text_of(called: &Called) -> String {
    match (&called.text, &called.answer) {
        (Some(text), _) | (None, Value::String(text)) => text.clone(),
        (None, answer) => CanonicalJson::of(answer).as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::called::{answered_of, with_body};
    use super::*;
    use crate::action::{AnswerBody, SafetyClass, Status};
    use crate::engine::Answered;
    use crate::skill::Skill;

    #[test]
    fn of_an_answer_without_a_whole_body_nothing_but_the_status_is_looked_at() {
        let text = concat!(
            "---\nname: a\ndescription: b\n---\n### Step 1 — A\n- intent: x\n",
            "- action: http.get {\"url\": \"https://shop.example/\"}\n",
            "- assert: status == 200\n- assert: body not contains \"error\"\n",
            "- assert: json.id is null\n- bind: all = body match /(.*)/\n",
        );
        let skill = Skill::parse(text).expect("a skill");
        for why in ["the body was cut off", "the body is not UTF-8"] {
            let answered = Answered {
                status: Status::Failed,
                class: SafetyClass::Idempotent,
                summary: String::new(),
                http_status: Some(200),
                result: Value::String(format!("the target answered 200, but {why}")),
            };
            let body = AnswerBody::Broken(why.to_owned());
            let called = with_body(answered_of(answered), body);
            let report = judge(&skill.steps[0], &called, &Secrets::default());
            let held: Vec<_> = report.asserts.iter().map(|line| line.passed).collect();
            assert_eq!(held, [true, false, false], "{report:#?}");
            assert_eq!(report.outcome, StepOutcome::Failed);
            assert!(report.binds.is_empty(), "{report:#?}");
            assert_eq!(report.failures.len(), 4);
            assert!(report.failures.iter().all(|line| line.contains(why)));
            assert_eq!(report.failures[0], why);
        }
    }
}
