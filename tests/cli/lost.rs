//! Claims whose answer is lost on the way: the real server, both workers, and a line that breaks once.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use holdpoint::client::{Client, Outcome, Worker, wire};
use serde_json::json;

use crate::work::{House, Python};

/// What a line does with the first of each kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Harm {
    /// The answer with work in it is lost.
    Loses,
    /// Half of an answer to a claim or to a report comes through, and a heartbeat is heard by nobody and
    /// never answered.
    Breaks,
}

/// How often a line has met what it harms the first time.
#[derive(Default)]
struct Met {
    work: AtomicUsize,
    heartbeats: AtomicUsize,
    reports: AtomicUsize,
}

fn is_first(met: &AtomicUsize) -> bool {
    met.fetch_add(1, Ordering::SeqCst) == 0
}

/// A line to the server that does harm once.
struct Line {
    url: String,
    met: Arc<Met>,
}

impl Line {
    fn to(server: &str, harm: Harm) -> Self {
        let server = server.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let met = Arc::new(Met::default());
        let counted = Arc::clone(&met);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (server, met) = (server.clone(), Arc::clone(&counted));
                std::thread::spawn(move || carry(client, &server, harm, &met));
            }
        });
        Self { url, met }
    }

    /// Waits until so many heartbeats were sent.
    async fn heartbeats(&self, count: usize) {
        while self.met.heartbeats.load(Ordering::SeqCst) < count {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

fn carry(client: TcpStream, server: &str, harm: Harm, met: &Arc<Met>) {
    let server = TcpStream::connect(server).expect("the server listens");
    let (mut from, mut to) = (
        client.try_clone().expect("a socket"),
        server.try_clone().expect("a socket"),
    );
    let (asking, reports) = (Arc::clone(met), Arc::new(AtomicBool::new(false)));
    let reported = Arc::clone(&reports);
    std::thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..count]);
            let is_heard = harm == Harm::Loses
                || !text.contains("/heartbeat HTTP")
                || !is_first(&asking.heartbeats);
            reported.store(text.contains("/complete HTTP"), Ordering::SeqCst);
            if is_heard && to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        // Ends with either side.
        drop(to.shutdown(Shutdown::Write));
    });
    let (mut from, mut to) = (server, client);
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let has_work = String::from_utf8_lossy(&buffer[..count]).contains("\"idempotency_key\"");
        let is_harmed = (has_work && is_first(&met.work))
            || (harm == Harm::Breaks && reports.load(Ordering::SeqCst) && is_first(&met.reports));
        let whole = if is_harmed && harm == Harm::Loses {
            0
        } else if is_harmed {
            count - 20
        } else {
            count
        };
        if to.write_all(&buffer[..whole]).is_err() || is_harmed {
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
    let line = Line::to(&house.server.url, Harm::Loses);
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
    assert!(0 < line.met.work.load(Ordering::SeqCst));
    ended_in_one_attempt(&house.end_of(&action).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_answer_is_lost_costs_the_worker_in_python_no_lease() {
    let house = House::open();
    let line = Line::to(&house.server.url, Harm::Loses);
    let action = house.submit("ship", "1").await;
    let python = Python::start_at(&house, &line.url, "600", "echo '{}'\n");
    ended_in_one_attempt(&house.end_of(&action).await);
    assert!(0 < line.met.work.load(Ordering::SeqCst));
    assert_eq!(python.stop(), Some(0));
}

/// The lease is a fraction of the time that an answer may take: one heartbeat that hangs is not its end.
const SHORT: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn half_answers_and_a_heartbeat_that_hangs_cost_the_worker_in_rust_nothing() {
    let house = House::open();
    let line = Line::to(&house.server.url, Harm::Breaks);
    let action = house.submit("ship", "1").await;
    let key = std::fs::read_to_string(house.place.path("key")).expect("a key");
    let client = Client::new(&line.url).expect("an address");
    let worker = Worker::new(client.with_token(&key).expect("a key"), ["ship"])
        .with_lease(SHORT)
        .with_wait(Duration::ZERO);
    let done = worker
        .once(&mut |_| async {
            line.heartbeats(3).await;
            Outcome::Succeeded(json!({ "parcel": "P1" }))
        })
        .await;
    assert_eq!(done.expect("it counts").expect("work").status, "succeeded");
    ended_in_one_attempt(&house.end_of(&action).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn half_answers_and_a_heartbeat_that_hangs_cost_the_worker_in_python_nothing() {
    let house = House::open();
    let line = Line::to(&house.server.url, Harm::Breaks);
    let action = house.submit("ship", "1").await;
    let script = "while [ ! -e go ]; do sleep 0.05; done\n";
    let python = Python::start_at(&house, &line.url, "5", script);
    line.heartbeats(3).await;
    house.place.write("go", "");
    ended_in_one_attempt(&house.end_of(&action).await);
    // The answer to the first report was cut, so that it is made again.
    while line.met.reports.load(Ordering::SeqCst) < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(python.stop(), Some(0));
}

/// Hears requests, and answers each but the first; what it heard is the answer of the thread.
fn hears_two(listener: TcpListener) -> std::thread::JoinHandle<Vec<String>> {
    std::thread::spawn(move || {
        let mut heard = Vec::new();
        for client in listener.incoming().flatten() {
            let mut client = client;
            let (mut text, mut buffer) = (String::new(), [0; 4096]);
            while !text.ends_with('}') {
                let count = client.read(&mut buffer).expect("a request");
                text.push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
            heard.push(text);
            if heard.len() == 2 {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
                let answer = format!("{head}content-length: 2\r\nconnection: close\r\n\r\n{{}}");
                client.write_all(answer.as_bytes()).expect("it listens");
                return heard;
            }
        }
        heard
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_whose_answer_is_lost_is_sent_to_its_run_again_under_the_same_key() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = hears_two(listener);
    let client = Client::new(&url).expect("an address");
    let key = holdpoint::client::random_key().expect("a key");
    let sent = client.signal_run("run_1", "paid", &json!(1), &key).await;
    sent.expect("the second answer comes");
    let heard = server.join().expect("no panic");
    let header = format!("idempotency-key: \"{key}\"");
    for text in &heard {
        assert!(text.starts_with("POST /v1/runs/run_1/events "), "{text}");
        assert!(text.contains(&header), "{text}");
    }
    assert_eq!(heard[0], heard[1]);
}
