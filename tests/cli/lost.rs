//! Claims whose answer is lost on the way: the real server, both workers, and a line that breaks once.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use holdpoint::client::{Client, Outcome, Worker, wire};
use serde_json::json;

use crate::work::{House, Python};

/// A line to the server that loses the first answer with work in it.
struct Line {
    url: String,
    lost: Arc<AtomicUsize>,
}

impl Line {
    fn to(server: &str) -> Self {
        let server = server.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let lost = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&lost);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (server, counted) = (server.clone(), Arc::clone(&counted));
                std::thread::spawn(move || carry(client, &server, &counted));
            }
        });
        Self { url, lost }
    }
}

fn carry(client: TcpStream, server: &str, lost: &AtomicUsize) {
    let server = TcpStream::connect(server).expect("the server listens");
    let (mut from, mut to) = (
        client.try_clone().expect("a socket"),
        server.try_clone().expect("a socket"),
    );
    std::thread::spawn(move || {
        // Ends with either side.
        drop(std::io::copy(&mut from, &mut to));
        drop(to.shutdown(Shutdown::Write));
    });
    let (mut from, mut to) = (server, client);
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let has_work = String::from_utf8_lossy(&buffer[..count]).contains("\"lease_until\"");
        if has_work && lost.fetch_add(1, Ordering::SeqCst) == 0 {
            break;
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    drop(to.shutdown(Shutdown::Both));
    drop(from.shutdown(Shutdown::Both));
}

/// The lease is longer than the test, so that nobody else could have it.
fn ended_in_one_attempt(end: &wire::Action) {
    assert_eq!((end.status.as_str(), end.attempts.len()), ("succeeded", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_answer_is_lost_costs_the_worker_in_rust_no_lease() {
    let house = House::open();
    let line = Line::to(&house.server.url);
    let action = house.submit("ship", "1").await;
    let key = std::fs::read_to_string(house.place.path("key")).expect("a key");
    let client = Client::new(&line.url).expect("an address");
    let worker = Worker::new(client.with_token(&key).expect("a key"), ["ship"])
        .with_lease(Duration::from_mins(10))
        .with_wait(Duration::ZERO);
    let done = worker
        .once(&mut |_| async { Outcome::Succeeded(json!({ "parcel": "P1" })) })
        .await;
    assert_eq!(done.expect("it counts").expect("work").status, "succeeded");
    assert!(0 < line.lost.load(Ordering::SeqCst));
    ended_in_one_attempt(&house.end_of(&action).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_answer_is_lost_costs_the_worker_in_python_no_lease() {
    let house = House::open();
    let line = Line::to(&house.server.url);
    let action = house.submit("ship", "1").await;
    let python = Python::start_at(&house, &line.url, "600", "echo '{}'\n");
    ended_in_one_attempt(&house.end_of(&action).await);
    assert!(0 < line.lost.load(Ordering::SeqCst));
    assert_eq!(python.stop(), Some(0));
}
