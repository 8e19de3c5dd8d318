//! A server that has no file handle left, because its clients took all of them.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::server::Server;

/// Handles that are left when the connections begin to come.
const LEFT: u64 = 8;

/// Connections that come; each that is accepted takes a handle.
const CONNECTIONS: usize = 64;

/// How long something may take that must happen.
const PATIENCE: Duration = Duration::from_mins(1);

impl Server {
    fn pid(&self) -> Pid {
        let id = i32::try_from(self.process_id()).expect("an id of a process");
        Pid::from_raw(id).expect("not zero")
    }

    fn open_handles(&self) -> u64 {
        let folder = format!("/proc/{}/fd", self.process_id());
        fs::read_dir(folder).expect("the server runs").count() as u64
    }

    /// Lets the running server have this many handles; answers with what it might have before.
    fn limit_handles(&self, current: Option<u64>) -> Option<u64> {
        let before = prlimit(
            Some(self.pid()),
            Resource::Nofile,
            Rlimit {
                current,
                maximum: rustix::process::getrlimit(Resource::Nofile).maximum,
            },
        );
        before.expect("the limit can be set").current
    }
}

/// Submits over a connection of its own; the id where it was acknowledged.
async fn submit(server: &Server, number: usize) -> Option<String> {
    let client = reqwest::Client::builder()
        .timeout(Duration::from_secs(2))
        .build()
        .expect("a client");
    let body = json!({ "tool": "pay", "args": { "amount": number } }).to_string();
    let (status, answer) = server.post(&client, &[], body).await?;
    let id = answer["id"].as_str().map(str::to_owned);
    assert!(status == 503 || id.is_some(), "{status}: {answer}");
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn i21_without_file_handles_nothing_acknowledged_is_lost_and_it_goes_on_once_there_are_some()
{
    let server = Server::start();
    let mut taken = vec![submit(&server, 0).await.expect("acknowledged")];
    let most = server.open_handles() + LEFT;
    let before = server.limit_handles(Some(most));
    let mut held = Vec::new();
    for _ in 0..CONNECTIONS {
        // The kernel takes them on, whether the server can accept them or not.
        held.push(TcpStream::connect(server.address).await.expect("connects"));
    }
    let all_taken = async {
        while server.open_handles() < most {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, all_taken)
        .await
        .expect("no handle is left");
    for number in 1..4 {
        taken.extend(submit(&server, number).await);
    }
    drop(held);
    server.limit_handles(before);
    let goes_on = async {
        loop {
            if let Some(id) = submit(&server, 9).await {
                return id;
            }
        }
    };
    let last = tokio::time::timeout(PATIENCE, goes_on).await;
    taken.push(last.expect("it goes on once there are handles"));
    let client = reqwest::Client::new();
    for id in taken {
        let (status, view): (u16, Value) = server.get(&client, &format!("/v1/actions/{id}")).await;
        assert_eq!((status, &view["id"]), (200, &json!(id)));
    }
}
