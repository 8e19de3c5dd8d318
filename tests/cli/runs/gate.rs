//! What leaves the machine, and what does not.

use serde_json::json;

use super::web::Web;
use super::{FRONT, assert_nowhere, id, receipt, release, removal};
use crate::support::Place;

#[test]
fn without_a_flag_reads_run_and_the_exact_call_of_a_write_is_printed_instead_of_made() {
    let (place, registry, hook) = (Place::new(), Web::open(), Web::open());
    place.write("SKILL.md", &release(&registry, &hook));
    let run = place.run(&["run", "SKILL.md"]).code(1);
    let expected = [
        "effects: read=1 idempotent-write=1 destructive=0",
        "✓ Step 1 — Read the version [passed]",
        "⊘ Step 2 — Tell the team [withheld] 0 ms",
        "--allow-writes would allow it",
        "http.post {",
        "\"size\": 5",
        "\"text\": \"v1.2.3 is out\"",
        "1 passed, 0 failed, 1 withheld, 0 skipped, 0 waiting",
    ];
    let mut rest = run.out.as_str();
    for part in expected {
        let at = rest.find(part);
        let at = at.unwrap_or_else(|| panic!("{part}: {}", run.out));
        rest = &rest[at..];
    }
    assert!(!run.out.contains('\u{1b}'), "{}", run.out);
    assert_eq!(registry.requests(), 1);
    assert_eq!(hook.connections(), 0, "nothing left the machine");

    let run = place.run(&["run", "SKILL.md", "--json"]).code(1);
    let told = receipt(&run);
    assert_eq!(told["passed"], false);
    assert_eq!(told["skill"]["name"], "release-note");
    let steps = &told["steps"];
    assert_eq!(steps[0]["binds"], json!(["size", "version"]));
    assert_eq!(
        steps[0]["asserts"][0],
        json!({ "assert": "status == 200", "passed": true })
    );
    assert_eq!(
        (&steps[1]["outcome"], &steps[1]["ms"]),
        (&json!("withheld"), &json!(0))
    );
    assert_eq!(steps[1]["override"], "idempotent-write");
    assert_eq!(steps[1]["withheld"]["flag"], "--allow-writes");
    assert_eq!(
        steps[1]["withheld"]["args"]["body"],
        json!({ "text": "v1.2.3 is out", "size": 5 })
    );
    assert_eq!(hook.connections(), 0);
}

#[test]
fn with_the_flag_the_write_fires_once_with_its_key_and_its_types() {
    let (place, registry, hook) = (Place::new(), Web::open(), Web::open());
    place.write("SKILL.md", &release(&registry, &hook));
    let run = place
        .run(&["run", "SKILL.md", "--allow-writes", "--json"])
        .code(0);
    let told = receipt(&run);
    let calls = hook.calls();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].body, json!({ "text": "v1.2.3 is out", "size": 5 }));
    assert_eq!(calls[0].key, format!("{}:2", id(&told)));
    assert_eq!(told["steps"][1]["idempotency_key"], calls[0].key.as_str());
    assert_eq!(told["steps"][1]["attempts"], 1);
    let again = ["run", "--resume", id(&told), "--json"];
    assert_eq!(receipt(&place.run(&again).code(0))["passed"], true);
    assert_eq!(hook.calls().len(), 1, "what has passed is only shown");
}

#[test]
fn a_destructive_step_refuses_under_allow_writes_and_fires_under_yes() {
    let (place, web) = (Place::new(), Web::open());
    place.write("SKILL.md", &removal(&web));
    let run = place.run(&["run", "SKILL.md", "--allow-writes"]).code(1);
    assert!(run.out.contains("--yes would allow it"), "{}", run.out);
    assert_eq!(web.connections(), 0);
    place.run(&["run", "SKILL.md", "--yes"]).code(0);
    let calls = web.calls();
    assert_eq!(calls.len(), 1);
    assert_eq!(
        (calls[0].method.as_str(), calls[0].path.as_str()),
        ("DELETE", "/old")
    );
}

#[test]
fn what_is_withheld_goes_on_with_more_flags() {
    let (place, registry, hook) = (Place::new(), Web::open(), Web::open());
    place.write("SKILL.md", &release(&registry, &hook));
    let told = receipt(&place.run(&["run", "SKILL.md", "--json"]).code(1));
    let args = ["run", "--resume", id(&told), "--allow-writes", "--json"];
    let again = receipt(&place.run(&args).code(0));
    assert_eq!(again["run"], told["run"]);
    assert_eq!(
        (registry.requests(), hook.calls().len()),
        (1, 1),
        "step 1 was not made again"
    );
}

#[test]
fn a_dry_run_shows_every_call_and_calls_and_stores_nothing() {
    let (place, registry, hook) = (Place::new(), Web::open(), Web::open());
    place.write("SKILL.md", &release(&registry, &hook));
    let run = place.run(&["run", "SKILL.md", "--dry-run"]).code(0);
    for part in [
        "effects: read=1 idempotent-write=1 destructive=0",
        "Step 1 — Read the version [read] would be made",
        "Step 2 — Tell the team [idempotent-write] withheld: --allow-writes would allow it",
        "\"text\": \"v{{version}} is out\"",
    ] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    let told = place
        .run(&["run", "SKILL.md", "--dry-run", "--allow-writes", "--json"])
        .json();
    assert_eq!(told["steps"][1]["would"], "would be made");
    assert_eq!((registry.connections(), hook.connections()), (0, 0));
    assert!(!place.path("holdpoint-runs").exists());
}

#[test]
fn an_effect_weaker_than_the_name_says_is_told_before_and_after() {
    let (place, web) = (Place::new(), Web::open());
    place.write(
        "SKILL.md",
        &removal(&web).replace("- assert", "- effect: read\n- assert"),
    );
    let run = place.run(&["run", "SKILL.md"]).code(0);
    assert!(run.err.contains("warning: step 1"), "{}", run.err);
    assert!(run.err.contains("a weaker class") && run.out.contains("a weaker class"));
    assert_eq!(web.calls().len(), 1, "the file has the last word");
}

#[test]
fn a_secret_is_sent_and_is_in_no_text_and_in_no_file() {
    const SECRET: &str = "canary-secret-5e1f";
    let (place, web) = (Place::new(), Web::open());
    let front = FRONT.replace(
        "description",
        "inputs: {\"token\": {\"type\": \"string\", \"secret\": true, \"required\": true}, \"n\": {\"type\": \"integer\"}}\ndescription",
    );
    let url = &web.address;
    let skill = format!(
        "{front}\n### Step 1 — Send\n- intent: Say it\n- action: http.post {{\"url\": \"{url}/x\", \"headers\": {{\"authorization\": \"Bearer {{{{token}}}}\"}}, \"body\": {{\"t\": \"{{{{token}}}}\"}}}}\n- bind: echo = json.token\n\n### Step 2 — Fail\n- intent: See the answer\n- action: http.post {{\"url\": \"{url}/y\", \"body\": {{\"t\": \"{{{{token}}}}\", \"e\": \"{{{{echo}}}}\"}}}}\n- assert: json.body.t == \"other\"\n"
    );
    place.write("SKILL.md", &skill);
    place.write("token", &format!("{SECRET}\n"));
    let given = format!("token={SECRET}");
    let runs: [(&[&str], i32); 6] = [
        (&["run", "SKILL.md", "--var", &given], 1),
        (&["run", "SKILL.md", "--dry-run", "--var", &given], 0),
        (&["run", "SKILL.md", "--var", SECRET], 2),
        (
            &[
                "run",
                "SKILL.md",
                "--var-file",
                "token=token",
                "--var",
                "n=canary-secret-5e1f",
            ],
            2,
        ),
        (
            &[
                "run",
                "SKILL.md",
                "--var",
                &given,
                "--var",
                "tokn=canary-secret-5e1f",
            ],
            2,
        ),
        (
            &[
                "run",
                "SKILL.md",
                "--var-file",
                "token=token",
                "--allow-writes",
                "--json",
            ],
            1,
        ),
    ];
    let mut last = None;
    for (args, code) in runs {
        let run = place
            .run_with(args, &[("HOLDPOINT_LOG", "trace")])
            .code(code);
        assert!(!run.out.contains(SECRET), "{args:?}: {}", run.out);
        assert!(!run.err.contains(SECRET), "{args:?}: {}", run.err);
        last = Some(run);
    }
    let calls = web.calls();
    assert_eq!(calls.len(), 2, "{last:?}");
    assert_eq!(calls[0].token, format!("Bearer {SECRET}"));
    assert_eq!(calls[1].body["t"], SECRET);
    assert_nowhere(&place, "holdpoint-runs", SECRET);

    // Whoever goes on where a call still needs it gives it again; what was sent is not sent twice.
    let sent = receipt(&last.expect("a run"));
    let held = receipt(
        &place
            .run(&["run", "SKILL.md", "--var", &given, "--json"])
            .code(1),
    );
    for (told, asked) in [(held, true), (sent, false)] {
        let go_on = ["run", "--resume", id(&told), "--allow-writes"];
        let run = place.run(&go_on).code(1);
        assert_eq!(
            run.out.contains("--var-file token=FILE"),
            asked,
            "{}",
            run.out
        );
    }
    assert_eq!(web.calls().len(), 2);
    assert_nowhere(&place, "holdpoint-runs", SECRET);
}
