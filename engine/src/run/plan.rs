//! What a run of a skill file would do, told before it: nothing is called and nothing is stored.

use std::collections::BTreeSet;

use serde_json::Value;

use super::ahead::ahead;
use super::authority::Authority;
use super::event::{Flags, Verdict};
use super::gate::{Effects, gate};
use super::shell::RunError;
use super::skill_file::{approved, effect_of, usual_effect};
use crate::action::SafetyClass;
use crate::skill::{ManifestTool, Skill, Vars, schema_digest};
use crate::time::Timestamp;
use crate::tool::{EffectClass, Registry};

/// A step that has not been made.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedStep {
    /// Its number.
    pub number: u32,
    /// Its title.
    pub title: String,
    /// What it is for.
    pub intent: String,
    /// What it calls.
    pub tool: String,
    /// The arguments, filled as far as they can be now: what an earlier step binds, and secrets, stay
    /// holes.
    pub args: Value,
    /// What a repeat of the call does to the world.
    pub effect: EffectClass,
    /// Whether the effect class of the file is weaker than what the tools file or the name says.
    pub weakens: bool,
    /// What the gate says.
    pub verdict: Verdict,
    /// Whether the tools file puts it before people, whatever the flags.
    pub before_people: bool,
    /// The condition under which it is made.
    pub when: Option<String>,
    /// Holes that nothing fills; the step would fail before anything is sent, if its condition holds.
    pub unfilled: Vec<String>,
    /// What should be known about it.
    pub notes: Vec<String>,
}

/// Refuses a file whose tools are not there, or have another input than its manifest says.
pub fn check_tools(
    skill: &Skill,
    registry: &Registry,
    ignore_manifest: bool,
) -> Result<(), RunError> {
    let mut missing = Vec::new();
    for step in &skill.steps {
        if registry.get(&step.tool).is_none() {
            let near = registry.nearest(&step.tool);
            let near = near.map_or_else(String::new, |name| format!("; did you mean {name}?"));
            missing.push(format!(
                "step {}: there is no tool named {}{near}",
                step.number, step.tool
            ));
        }
    }
    if !missing.is_empty() {
        return Err(RunError::BadTools(missing));
    }
    if let Some(manifest) = skill.manifest.as_ref().filter(|_| !ignore_manifest) {
        let lookup = |tool: &ManifestTool| {
            let tool = registry.get(&tool.name)?;
            Some(schema_digest(tool.input.as_ref()?.source()))
        };
        let mismatches = manifest.check(lookup);
        if !mismatches.is_empty() {
            let lines = mismatches.iter().map(ToString::to_string);
            return Err(RunError::BadTools(lines.collect()));
        }
    }
    Ok(())
}

/// The steps of a file, as a run with these variables and flags would make them if it began at `now`, for
/// somebody who may let all of them out.
pub fn plan(
    skill: &Skill,
    vars: &Vars,
    flags: Flags,
    registry: &Registry,
    now: Timestamp,
) -> Vec<PlannedStep> {
    let planned = ahead(skill, vars, now).into_iter().map(|ahead| {
        let step = ahead.step;
        let (effect, notes) = effect_of(step, registry);
        let tool = registry.get(&step.tool);
        let usual = usual_effect(step, registry);
        let effects = Effects {
            said: effect,
            usual,
        };
        let (args, unfilled) = match ahead.args {
            Ok(args) => (args, BTreeSet::new()),
            Err(errors) => {
                let errors = errors.iter().map(ToString::to_string);
                (step.args.clone(), errors.collect())
            }
        };
        PlannedStep {
            number: step.number,
            title: step.title.clone(),
            intent: step.intent.clone(),
            tool: step.tool.clone(),
            args,
            effect,
            weakens: effect < usual,
            verdict: gate(effects, approved(step), flags, Authority::ALL),
            before_people: tool.is_some_and(|tool| tool.class == SafetyClass::ApprovalBound),
            when: step.when.as_ref().map(|when| when.text().to_owned()),
            unfilled: unfilled.into_iter().collect(),
            notes,
        }
    });
    planned.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_step_binds_stays_a_hole_of_later_steps_and_so_do_secrets() {
        let text = concat!(
            "---\nname: a\ndescription: b\n",
            r#"inputs: {"token": {"type": "string", "secret": true}, "n": {"type": "integer", "default": 3}}"#,
            "\n---\n### Step 1 — A\n- intent: x\n- action: http.get {\"url\": \"https://a.example/{{n}}\"}\n",
            "- bind: version = json.version\n- assert: status == 200\n",
            "### Step 2 — B\n- intent: y\n",
            r#"- action: http.post {"url": "https://b.example/", "body": {"v": "{{version}}", "t": "{{token}}", "x": "{{lost}}"}}"#,
            "\n### Step 3 — C\n- intent: z\n",
            r#"- action: http.delete {"url": "https://b.example/{{version}}/{{n}}?t={{token}}"}"#,
            "\n",
        );
        let skill = Skill::parse(text).expect("a skill");
        let given = [("token".to_owned(), "hunter2".to_owned())];
        let vars = Vars::given(&skill, &given).expect("its inputs");
        let registry = Registry::default().with_built_in();
        let steps = plan(&skill, &vars, Flags::default(), &registry, Timestamp(0));
        assert_eq!(steps[0].args, json!({ "url": "https://a.example/3" }));
        assert_eq!(steps[0].verdict, Verdict::Go);
        assert!(steps[1].unfilled[0].contains("{{lost}}"), "{steps:?}");
        assert_eq!(steps[1].verdict, Verdict::NeedsAllowWrites);
        let url = "https://b.example/{{version}}/3?t={{token}}";
        assert_eq!(steps[2].args, json!({ "url": url }));
        assert_eq!(steps[2].verdict, Verdict::NeedsYes);
        assert!(!format!("{steps:?}").contains("hunter2"));
    }
}
