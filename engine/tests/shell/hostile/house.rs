//! A house of targets that behave badly: raw sockets, so that an answer can be cut anywhere.
//!
//! Each manner has a door (a listener) of its own; behind each, a request names its row. What took
//! effect is counted by key, and every whole request makes an effect of its own unless its manner
//! says otherwise: a call that is sent twice shows as two effects.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdpoint_engine::time::Clock as _;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::doubts::Doubter;
use super::manners::{Deed, Door, Keys, Manner, Piece};
use crate::world::ManualClock;

/// What really happened, by idempotency key.
#[derive(Default)]
pub(super) struct Books {
    pub(super) effects: BTreeMap<String, u32>,
    pub(super) sends: BTreeMap<String, u32>,
    /// Effects that come later: when, in milliseconds of the test's clock, for which key, and what
    /// the target makes of a key that it has seen.
    later: Vec<(i64, String, Keys)>,
    asked: BTreeMap<String, u32>,
}

/// A request as it came in.
struct Request {
    row: usize,
    place: String,
    key: String,
}

/// All doors.
pub(super) struct House {
    books: Arc<Mutex<Books>>,
    clock: Arc<ManualClock>,
}

impl House {
    pub(super) fn new(clock: Arc<ManualClock>) -> Self {
        Self {
            books: Arc::default(),
            clock,
        }
    }

    pub(super) fn books(&self) -> MutexGuard<'_, Books> {
        let mut books = lock(&self.books);
        books.come_to_pass(self.clock.now().0);
        books
    }

    /// Opens a door with these manners behind it.
    pub(super) fn door(&self, manner: Arc<Manner>) -> SocketAddr {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket
            .bind("127.0.0.1:0".parse().expect("an address"))
            .expect("a port");
        let address = socket.local_addr().expect("an address");
        let books = Arc::clone(&self.books);
        let clock = Arc::clone(&self.clock);
        tokio::spawn(async move {
            let listener = match manner.door {
                // The port stays ours, and whoever knocks is turned away.
                Door::Closed => return hold(socket).await,
                Door::Unattended => return hold(socket.listen(64).expect("listens")).await,
                Door::Open => socket.listen(1024).expect("listens"),
            };
            while let Ok((stream, _)) = listener.accept().await {
                let (manner, books, clock) = (manner.clone(), books.clone(), clock.clone());
                tokio::spawn(async move { receive(stream, &manner, &books, &clock).await });
            }
        });
        address
    }

    /// Opens the desk where states are read and outcomes asked for, by row.
    pub(super) async fn desk(&self, doubters: Vec<Doubter>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (books, clock) = (Arc::clone(&self.books), Arc::clone(&self.clock));
        let doubters = Arc::new(doubters);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (doubters, books, clock) = (doubters.clone(), books.clone(), clock.clone());
                tokio::spawn(async move { inform(stream, &doubters, &books, &clock).await });
            }
        });
        address
    }
}

impl Books {
    /// Takes effects whose time has come.
    fn come_to_pass(&mut self, now: i64) {
        let (due, later) = std::mem::take(&mut self.later)
            .into_iter()
            .partition(|(at, ..)| *at <= now);
        self.later = later;
        let due: Vec<(i64, String, Keys)> = due;
        for (_, key, keys) in due {
            let count = self.effects.entry(key).or_default();
            match keys {
                Keys::Ignored => *count += 1,
                // What was done in the meantime under the same key is not done again.
                Keys::Honoured | Keys::Kept => *count = (*count).max(1),
            }
        }
    }

    fn perform(&mut self, manner: &Manner, key: &str, now: i64) {
        let is_first = self.sends.get(key).copied().unwrap_or(0) <= 1;
        let deed = if is_first || !manner.kind_later {
            manner.deed
        } else {
            Deed::Once
        };
        let count = match deed {
            Deed::Never => return,
            Deed::Later(wait) => {
                let wait = i64::try_from(wait.as_millis()).expect("a short time");
                return self.later.push((now + wait, key.to_owned(), manner.keys));
            }
            Deed::Once => 1,
            Deed::Twice => 2,
        };
        *self.effects.entry(key.to_owned()).or_default() += count;
    }
}

fn lock(books: &Mutex<Books>) -> MutexGuard<'_, Books> {
    books.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn hold<T>(held: T) {
    std::future::pending::<()>().await;
    drop(held);
}

/// Reads the head, or all of the request.
async fn read(stream: &mut TcpStream, whole: bool) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        if let Some(end) = find(&bytes, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = header(&head, "content-length").and_then(|text| text.parse().ok());
            if !whole || end + 4 + length.unwrap_or(0) <= bytes.len() {
                return parse(&head);
            }
        }
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return None,
            Ok(more) => bytes.extend_from_slice(&part[..more]),
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|part| part == wanted)
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn parse(head: &str) -> Option<Request> {
    let target = head.split(' ').nth(1)?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (row, place) = path.trim_start_matches('/').split_once('/')?;
    let key = header(head, "idempotency-key").map_or_else(
        || query.trim_start_matches("key=").to_owned(),
        |key| key.trim_matches('"').to_owned(),
    );
    Some(Request {
        row: row.parse().ok()?,
        place: place.to_owned(),
        key,
    })
}

/// The answer of a target with good manners.
pub(super) const GOOD: &str =
    "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 8\r\n\r\n{\"id\":1}";

async fn receive(
    mut stream: TcpStream,
    manner: &Manner,
    books: &Mutex<Books>,
    clock: &ManualClock,
) {
    for piece in &manner.script {
        let went_well = match piece {
            Piece::ReadHead => read(&mut stream, false).await.is_some(),
            Piece::Read => match read(&mut stream, true).await {
                Some(request) => {
                    if done_kindly(&request, manner, books, clock) {
                        let _gone = stream.write_all(GOOD.as_bytes()).await;
                        return;
                    }
                    true
                }
                None => false,
            },
            Piece::Write(bytes) => stream.write_all(bytes).await.is_ok(),
            Piece::Ever(bytes, pause) => {
                while stream.write_all(bytes).await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(*pause)).await;
                }
                false
            }
            Piece::Silence => {
                hold(()).await;
                false
            }
            Piece::Reset => {
                let _gone = stream.set_zero_linger();
                false
            }
        };
        if !went_well {
            return;
        }
    }
}

/// Counts a whole request and does what it asks for; whether it is to be answered properly.
fn done_kindly(
    request: &Request,
    manner: &Manner,
    books: &Mutex<Books>,
    clock: &ManualClock,
) -> bool {
    let mut books = lock(books);
    let sends = books.sends.entry(request.key.clone()).or_default();
    *sends += 1;
    let is_repeat = 1 < *sends;
    let known = books.effects.contains_key(&request.key);
    if manner.keys == Keys::Ignored || !known {
        books.perform(manner, &request.key, clock.now().0);
    }
    is_repeat && manner.kind_later
}

async fn inform(
    mut stream: TcpStream,
    doubters: &[Doubter],
    books: &Mutex<Books>,
    clock: &ManualClock,
) {
    let Some(request) = read(&mut stream, true).await else {
        return;
    };
    if request.place == "state" {
        let _gone = stream.write_all(&json_answer("{\"balance\":100}")).await;
        return;
    }
    let (count, number) = {
        let mut books = lock(books);
        books.come_to_pass(clock.now().0);
        let count = books.effects.get(&request.key).copied().unwrap_or(0);
        let number = books.asked.entry(request.key.clone()).or_default();
        *number += 1;
        (count, *number)
    };
    match doubters[request.row].answer(&request.key, count, number) {
        Some(bytes) => {
            let _gone = stream.write_all(&bytes).await;
        }
        None => hold(stream).await,
    }
}

/// A proper answer of 200.
pub(super) fn json_answer(body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// What an honest source of truth says.
pub(super) fn truth(key: &str, count: u32) -> Vec<u8> {
    let found: Vec<_> = (0..count).map(|_| json!({ "key": key })).collect();
    json_answer(&json!({ "refunds": found }).to_string())
}
