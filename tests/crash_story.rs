//! The kill test: the server is killed at random moments, the shop and the clients live on.
//!
//! The server is the real program, `holdpoint serve`, on the example's folder. The shop is told to
//! forget its idempotency keys, so that nobody but the engine can prevent a second refund.
//!
//! `HOLDPOINT_KILLS` sets how often it is killed (100), `HOLDPOINT_SEED` replays the choices of a run:
//! moments, switches and changes of orders. What the operating system does in between stays its own.

#[path = "crash/clerk.rs"]
mod clerk;
#[expect(dead_code, reason = "the example uses more of it")]
#[path = "../examples/refunds/client.rs"]
mod client;
#[expect(dead_code, reason = "the example uses more of it")]
#[path = "../examples/refunds/house.rs"]
mod house;
#[path = "crash/random.rs"]
mod random;
#[path = "crash/server.rs"]
mod server;
#[expect(dead_code, reason = "the example uses more of it")]
#[path = "../examples/refunds/setup.rs"]
mod setup;
#[path = "../examples/refunds/shop/mod.rs"]
mod shop;
#[path = "crash/worker.rs"]
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clerk::{Acknowledged, Clerk};
use client::{Client, FINAL, Failure};
use random::Random;
use serde_json::{Value, json};
use server::Server;
use setup::Folder;
use shop::Shop;
use worker::Worker;

/// How many clients submit and approve at the same time.
const CLERKS: u64 = 3;
/// How many services pull work at the same time.
const WORKERS: u64 = 2;

/// I1 I2 I5 I6 I23 I25: P1 and P2 at random moments of the whole story.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i05_killed_at_any_moment_nothing_acknowledged_is_lost_and_nothing_is_called_twice()
-> Result<(), Failure> {
    let kills = read_variable("HOLDPOINT_KILLS")?.unwrap_or(100);
    let seed = match read_variable("HOLDPOINT_SEED")? {
        Some(seed) => seed,
        None => Random::fresh_seed()?,
    };
    println!("HOLDPOINT_SEED={seed} HOLDPOINT_KILLS={kills}");
    let mut random = Random::new(seed);

    let root = tempfile::tempdir()?;
    let folder = Folder::open(root.path())?;
    let shop_address = setup::free_address().await?;
    let shop = open_shop(&folder, shop_address).await?;
    let mut server = Server::start(root.path(), setup::free_address().await?).await?;
    server.ready().await?;

    let client = Client::new(server.url())?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut clerks = Vec::new();
    for number in 0..CLERKS {
        let random = Random::new(random.next());
        let clerk = Clerk::sign_in(number, &client, &server.cast()?, &shop, random).await?;
        clerks.push(tokio::spawn(clerk.work(Arc::clone(&stop))));
    }
    let rest = Arc::new(AtomicBool::new(false));
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        let (key, token) = (server.worker_key.clone(), folder.shop_token()?);
        let worker = Worker::new(client.clone(), key, shop_address, token)?;
        workers.push(tokio::spawn(worker.work(Arc::clone(&rest))));
    }
    for _ in 0..kills {
        // One time in four while it starts, which is when it recovers from the kill before.
        if random.below(4) > 0 {
            server.ready().await?;
        }
        tokio::time::sleep(Duration::from_millis(random.below(200))).await;
        server.kill()?;
        mishap(&shop, &mut random);
        server.start_again()?;
    }
    server.ready().await?;
    shop.switches.lose_answers(0);
    shop.switches.fail_after(0);
    stop.store(true, Ordering::SeqCst);
    let mut acknowledged = Vec::new();
    for clerk in clerks {
        acknowledged.extend(clerk.await??);
    }
    let wrong = check(&client, &server, &shop, &acknowledged).await?;
    rest.store(true, Ordering::SeqCst);
    let mut given = 0;
    for worker in workers {
        given += worker.await??;
    }
    // A start that was refused has ended the test before it came here.
    println!(
        "{kills} kills, {} actions acknowledged, {given} given to workers; \
         lost {}, done twice {}, starts refused 0, starts slower than 5 s {}",
        acknowledged.len(),
        wrong.lost.len(),
        wrong.twice.len(),
        server.slow_starts,
    );
    println!("{:#?}", happened(&client, &server).await?);
    assert!(
        wrong.lost.is_empty() && wrong.twice.is_empty(),
        "{wrong:#?}"
    );
    assert!(given != 0, "no worker was ever given anything");
    Ok(())
}

/// What must not be.
#[derive(Debug, Default)]
struct Wrong {
    /// Acknowledged, and not there, or not as it was acknowledged.
    lost: Vec<String>,
    /// Called or done more often than the record says, or without one.
    twice: Vec<String>,
}

/// Looks for all that must be true once it is quiet.
async fn check(
    client: &Client,
    server: &Server,
    shop: &Shop,
    acknowledged: &[Acknowledged],
) -> Result<Wrong, Failure> {
    let cast = server.cast()?;
    let ada = client.sign_in(&cast.ada.email, &cast.ada.password).await?;
    assert!(!acknowledged.is_empty(), "nothing was ever acknowledged");
    let mut wrong = Wrong::default();
    for entry in acknowledged {
        let action = client.wait_for(&ada, &entry.id, &FINAL).await?;
        let votes = action["approval"]["votes"].as_array();
        let votes_of = |person: &String| {
            let votes = votes.into_iter().flatten();
            votes.filter(|vote| vote["name"] == json!(person)).count()
        };
        let status = action["status"].as_str().unwrap_or_default();
        if action["args"] != entry.args
            || entry.voted.iter().any(|person| votes_of(person) != 1)
            || !["succeeded", "replan_required"].contains(&status)
        {
            wrong.lost.push(format!("{entry:?} is {action}"));
        }
        let key = action["idempotency_key"].as_str().unwrap_or_default();
        let books = shop.ledger.read();
        let calls = books.calls.get(key).copied().unwrap_or(0);
        let effects = books.effects(key);
        if 1 < calls || effects != usize::from(status == "succeeded") {
            wrong
                .twice
                .push(format!("{calls} calls and {effects} effects of {action}"));
        }
    }
    // What was sent twice was taken once, and nothing is there that nobody asked for.
    let ids: BTreeSet<_> = acknowledged.iter().map(|entry| &entry.id).collect();
    if ids.len() != acknowledged.len() {
        wrong
            .lost
            .push("two submissions share an action".to_owned());
    }
    let books = shop.ledger.read();
    let refunds = books.refunds.iter().map(|refund| &refund.key);
    let keys: Vec<_> = refunds
        .chain(books.notes.iter().map(|note| &note.key))
        .collect();
    let different: BTreeSet<_> = keys.iter().collect();
    let succeeded = count(client, &ada, "succeeded").await?;
    if different.len() != keys.len() || succeeded != keys.len() {
        wrong.twice.push(format!(
            "{} effects at the shop under {} keys, {succeeded} actions succeeded",
            keys.len(),
            different.len()
        ));
    }
    Ok(wrong)
}

/// How often each kind of event happened, for whoever reads the output: a run in which nothing was
/// ever in doubt would have proved little.
async fn happened(client: &Client, server: &Server) -> Result<BTreeMap<String, usize>, Failure> {
    let ada = server.cast()?.ada;
    let token = client.sign_in(&ada.email, &ada.password).await?;
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut after = json!(0);
    loop {
        let path = format!("/v1/events?after={after}&limit=1000");
        let page = client
            .call(&token, "GET", &path, None)
            .await?
            .expect_ok("reading the log")?;
        let events = page.body["data"].as_array();
        for event in events.into_iter().flatten() {
            let kind = event["kind"].as_str().unwrap_or_default();
            if kind.starts_with("action.") {
                *kinds.entry(kind.to_owned()).or_default() += 1;
            }
        }
        if events.is_none_or(Vec::is_empty) {
            return Ok(kinds);
        }
        after = page.body["next_after"].clone();
    }
}

/// How many actions have a status, page by page.
async fn count(client: &Client, token: &str, status: &str) -> Result<usize, Failure> {
    let mut found = 0;
    let mut cursor = String::new();
    loop {
        let path = format!("/v1/actions?status={status}&limit=100{cursor}");
        let page = client
            .call(token, "GET", &path, None)
            .await?
            .expect_ok("listing")?;
        found += page.body["data"].as_array().map_or(0, Vec::len);
        match page.body["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(found),
        }
    }
}

async fn open_shop(folder: &Folder, address: std::net::SocketAddr) -> Result<Shop, Failure> {
    folder.write_tools(address)?;
    let mut tools: Value = serde_json::from_slice(&std::fs::read(folder.tools())?)?;
    tools["tools"][worker::TOOL] = worker::definition(address);
    std::fs::write(folder.tools(), tools.to_string())?;
    let shop = Shop::open(folder.books(), &folder.shop_token()?, Vec::new())?;
    shop.switches.forget_keys(true);
    let listener = tokio::net::TcpListener::bind(address).await?;
    tokio::spawn(shop.clone().serve(listener));
    Ok(shop)
}

/// Lets the shop misbehave for a while.
fn mishap(shop: &Shop, random: &mut Random) {
    match random.below(6) {
        0 => shop.switches.lose_answers(2),
        1 => shop.switches.fail_after(2),
        2 => shop.switches.slow(random.below(80)),
        _ => shop.switches.slow(0),
    }
}

fn read_variable(name: &str) -> Result<Option<u64>, Failure> {
    match std::env::var(name) {
        Ok(text) => Ok(Some(
            text.parse()
                .map_err(|_| format!("{name} is not a number: {text}"))?,
        )),
        Err(_) => Ok(None),
    }
}
