//! The load: many clients at once, on one thread of their own.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::client::{Client, Proposal, Target};
use super::figures::Times;
use super::rate::Rate;
use super::shop::Shop;
use crate::failure::{Failure, Outcome};

/// How many clients there are, for how long, and how often they do their work in all.
#[derive(Clone, Copy)]
pub(super) struct Crowd {
    /// Clients at once, each with a connection.
    pub(super) clients: usize,
    /// When the last piece of work begins at the latest.
    pub(super) time: Duration,
    /// How often the work is done at most.
    pub(super) count: u64,
}

/// What whole actions came to.
pub(super) struct Whole {
    /// How many in how long.
    pub(super) rate: Rate,
    /// From sending the approval to the arrival of the call, where the shop is ours.
    pub(super) to_call: Times,
    /// From sending the approval until the client knows the end.
    pub(super) to_end: Times,
    /// How many ended how.
    pub(super) ends: BTreeMap<String, u64>,
}

/// Submissions that are durable and wait for people, and their ids.
pub(super) async fn stage(
    target: &Arc<Target>,
    crowd: Crowd,
    proposal: Proposal,
) -> Outcome<(Rate, Vec<String>)> {
    run(target, crowd, async move |client, name| {
        let action = client.submit(&proposal, &name).await?;
        Ok(action.id)
    })
    .await
}

/// Whole actions: submitted, approved, read again, called, recorded, and seen to be so.
pub(super) async fn complete(
    target: &Arc<Target>,
    crowd: Crowd,
    proposal: Proposal,
    shop: Option<Shop>,
) -> Outcome<Whole> {
    let (rate, done) = run(target, crowd, async move |client, name| {
        let action = client.submit(&proposal, &name).await?;
        let called = shop.as_ref().map(|shop| shop.watch(&name));
        let sent = Instant::now();
        client.approve(&action).await?;
        let end = client.end(&action).await?;
        let to_end = sent.elapsed();
        let called = called.and_then(|mut called| called.try_recv().ok());
        let to_call = called.map(|called| called.saturating_duration_since(sent));
        Ok((end, to_call, to_end))
    })
    .await?;
    let mut ends = BTreeMap::new();
    for (end, ..) in &done {
        *ends.entry(end.clone()).or_insert(0) += 1;
    }
    Ok(Whole {
        rate,
        to_call: Times::of(done.iter().filter_map(|(_, to_call, _)| *to_call).collect()),
        to_end: Times::of(done.iter().map(|(.., to_end)| *to_end).collect()),
        ends,
    })
}

/// Cancels what waits; answers how many were.
pub(super) async fn cancel(
    target: &Arc<Target>,
    clients: usize,
    time: Duration,
    ids: Vec<String>,
) -> Outcome<u64> {
    let crowd = Crowd {
        clients,
        time,
        count: u64::try_from(ids.len()).unwrap_or(u64::MAX),
    };
    let ids = Cell::new(ids);
    let (rate, _) = run(target, crowd, async move |client, _| {
        let mut left = ids.take();
        let id = left.pop();
        ids.set(left);
        match id {
            Some(id) => client.cancel(&id).await,
            None => Ok(()),
        }
    })
    .await?;
    Ok(rate.count)
}

/// Does some work over and over, each client one piece after another.
///
/// All clients share one thread with a runtime of its own: the server keeps its threads to itself,
/// and the clients need no locks between them.
async fn run<T: Send + 'static>(
    target: &Arc<Target>,
    crowd: Crowd,
    work: impl AsyncFn(&mut Client, String) -> Outcome<T> + Send + 'static,
) -> Outcome<(Rate, Vec<T>)> {
    let target = Arc::clone(target);
    let thread = move || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::because("cannot start the clients", &error))?
            .block_on(rounds(&target, crowd, work))
    };
    tokio::task::spawn_blocking(thread)
        .await
        .map_err(|error| Failure::because("the clients were lost", &error))?
}

async fn rounds<T>(
    target: &Arc<Target>,
    crowd: Crowd,
    work: impl AsyncFn(&mut Client, String) -> Outcome<T>,
) -> Outcome<(Rate, Vec<T>)> {
    let mut clients = Vec::with_capacity(crowd.clients);
    for number in 0..crowd.clients {
        clients.push(Client::open(target, number).await?);
    }
    let (start, left) = (Instant::now(), Cell::new(crowd.count));
    let rounds = clients.into_iter().map(async |mut client| {
        let mut done = Vec::new();
        while start.elapsed() < crowd.time
            && let Some(fewer) = left.get().checked_sub(1)
        {
            left.set(fewer);
            done.push(work(&mut client, target.next_name()).await?);
        }
        Ok::<_, Failure>(done)
    });
    let done: Vec<T> = futures_util::future::try_join_all(rounds)
        .await?
        .into_iter()
        .flatten()
        .collect();
    let rate = Rate {
        count: u64::try_from(done.len()).unwrap_or(u64::MAX),
        time: start.elapsed(),
    };
    Ok((rate, done))
}
