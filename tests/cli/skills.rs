//! `skill check` and `skill fmt`.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::json;

use crate::support::Place;

const SKILL: &str = "---\nname: note\ndescription: d\n---\nKeep  this.\n\n### Step 1 - Read\n- intent: Look\n\
    - action: http.get { \"url\": \"https://a.example\" }\n- assert: status == 200\n\
    ### Step 2 — Delete\n- intent: Tidy up\n- action: delete_note {}\n- effect: read\n- assert: status == 200\n";

#[test]
fn a_skill_is_explained_with_its_census_and_warnings() {
    let place = Place::new();
    place.write("SKILL.md", SKILL);
    let run = place.run(&["skill", "check", "SKILL.md"]).code(0);
    for part in [
        "SKILL.md is valid: note, 2 steps",
        "effects: read=2 idempotent-write=0 destructive=0",
        "weaker than the name",
    ] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    assert!(run.err.contains("SKILL.md:14:11"), "{}", run.err);
    assert!(run.err.contains("is weaker than what"), "{}", run.err);
    place
        .run(&["skill", "check", "--strict", "SKILL.md"])
        .code(1);
    let told = place.run(&["skill", "check", "--json", "SKILL.md"]).json();
    let file = &told["files"][0];
    assert_eq!(file["valid"], true);
    assert_eq!(file["effects"]["read"], 2);
    assert_eq!(file["steps"][1]["weaker"], true);
    assert_eq!(file["warnings"][0]["line"], 14);
}

#[test]
fn all_mistakes_of_all_skills_are_shown_with_their_lines() {
    let place = Place::new();
    place.write("good.md", SKILL);
    place.write(
        "one.md",
        &SKILL.replace("- intent: Look", "- intnt: Look\u{202e}"),
    );
    place.write("two.md", &SKILL.replace("status == 200", "status = 200"));
    let files = ["skill", "check", "good.md", "one.md", "two.md"];
    let run = place.run(&files).code(2);
    for part in [
        "one.md:8:3",
        "did you mean \"intent\"?",
        "two.md:10:11",
        "two.md:15:11",
        "an assertion is one of",
        "2 files have 4 mistakes",
    ] {
        assert!(run.err.contains(part), "{part}: {}", run.err);
    }
    assert!(run.out.contains("good.md is valid"), "{}", run.out);
    assert!(!run.err.contains('\u{202e}'), "{:?}", run.err);
    let run = place.run(&["skill", "check", "--json", "one.md"]).code(2);
    let told: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(told["files"][0]["errors"][1]["line"], 8);
    let told: serde_json::Value = serde_json::from_str(&run.err).expect("JSON");
    assert_eq!(told["error"]["exit_code"], 2);

    fs::write(place.path("raw.md"), b"---\nname: \xff\n").expect("writable");
    let run = place.run(&["skill", "check", "raw.md"]).code(2);
    assert!(
        run.err.contains("raw.md:2:7") && run.err.contains("UTF-8"),
        "{}",
        run.err
    );
    place.run(&["skill", "check", "missing.md"]).code(2);
    place.run(&["skill", "check"]).code(2);
}

#[test]
fn i03_a_secret_by_which_a_tool_decides_is_shown_by_check_as_by_a_dry_run() {
    const FILE: &str = "---\nname: set\ndescription: d\ninputs: {\"token\": {\"secret\": true}}\n---\n\
        ### Step 1 — Set\n- intent: Set it\n- action: set_it {\"id\": \"x-{{token}}\", \"n\": 1}\n";
    let check = |url: &str, happened: &str| {
        let url = format!("https://a.example/{url}");
        json!({ "http": { "get": url }, "happened": happened })
    };
    let id = json!({ "not": { "const": "admin" } });
    for (key, value) in [
        ("identity", json!("args.id != 'admin'")),
        ("check", check("{id}", "body != null")),
        ("check", check("done", "body.id == args.id")),
        ("idempotencyKey", json!("s:{id}")),
        (
            "input",
            json!({ "type": "object", "properties": { "id": id } }),
        ),
    ] {
        let place = Place::new();
        let mut tool = json!({ "safetyClass": "write-once-checkable",
            "execute": { "http": { "post": "https://a.example/", "json": { "id": "{id}" } } } });
        place.write(
            "plain.json",
            &json!({ "tools": { "set_it": tool } }).to_string(),
        );
        tool[key] = value;
        place.write(
            "tools.json",
            &json!({ "tools": { "set_it": tool } }).to_string(),
        );
        place.write("SKILL.md", FILE);
        let check = ["skill", "check", "SKILL.md", "--json", "--config"];
        let checked = |config| place.run(&[&check[..], &[config]].concat());
        checked("plain.json").code(0);
        let dry = [
            "run",
            "SKILL.md",
            "--dry-run",
            "--var",
            "token=t",
            "--json",
            "--config",
            "tools.json",
        ];
        for run in [checked("tools.json"), place.run(&dry)] {
            let run = run.code(2);
            for words in [
                "step 1, /id",
                "decides by this argument",
                "the secret input token",
            ] {
                assert!(run.err.contains(words), "{key}: {}", run.err);
            }
        }
        place.write(
            "holdpoint.json",
            &json!({ "tools": { "set_it": tool } }).to_string(),
        );
        let found = place.run(&["skill", "check", "SKILL.md"]).code(2);
        assert!(found.err.contains("SKILL.md:8:"), "{}", found.err);
    }
}

#[test]
fn a_mistake_in_a_long_line_is_shown_around_its_place() {
    let place = Place::new();
    let long = format!(
        "- intent: {}\n- intnt: {}\n",
        "x".repeat(50_000),
        "y".repeat(50_000)
    );
    place.write("SKILL.md", &SKILL.replace("- intent: Look\n", &long));
    let run = place.run(&["skill", "check", "SKILL.md"]).code(2);
    assert!(run.err.contains("SKILL.md:9:"), "{}", run.err);
    assert!(run.err.len() < 4_000, "{}", run.err.len());
    place.write("SKILL.md", &"x".repeat(2 << 20));
    let run = place.run(&["skill", "check", "SKILL.md"]).code(2);
    assert!(run.err.contains("at most 1048576 bytes"), "{}", run.err);
}

#[test]
fn skills_are_written_in_one_spelling_and_otherwise_left_alone() {
    let place = Place::new();
    place.write("SKILL.md", SKILL);
    let file = place.path("SKILL.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o604)).expect("ours");
    let run = place.run(&["skill", "fmt", "--check", "SKILL.md"]).code(1);
    assert!(run.out.contains("SKILL.md would change"), "{}", run.out);
    assert_eq!(fs::read_to_string(&file).expect("there"), SKILL);

    let run = place.run(&["skill", "fmt", "SKILL.md"]).code(0);
    assert!(run.out.contains("SKILL.md changed"), "{}", run.out);
    let tidy = SKILL.replace("Step 1 - Read", "Step 1 — Read");
    let tidy = tidy.replace(
        "{ \"url\": \"https://a.example\" }",
        "{\"url\":\"https://a.example\"}",
    );
    assert_eq!(fs::read_to_string(&file).expect("there"), tidy);
    let bits = fs::metadata(&file).expect("there").permissions().mode() & 0o777;
    assert_eq!(bits, 0o604);
    assert_eq!(place.run(&["skill", "fmt", "SKILL.md"]).ok(), "");
    place.run(&["skill", "fmt", "--check", "SKILL.md"]).code(0);

    place.write("wrong.md", &SKILL.replace("- intent: Look\n", ""));
    place.write("SKILL.md", SKILL);
    place.run(&["skill", "fmt", "SKILL.md", "wrong.md"]).code(2);
    assert_eq!(fs::read_to_string(&file).expect("there"), SKILL);
}

#[test]
fn a_skill_can_come_through_a_pipe() {
    let place = Place::new();
    let pipe = |args: &[&str]| {
        let mut command = place.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(SKILL.as_bytes()).expect("it reads");
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert!(pipe(&["skill", "check", "-q", "-"]).contains("the input is valid"));
    let tidy = pipe(&["skill", "fmt", "-"]);
    assert!(tidy.contains("### Step 1 — Read"), "{tidy}");
    assert!(tidy.contains("Keep  this."), "{tidy}");
}
