//! A model that helps with a step that failed, and what it never gets to see or to do.

use serde_json::json;

use super::web::Web;
use super::{FRONT, receipt};
use crate::support::Place;

const KEY: &str = "model-key-0123456789";

fn skill(registry: &Web) -> String {
    format!(
        "{FRONT}\nProse that stays.\n\n### Step 1 — Read the version\n- intent: Find out which it is\n\
         - action: http.get {{\"url\": \"{}/version\"}}\n- assert: json.version == \"0.9\"\n",
        registry.address
    )
}

/// A model that answers in the way of `…/chat/completions`.
fn model(content: &str) -> Web {
    let model = Web::open();
    model.say(json!({ "choices": [{ "message": { "content": content } }] }));
    model
}

fn run(place: &Place, model: &Web, level: &str, code: i32) -> crate::support::Run {
    run_with(
        place,
        model,
        &["--json", &format!("--max-level={level}")],
        code,
    )
}

fn run_with(place: &Place, model: &Web, more: &[&str], code: i32) -> crate::support::Run {
    let url = format!("{}/v1/chat/completions", model.address);
    let env = [
        ("HOLDPOINT_MODEL_URL", url.as_str()),
        ("HOLDPOINT_MODEL_KEY", KEY),
        ("HOLDPOINT_MODEL_NAME", "some-model"),
    ];
    let args = [&["run", "SKILL.md"], more].concat();
    place.run_with(&args, &env).code(code)
}

#[test]
fn at_level_0_no_model_is_reached_whatever_the_environment_says() {
    let (place, registry) = (Place::new(), Web::open());
    let text = skill(&registry);
    place.write("SKILL.md", &text);
    let model = model(r#"{"asserts": ["json.size == 5"], "reason": "so"}"#);
    run(&place, &model, "0", 1);
    assert_eq!(model.connections(), 0);
    let kept = std::fs::read_to_string(place.path("SKILL.md")).expect("the file");
    assert_eq!(kept, text);
}

#[test]
fn at_level_1_a_new_assertion_is_written_into_the_file_and_its_changelog() {
    let (place, registry) = (Place::new(), Web::open());
    let text = skill(&registry);
    place.write("SKILL.md", &text);
    let model = model(r#"{"asserts": ["json.version == \"1.2.3\""], "reason": "it moved on"}"#);
    let told = receipt(&run(&place, &model, "1", 0));
    let notes = told["steps"][0]["notes"].to_string();
    assert!(notes.contains("healed at level 1"), "{notes}");
    let kept = std::fs::read_to_string(place.path("SKILL.md")).expect("the file");
    let changed = text.replace("\"0.9\"", "\"1.2.3\"");
    assert!(kept.starts_with(&changed), "{kept}");
    assert!(kept.contains("## Changelog") && kept.contains("it moved on"));
    let calls = model.calls();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].token, format!("Bearer {KEY}"));
    let asked = calls[0].body.to_string();
    assert!(asked.contains("some-model") && !asked.contains(KEY));
}

#[test]
fn a_step_that_is_made_once_more_at_level_2_is_printed_once_more_with_its_note() {
    let (place, registry) = (Place::new(), Web::open());
    let text = skill(&registry).replace("/version", "/done/x");
    place.write("SKILL.md", &text.replace("\"0.9\"", "\"1.2.3\""));
    let args = json!({ "url": format!("{}/version", registry.address) });
    let model = model(&json!({ "args": args, "reason": "it moved" }).to_string());
    let run = run_with(&place, &model, &["--max-level=2"], 0);
    let mut rest = run.out.as_str();
    for part in [
        "✗ Step 1 — Read the version [failed]",
        "✓ Step 1 — Read the version [passed]",
        "healed at level 2: it moved",
        "1 passed, 0 failed",
    ] {
        let at = rest.find(part);
        let at = at.unwrap_or_else(|| panic!("{part}: {}", run.out));
        rest = &rest[at..];
    }
}

#[test]
fn a_model_that_answers_nonsense_loses_nothing_and_its_key_is_in_no_text() {
    let (place, registry) = (Place::new(), Web::open());
    let text = skill(&registry);
    place.write("SKILL.md", &text);
    let model = model("I would rather talk about the weather");
    let run = run(&place, &model, "2", 1);
    let told = receipt(&run);
    let notes = told["steps"][0]["notes"].to_string();
    assert!(
        notes.contains("no help: the model did not answer"),
        "{notes}"
    );
    assert!(!run.out.contains(KEY) && !run.err.contains(KEY));
    let kept = std::fs::read_to_string(place.path("SKILL.md")).expect("the file");
    assert_eq!(kept, text);
    assert_eq!(registry.requests(), 1);
}

#[test]
fn a_model_that_is_not_named_is_asked_for_before_anything_is_called() {
    let (place, registry) = (Place::new(), Web::open());
    place.write("SKILL.md", &skill(&registry));
    let run = place.run(&["run", "SKILL.md", "--max-level", "1"]).code(2);
    assert!(run.err.contains("HOLDPOINT_MODEL_URL"), "{}", run.err);
    assert_eq!(registry.connections(), 0);
}
