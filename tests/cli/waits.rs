//! Waiting at the command line for an action while its server goes away, and comes back or does not.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::support::{Place, Server};
use crate::work::{House, done};

#[tokio::test(flavor = "multi_thread")]
async fn waiting_goes_on_through_a_death_of_the_server_and_ends_as_the_action_does() {
    let mut house = House::open();
    let action = house.submit("ship", "1").await;
    let url = house.server.url.clone();
    let wait = ["actions", "wait", &action.id, "--for", "10m"];
    let mut waiter = house
        .place
        .command(&wait)
        .args(["--server", &url, "--token-file", "key"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let first = "GET /v1/actions/{id} answered 200";
    while !house.server.logged().contains(first) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    house.server.child.kill().expect("it runs");
    house.server.child.wait().expect("it ends");

    let mut notes = BufReader::new(waiter.stderr.take().expect("piped"));
    let mut told = String::new();
    while !told.contains("it is asked again") {
        assert_ne!(notes.read_line(&mut told).expect("UTF-8"), 0, "{told}");
    }
    let address = url.trim_start_matches("http://");
    house.server = Server::start(&house.place, &["--listen", address]);
    let work = house.claim("ship", 60).await;
    let reported = house.client.complete(&work.attempt, &done(&work)).await;
    reported.expect("it counts");

    let ended = waiter.wait_with_output().expect("it ends");
    notes.read_to_string(&mut told).expect("UTF-8");
    assert_eq!(ended.status.code(), Some(0), "{told}");
    let out = String::from_utf8(ended.stdout).expect("UTF-8");
    assert_eq!(out.trim(), format!("{} succeeded", action.id));
    assert!(told.contains("the server answers again"), "{told}");
}

const ID: &str = "act_01901f3ac0de7000a1b2c3d4e5f60718";

/// Answers one request with an action that waits, and is gone.
fn answers_once(listener: TcpListener) {
    let (mut client, _) = listener.accept().expect("a client");
    let (mut text, mut buffer) = (String::new(), [0; 4096]);
    while !text.contains("\r\n\r\n") {
        let count = client.read(&mut buffer).expect("a request");
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    drop(listener);
    let body = json!({ "id": ID, "status": "staged" }).to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    client.write_all(answer.as_bytes()).expect("it listens");
}

#[test]
fn waiting_for_a_server_that_stays_away_ends_as_pending_with_what_was_seen_last() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || answers_once(listener));
    let wait = ["actions", "wait", ID, "--for", "1s", "--server", &url];
    let told = place.run(&wait).code(5).err;
    server.join().expect("no panic");
    let seen = format!("{ID} was staged when it was last seen");
    assert!(told.contains(&seen), "{told}");
    assert!(
        told.contains(&format!("holdpoint actions wait {ID}")),
        "{told}"
    );
}
