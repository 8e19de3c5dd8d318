//! `init` and `check`: the tools file and the settings.

use crate::support::{Place, Server};

#[test]
fn init_writes_files_that_check_accepts_and_never_replaces_one_silently() {
    let place = Place::new();
    place.run(&["init"]).ok();
    assert!(place.path("holdpoint-data").is_dir());
    let checked = place.run(&["check"]).ok();
    assert!(checked.contains("2 tools"), "{checked}");

    place.write("holdpoint.json", "{ \"tools\": {} }");
    let run = place.run(&["init"]).code(2);
    assert!(run.err.contains("--force"), "{}", run.err);
    place.run(&["init", "--force"]).ok();
    assert!(place.run(&["check"]).ok().contains("2 tools"));

    place.run(&["init", "sub", "--toml"]).ok();
    let checked = place.run(&["check", "--config", "sub/holdpoint.toml"]).ok();
    assert!(checked.contains("2 tools"), "{checked}");
}

#[test]
fn the_steps_that_init_names_give_the_key_another_owner_than_the_approver() {
    let place = Place::new();
    let next = place.run(&["init", "shop"]).code(0).err;
    assert!(next.contains("Next, in shop:"), "{next}");
    assert!(next.contains("--owner owner@example.com"), "{next}");
    assert!(next.contains("user add owner@example.com"), "{next}");
}

#[test]
fn doctor_looks_for_the_server_where_the_file_says_that_it_listens() {
    let place = Place::new();
    place.write(
        "holdpoint.json",
        "{ \"server\": { \"listen\": \"127.0.0.1:1\" }, \"tools\": {} }",
    );
    let found = place.run(&["doctor"]).out;
    assert!(found.contains("http://127.0.0.1:1"), "{found}");
    let found = place.run(&["doctor", "--server", "http://127.0.0.1:2"]).out;
    assert!(found.contains("http://127.0.0.1:2"), "{found}");
}

#[test]
fn both_templates_of_init_mean_the_same_settings() {
    let place = Place::new();
    place.run(&["init", "json"]).ok();
    place.run(&["init", "toml", "--toml"]).ok();
    let settings = |file: &str| {
        let checked = place.run(&["check", "--json", "--config", file]).json();
        let listen = checked["settings"]["listen"].clone();
        (
            listen,
            checked["census"].clone(),
            checked["settings"]["log"].clone(),
        )
    };
    assert_eq!(
        settings("json/holdpoint.json"),
        settings("toml/holdpoint.toml")
    );
}

#[test]
fn a_bad_tools_file_shows_every_mistake_with_line_column_and_suggestion() {
    let place = Place::new();
    place.write(
        "holdpoint.json",
        "{\n  \"server\": { \"listen\": \"127.0.0.1:7070\" },\n  \"tools\": {\n    \"pay\": { \"safetyClas\": \"irreversible\" },\n    \"get\": { \"safetyClass\": \"idempotant\" }\n  }\n}\n",
    );
    let run = place.run(&["check"]).code(2);
    for text in [
        "holdpoint.json:4:",
        "holdpoint.json:5:",
        "safetyClass",
        "\"idempotent\"",
        "2 mistakes",
    ] {
        assert!(run.err.contains(text), "{text}: {}", run.err);
    }
    assert!(run.out.is_empty(), "{}", run.out);
    let error: serde_json::Value =
        serde_json::from_str(&place.run(&["check", "--json"]).code(2).err).expect("JSON");
    assert_eq!(error["error"]["details"].as_array().map(Vec::len), Some(2));
    // The server does not start on it either.
    place.run(&["serve"]).code(2);
}

#[test]
fn a_mistyped_setting_is_shown_where_it_is() {
    let place = Place::new();
    place.write(
        "holdpoint.json",
        "{ \"tools\": {},\n  \"server\": { \"public_url\": \"https://a.example\", \"listen\": \"here\" } }",
    );
    let run = place.run(&["check"]).code(2);
    for text in [
        "did you mean \"publicUrl\"?",
        "holdpoint.json:2:",
        "listen is not right",
    ] {
        assert!(run.err.contains(text), "{text}: {}", run.err);
    }
}

#[test]
fn flags_come_before_the_environment_before_the_file_before_defaults() {
    let place = Place::new();
    place.write(
        "holdpoint.json",
        "{ \"tools\": {}, \"server\": { \"listen\": \"127.0.0.1:1\", \"log\": \"warn\", \"logFormat\": \"json\" } }",
    );
    let env = [
        ("HOLDPOINT_LISTEN", "127.0.0.1:2"),
        ("HOLDPOINT_LOG", "debug"),
    ];
    let args = ["check", "--json", "--listen", "127.0.0.1:3"];
    let settings = place.run_with(&args, &env).json()["settings"].clone();
    for (key, value, source) in [
        ("listen", "127.0.0.1:3", "flag"),
        ("log", "debug", "environment"),
        ("logFormat", "json", "file"),
        ("data", "holdpoint-data", "default"),
    ] {
        assert_eq!(settings[key]["value"], value, "{key}");
        assert_eq!(settings[key]["source"], source, "{key}");
    }
}

#[test]
fn without_a_tools_file_the_way_to_one_is_shown() {
    let place = Place::new();
    for command in ["serve", "check"] {
        let run = place.run(&[command]).code(2);
        assert!(run.err.contains("holdpoint init"), "{}", run.err);
    }
}

#[test]
fn hostile_text_in_the_tools_file_is_escaped() {
    let place = Place::new();
    place.write(
        "holdpoint.json",
        "{ \"tools\": { \"a\u{202e}\u{9b}31m\": { \"x\": 1 } } }",
    );
    let run = place.run(&["check"]).code(2);
    assert!(
        !run.err.contains('\u{202e}') && !run.err.contains('\u{9b}'),
        "{:?}",
        run.err
    );
}

#[test]
fn the_server_does_not_listen_beyond_this_machine_without_a_public_url() {
    let place = Place::new();
    place.write("holdpoint.json", "{ \"tools\": {} }");
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let run = place.run(&["serve", "--listen", address]).code(2);
        assert!(run.err.contains("--public-url"), "{}", run.err);
        let run = place.run(&["check", "--listen", address]).code(2);
        assert!(run.err.contains("--public-url"), "{}", run.err);
    }
    assert!(!place.path("holdpoint-data").exists());
}

#[test]
fn classify_explains_names_and_answers_lines() {
    let place = Place::new();
    let told = place.run(&["classify", "getOrder", "issueRefund"]).ok();
    assert!(told.contains("destructive"), "{told}");
    assert!(told.contains("of the verb \"refund\""), "{told}");
    let told = place.run(&[
        "classify",
        "--json",
        "snapshot",
        "--annotations",
        "{\"readOnlyHint\":true}",
    ]);
    assert_eq!(told.json()[0]["effect"], "read");
    place.run(&["classify", "x", "--annotations", "[]"]).code(2);

    place.write(
        "tools.jsonl",
        "{\"tool\": \"list_users\", \"annotations\": null}\n{\"tool\": \"frobnicate\"}\n",
    );
    let told = place.run(&["classify", "--jsonl", "tools.jsonl"]).ok();
    let lines: Vec<serde_json::Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    assert_eq!(
        (&lines[0]["effect"], &lines[0]["review"]),
        (&"read".into(), &false.into())
    );
    assert_eq!(
        (&lines[1]["effect"], &lines[1]["review"]),
        (&"destructive".into(), &true.into())
    );

    place.write("tools.jsonl", "{\"tool\": \"list_users\"}\n{\"toll\": 1}\n");
    let told = place.run(&["classify", "--jsonl", "tools.jsonl"]).code(2);
    assert!(
        told.err.contains("line 2") && told.err.contains("toll"),
        "{}",
        told.err
    );
}

/// A tool that needs one approver, and where it is dear two of the board.
const BOARD: &str = r#"{ "tools": { "pay": {
  "safetyClass": "approval-bound", "idempotencyKey": "pay:{n}",
  "execute": { "http": { "post": "http://127.0.0.1:9/", "json": { "n": "{n}" } } },
  "approval": { "required": 1, "rules": [
    { "when": "args.n > 5", "required": 2, "groups": ["board"], "reason": "above 5" } ] } } } }"#;

#[test]
fn the_doctor_says_when_a_rule_asks_for_more_people_than_there_are() {
    let place = Place::new();
    place.write("holdpoint.json", BOARD);
    place.add_person("ada@example.com", "approver");
    let found = place.run(&["doctor"]).out;
    let words = "pay needs 2 approvals where it is \"above 5\", and 0 people can give one";
    assert!(found.contains(words), "{found}");
    assert!(found.contains("--role approver --group board"), "{found}");
    assert!(!found.contains("pay needs 1 approvals"), "{found}");
}

#[test]
fn a_check_says_when_a_rule_asks_for_more_people_than_the_folder_has() {
    let place = Place::new();
    place.write("holdpoint.json", BOARD);
    let alone = place.run(&["check"]);
    assert!(!alone.err.contains("approvals"), "{}", alone.err);
    place.add_person("ada@example.com", "approver");
    let found = place.run(&["check"]);
    let words = "pay needs 2 approvals where it is \"above 5\", and 0 people can give one";
    assert_eq!(found.code, 0, "{}", found.err);
    assert!(found.err.contains(words), "{}", found.err);
    assert_eq!(place.run(&["check", "--strict"]).code, 1);
    let told: serde_json::Value =
        serde_json::from_str(&place.run(&["check", "--json"]).out).expect("JSON");
    assert_eq!(told["voters"][0]["message"], words);

    let server = Server::start(&place, &[]);
    let held = place.run(&["check"]);
    assert!(held.err.contains("was not looked at"), "{}", held.err);
    server.stop();
}

#[test]
fn the_log_says_since_when_a_server_has_which_tools() {
    let place = Place::new();
    place.write("holdpoint.json", BOARD);
    place.add_person("ada@example.com", "auditor");
    Server::start(&place, &[]).stop();
    place.write("holdpoint.json", &BOARD.replace("\"pay\"", "\"pay_all\""));
    let server = Server::start(&place, &[]);
    let at = ["--server", &server.url, "--token-file", "ada"];
    let login = ["login", "ada@example.com", "--password-file", "pw"];
    place.run(&[&login[..], &at].concat()).ok();
    let told = place.run(&[&["events", "tail", "--json"][..], &at].concat());
    let told = told.ok();
    let told: Vec<serde_json::Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .filter(|event: &serde_json::Value| event["kind"] == "engine.tools_changed")
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[1]["data"]["added"][0], "pay_all");
    assert_eq!(told[1]["data"]["removed"][0], "pay");
    let checked = place.run(&["check"]).ok();
    let digest = told[1]["data"]["digest"].as_str().expect("a digest");
    assert!(checked.contains(digest), "{checked}");
}

#[test]
fn the_log_of_a_server_says_where_each_warning_about_the_tools_file_is() {
    let place = Place::new();
    place.write("holdpoint.json", BOARD);
    let (_, log) = Server::start(&place, &[]).stop();
    let warnings: Vec<_> = log
        .lines()
        .filter(|line| line.contains("holdpoint.json"))
        .collect();
    assert!(!warnings.is_empty(), "{log}");
    for line in warnings {
        let (_, place) = line
            .split_once("holdpoint.json:")
            .expect("the file, and where");
        let (at, words) = place.split_once(": tool pay: ").expect("which tool");
        let (row, column) = at.split_once(':').expect("a line and a column");
        assert!(
            row.parse::<u32>().is_ok() && column.parse::<u32>().is_ok(),
            "{line}"
        );
        assert!(!words.is_empty(), "{line}");
    }
}
