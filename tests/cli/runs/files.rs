//! Which files and command lines are taken.

use super::web::Web;
use super::{FRONT, release};
use crate::support::Place;

#[test]
fn a_file_of_another_runner_with_its_first_six_keys_runs_unchanged() {
    let (place, web) = (Place::new(), Web::open());
    let url = &web.address;
    let text = |approve: &str| {
        format!(
            "{FRONT}\n# Release\n\nProse.\n\n### Step 1 - Read\n- intent: Look\n- action: http.get {{\"url\": \"{url}/version\"}}\n- effect: read\n- assert: status == 200\n- assert: body contains \"1.2.3\"\n- bind: v = body match /\"version\":\"([^\"]+)\"/\n\nMore prose.\n\n### Step 2 — Tell\n- intent: Say it\n- action: http.post {{\"url\": \"{url}/hook\", \"body\": {{\"v\": \"{{{{v}}}}\", \"on\": \"{{{{today}}}}\"}}}}\n- approve: {approve}\n- assert: json.ok == true\n"
        )
    };
    let nothing = format!("sha256:{}", "0".repeat(64));
    place.write("SKILL.md", &text(&nothing));
    let run = place.run(&["run", "SKILL.md", "--yes"]).code(1);
    assert!(run.out.contains("no flag allows it"), "{}", run.out);
    assert!(web.calls().is_empty(), "a call that nobody approved");

    let told = place.run(&["skill", "check", "--json", "SKILL.md"]).json();
    let digest = told["files"][0]["steps"][1]["approve_digest"].as_str();
    place.write("SKILL.md", &text(digest.expect("a digest")));
    place.run(&["run", "SKILL.md"]).code(0);
    let calls = web.calls();
    assert_eq!(calls.len(), 1, "what was approved needs no flag");
    assert_eq!(calls[0].body["v"], "1.2.3");
    assert_eq!(calls[0].body["on"].as_str().map(str::len), Some(10));
}

#[test]
fn what_is_not_supported_is_refused_in_words_before_anything_is_called() {
    let (place, web) = (Place::new(), Web::open());
    for key in ["expect", "attest", "emit"] {
        let skill = release(&web, &web).replace("- effect", &format!("- {key}: x\n- effect"));
        place.write("SKILL.md", &skill);
        let run = place.run(&["run", "SKILL.md", "--yes"]).code(2);
        let words = format!("`{key}`");
        let said = run.err.contains(&words) || run.err.contains(&format!("{key:?}"));
        assert!(said && run.err.contains("SKILL.md:"), "{}", run.err);
    }
    assert_eq!(web.connections(), 0);
    assert!(!place.path("holdpoint-runs").exists());
}

#[test]
fn a_misspelt_flag_or_variable_is_an_error_and_nothing_happens() {
    let (place, web) = (Place::new(), Web::open());
    place.write("SKILL.md", &release(&web, &web));
    let lines: [&[&str]; 9] = [
        &["--allow-write"],
        &["--allow-writes=maybe"],
        &["--yess"],
        &["--staged"],
        &["--max-levle=2"],
        &["--var", "versoin=1"],
        &["--wait"],
        &["--detach"],
        &["--resume", "run_1"],
    ];
    for line in lines {
        let args = [&["run", "SKILL.md"], line].concat();
        place.run(&args).code(2);
    }
    place.run(&["run"]).code(2);
    place.run(&["run", "--resume", "../x"]).code(2);
    place.run(&["run", "missing.md"]).code(2);
    place.run(&["runs", "ls", "--status", "runing"]).code(2);
    assert_eq!(web.connections(), 0);
    assert!(!place.path("holdpoint-runs").exists());
}

#[test]
fn a_tool_that_is_not_there_or_has_changed_refuses_the_run_before_step_1() {
    let (place, web) = (Place::new(), Web::open());
    place.write(
        "SKILL.md",
        &release(&web, &web).replace("http.post", "http.psot"),
    );
    let run = place.run(&["run", "SKILL.md", "--yes"]).code(2);
    assert!(run.err.contains("did you mean http.post?"), "{}", run.err);
    let manifest = format!(
        "manifest: {{\"v\":1,\"tools\":[{{\"name\":\"http.get\",\"digest\":\"sha256:{}\"}}]}}\ndescription",
        "0".repeat(64)
    );
    place.write(
        "SKILL.md",
        &release(&web, &web).replace("description", &manifest),
    );
    let run = place.run(&["run", "SKILL.md", "--yes"]).code(2);
    assert!(
        run.err.contains("no longer what the manifest says"),
        "{}",
        run.err
    );
    assert_eq!(web.connections(), 0);
    place
        .run(&["run", "SKILL.md", "--yes", "--ignore-manifest"])
        .code(0);
}

#[test]
fn the_name_of_a_skill_does_not_lead_out_of_its_folder() {
    let (place, web) = (Place::new(), Web::open());
    for name in ["../escape", "a/b", "..", "C:\\x"] {
        let skill = release(&web, &web).replace("name: release-note", &format!("name: {name}"));
        place.write("SKILL.md", &skill);
        place.run(&["run", "SKILL.md", "--yes"]).code(2);
    }
    assert_eq!(web.connections(), 0);
}

#[test]
fn a_file_with_a_step_that_could_not_be_made_is_refused_before_an_earlier_write() {
    let (place, web) = (Place::new(), Web::open());
    let skill = release(&web, &web)
        .replace("\"body\"", "\"bdy\"")
        .replace("/version", "/{{nobody}}");
    place.write("SKILL.md", &skill);
    for more in ["--dry-run", "--yes", "--allow-writes"] {
        let run = place.run(&["run", "SKILL.md", more]).code(2);
        for words in ["{{nobody}} is not bound", "'bdy' was unexpected", "step 2"] {
            assert!(run.err.contains(words), "{more}, {words}: {}", run.err);
        }
    }
    let checked = place.run(&["skill", "check", "SKILL.md"]).code(2);
    assert!(checked.err.contains("SKILL.md:16:11"), "{}", checked.err);
    assert!(checked.err.contains("'bdy' was unexpected"));
    assert_eq!(web.connections(), 0);
}

#[test]
fn a_plain_variable_may_be_long_or_empty_and_a_missing_secret_is_asked_for_as_a_file() {
    let (place, web) = (Place::new(), Web::open());
    let front = FRONT.replace(
        "description",
        "inputs: {\"text\": {\"required\": true}, \"token\": {\"secret\": true, \"required\": true}}\ndescription",
    );
    let url = &web.address;
    let step = format!(
        "\n### Step 1 — Send\n- intent: Say it\n- action: http.post {{\"url\": \"{url}/x\", \"body\": {{\"t\": \"{{{{text}}}}\", \"s\": \"{{{{token}}}}\"}}}}\n"
    );
    place.write("SKILL.md", &format!("{front}{step}"));
    place.write("token", "s3cret\n");
    place.write("long", &format!("{}\n", "x".repeat(10_000)));
    place.write("empty", "");
    let run = |text: &str, token: &str| {
        let (text, token) = (format!("text={text}"), format!("token={token}"));
        let args = ["--allow-writes", "--var-file", &text, "--var-file", &token];
        place.run(&[&["run", "SKILL.md"], &args[..]].concat())
    };
    run("long", "token").code(0);
    run("empty", "token").code(0);
    let sent = web.calls();
    assert_eq!(sent[0].body["t"].as_str().map(str::len), Some(10_000));
    assert_eq!(sent[1].body["t"], "");
    for (text, token, words) in [
        ("missing", "token", "the variable \"text\" from missing"),
        ("long", "empty", "put the secret into it"),
        ("long", "long", "does not hold a secret"),
    ] {
        let refused = run(text, token).code(2);
        assert!(refused.err.contains(words), "{words}: {}", refused.err);
    }
    let missing = place.run(&["run", "SKILL.md"]).code(2);
    for words in ["--var text=", "--var-file token=FILE"] {
        assert!(missing.err.contains(words), "{words}: {}", missing.err);
    }
    assert_eq!(web.calls().len(), 2);
}
