//! Clients that mean harm, against the real program (faults W5, V2, R1 and H1): slow ones, idle ones,
//! ones that send junk, and what becomes of everybody else meanwhile.

mod crowd;
mod handles;
mod junk;
mod raw;
mod server;

use std::io::Write as _;
use std::time::{Duration, Instant};

use crowd::Crowd;
use junk::junk;
use serde_json::{Value, json};
use server::Server;

/// Samples of each stretch: enough for a hundredth to be more than one of them.
const SAMPLES: usize = 100;

/// Stretches of each kind, one after the other in turn.
const TURNS: usize = 2;

/// How often a bad ratio is measured again: something else may have had the machine.
const TRIES: usize = 3;

/// A hundredth below this is quick, whatever the ratio, unless `HOLDPOINT_RATIO` asks for one: other
/// tests run at the same time.
const QUICK: Duration = Duration::from_millis(50);

/// The same while an agent sends all it can: it, the server and the honest client then share this
/// machine's cores, so that even a server that did nothing for it would be slower.
const QUICK_IN_FLOOD: Duration = Duration::from_millis(500);

/// The wait between two samples, so that the honest client stays within its rate.
const BETWEEN: Duration = Duration::from_millis(12);

/// How long the slowest hundredth of requests took, of a client with good manners.
async fn p99(client: &reqwest::Client, server: &Server) -> Duration {
    let mut times = Vec::new();
    for _ in 0..SAMPLES {
        let begun = Instant::now();
        let answer = server.get(client, "/v1/actions?limit=1").await;
        assert_eq!(answer.0, 200, "an honest client is served: {answer:?}");
        times.push(begun.elapsed());
        tokio::time::sleep(BETWEEN).await;
    }
    times.sort_unstable();
    times[SAMPLES * 99 / 100 - 1]
}

#[tokio::test(flavor = "multi_thread")]
async fn i21_idle_slow_and_flooding_clients_do_not_slow_the_others_down() {
    // An optimised build that has the machine to itself is held to a ratio.
    let ratio = std::env::var("HOLDPOINT_RATIO").ok();
    let ratio = ratio.map(|ratio| ratio.parse::<f64>().expect("HOLDPOINT_RATIO is a number"));
    let server = Server::start();
    let client = reqwest::Client::new();
    let mut last = String::new();
    for _ in 0..TRIES {
        let (mut quiet, mut crowded, mut flooded) = (Duration::MAX, Duration::MAX, Duration::MAX);
        for _ in 0..TURNS {
            quiet = quiet.min(p99(&client, &server).await);
            let mut crowd = Crowd::gather(&server).await;
            crowded = crowded.min(p99(&client, &server).await);
            crowd.flood(&server).await;
            flooded = flooded.min(p99(&client, &server).await);
            last = format!(
                "hostile clients: p99 {quiet:.1?} quiet, {crowded:.1?} in a crowd, {flooded:.1?} in a flood; {}",
                crowd.words()
            );
            if let Some(skipped) = crowd.skipped() {
                last = format!("{last}; {skipped}");
            }
            crowd.leave().await;
        }
        writeln!(std::io::stderr(), "{last}").expect("a line");
        let twice = 2 * quiet;
        let in_a_crowd = ratio.map_or(twice.max(QUICK), |ratio| quiet.mul_f64(ratio));
        if crowded <= in_a_crowd && flooded <= twice.max(QUICK_IN_FLOOD) {
            return;
        }
    }
    panic!("{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn i21_slow_heads_and_slow_bodies_are_cut_off() {
    let server = Server::start();
    let head = "POST /v1/actions HTTP/1.1\r\nhost: x\r\n";
    let body = format!(
        "{head}authorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{{",
        server.key
    );
    let slow = [head.to_owned(), body].map(|first| raw::dribble(server.address, first));
    for answer in futures_util::future::join_all(slow).await {
        // Closed without a word, or told that it took too long; never served.
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 408"),
            "{answer}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i21_requests_that_can_be_read_in_two_ways_are_refused_and_end_the_connection() {
    let server = Server::start();
    for (what, request) in junk(&server.key) {
        let answer = raw::exchange(server.address, &request).await;
        let statuses: Vec<&str> = answer
            .split("HTTP/1.1 ")
            .skip(1)
            .map(|rest| rest.get(..3).unwrap_or(rest))
            .collect();
        assert!(
            statuses.len() <= 1,
            "{what}: two answers to one request: {answer}"
        );
        let is_refused = statuses
            .first()
            .is_none_or(|status| status.starts_with('4'));
        assert!(is_refused, "{what}: {answer}");
    }
    let client = reqwest::Client::new();
    let (_, list) = server.get(&client, "/v1/actions").await;
    assert_eq!(list["data"], json!([]), "not one of them was taken on");
}

#[tokio::test(flavor = "multi_thread")]
async fn i21_deep_and_huge_json_is_refused_before_it_is_kept() {
    let server = Server::start();
    let client = reqwest::Client::new();
    let wrap = |args: &str| format!("{{\"tool\":\"pay\",\"args\":{args}}}");
    let keys = |count: usize| {
        let pairs: Vec<String> = (0..count)
            .map(|number| format!("\"k{number}\":0"))
            .collect();
        format!("{{{}}}", pairs.join(","))
    };
    let cases = [
        ("deep lists", wrap(&"[".repeat(100_000))),
        ("deep objects", wrap(&"{\"a\":".repeat(100_000))),
        (
            "deep and closed",
            wrap(&format!("{}{}", "[".repeat(5000), "]".repeat(5000))),
        ),
        (
            "many megabytes",
            wrap(&format!("\"{}\"", "x".repeat(8 << 20))),
        ),
        ("too many keys", wrap(&keys(200_000))),
        ("a huge number", wrap(&"9".repeat(500_000))),
        ("a huge exponent", wrap("{\"amount\":1e999999999}")),
        ("a key twice", wrap("{\"amount\":1,\"amount\":2}")),
        ("a lone surrogate", wrap("{\"amount\":\"\\ud800\"}")),
        ("no end", wrap("{\"amount\":1")),
        ("nothing", String::new()),
        ("zeros", "\0".repeat(1 << 16)),
    ];
    for (what, body) in cases {
        let status = server
            .post(&client, &[], body)
            .await
            .map(|(status, _)| status);
        // A body that is too long may be cut off while it is still being sent.
        assert!(
            status.is_none_or(|status| (400..500).contains(&status)),
            "{what}: {status:?}"
        );
    }
    let (_, list) = server.get(&client, "/v1/actions").await;
    assert_eq!(list["data"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn i04_a_hundred_copies_of_one_submission_at_once_make_one_action() {
    let server = Server::start();
    let client = reqwest::Client::new();
    let body = json!({ "tool": "pay", "args": { "amount": 5 } }).to_string();
    let key = [("idempotency-key", "\"the-same-for-all\"")];
    let copies = (0..100).map(|_| server.post(&client, &key, body.clone()));
    let answers = futures_util::future::join_all(copies).await;
    let mut ids = Vec::new();
    for answer in answers.into_iter().flatten() {
        match answer {
            (200 | 201, action) => ids.push(action["id"].clone()),
            (409, problem) => assert_eq!(problem["code"], "in_progress", "{problem}"),
            other => panic!("{other:?}"),
        }
    }
    assert!(!ids.is_empty());
    ids.dedup();
    assert_eq!(ids.len(), 1, "one action: {ids:?}");
    let (_, list) = server.get(&client, "/v1/actions").await;
    assert_eq!(list["data"].as_array().map(Vec::len), Some(1));
    let Value::String(id) = &ids[0] else {
        panic!("an id: {ids:?}");
    };
    assert_eq!(list["data"][0]["id"], **id);
}
