//! What is known of a run before its first step.

use std::fmt::Write as _;

use holdpoint_engine::run::event::Verdict;
use holdpoint_engine::run::{Flags, PlannedStep, check_steps, check_tools, plan};
use holdpoint_engine::skill::{Skill, Vars};
use holdpoint_engine::time::{Clock as _, SystemClock};
use holdpoint_engine::tool::{EffectClass, Registry};
use serde_json::{Map, Value, json};

use super::paper::Paper;
use super::refused;
use super::vars::VarArgs;
use crate::commands::skill::file;
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// A file that was read and found right, with its variables.
pub(in crate::commands) struct Job {
    pub(in crate::commands) skill: Skill,
    pub(super) given: Vec<(String, String)>,
    vars: Vars,
    registry: Registry,
}

impl Job {
    /// Reads the whole file and refuses what can be refused now.
    pub(in crate::commands) fn read(
        name: &str,
        registry: Registry,
        vars: &VarArgs,
    ) -> Outcome<Self> {
        let file = file::read(name)?;
        if let Some(failure) = file::failure(std::slice::from_ref(&file)) {
            return Err(failure);
        }
        let skill = file
            .read
            .map_err(|_| Failure::usage("the file has mistakes"))?;
        let is_secret = |name: &str| skill.inputs.get(name).is_some_and(|input| input.secret);
        let given = vars.read(is_secret)?;
        let vars = Vars::given(&skill, &given).map_err(|errors| {
            let lines = errors.into_iter().map(|error| error.message).collect();
            refused(&holdpoint_engine::run::RunError::BadInputs(lines))
        })?;
        Ok(Self {
            skill,
            given,
            vars,
            registry,
        })
    }

    fn steps(&self, flags: Flags) -> Vec<PlannedStep> {
        plan(
            &self.skill,
            &self.vars,
            flags,
            &self.registry,
            SystemClock.now(),
        )
    }

    /// Prints the census, and what of it is weaker than it should be.
    pub(super) fn tell(&self, paper: &mut Paper) {
        let steps = self.steps(Flags::default());
        let census = census(&steps);
        if paper.output.json {
            paper.output.note(&census);
        } else {
            paper.line(&census);
        }
        warn(&steps, paper.output);
    }

    /// Prints every call as far as it is known, and what would be withheld. `ignore_manifest` is none
    /// where the tools are those of a server, which is not asked.
    pub(super) fn show(
        &self,
        flags: Flags,
        ignore_manifest: Option<bool>,
        output: Output,
    ) -> Outcome {
        if let Some(ignore_manifest) = ignore_manifest {
            check_tools(&self.skill, &self.registry, ignore_manifest)
                .map_err(|error| refused(&error))?;
        }
        check_steps(&self.skill, &self.vars, &self.registry, SystemClock.now())
            .map_err(|error| refused(&error))?;
        let steps = self.steps(flags);
        warn(&steps, output);
        if output.json {
            output.value(&to_json(&self.skill, &steps))?;
            return Ok(ExitCode::Ok);
        }
        output.line(&census(&steps))?;
        for step in &steps {
            output.line(describe(step).trim_end())?;
        }
        output.note("nothing was called");
        Ok(ExitCode::Ok)
    }
}

fn counts(steps: &[PlannedStep]) -> [(EffectClass, usize); EffectClass::ALL.len()] {
    EffectClass::ALL.map(|class| {
        let same = steps.iter().filter(|step| step.effect == class);
        (class, same.count())
    })
}

fn census(steps: &[PlannedStep]) -> String {
    let counts = counts(steps).map(|(class, count)| format!("{class}={count}"));
    format!("effects: {}", counts.join(" "))
}

fn warn(steps: &[PlannedStep], output: Output) {
    for step in steps.iter().filter(|step| step.weakens) {
        for note in &step.notes {
            let words = format!("warning: step {}: {note}", step.number);
            output.note(&escape::text(&words));
        }
    }
}

/// What would become of a step, in words.
fn fate(step: &PlannedStep) -> String {
    if !step.unfilled.is_empty() {
        return "would fail".to_owned();
    }
    let verdict = match step.verdict.flag() {
        Some(flag) if step.before_people => {
            format!("withheld: with {flag} it would wait for people, as the tools file says")
        }
        Some(flag) => format!("withheld: {flag} would allow it"),
        None if step.verdict == Verdict::Stage => "would wait for people".to_owned(),
        None if !step.verdict.calls() => {
            "would fail: it is not the call that its approve line was made of".to_owned()
        }
        None if step.before_people => "would wait for people: the tools file says so".to_owned(),
        None => "would be made".to_owned(),
    };
    match &step.when {
        Some(when) => format!("{verdict}; only if {when}"),
        None => verdict,
    }
}

fn describe(step: &PlannedStep) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "Step {} — {} [{}] {}",
        step.number,
        escape::text(&step.title),
        step.effect,
        escape::text(&fate(step)),
    );
    for line in step.unfilled.iter().chain(&step.notes) {
        let _ = writeln!(out, "    {}", escape::text(line));
    }
    let _ = writeln!(out, "    {}", super::receipt::call(&step.tool, &step.args));
    out
}

fn to_json(skill: &Skill, steps: &[PlannedStep]) -> Value {
    let effects: Map<String, Value> = counts(steps)
        .into_iter()
        .map(|(class, count)| (class.name().to_owned(), json!(count)))
        .collect();
    let digest = skill.digest().to_string();
    let steps = steps.iter().map(|step| {
        json!({
            "number": step.number,
            "title": step.title,
            "intent": step.intent,
            "tool": step.tool,
            "args": step.args,
            "effect": step.effect.name(),
            "would": fate(step),
            "flag": step.verdict.flag(),
            "when": step.when,
            "unfilled": step.unfilled,
            "notes": step.notes,
        })
    });
    json!({
        "dry_run": true,
        "skill": { "name": skill.name, "sha256": digest.trim_start_matches("sha256:") },
        "effects": effects,
        "steps": steps.collect::<Vec<_>>(),
    })
}
