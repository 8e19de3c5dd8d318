//! The whole story over the real program: init, check, people, keys, serve, submit, decide.

use serde_json::Value;

use crate::support::{Place, Server, Shop};

pub(crate) const ADMIN: &str = "ada@example.com";
pub(crate) const APPROVER: &str = "bob@example.com";

/// A place with a shop, people, a key, a server, and Bob signed in.
pub(crate) struct Story {
    pub(crate) place: Place,
    shop: Shop,
    pub(crate) key: String,
    pub(crate) server: Server,
}

impl Story {
    pub(crate) fn begin() -> Self {
        let (place, shop) = (Place::new(), Shop::open());
        place.write("holdpoint.json", &shop.tools());
        place.run(&["check"]).ok();
        place.add_person(ADMIN, "admin");
        place.add_person(APPROVER, "approver");
        let key = place.create_key(ADMIN);
        let server = Server::start(&place, &[]);
        let story = Self {
            place,
            shop,
            key,
            server,
        };
        let url = story.server.url.clone();
        story
            .place
            .run(&[
                "login",
                APPROVER,
                "--password-file",
                "pw",
                "--server",
                &url,
                "--token-file",
                "bob",
            ])
            .ok();
        story
    }

    pub(crate) fn run(&self, token: &str, args: &[&str]) -> crate::support::Run {
        let env = [
            ("HOLDPOINT_SERVER", self.server.url.as_str()),
            ("HOLDPOINT_TOKEN_FILE", token),
        ];
        self.place.run_with(args, &env)
    }

    pub(crate) fn submit(&self, reference: &str) -> Value {
        let args = format!("{{\"order_id\":\"o1\",\"amount\":100,\"ref\":\"{reference}\"}}");
        let run = self.run(
            "key",
            &[
                "actions",
                "submit",
                "issue_refund",
                "--args",
                &args,
                "--reason",
                "broken",
                "--json",
            ],
        );
        run.code(0).json()
    }

    pub(crate) fn approve(&self, action: &Value) -> crate::support::Run {
        let text = |pointer: &str| {
            let value = action.pointer(pointer).and_then(Value::as_str);
            value
                .unwrap_or_else(|| panic!("{pointer} in {action}"))
                .to_owned()
        };
        self.run(
            "bob",
            &[
                "actions",
                "approve",
                &text("/id"),
                "--yes",
                "--digest",
                &text("/digest"),
                "--snapshot-digest",
                &text("/snapshot/digest"),
            ],
        )
    }
}

pub(crate) fn id(action: &Value) -> &str {
    action["id"].as_str().expect("an id")
}

#[test]
fn a_refund_is_submitted_approved_called_once_and_shown() {
    let story = Story::begin();
    let action = story.submit("r1");
    assert_eq!(action["status"], "staged");
    assert!(
        story
            .run("bob", &["actions", "ls"])
            .ok()
            .contains(id(&action))
    );
    // Who asked cannot decide: an API key never votes.
    let digest = action["digest"].as_str().expect("a digest");
    let snapshot = action["snapshot"]["digest"].as_str().expect("a digest");
    let own = story.run(
        "key",
        &[
            "actions",
            "approve",
            id(&action),
            "--yes",
            "--digest",
            digest,
            "--snapshot-digest",
            snapshot,
        ],
    );
    assert!(own.code(7).err.contains("code "));

    story.approve(&action).ok();
    story
        .run("key", &["actions", "wait", id(&action), "--for", "60s"])
        .ok();
    assert_eq!(story.shop.refunds().len(), 1);
    let shown = story
        .run("bob", &["actions", "show", id(&action), "--events"])
        .ok();
    for text in [
        "status: succeeded",
        "approve by",
        "caller's words: broken",
        "idempotency key: refund:o1:",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    story
        .run(
            "bob",
            &["actions", "show", id(&action), "--receipt", "--json"],
        )
        .ok();
    let events = story.run("bob", &["events", "tail", "--json"]).ok();
    assert!(
        events.lines().any(|line| line.contains("action.staged")),
        "{events}"
    );
    // A repeat gets the first answer and does nothing; anything else finds it decided.
    story.approve(&action).ok();
    story
        .run(
            "bob",
            &["actions", "reject", id(&action), "--reason", "late"],
        )
        .code(6);
    assert_eq!(story.shop.refunds().len(), 1);
}

#[test]
fn a_moved_order_ends_in_replan_required_and_exit_code_6() {
    let story = Story::begin();
    let action = story.submit("r1");
    story.shop.set_left(10);
    story.approve(&action).ok();
    story
        .run("key", &["actions", "wait", id(&action), "--for", "60s"])
        .code(6);
    assert!(story.shop.refunds().is_empty());
    let shown = story.run("bob", &["actions", "show", id(&action)]).ok();
    assert!(shown.contains("/left: 5000 -> 10"), "{shown}");
}

#[test]
fn a_rejected_action_is_exit_code_3_and_a_waiting_one_5() {
    let story = Story::begin();
    let action = story.submit("r1");
    story
        .run("key", &["actions", "wait", id(&action), "--for", "1s"])
        .code(5);
    story
        .run("bob", &["actions", "reject", id(&action), "--reason", "no"])
        .ok();
    story
        .run("key", &["actions", "wait", id(&action), "--for", "60s"])
        .code(3);
    let cancelled = story.submit("r2");
    story
        .run(
            "key",
            &["actions", "cancel", id(&cancelled), "--reason", "mistake"],
        )
        .ok();
    story
        .run("key", &["actions", "wait", id(&cancelled), "--for", "60s"])
        .code(1);
}

#[test]
fn another_digest_than_the_one_looked_at_is_a_conflict() {
    let story = Story::begin();
    let action = story.submit("r1");
    let other = format!("sha256:{}", "0".repeat(64));
    let run = story.run(
        "bob",
        &[
            "actions",
            "approve",
            id(&action),
            "--yes",
            "--digest",
            &other,
        ],
    );
    assert!(run.code(6).err.contains("no longer what you looked at"));
    // The state that was looked at belongs to it.
    let digest = action["digest"].as_str().expect("a digest");
    let run = story.run(
        "bob",
        &[
            "actions",
            "approve",
            id(&action),
            "--yes",
            "--digest",
            digest,
        ],
    );
    assert!(run.code(2).err.contains("--snapshot-digest"));
}

#[test]
fn the_same_key_answers_with_the_first_action_and_another_request_is_a_conflict() {
    let story = Story::begin();
    let submit = |args: &str| {
        story.run(
            "key",
            &[
                "actions",
                "submit",
                "issue_refund",
                "--args",
                args,
                "--idempotency-key",
                "k1",
                "--json",
            ],
        )
    };
    let first = submit("{\"order_id\":\"o1\",\"amount\":1,\"ref\":\"a\"}")
        .code(0)
        .json();
    let again = submit("{\"order_id\":\"o1\",\"amount\":1,\"ref\":\"a\"}").code(0);
    assert!(again.err.contains("made before"), "{}", again.err);
    assert_eq!(again.json()["id"], first["id"]);
    submit("{\"order_id\":\"o1\",\"amount\":2,\"ref\":\"a\"}").code(6);
}

#[test]
fn refusals_of_the_server_are_told_in_words_with_code_and_request() {
    let story = Story::begin();
    let run = story
        .run("key", &["actions", "submit", "isue_refund"])
        .code(1);
    assert!(
        run.err.contains("code unknown_tool") && run.err.contains("request "),
        "{}",
        run.err
    );
    // Sent again, it would be refused again.
    assert!(!run.err.contains("--idempotency-key"), "{}", run.err);
    story.place.write("wrong", "hp_wrong");
    let run = story.run("wrong", &["actions", "ls"]).code(7);
    assert!(run.err.contains("holdpoint login"), "{}", run.err);
    // A number that would lose digits reaches the server as it was written.
    let args = "{\"order_id\":\"o1\",\"amount\":9007199254740993,\"ref\":\"a\"}";
    story
        .run(
            "key",
            &["actions", "submit", "issue_refund", "--args", args],
        )
        .code(1);
}
