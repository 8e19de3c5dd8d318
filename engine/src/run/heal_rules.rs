//! What a proposal may not take away from a step.
//!
//! What is taken goes into the file, and what follows the step is made on the strength of it. So what
//! held goes on being checked, what failed is replaced by something that says as much of the same place,
//! and no secret gets anywhere that the file did not send it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::event::StepReport;
use crate::canon::pointer_push;
use crate::skill::{Assertion, Bind, Skill, Step, holes};
use crate::tool::origin_of;

/// Whether a step may have these assertions from now on; else why not.
pub(super) fn check_asserts(
    step: &Step,
    report: &StepReport,
    proposed: &[String],
) -> Result<(), String> {
    let proposed = proposed.iter().map(|line| Assertion::parse(line));
    let proposed = proposed.collect::<Result<Vec<_>, _>>()?;
    let is_old = |line: &Assertion| step.asserts.iter().any(|old| old.says_the_same(line));
    let new: Vec<&Assertion> = proposed.iter().filter(|line| !is_old(line)).collect();
    if let Some(empty) = new.iter().find(|line| line.holds_of_nothing()) {
        let line = empty.text();
        return Err(format!("an answer that says nothing would pass `{line}`"));
    }
    for old in &step.asserts {
        if proposed.iter().any(|line| line.says_the_same(old)) {
            continue;
        }
        let line = old.text();
        if old.is_on_status() {
            return Err("it would change what status is expected".to_owned());
        }
        let mut seen = report.asserts.iter();
        if !seen.any(|seen| seen.text == line && !seen.passed) {
            return Err(format!("it would take `{line}` away, which did not fail"));
        }
        if !new.iter().any(|line| line.is_on_the_same_as(old)) {
            return Err(format!("nothing of it would check what `{line}` checks"));
        }
    }
    Ok(())
}

/// The same for its binds: later steps are made with what they keep.
pub(super) fn check_binds(
    step: &Step,
    report: &StepReport,
    proposed: &[String],
) -> Result<(), String> {
    let proposed = proposed.iter().map(|line| Bind::parse(line));
    let proposed = proposed.collect::<Result<Vec<_>, _>>()?;
    let names = |binds: &[Bind]| -> BTreeSet<String> {
        binds.iter().map(|bind| bind.name.clone()).collect()
    };
    if names(&step.binds) != names(&proposed) {
        return Err("it would bind other names than the step does".to_owned());
    }
    let mut taken = step
        .binds
        .iter()
        .filter(|bind| report.binds.contains_key(&bind.name));
    match taken.find(|old| !proposed.contains(old)) {
        Some(old) => Err(format!(
            "it would change `{}`, which did not fail",
            old.text()
        )),
        None => Ok(()),
    }
}

/// The same for its arguments: a hole of a secret stays where it is, with the same text around it, and a
/// call with a secret goes where it went.
pub(super) fn check_args(skill: &Skill, before: &Value, after: &Value) -> Result<(), String> {
    let (was, is) = (Anchors::of(skill, before), Anchors::of(skill, after));
    if was.secrets != is.secrets {
        return Err(
            "it would move a secret: the hole of one stays where it is, with the same text around it"
                .to_owned(),
        );
    }
    if !was.secrets.is_empty() && was.addresses != is.addresses {
        return Err(
            "it would send a secret elsewhere: scheme, host and port of a step with a secret stay"
                .to_owned(),
        );
    }
    Ok(())
}

/// What of the arguments says where secrets go, by JSON Pointer.
#[derive(Default)]
struct Anchors {
    /// The texts that have a hole of a secret.
    secrets: BTreeMap<String, String>,
    /// The origins of the URLs.
    addresses: BTreeMap<String, String>,
}

impl Anchors {
    fn of(skill: &Skill, args: &Value) -> Self {
        let mut anchors = Self::default();
        anchors.add(skill, args, "");
        anchors
    }

    fn add(&mut self, skill: &Skill, value: &Value, pointer: &str) {
        match value {
            Value::String(text) => {
                let is_secret = |name: &String| {
                    let input = skill.inputs.get(name);
                    input.is_some_and(|input| input.secret)
                };
                if holes(value).iter().any(is_secret) {
                    self.secrets.insert(pointer.to_owned(), text.clone());
                }
                if pointer == "/url" || text.contains("://") {
                    let origin = origin_of(text)
                        .map(|to| format!("{}://{}:{}", to.scheme, to.host, to.port));
                    // Where it goes cannot be read while a hole says it: then all of it stays.
                    let address = origin.unwrap_or_else(|_| text.clone());
                    self.addresses.insert(pointer.to_owned(), address);
                }
            }
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    self.add(skill, item, &format!("{pointer}/{place}"));
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    self.add(skill, member, &pointer_push(pointer, key));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::canon::CanonicalJson;
    use crate::run::event::{Assert, StepOutcome};

    const FILE: &str = concat!(
        "---\nname: a\ndescription: b\ninputs: {\"token\": {\"secret\": true}}\n---\n",
        "### Step 1 — A\n- intent: x\n",
        "- action: http.get {\"url\": \"https://shop.example/a?v=1\", \"headers\": {\"authorization\": \"Bearer {{token}}\"}}\n",
        "- assert: status == 200\n- assert: json.ok == true\n- assert: json.n > 100\n- assert: body contains \"old\"\n",
        "- bind: v = json.version\n- bind: w = json.gone\n",
    );

    /// The step, and how it failed: at `json.n`, at the body and at the bind `w`.
    fn failed() -> (Skill, StepReport) {
        let skill = Skill::parse(FILE).expect("a skill");
        let asserts = skill.steps[0].asserts.iter().map(|line| Assert {
            text: line.text().to_owned(),
            passed: line.text().contains("status") || line.text().contains("ok"),
            seen: None,
        });
        let report = StepReport {
            outcome: StepOutcome::Failed,
            failures: Vec::new(),
            action: None,
            attempts: 1,
            http_status: Some(200),
            answer: CanonicalJson::of(&json!({})),
            asserts: asserts.collect(),
            binds: BTreeMap::from([("v".to_owned(), CanonicalJson::of(&json!("1")))]),
            notes: Vec::new(),
        };
        (skill, report)
    }

    fn owned(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn what_held_stays_and_what_failed_is_replaced_by_a_line_on_the_same() {
        let (skill, report) = failed();
        let check = |lines: &[&str]| check_asserts(&skill.steps[0], &report, &owned(lines));
        let (status, ok) = ("status == 200", "json.ok == true");
        let (n, body) = ("json.n > 100", "body contains \"old\"");
        for good in [
            vec![status, ok, n, body],
            vec![status, "json.ok  ==  true", "json.n >= 5", body],
            vec![
                status,
                ok,
                "json.n == 7",
                "body contains \"new\"",
                "json.x is set",
            ],
        ] {
            assert_eq!(check(&good), Ok(()), "{good:?}");
        }
        for (wrong, why) in [
            (vec![], "what status"),
            (vec![status], "json.ok == true"),
            (vec![ok, n, body], "what status"),
            (vec!["status == 404", ok, n, body], "what status"),
            (vec![status, n, body], "json.ok == true"),
            (vec![status, ok, body], "json.n > 100"),
            (vec![status, ok, "json.m > 1", body], "json.n > 100"),
            (vec![status, ok, n], "body contains \"old\""),
            (
                vec![status, ok, n, "json.n is set"],
                "body contains \"old\"",
            ),
            (vec![status, ok, n, "body contains \"\""], "says nothing"),
            (
                vec![status, ok, n, "body not contains \"x\""],
                "says nothing",
            ),
            (
                vec![status, ok, "json.n matches /.*/", body],
                "says nothing",
            ),
            (vec![status, ok, "json.n length >= 0", body], "says nothing"),
            (vec![status, ok, "json.n != 1", body], "says nothing"),
            (vec![status, ok, n, body, "json is set"], "says nothing"),
            (vec![status, ok, n, "nonsense"], "is not an assertion"),
        ] {
            let told = check(&wrong).expect_err("less would be checked");
            assert!(told.contains(why), "{wrong:?}: {told}");
        }
    }

    #[test]
    fn what_was_bound_is_bound_from_the_same_place_and_nothing_else_is() {
        let (skill, report) = failed();
        let check = |lines: &[&str]| check_binds(&skill.steps[0], &report, &owned(lines));
        let v = "v = json.version";
        assert_eq!(check(&[v, "w = json.there"]), Ok(()));
        for wrong in [
            vec![v],
            vec!["v = json.other", "w = json.there"],
            vec![v, "w = json.there", "x = body match /(.*)/"],
            vec![v, "nonsense"],
        ] {
            check(&wrong).expect_err("later steps would be made with something else");
        }
    }

    #[test]
    fn i16_a_proposal_moves_no_secret_and_sends_none_elsewhere() {
        let (skill, _) = failed();
        let before = &skill.steps[0].args;
        let headers = json!({ "authorization": "Bearer {{token}}" });
        let good =
            json!({ "url": "https://shop.example/b?v=2", "headers": headers, "query": { "q": 1 } });
        assert_eq!(check_args(&skill, before, &good), Ok(()));
        for (wrong, why) in [
            (
                json!({ "url": "https://shop.example/a?t={{token}}", "headers": headers }),
                "move",
            ),
            (json!({ "url": "https://shop.example/a?v=1" }), "move"),
            (
                json!({ "url": "https://shop.example/a", "headers": { "authorization": "{{token}}" } }),
                "move",
            ),
            (
                json!({ "url": "https://shop.example/a", "headers": { "x": "Bearer {{token}}" } }),
                "move",
            ),
            (
                json!({ "url": "https://evil.example/a", "headers": headers }),
                "elsewhere",
            ),
            (
                json!({ "url": "http://shop.example/a", "headers": headers }),
                "elsewhere",
            ),
            (
                json!({ "url": "https://shop.example:444/a", "headers": headers }),
                "elsewhere",
            ),
            (
                json!({ "url": "https://shop.example{{v}}/a", "headers": headers }),
                "elsewhere",
            ),
            (json!({ "url": "{{v}}", "headers": headers }), "elsewhere"),
        ] {
            let told = check_args(&skill, before, &wrong).expect_err("refused");
            assert!(told.contains(why), "{wrong}: {told}");
        }
        let plain = json!({ "url": "https://shop.example/a" });
        let other = json!({ "url": "https://other.example/a" });
        assert_eq!(
            check_args(&skill, &plain, &other),
            Ok(()),
            "without a secret"
        );
    }
}
