//! Webhooks over the real program: made, delivered through kills, verified by what receivers use.

use std::process::Command;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use standardwebhooks::Webhook;

use crate::support::{PASSWORD, Place, Server, files_below};

pub(crate) const ADMIN: &str = "ada@example.com";

type Messages = Arc<Mutex<Vec<(HeaderMap, String)>>>;

/// A receiver on this machine that takes everything.
pub(crate) struct Receiver {
    pub(crate) url: String,
    messages: Messages,
}

impl Receiver {
    pub(crate) fn open() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let messages = Messages::default();
        let receiver = Self {
            url: format!("http://{}/hook", listener.local_addr().expect("bound")),
            messages: Arc::clone(&messages),
        };
        let router = Router::new()
            .route("/hook", post(hook))
            .with_state(messages);
        std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime")
                .block_on(async {
                    let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
                    axum::serve(listener, router).await.expect("serves");
                });
        });
        receiver
    }

    pub(crate) fn messages(&self) -> Vec<(HeaderMap, String)> {
        self.messages.lock().expect("not poisoned").clone()
    }

    /// The positions of events, in the order in which they came.
    fn positions(&self) -> Vec<u64> {
        let of = |(_, text): &(HeaderMap, String)| {
            let body: Value = serde_json::from_str(text).expect("JSON");
            body["data"]["position"].as_u64()
        };
        self.messages().iter().filter_map(of).collect()
    }
}

async fn hook(State(messages): State<Messages>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let text = String::from_utf8(body.to_vec()).expect("UTF-8");
    messages.lock().expect("not poisoned").push((headers, text));
    StatusCode::NO_CONTENT
}

/// A place whose server may tell receivers on this machine.
pub(crate) fn place() -> Place {
    let place = Place::new();
    let file = json!({
        "server": { "allowRanges": ["127.0.0.0/8"] },
        "tools": { "pay": { "safetyClass": "approval-bound" } },
    });
    place.write("holdpoint.json", &file.to_string());
    place.add_person(ADMIN, "admin");
    place.create_key(ADMIN);
    place
}

pub(crate) fn add(place: &Place, url: &str) -> (String, String) {
    let made = place.run(&[
        "webhooks", "add", "--name", "orders", "--url", url, "--owner", ADMIN, "--json",
    ]);
    let made = made.code(0).json();
    let text = |pointer| {
        made.pointer(pointer)
            .and_then(Value::as_str)
            .expect("text")
            .to_owned()
    };
    (text("/endpoint/id"), text("/secret"))
}

pub(crate) fn submit(place: &Place, server: &Server, number: u32) {
    let args = format!("{{\"n\":{number}}}");
    let run = place.run(&[
        "actions",
        "submit",
        "pay",
        "--args",
        &args,
        "--server",
        &server.url,
        "--token-file",
        "key",
    ]);
    run.ok();
}

/// The positions of what was staged.
fn staged(place: &Place, server: &Server) -> Vec<u64> {
    let mut found = Vec::new();
    let mut after = 0;
    loop {
        let from = after.to_string();
        let page = place.run(&[
            "events",
            "tail",
            "--after",
            &from,
            "--limit",
            "200",
            "--json",
            "--server",
            &server.url,
            "--token-file",
            "ada",
        ]);
        let lines = page.ok();
        let events = lines.lines().map(serde_json::from_str::<Value>);
        let before = after;
        for event in events {
            let event = event.expect("JSON");
            after = event["position"].as_u64().expect("a position");
            if event["kind"] == "action.staged" {
                found.push(after);
            }
        }
        if after == before {
            return found;
        }
    }
}

pub(crate) fn sign_in(place: &Place, server: &Server) {
    place.write("pw", PASSWORD);
    let run = place.run(&[
        "login",
        ADMIN,
        "--password-file",
        "pw",
        "--server",
        &server.url,
        "--token-file",
        "ada",
    ]);
    run.ok();
}

pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed().as_secs() < 60, "{what} never came");
        std::thread::yield_now();
    }
}

#[test]
fn incident_73_killed_while_it_delivers_the_server_skips_nothing_and_keeps_the_order() {
    let kills: u32 = match std::env::var("HOLDPOINT_WEBHOOK_KILLS") {
        Ok(text) => text.parse().expect("HOLDPOINT_WEBHOOK_KILLS is a number"),
        Err(_) => 5,
    };
    let (place, receiver) = (place(), Receiver::open());
    let (_, secret) = add(&place, &receiver.url);
    let mut number = 0;
    for _ in 0..kills {
        let server = Server::start(&place, &[]);
        for _ in 0..4 {
            submit(&place, &server, number);
            number += 1;
        }
        // SIGKILL, with messages on their way.
        drop(server);
    }
    let server = Server::start(&place, &[]);
    sign_in(&place, &server);
    submit(&place, &server, number);
    let expected = staged(&place, &server);
    assert_eq!(expected.len(), number as usize + 1);
    let once = || {
        let mut positions = receiver.positions();
        positions.dedup();
        positions
    };
    until("the last event", || once().last() == expected.last());
    assert_eq!(once(), expected, "each event, in the order of the log");
    let webhook = Webhook::new(&secret).expect("a secret");
    for (headers, text) in receiver.messages() {
        assert!(webhook.verify(text.as_bytes(), &headers).is_ok());
    }
}

const VERIFY: &str = r#"
const { Webhook } = require(process.argv[1]);
const { secret, other, messages } = JSON.parse(require("fs").readFileSync(0, "utf8"));
for (const { headers, body } of messages) {
  new Webhook(secret).verify(body, headers);
  for (const wrong of [
    () => new Webhook(other).verify(body, headers),
    () => new Webhook(secret).verify(body.replace("pay", "PAY"), headers),
    () => new Webhook(secret).verify(body, { ...headers, "webhook-timestamp": "1500000000" }),
  ]) {
    let refused = false;
    try { wrong(); } catch { refused = true; }
    if (!refused) throw new Error("a wrong message was accepted");
  }
}
console.log("verified " + messages.length);
"#;

#[test]
fn i20_the_npm_package_of_the_standard_accepts_our_messages_and_no_others() {
    let Some(package) = std::env::var_os("HOLDPOINT_STANDARDWEBHOOKS") else {
        println!(
            "SKIPPED: HOLDPOINT_STANDARDWEBHOOKS does not name the npm package; scripts/test does"
        );
        return;
    };
    let (place, receiver) = (place(), Receiver::open());
    let (_, secret) = add(&place, &receiver.url);
    let (_, other) = add(&place, "https://127.0.0.1:9/");
    let server = Server::start(&place, &[]);
    for number in 0..3 {
        submit(&place, &server, number);
    }
    until("three messages", || receiver.messages().len() == 3);
    let messages: Vec<Value> = receiver
        .messages()
        .iter()
        .map(|(headers, body)| {
            let pairs = headers.iter().map(|(name, value)| {
                let value = value.to_str().expect("ascii");
                (name.as_str().to_owned(), json!(value))
            });
            json!({ "headers": Value::Object(pairs.collect()), "body": body })
        })
        .collect();
    let input = json!({ "secret": secret, "other": other, "messages": messages });
    let path = place.path("messages.json");
    std::fs::write(&path, input.to_string()).expect("written");
    let output = Command::new("node")
        .args(["-e", VERIFY])
        .arg(&package)
        .stdin(std::fs::File::open(&path).expect("there"))
        .output()
        .expect("node starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.trim(), "verified 3", "{errors}");
}

#[test]
fn i16_endpoints_are_managed_with_the_folder_or_a_server_and_secrets_leave_no_trace() {
    let (place, receiver) = (place(), Receiver::open());
    let (id, first) = add(&place, &receiver.url);
    let without_owner = place.run(&["webhooks", "add", "--name", "x", "--url", &receiver.url]);
    assert!(without_owner.code(2).err.contains("--owner"));
    let wrong = place.run(&[
        "webhooks",
        "add",
        "--name",
        "x",
        "--url",
        "http://example.com/",
        "--owner",
        ADMIN,
    ]);
    assert!(wrong.code(2).err.contains("https://"));
    let offline = place.run(&["webhooks", "test", &id]);
    assert!(offline.code(2).err.contains("--server"));
    let second = place
        .run(&["webhooks", "rotate", &id, "--overlap", "1h"])
        .ok();
    assert_ne!(first, second.trim());
    place
        .run(&["webhooks", "disable", &id, "--reason", "maintenance"])
        .ok();
    let listed = place.run(&["webhooks", "ls"]).ok();
    assert!(
        listed.contains("disabled (person): maintenance"),
        "{listed}"
    );
    place
        .run(&["webhooks", "enable", &id, "--reason", "back"])
        .ok();

    let server = Server::start(&place, &[]);
    sign_in(&place, &server);
    let at = ["--server", server.url.as_str(), "--token-file", "ada"];
    let run = |args: &[&str]| place.run(&[args, &at].concat());
    let tested = run(&["webhooks", "test", &id]).ok();
    assert!(tested.contains("delivered: answered 204"), "{tested}");
    submit(&place, &server, 1);
    until("the event", || receiver.messages().len() == 2);
    until("its record", || {
        let kept = run(&["webhooks", "deliveries", &id]).ok();
        kept.lines().count() == 3
    });
    let kept = run(&["webhooks", "deliveries", &id, "--json"]).json();
    let message = kept["data"]
        .as_array()
        .and_then(|all| all.iter().find(|it| it["type"] == "action.staged"))
        .and_then(|it| it["id"].as_str())
        .expect("the event")
        .to_owned();
    let again = run(&["webhooks", "redeliver", &message]).ok();
    assert!(again.contains("delivered"), "{again}");
    let (headers, _) = receiver.messages().pop().expect("three messages");
    assert_eq!(headers["webhook-id"], message.as_str());
    let shown = run(&["webhooks", "show", &id]).ok();
    assert!(
        shown.contains("enabled") && shown.contains(&receiver.url),
        "{shown}"
    );
    let third = run(&["webhooks", "rotate", &id]).ok();
    let exported = run(&["events", "tail", "--limit", "200", "--json"]).ok();
    assert!(exported.contains("webhook.secret_rotated"));
    run(&["webhooks", "rm", &id, "--reason", "not needed"]).ok();
    assert!(
        run(&["webhooks", "show", &id])
            .code(1)
            .err
            .contains("no such")
    );
    let (code, logged) = server.stop();
    assert_eq!(code, Some(0));

    for secret in [first.as_str(), second.trim(), third.trim()] {
        let bare = secret.strip_prefix("whsec_").expect("the standard's form");
        assert!(!logged.contains(bare) && !exported.contains(bare) && !shown.contains(bare));
        for path in files_below(&place.path("holdpoint-data")) {
            let bytes = std::fs::read(&path).expect("a file");
            let found = bytes
                .windows(bare.len())
                .any(|part| part == bare.as_bytes());
            assert!(!found, "a secret in {}", path.display());
        }
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let key = place.path("holdpoint-data").join("webhook.key");
        let mode = std::fs::metadata(key)
            .expect("the key")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
