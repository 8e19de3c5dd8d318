//! Pausing, and calls that are scheduled: what is typed, and what is answered.

use holdpoint_engine::time::{Clock as _, SystemClock};
use serde_json::Value;

use crate::story::Story;
use crate::support::{PASSWORD, Place, Run, Server};

const ADMIN: &str = "ada@example.com";
const ARGS: &str = r#"{"order_id":"o1","amount":1,"ref":"a"}"#;

/// A story in which Ada, who administers, is signed in too.
fn with_ada() -> Story {
    let story = Story::begin();
    let login = ["login", ADMIN, "--password-file", "pw", "--token-file"];
    let to = ["ada", "--server", story.server.url.as_str()];
    story.place.run(&[&login[..], &to[..]].concat()).ok();
    story
}

fn submit(story: &Story, more: &[&str]) -> Run {
    let args = ["actions", "submit", "issue_refund", "--args", ARGS];
    story.run("key", &[&args[..], more].concat())
}

fn id(action: &Value) -> &str {
    action["id"].as_str().expect("an id")
}

#[test]
fn a_pause_through_the_server_is_told_to_everybody_and_taken_back() {
    let story = with_ada();
    let reason = ["pause", "--reason", "the shop has\u{1b}[31m an incident"];
    let paused = story.run("ada", &reason).ok();
    assert!(
        paused.starts_with(&format!("paused by {ADMIN} since 2")) && paused.contains("an incident"),
        "{paused}"
    );
    assert!(!paused.contains('\u{1b}'), "{paused:?}");
    // Who was first, not who asks again.
    let again = story.run("ada", &["pause", "--reason", "another", "--json"]);
    let again = again.code(0).json();
    assert_eq!(again["paused"], true);
    assert!(again["reason"].as_str().expect("why").contains("incident"));
    let found = story.run("ada", &["doctor"]).ok();
    assert!(found.contains("paused by"), "{found}");
    let resumed = story.run("ada", &["resume", "--reason", "it is over"]).ok();
    assert_eq!(resumed, "not paused\n");
    // Not paused: nothing to do, and no mistake.
    story.run("ada", &["resume"]).ok();
}

#[test]
fn only_operators_and_administrators_pause_and_a_reason_is_needed() {
    let story = with_ada();
    for token in ["bob", "key"] {
        let run = story.run(token, &["pause", "--reason", "because"]).code(7);
        assert!(run.err.contains("operator"), "{}", run.err);
        story.run(token, &["resume"]).code(7);
    }
    story.run("ada", &["pause"]).code(2);
    let blank = story.run("ada", &["pause", "--reason", "  "]);
    assert_ne!(blank.code, 0, "{blank:?}");
    assert!(blank.err.contains("reason"), "{}", blank.err);
}

#[test]
fn a_pause_that_finds_no_server_says_who_holds_the_folder_or_that_there_is_none() {
    let story = with_ada();
    let place = &story.place;
    // The server is on another port than the one that the file names.
    let elsewhere = ["--config", "elsewhere.json"];
    place.write(
        "elsewhere.json",
        r#"{ "server": { "listen": "127.0.0.1:1" }, "tools": {} }"#,
    );
    let held = place.run(&[&["pause", "--reason", "x"][..], &elsewhere].concat());
    assert_ne!(held.code, 0);
    for words in [
        "no server answers at http://127.0.0.1:1",
        "process",
        "--server URL",
    ] {
        assert!(held.err.contains(words), "{words}: {}", held.err);
    }
    let nowhere = ["--data", "nowhere", "--config", "elsewhere.json"];
    let missing = place.run(&[&["pause", "--reason", "x"][..], &nowhere].concat());
    assert!(
        missing.err.contains("there is no folder nowhere"),
        "{}",
        missing.err
    );
}

#[test]
fn a_folder_that_no_server_holds_is_paused_for_the_server_that_starts_on_it() {
    let story = with_ada();
    let Story { place, server, .. } = story;
    server.stop();
    let paused = place.run(&["pause", "--reason", "the restore is checked first"]);
    assert!(paused.err.contains("no server holds"), "{}", paused.err);
    let paused = paused.ok();
    assert!(
        paused.starts_with("paused by the command line since 2"),
        "{paused}"
    );
    let found = place.run(&["doctor"]);
    assert!(found.out.contains("the restore is checked"), "{found:?}");
    let server = Server::start(&place, &[]);
    let login = ["login", ADMIN, "--password-file", "pw", "--token-file"];
    let to = ["ada", "--server", server.url.as_str()];
    place.run(&[&login[..], &to[..]].concat()).ok();
    let there = ["--server", server.url.as_str(), "--token-file", "ada"];
    let again = [&["pause", "--reason", "again", "--json"][..], &there[..]].concat();
    let state = place.run(&again).code(0).json();
    assert_eq!(state["reason"], "the restore is checked first");
    assert_eq!(
        (&state["by"], &state["name"]),
        (&"cli".into(), &"the command line".into())
    );
    server.stop();
    let resumed = place.run(&["resume", "--json"]).code(0).json();
    assert_eq!(resumed["paused"], false);
    place.run(&["verify"]).ok();
    assert!(!place.run(&["doctor"]).out.contains("paused by"));
}

#[test]
fn a_pause_makes_no_folder_and_says_that_nobody_was_reached() {
    let place = Place::new();
    // A port of this machine on which nobody listens, and no folder.
    let settings = r#"{ "server": { "listen": "127.0.0.1:9" }, "tools": {} }"#;
    place.write("holdpoint.json", settings);
    let run = place.run(&["pause", "--reason", "because"]);
    assert_ne!(run.code, 0, "{run:?}");
    assert!(
        run.out.is_empty() && run.err.contains("127.0.0.1:9"),
        "{run:?}"
    );
    assert!(!place.path("holdpoint-data").exists());
    // In the folder, too, nobody pauses without a reason.
    place.write("pw", PASSWORD);
    place.add_person(ADMIN, "admin");
    let blank = place.run(&["pause", "--reason", " "]).code(2);
    assert!(blank.err.contains("reason"), "{}", blank.err);
}

#[test]
fn a_time_that_cannot_be_meant_is_refused_with_the_form_of_one_that_can() {
    let story = Story::begin();
    for text in [
        "tomorrow",
        "2030-01-01",
        "2030-01-01T08:00:00",
        "1893484800",
    ] {
        let run = submit(&story, &["--not-before", text]).code(2);
        assert!(
            run.err.contains("--not-before") && run.err.contains("with its zone"),
            "{}",
            run.err
        );
    }
    // Nobody could decide any more when it may be called.
    for more in [
        &["--not-before", "2090-01-01T08:00:00Z"][..],
        &["--not-before", "2090-01-01T08:00:00Z", "--expires-in", "1h"],
    ] {
        let run = submit(&story, more).code(1);
        assert!(
            run.err.contains("2090-01-01T08:00:00.000Z") && run.err.contains("before the deadline"),
            "{}",
            run.err
        );
        assert!(run.err.contains("code invalid_request"), "{}", run.err);
    }
    let listed = story.run("key", &["actions", "ls", "--json"]).code(0);
    assert_eq!(listed.json()["data"], serde_json::json!([]));
}

#[test]
fn a_scheduled_action_shows_when_it_may_be_called_in_utc() {
    let story = Story::begin();
    let moment = SystemClock.now().plus(std::time::Duration::from_mins(10));
    // Another zone, the same moment.
    let text = moment.rfc3339().replace('Z', "+00:00");
    let action = submit(&story, &["--not-before", &text, "--json"]);
    let action = action.code(0).json();
    assert_eq!(action["not_before"], moment.rfc3339());
    let shown = story.run("bob", &["actions", "show", id(&action)]).ok();
    let line = format!("not before: {}", moment.rfc3339());
    assert!(shown.contains(&line), "{shown}");
    let text = |pointer: &str| {
        let value = action.pointer(pointer).and_then(Value::as_str);
        value.expect("a digest").to_owned()
    };
    let (digest, snapshot) = (text("/digest"), text("/snapshot/digest"));
    let approve = [
        "actions",
        "approve",
        id(&action),
        "--yes",
        "--digest",
        &digest,
    ];
    let with = ["--snapshot-digest", snapshot.as_str()];
    story.run("bob", &[&approve[..], &with[..]].concat()).ok();
    let shown = story.run("bob", &["actions", "show", id(&action)]);
    assert!(
        shown.out.contains("status: approved") && shown.out.contains(&line),
        "{shown:?}"
    );
    assert!(shown.err.contains("not called before"), "{shown:?}");
    let took_back = ["actions", "cancel", id(&action), "--reason", "no need"];
    story.run("key", &took_back).ok();
}
