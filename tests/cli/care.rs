//! What the program takes care of beside the story: what is shown, what is held, what is logged.

use serde_json::Value;

use crate::story::{ADMIN, APPROVER, Story, id};
use crate::support::{PASSWORD, Place, Server};

#[test]
fn hostile_arguments_are_shown_escaped() {
    let story = Story::begin();
    let args = "{\"order_id\":\"o1\",\"amount\":1,\"ref\":\"a\\u001b[2J\\u202eb\"}";
    let run = story.run(
        "key",
        &[
            "actions",
            "submit",
            "issue_refund",
            "--args",
            args,
            "--json",
        ],
    );
    let action = run.code(0).json();
    for args in [
        &["actions", "show", id(&action)][..],
        &["actions", "ls"],
        &["actions", "ls", "--json"],
    ] {
        let shown = story.run("bob", args).ok();
        assert!(
            !shown.contains('\u{1b}') && !shown.contains('\u{202e}'),
            "{shown:?}"
        );
    }
}

#[test]
fn a_folder_that_a_server_holds_is_refused_with_the_way_through_the_server() {
    let story = Story::begin();
    for (args, way) in [
        (&["user", "list"][..], "holdpoint login"),
        (&["verify"], "use a copy"),
    ] {
        let run = story.place.run(args).code(6);
        assert!(
            run.err.contains("process ") && run.err.contains(way),
            "{}",
            run.err
        );
    }
    let second = story
        .place
        .run(&["serve", "--listen", "127.0.0.1:0"])
        .code(6);
    assert!(second.err.contains("in use by process"), "{}", second.err);
    // Through the server it works, for an administrator.
    let url = story.server.url.clone();
    story
        .place
        .run(&[
            "login",
            ADMIN,
            "--password-file",
            "pw",
            "--server",
            &url,
            "--token-file",
            "ada",
        ])
        .ok();
    assert!(story.run("ada", &["user", "list"]).ok().contains(APPROVER));
    let key = story.run(
        "ada",
        &[
            "key", "create", "--name", "b", "--kind", "agent", "--owner", ADMIN,
        ],
    );
    assert!(key.ok().starts_with("hp_"));
    story.run("bob", &["user", "list"]).code(7);
    let found = story.run("bob", &["doctor"]).ok();
    assert!(
        found.contains("held by process") && found.contains("is ready"),
        "{found}"
    );
    assert!(
        found.contains("not looked at") && !found.contains("can sign in"),
        "{found}"
    );
    // The folder is the server's, and an administrator may ask it who is there.
    let found = story.run("ada", &["doctor"]).ok();
    assert!(
        found.contains("2 can sign in, 1 of them approve"),
        "{found}"
    );
}

#[test]
fn the_token_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let story = Story::begin();
    let mode = std::fs::metadata(story.place.path("bob"))
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn secrets_are_in_no_line_of_the_log_and_sigterm_stops_cleanly() {
    let story = Story::begin();
    let action = story.submit("r1");
    story.approve(&action).ok();
    story
        .run("key", &["actions", "wait", id(&action), "--for", "60s"])
        .ok();
    let token = std::fs::read_to_string(story.place.path("bob")).expect("a token");
    let Story { key, server, .. } = story;
    let (code, log) = server.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("stopped"), "{log}");
    for secret in [PASSWORD, key.as_str(), token.trim()] {
        assert!(!log.contains(secret), "a secret is in the log");
    }
}

#[test]
fn the_log_can_be_json_lines() {
    let place = Place::new();
    place.write("holdpoint.json", "{ \"tools\": {} }");
    let server = Server::start(&place, &["--log-format", "json", "--quiet"]);
    let (_, log) = server.stop();
    for line in log.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
    }
    assert!(log.contains("serving"), "{log}");
}
