//! Targets that answer badly on purpose (faults N2, N3): one call, the right class, no hang.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use holdpoint_engine::action::{FailReason, Phase, Status};
use holdpoint_storage::{EventLog, MemoryLog};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::world::{Scene, Shop, open, service, submission, taken};

/// What is written after the request was read; then, perhaps, more for ever.
struct Manner {
    name: &'static str,
    first: Vec<u8>,
    ever: Option<(Vec<u8>, Duration)>,
    /// Whether the connection stays open in silence.
    silent: bool,
    expected: Status,
}

impl Manner {
    fn new(name: &'static str, first: impl Into<Vec<u8>>, expected: Status) -> Self {
        Self {
            name,
            first: first.into(),
            ever: None,
            silent: false,
            expected,
        }
    }

    fn then_ever(mut self, piece: impl Into<Vec<u8>>, pause: u64) -> Self {
        self.ever = Some((piece.into(), Duration::from_millis(pause)));
        self
    }

    fn then_silence(mut self) -> Self {
        self.silent = true;
        self
    }
}

async fn answer(mut stream: TcpStream, manner: &Manner) {
    let mut request = vec![0; 64 * 1024];
    let mut read = 0;
    // The requests are small: all of it is there when the end of the body is.
    while !request[..read].ends_with(b"}") {
        match stream.read(&mut request[read..]).await {
            Ok(0) | Err(_) => return,
            Ok(more) => read += more,
        }
    }
    if stream.write_all(&manner.first).await.is_err() {
        return;
    }
    if let Some((piece, pause)) = &manner.ever {
        while stream.write_all(piece).await.is_ok() {
            tokio::time::sleep(*pause).await;
        }
    }
    if manner.silent {
        std::future::pending::<()>().await;
    }
}

/// Answers with the address and the count of connections.
async fn serve(manner: Manner) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let manner = Arc::new(manner);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let manner = Arc::clone(&manner);
            tokio::spawn(async move { answer(stream, &manner).await });
        }
    });
    (address, count)
}

fn tool(address: SocketAddr) -> Value {
    json!({
        "safetyClass": "irreversible",
        "execute": {
            "http": { "post": format!("http://{address}/pay"), "json": { "a": "{a}" } },
            "timeout": "1s",
            "result": { "type": "object", "required": ["id"] },
        },
    })
}

#[expect(
    clippy::too_many_lines,
    reason = "one line for each manner, read as a table"
)]
fn manners() -> Vec<Manner> {
    let head = "HTTP/1.1 200 OK\r\n";
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let whole = |body: &str| format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    let huge_chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    vec![
        Manner::new("endless chunks", chunked, Status::Unknown).then_ever("1\r\n \r\n", 20),
        Manner::new("a bomb of chunks", chunked, Status::Unknown).then_ever(huge_chunk, 0),
        Manner::new("a byte now and then", "HTTP/1.1 2", Status::Unknown).then_ever("0", 300),
        Manner::new("silence", "", Status::Unknown).then_silence(),
        Manner::new("a closed stream", "", Status::Unknown),
        Manner::new(
            "silence in the body",
            format!("{head}content-length: 9\r\n\r\n{{"),
            Status::Unknown,
        )
        .then_silence(),
        Manner::new(
            "a close after the headers",
            format!("{head}content-length: 9\r\n\r\n"),
            Status::Unknown,
        ),
        Manner::new(
            "a length of gigabytes",
            format!("{head}content-length: 9999999999\r\n\r\n{{}}"),
            Status::Unknown,
        )
        .then_silence(),
        Manner::new(
            "two lengths",
            format!("{head}content-length: 3\r\ncontent-length: 9\r\n\r\n{{}}"),
            Status::Unknown,
        ),
        Manner::new(
            "a cut chunk",
            format!("{chunked}ff\r\n{{\"id\":1}}"),
            Status::Unknown,
        ),
        Manner::new(
            "a packed body",
            [
                format!("{head}content-encoding: gzip\r\ncontent-length: 10\r\n\r\n").as_bytes(),
                &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3],
            ]
            .concat(),
            Status::Unknown,
        ),
        Manner::new(
            "no UTF-8",
            [
                format!("{head}content-length: 2\r\n\r\n").as_bytes(),
                &[0xff, 0xfe],
            ]
            .concat(),
            Status::Unknown,
        ),
        Manner::new("another form", whole("{\"other\":1}"), Status::Unknown),
        Manner::new("a page", whole("<html>id</html>"), Status::Unknown),
        Manner::new("a key twice", whole("{\"id\":1,\"id\":2}"), Status::Unknown),
        Manner::new("deep nesting", whole(&"[".repeat(100_000)), Status::Unknown),
        Manner::new(
            "no content",
            "HTTP/1.1 204 No Content\r\n\r\n",
            Status::Unknown,
        ),
        Manner::new("news for ever", "", Status::Unknown)
            .then_ever("HTTP/1.1 103 Early Hints\r\n\r\n", 5),
        Manner::new(
            "other protocols",
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
            Status::Unknown,
        )
        .then_silence(),
        Manner::new("headers for ever", head, Status::Unknown)
            .then_ever("x: yyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n", 1),
        Manner::new("no HTTP", "SSH-2.0-OpenSSH_9.0\r\n", Status::Unknown).then_silence(),
        Manner::new(
            "an odd status",
            "HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n",
            Status::Unknown,
        ),
        Manner::new(
            "a redirect",
            "HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:1/?token=canary\r\ncontent-length: 0\r\n\r\n",
            Status::Unknown,
        ),
        Manner::new(
            "an answer and a half",
            [whole("{\"id\":1}"), whole("{\"id\":2}")].concat(),
            Status::Succeeded,
        ),
        Manner::new(
            "news and an answer",
            [
                "HTTP/1.1 100 Continue\r\n\r\n".to_owned(),
                whole("{\"id\":1}"),
            ]
            .concat(),
            Status::Succeeded,
        ),
        Manner::new(
            "a refusal with a broken body",
            "HTTP/1.1 400 No\r\ncontent-length: 100\r\n\r\nno",
            Status::Failed,
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn i02_a_target_that_answers_badly_is_called_once_and_never_believed() {
    let mut tools = serde_json::Map::new();
    let mut scenes = Vec::new();
    for (number, manner) in manners().into_iter().enumerate() {
        let (what, expected) = (manner.name, manner.expected);
        let (address, count) = serve(manner).await;
        let name = format!("tool_{number}");
        tools.insert(name.clone(), tool(address));
        scenes.push((name, what, expected, count));
    }
    let log: Arc<MemoryLog> = Arc::new(MemoryLog::new());
    let engine = open(log.clone(), &json!({ "tools": tools }), None).await;
    let scene = Scene {
        shop: Shop::open().await,
        engine,
        log,
        clock: None,
    };
    let mut ids = Vec::new();
    for (name, ..) in &scenes {
        let wish = submission(name, json!({ "a": 1 }));
        ids.push(taken(scene.engine.submit(&service(), wish).await).action.id);
    }
    for ((_, what, expected, count), id) in scenes.iter().zip(ids) {
        let ended = scene
            .until_that(id, |view| {
                view.action
                    .attempts
                    .iter()
                    .any(|attempt| attempt.result.is_some())
            })
            .await;
        assert_eq!(
            ended.action.status(),
            *expected,
            "{what}: {:?}",
            ended.action
        );
        assert_eq!(count.load(Ordering::SeqCst), 1, "{what}");
        assert!(
            !format!("{ended:?}").contains("canary"),
            "{what}: {ended:?}"
        );
    }
}

/// Every byte that the log holds.
fn all_bytes(log: &dyn EventLog) -> Vec<u8> {
    let records = log.read_all(0, 10_000).expect("the records");
    records.into_iter().flat_map(|record| record.body).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn i16_a_target_that_repeats_our_credential_does_not_bring_it_into_the_log() {
    const CANARY: &str = "canary-b7f1e0c2d9";
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("token");
    std::fs::write(&secret, format!("{CANARY}\n")).expect("a secret");
    for (status, quoted) in [
        ("200 OK", true),
        ("200 OK", false),
        ("400 No", true),
        ("500 Oh", false),
    ] {
        let body = if quoted {
            format!("{{\"id\":1,\"headers\":{{\"authorization\":\"Bearer {CANARY}\"}}}}")
        } else {
            format!("you sent Bearer {CANARY}")
        };
        let length = body.len();
        let first = format!(
            "HTTP/1.1 {status}\r\netag: \"{CANARY}\"\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let (address, _) = serve(Manner::new("an echo", first, Status::Unknown)).await;
        let mut echo = tool(address);
        echo["execute"]["http"]["auth"] =
            json!({ "bearer": { "file": secret.to_str().expect("a path") } });
        let log: Arc<MemoryLog> = Arc::new(MemoryLog::new());
        let engine = open(log.clone(), &json!({ "tools": { "echo": echo } }), None).await;
        let scene = Scene {
            shop: Shop::open().await,
            engine,
            log,
            clock: None,
        };
        let view = scene.submit("echo", json!({ "a": 1 })).await;
        let ended = scene
            .until_that(view.action.id, |view| {
                view.action
                    .attempts
                    .iter()
                    .any(|attempt| attempt.result.is_some())
            })
            .await;
        let told = format!("{:?}", ended.action);
        assert!(!told.contains(CANARY), "{told}");
        let bytes = all_bytes(scene.log.as_ref());
        let found = bytes
            .windows(CANARY.len())
            .any(|part| part == CANARY.as_bytes());
        assert!(!found, "{status}: the log holds the credential");
        if let Phase::Failed(FailReason::TargetRefused { answer }) = &ended.action.phase {
            assert!(
                answer.as_str().contains("id"),
                "the rest is kept: {answer:?}"
            );
        }
    }
}
