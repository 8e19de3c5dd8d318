//! Over a socket: limits, shutdown, headers.

use std::net::SocketAddr;

use holdpoint_web::{WebConfig, serve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::world::{World, path, vote};

struct Server {
    world: World,
    address: SocketAddr,
    shutdown: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Server {
    async fn start() -> Self {
        let world = World::new().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let shutdown = CancellationToken::new();
        let serving = tokio::spawn(serve(listener, world.state.clone(), shutdown.clone()));
        Self {
            world,
            address,
            shutdown,
            serving,
        }
    }

    async fn connect(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address)
            .await
            .expect("a connection");
        stream.write_all(text.as_bytes()).await.expect("it is sent");
        stream
    }
}

async fn read_all(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    // An end without a farewell is an end too.
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains(text) {
        assert_ne!(
            stream.read_buf(&mut bytes).await.expect("bytes"),
            0,
            "it ended before {text}"
        );
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn i21_a_head_that_never_ends_is_given_up_while_others_are_served() {
    let server = Server::start().await;
    let slow = server
        .connect("GET /livez HTTP/1.1\r\nhost: a\r\nx-slow: ")
        .await;
    let prompt = server
        .connect("GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await;
    assert!(read_all(prompt).await.starts_with("HTTP/1.1 200 OK"));
    let slow = read_all(slow).await;
    assert!(!slow.contains("200 OK"), "{slow}");
}

#[tokio::test]
async fn a_stop_ends_streams_and_idle_connections_and_the_server() {
    let server = Server::start().await;
    let token = &server.world.tokens["auditor"];
    let head = format!(
        "GET /v1/events/stream HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    let mut stream = server.connect(&head).await;
    read_until(&mut stream, "retry").await;
    let mut idle = server
        .connect("GET /readyz HTTP/1.1\r\nhost: a\r\n\r\n")
        .await;
    read_until(&mut idle, "ready").await;
    server.shutdown.cancel();
    read_all(stream).await;
    read_all(idle).await;
    server.serving.await.expect("no panic").expect("no error");
    let answer = server.world.get("", "/readyz").await;
    assert_eq!(answer.problem(), (503, "storage_unavailable".into()));
}

#[tokio::test]
async fn incident_74_a_client_that_hangs_up_while_it_waits_decides_nothing() {
    let server = Server::start().await;
    let (world, body) = (&server.world, server.world.refund().to_string());
    let (token, length) = (&world.tokens["service"], body.len());
    let waiting = server
        .connect(&format!(
            "POST /v1/actions?wait=60s HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        ))
        .await;
    // It is taken on, and whoever asked has no answer yet.
    let staged = loop {
        let list = world.get("auditor", "/v1/actions").await.json();
        if let Some(action) = list["data"].get(0) {
            break action.clone();
        }
        tokio::task::yield_now().await;
    };
    let mut nothing = [0; 1];
    let read = waiting.try_read(&mut nothing);
    assert!(read.is_err(), "no answer before somebody decides: {read:?}");
    drop(waiting);
    let shown = world.get("approver", &path(&staged)).await.json();
    assert_eq!(shown["status"], "staged");
    let votes = format!("{}/votes", path(&shown));
    let answer = world
        .post("approver", &votes, &vote(&shown, "approve"))
        .await;
    let mut now = answer.json();
    while now["status"] != "succeeded" {
        let again = format!("{}?wait=5s", path(&shown));
        now = world.get("service", &again).await.json();
    }
    assert_eq!(now["attempts"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_body_larger_than_the_limit_is_refused_over_the_wire_too() {
    let server = Server::start().await;
    let token = &server.world.tokens["service"];
    let head = format!(
        "POST /v1/actions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: 9999999\r\n\r\n"
    );
    let mut stream = server.connect(&head).await;
    let answer = read_until(&mut stream, "payload_too_large").await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn every_answer_has_the_headers_that_keep_it_where_it_belongs() {
    let plain = World::new().await;
    let public_url = Some("https://approvals.example".parse().expect("a URL"));
    let secure = World::with(WebConfig {
        public_url,
        ..WebConfig::default()
    })
    .await;
    for path in [
        "/livez",
        "/docs",
        "/v1/actions",
        "/nothing",
        "/openapi.json",
    ] {
        let answer = plain.get("auditor", path).await;
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
            ("strict-transport-security", ""),
        ] {
            assert_eq!(answer.header(name), value, "{path}: {name}");
        }
        let answer = secure.get("auditor", path).await;
        assert!(
            answer
                .header("strict-transport-security")
                .starts_with("max-age="),
            "{path}"
        );
    }
}
