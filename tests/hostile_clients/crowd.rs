//! A crowd that means harm: thousands that say nothing, hundreds that say it slowly, some that send junk,
//! one that sends the same a hundred times at once, and an agent that sends all it can.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::junk::junk;
use crate::raw::{connect_from, exchange};
use crate::server::Server;

/// Connections that say nothing, where the machine has handles for them.
const IDLE: usize = 10_000;

/// How many come from one address: no more than the server lets in from one.
const PER_ADDRESS: usize = 1000;

/// Connections that send a head or a body byte by byte.
const SLOW: usize = 200;

/// The pause of those who send junk, so that they and not this machine's cores are what is measured.
const JUNK_PAUSE: Duration = Duration::from_millis(50);

/// Copies of one submission that are sent at once.
const COPIES: usize = 100;

/// The pause between one such burst and the next.
const BURST_PAUSE: Duration = Duration::from_millis(500);

/// Handles that everything else needs.
const SPARE: usize = 600;

/// Connections of the agent that floods.
const FLOODS: usize = 3;

/// How long to wait for them; it takes a part of this.
const PATIENCE: Duration = Duration::from_mins(2);

/// Everybody in it; gone when dropped.
pub(crate) struct Crowd {
    idle: Vec<TcpStream>,
    wished: usize,
    others: JoinSet<()>,
    stop: Arc<AtomicBool>,
    /// How many slow ones have begun.
    slow: Arc<AtomicUsize>,
    sent: Arc<AtomicUsize>,
    junk: Arc<AtomicUsize>,
    /// How many bursts of copies were answered.
    bursts: Arc<AtomicUsize>,
}

impl Crowd {
    pub(crate) async fn gather(server: &Server) -> Self {
        let mut crowd = Self {
            idle: Vec::new(),
            wished: IDLE.min(server.handles.saturating_sub(SPARE + SLOW + FLOODS)),
            others: JoinSet::new(),
            stop: Arc::default(),
            slow: Arc::default(),
            sent: Arc::default(),
            junk: Arc::default(),
            bursts: Arc::default(),
        };
        let mut opening = JoinSet::new();
        for number in 0..crowd.wished {
            // All of 127.0.0.0/8 is this machine.
            let from = Ipv4Addr::new(127, 0, 1, u8::try_from(number / PER_ADDRESS).unwrap_or(0));
            opening.spawn(connect_from(from, server.address));
            if 64 <= opening.len() {
                crowd
                    .idle
                    .extend(opening.join_next().await.and_then(Result::ok).flatten());
            }
        }
        while let Some(opened) = opening.join_next().await {
            crowd.idle.extend(opened.ok().flatten());
        }
        assert_eq!(crowd.idle.len(), crowd.wished, "idle connections");
        crowd.dribble(server);
        crowd.throw_junk(server);
        crowd.repeat(server);
        until(&crowd.slow, SLOW).await;
        until(&crowd.junk, 1).await;
        until(&crowd.bursts, 1).await;
        crowd
    }

    /// What of it is left out, where this machine has too few handles.
    pub(crate) fn skipped(&self) -> Option<String> {
        let missing = IDLE - self.wished;
        (0 < missing).then(|| {
            format!("{missing} of {IDLE} idle connections SKIPPED: too few file handles here (ulimit -Hn)")
        })
    }

    /// Heads and bodies, byte by byte.
    fn dribble(&mut self, server: &Server) {
        for number in 0..SLOW {
            let mut first = "POST /v1/actions HTTP/1.1\r\nhost: x\r\n".to_owned();
            if number % 2 == 0 {
                first = format!(
                    "{first}authorization: Bearer {}\r\ncontent-type: application/json\r\n\
                     content-length: 100000\r\n\r\n{{",
                    server.agent
                );
            }
            let (address, stop) = (server.address, Arc::clone(&self.stop));
            let begun = Arc::clone(&self.slow);
            self.others.spawn(async move {
                let Some(mut stream) = connect_from(Ipv4Addr::new(127, 0, 2, 1), address).await
                else {
                    return;
                };
                let mut piece = first.as_bytes();
                while !stop.load(Ordering::Relaxed) && stream.write_all(piece).await.is_ok() {
                    begun.fetch_add(usize::from(piece != b"x"), Ordering::Relaxed);
                    piece = b"x";
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            });
        }
    }

    /// Requests with two lengths, deep and huge JSON, one after the other.
    fn throw_junk(&mut self, server: &Server) {
        let (address, stop) = (server.address, Arc::clone(&self.stop));
        let thrown = Arc::clone(&self.junk);
        let post = |args: &str| {
            let body = format!("{{\"tool\":\"pay\",\"args\":{args}}}");
            let (key, length) = (&server.agent, body.len());
            format!(
                "POST /v1/actions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
                 content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            )
        };
        let mut requests: Vec<Vec<u8>> = junk(&server.agent)
            .into_iter()
            .map(|(_, request)| request)
            .collect();
        requests.push(post(&"[".repeat(100_000)).into_bytes());
        requests.push(post(&format!("\"{}\"", "x".repeat(8 << 20))).into_bytes());
        self.others.spawn(async move {
            for request in requests.iter().cycle() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                // Refused, or cut off while it is still being sent.
                drop(exchange(address, request).await);
                thrown.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(JUNK_PAUSE).await;
            }
        });
    }

    /// The same submission under the same key, many times at once, again and again.
    fn repeat(&mut self, server: &Server) {
        let url = format!("http://{}/v1/actions", server.address);
        let (agent, stop) = (server.agent.clone(), Arc::clone(&self.stop));
        let bursts = Arc::clone(&self.bursts);
        self.others.spawn(async move {
            let client = reqwest::Client::new();
            while !stop.load(Ordering::Relaxed) {
                let number = bursts.load(Ordering::Relaxed);
                let copies = (0..COPIES).map(|_| {
                    let request = client.post(&url).bearer_auth(&agent);
                    let body = format!("{{\"tool\":\"pay\",\"args\":{{\"burst\":{number}}}}}");
                    request
                        .header("content-type", "application/json")
                        .header("idempotency-key", format!("\"burst-{number}\""))
                        .body(body)
                        .send()
                });
                // Served, told to wait, or refused, as the server likes.
                drop(join_all(copies).await);
                bursts.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(BURST_PAUSE).await;
            }
        });
    }

    /// An agent that submits without a pause, from a few connections.
    pub(crate) async fn flood(&mut self, server: &Server) {
        for number in 0..FLOODS {
            let url = format!("http://{}/v1/actions", server.address);
            let (agent, stop) = (server.agent.clone(), Arc::clone(&self.stop));
            let sent = Arc::clone(&self.sent);
            self.others.spawn(async move {
                let client = reqwest::Client::new();
                let mut amount = number;
                while !stop.load(Ordering::Relaxed) {
                    amount += FLOODS;
                    let request = client.post(&url).bearer_auth(&agent);
                    let body = format!("{{\"tool\":\"pay\",\"args\":{{\"amount\":{amount}}}}}");
                    let request = request
                        .header("content-type", "application/json")
                        .body(body);
                    // Served or refused, as the server likes.
                    drop(request.send().await);
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        until(&self.sent, FLOODS).await;
    }

    /// What it is made of.
    pub(crate) fn words(&self) -> String {
        format!(
            "{} of {IDLE} idle connections, {} slow ones, {} pieces of junk, {} times {COPIES} copies at once \
             and {} requests of one agent",
            self.idle.len(),
            self.slow.load(Ordering::Relaxed),
            self.junk.load(Ordering::Relaxed),
            self.bursts.load(Ordering::Relaxed),
            self.sent.load(Ordering::Relaxed)
        )
    }

    /// Sends everybody home.
    pub(crate) async fn leave(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.idle.clear();
        self.others.shutdown().await;
    }
}

/// Waits until so many have come.
async fn until(count: &AtomicUsize, least: usize) {
    let come = async {
        while count.load(Ordering::Relaxed) < least {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let come = tokio::time::timeout(PATIENCE, come).await;
    assert!(come.is_ok(), "{count:?} of {least} came");
}
