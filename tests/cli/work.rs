//! Services that pull their work from a real server: the worker in Python, and the one in Rust.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use holdpoint::client::{Client, ListFilter, Outcome, Submitted, Worker, random_key, wire};
use serde_json::json;

use crate::support::{Place, Server};

const TOOLS: &str = r#"{ "tools": {
    "ship": { "safetyClass": "write-once-checkable", "idempotencyKey": "ship:{order_id}",
              "summary": "Ship order {order_id}" },
    "pay": { "safetyClass": "irreversible" } } }"#;

/// A server with a service whose key may work on everything.
pub(crate) struct House {
    pub(crate) place: Place,
    pub(crate) server: Server,
    pub(crate) client: Client,
    /// A key without any scope.
    plain: String,
}

impl House {
    pub(crate) fn open() -> Self {
        let place = Place::new();
        place.write("holdpoint.json", TOOLS);
        place.add_person("olga@example.com", "operator");
        let plain = place.create_key("olga@example.com");
        let key = place.run(&[
            "key",
            "create",
            "--name",
            "svc",
            "--kind",
            "service",
            "--owner",
            "olga@example.com",
            "--scope",
            "work:*",
        ]);
        place.write("key", &key.ok());
        let server = Server::start(&place, &[]);
        let client = client_of(&place, &server);
        Self {
            place,
            server,
            client,
            plain,
        }
    }

    /// Dies without a word, and starts again on what is on its disk.
    fn dies_and_starts_again(&mut self) {
        self.server.child.kill().expect("it runs");
        self.server.child.wait().expect("it ends");
        self.server = Server::start(&self.place, &[]);
        self.client = client_of(&self.place, &self.server);
    }

    pub(crate) async fn submit(&self, tool: &str, order: &str) -> wire::Action {
        let args = wire::Json::value(&json!({ "order_id": order }));
        let submission = wire::Submission::new(tool, args);
        let key = format!("{tool}-{order}");
        match self.client.submit(&submission, &key).await.expect("taken") {
            Submitted::Action(action) => *action,
            Submitted::Answered(answered) => panic!("answered at once: {answered:?}"),
        }
    }

    pub(crate) async fn claim(&self, tool: &str, lease_seconds: u64) -> wire::Work {
        let claim = wire::WorkClaim {
            tools: vec![tool.to_owned()],
            wait: None,
            lease_seconds: Some(lease_seconds),
        };
        let key = random_key().expect("randomness");
        let given = self.client.claim(&claim, Duration::ZERO, &key).await;
        given.expect("allowed").expect("there is work")
    }

    pub(crate) async fn end_of(&self, action: &wire::Action) -> wire::Action {
        let end = self.client.wait_for_end(&action.id, Duration::from_mins(1));
        end.await.expect("visible")
    }
}

fn client_of(place: &Place, server: &Server) -> Client {
    let key = std::fs::read_to_string(place.path("key")).expect("a key");
    let client = Client::new(&server.url).expect("an address");
    client.with_token(&key).expect("a key")
}

pub(crate) fn done(work: &wire::Work) -> wire::WorkReport {
    wire::WorkReport {
        epoch: work.epoch,
        outcome: "succeeded".to_owned(),
        result: Some(wire::Json::value(&json!({ "parcel": "P1" }))),
        reason: None,
    }
}

/// The worker in Python, with a shell command that does the work.
pub(crate) struct Python(Child);

impl Python {
    fn start(house: &House, script: &str) -> Self {
        Self::start_at(house, &house.server.url, "5", script)
    }

    /// One that reaches its server at this address, and asks for leases this long.
    pub(crate) fn start_at(house: &House, url: &str, lease: &str, script: &str) -> Self {
        house.place.write("ship.sh", script);
        let worker = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/worker.py");
        let child = Command::new("python3")
            .arg(worker)
            .args(["--server", url, "--tool", "ship", "--tool", "pay"])
            .args([
                "--token-file",
                "key",
                "--wait",
                "1",
                "--lease",
                lease,
                "--",
                "sh",
                "ship.sh",
            ])
            .current_dir(house.place.path("."))
            .stdin(Stdio::null())
            .spawn()
            .expect("python3 is there");
        Self(child)
    }

    pub(crate) fn stop(mut self) -> Option<i32> {
        let asked = Command::new("kill")
            .args(["-TERM", &self.0.id().to_string()])
            .status();
        assert!(asked.expect("kill starts").success());
        self.0.wait().expect("it ends").code()
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // After `stop` it has ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_in_python_does_what_was_asked_and_reports_what_it_knows() {
    let house = House::open();
    let script = "read -r args\n\
        case $args in\n\
        *no*) echo 'no such order'; exit 65;;\n\
        *lost*) echo 'the line broke'; exit 1;;\n\
        *long*) while [ ! -e go ]; do sleep 0.1; done;;\n\
        esac\n\
        echo \"{\\\"key\\\": \\\"$HOLDPOINT_IDEMPOTENCY_KEY\\\"}\"\n";
    let python = Python::start(&house, script);
    let good = house.submit("ship", "1").await;
    let end = house.end_of(&good).await;
    assert_eq!(end.status, "succeeded");
    assert_eq!(end.result.expect("a result").get(), r#"{"key":"ship:1"}"#);
    let no = house.submit("ship", "no").await;
    let end = house.end_of(&no).await;
    assert_eq!(end.status, "failed");
    assert_eq!(end.ended.expect("a reason").code, "worker_failed");
    assert_eq!(end.result.expect("its words").get(), "\"no such order\"");
    let lost = house.submit("pay", "lost").await;
    until(&house, &lost, "unknown").await;
    // Longer than its lease, which it keeps; and it is told to stop in the middle.
    let long = house.submit("ship", "long").await;
    let mut kept = until(&house, &long, "executing").await;
    while kept.attempts[0].lease.as_ref().expect("a lease").extensions < 3 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        kept = house.client.action(&long.id).await.expect("visible");
    }
    let stopping = tokio::task::spawn_blocking(move || python.stop());
    house.place.write("go", "");
    assert_eq!(house.end_of(&long).await.status, "succeeded");
    assert_eq!(stopping.await.expect("no panic"), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_was_done_counts_whatever_its_result_looks_like_in_python() {
    let house = House::open();
    let script = "read -r args\n\
        case $args in\n\
        *number*) echo '{\"id\": 9007199254740993}';;\n\
        *nan*) echo NaN;;\n\
        *half*) echo '\"\\ud800\"';;\n\
        *huge*) head -c 3000000 /dev/zero | tr '\\0' a;;\n\
        esac\n";
    let python = Python::start(&house, script);
    let results = [
        ("number", r#""{\"id\": 9007199254740993}""#),
        ("nan", r#""NaN""#),
        ("half", "ud800"),
        ("huge", "(the first 10000 of 3000002 characters)"),
    ];
    for (order, result) in results {
        let action = house.submit("ship", order).await;
        let end = house.end_of(&action).await;
        assert_eq!(end.status, "succeeded", "{order}");
        let said = end.result.expect("a result");
        assert!(said.get().contains(result), "{order}: {}", said.get());
    }
    assert_eq!(python.stop(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_was_done_counts_whatever_its_result_looks_like_in_rust() {
    let house = House::open();
    let key = std::fs::read_to_string(house.place.path("key")).expect("a key");
    let client = Client::new(&house.server.url).expect("an address");
    let client = client.with_token(&key).expect("a key");
    let worker = Worker::new(client, ["ship"]).with_wait(Duration::from_secs(1));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let working = tokio::spawn(async move {
        let stopped = async move { stopped.await.unwrap_or_default() };
        worker
            .run(stopped, |work| async move {
                if work.args.get().contains("number") {
                    return Outcome::Succeeded(json!({ "id": 9_007_199_254_740_993_u64 }));
                }
                Outcome::Succeeded(json!("a".repeat(3_000_000)))
            })
            .await
    });
    for (order, result) in [
        ("number", "9007199254740993"),
        ("huge", "(the first 10000 of"),
    ] {
        let action = house.submit("ship", order).await;
        let end = house.end_of(&action).await;
        assert_eq!(end.status, "succeeded", "{order}");
        let said = end.result.expect("a result");
        assert!(said.get().contains(result), "{order}: {}", said.get());
    }
    stop.send(()).expect("the worker goes on after each");
    working.await.expect("no panic").expect("no error");
}

async fn until(house: &House, action: &wire::Action, status: &str) -> wire::Action {
    for _ in 0..600 {
        let now = house.client.action(&action.id).await.expect("visible");
        if now.status == status {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{} never became {status}", action.id)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_in_rust_carries_out_one_after_another_until_it_is_stopped() {
    let house = House::open();
    let shipped = house.submit("ship", "1").await;
    let paid = house.submit("pay", "2").await;
    let panics = house.submit("pay", "panic").await;
    let seen = Arc::new(AtomicUsize::new(0));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let worker = Worker::new(house.client.clone(), ["ship", "pay"])
        .with_lease(Duration::from_secs(5))
        .with_wait(Duration::from_secs(1));
    let counted = Arc::clone(&seen);
    let running = tokio::spawn(async move {
        let stopped = async {
            stopped.await.expect("it is stopped");
        };
        let work = |work: wire::Work| {
            let counted = Arc::clone(&counted);
            async move {
                counted.fetch_add(1, Ordering::SeqCst);
                assert!(!work.args.get().contains("panic"), "on purpose");
                match work.tool.as_str() {
                    "ship" => Outcome::Succeeded(json!({ "by": work.idempotency_key })),
                    _ => Outcome::Failed("the account is closed".to_owned()),
                }
            }
        };
        worker.run(stopped, work).await
    });
    assert_eq!(house.end_of(&shipped).await.status, "succeeded");
    assert_eq!(house.end_of(&paid).await.status, "failed");
    let doubt = until(&house, &panics, "unknown").await;
    assert_eq!(doubt.attempts.len(), 1);
    stop.send(()).expect("it listens");
    running.await.expect("no panic").expect("it was allowed");
    assert_eq!(seen.load(Ordering::SeqCst), 3);
    let filter = ListFilter {
        statuses: vec!["unknown".to_owned(), "failed".to_owned()],
        limit: Some(10),
        ..ListFilter::default()
    };
    assert_eq!(
        house.client.list(&filter).await.expect("a list").data.len(),
        2
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_a_worker_goes_on_where_the_server_died_between_claim_and_report() {
    let mut house = House::open();
    let action = house.submit("ship", "1").await;
    let work = house.claim("ship", 600).await;
    house.dies_and_starts_again();
    let now = house.client.action(&action.id).await.expect("visible");
    assert_eq!(now.status, "executing", "the worker has it, not the server");
    let empty = wire::WorkClaim {
        tools: vec!["ship".to_owned()],
        ..wire::WorkClaim::default()
    };
    let second = house
        .client
        .claim(&empty, Duration::ZERO, "another")
        .await
        .expect("allowed");
    assert_eq!(second, None, "nobody else gets it");
    let ended = house
        .client
        .complete(&work.attempt, &done(&work))
        .await
        .expect("it counts");
    assert_eq!(ended.status, "succeeded");
    house.dies_and_starts_again();
    let again = house
        .client
        .complete(&work.attempt, &done(&work))
        .await
        .expect("a repeat");
    assert_eq!(again, ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_a_lease_that_runs_out_while_the_server_is_down_is_unknown_afterwards() {
    let mut house = House::open();
    let action = house.submit("pay", "1").await;
    let work = house.claim("pay", 5).await;
    house.dies_and_starts_again();
    let unknown = until(&house, &action, "unknown").await;
    assert!(unknown.doubt.is_some());
    let late = house.client.complete(&work.attempt, &done(&work)).await;
    assert!(late.expect_err("too late").is("lease_lost"));
    let after = house.client.action(&action.id).await.expect("visible");
    assert_eq!(after.status, "unknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_may_not_work_ends_with_the_reason() {
    let house = House::open();
    let client = Client::new(&house.server.url).expect("an address");
    let client = client.with_token(&house.plain).expect("a key");
    let worker = Worker::new(client, ["ship"]).with_wait(Duration::ZERO);
    let never = std::future::pending::<()>();
    let ended = worker
        .run(never, async |_| Outcome::Failed("no".to_owned()))
        .await;
    let error = ended.expect_err("it has no scope");
    assert!(error.is("forbidden"), "{error}");
    assert!(error.to_string().contains("work:ship"), "{error}");
}
