//! A target that answers 422 to a key: an alarm, wherever an operator looks.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::json;

use crate::story::{ADMIN, id};
use crate::support::{Place, Server};
use crate::trouble::get;

/// A target that answers 422 to whatever comes; its address.
fn refuses() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut text, mut buffer) = (String::new(), [0; 4096]);
            while !text.ends_with("{}") {
                let count = stream.read(&mut buffer).expect("a request");
                text.push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
            let answer =
                "HTTP/1.1 422 Unprocessable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(answer.as_bytes()).expect("it listens");
        }
    });
    address
}

#[test]
fn a_first_422_to_a_key_is_an_alarm_that_is_counted_and_that_the_doctor_explains() {
    let (place, address) = (Place::new(), refuses());
    let file = json!({ "tools": { "charge": {
        "safetyClass": "write-once-checkable",
        "idempotencyKey": "charge:{order}",
        "execute": { "http": { "post": format!("{address}/charges"), "json": {} } },
    } } });
    place.write("holdpoint.json", &file.to_string());
    place.add_person(ADMIN, "admin");
    place.create_key(ADMIN);
    let server = Server::start(&place, &[]);
    let login = [
        "login",
        ADMIN,
        "--password-file",
        "pw",
        "--token-file",
        "ada",
    ];
    let at = ["--server", server.url.as_str()];
    place.run(&[&login[..], &at].concat()).ok();

    let submit = ["actions", "submit", "charge", "--args", r#"{"order":"o7"}"#];
    let wait = ["--wait", "60s", "--json", "--token-file", "key"];
    let ended = place.run(&[&submit[..], &wait, &at].concat()).json();
    assert_eq!(ended["status"], "failed", "{ended}");

    let figures = get(&server, "/metrics");
    let counted = "holdpoint_key_alarms_total{tool=\"charge\"} 1";
    assert!(figures.contains(counted), "{figures}");
    let asked = place.run(&[&["doctor", "--token-file", "ada"][..], &at].concat());
    server.stop();
    for told in [asked.ok(), place.run(&["doctor"]).ok()] {
        for words in [
            id(&ended),
            "there is an alarm about its key since 2",
            "answered 422 to the key charge:o7",
            "look at the target for what it did under the key charge:o7",
            "let the idempotencyKey of charge name everything",
        ] {
            assert!(told.contains(words), "{words}: {told}");
        }
        assert!(!told.contains("none has an alarm"), "{told}");
    }
}
