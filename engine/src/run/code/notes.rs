//! What code learns and must learn again at every replay: the time, random bytes, that it slept, what
//! it was sent.

use std::time::Duration;

use serde_json::Value;

use super::shared::{Shared, differs, notes};
use crate::run::decide::Command;
use crate::run::driver::{Driver, Halt};
use crate::run::event::Note;
use crate::run::id::StepPath;
use crate::run::state::Run;
use crate::time::Timestamp;

/// The longest sleep at once: a wall clock that was set shows by then.
const SLEEP_MAX: Duration = Duration::from_mins(1);

pub(super) async fn now(shared: &Shared, path: Result<StepPath, Halt>) -> Result<Timestamp, Halt> {
    const WISH: &str = "the time";
    let (driver, path) = (&shared.driver, path?);
    let run = driver.run();
    let at = match notes(&run, &path, WISH)?.first() {
        Some(Note::Now(at)) => {
            shared.meet(&path);
            *at
        }
        Some(_) => return Err(differs(&run, path, WISH.to_owned())),
        None => {
            shared.caught_up(&path).await?;
            let at = driver.runs.store.time.now();
            note(driver, &path, Note::Now(at)).await?;
            at
        }
    };
    shared.answered(&path).await;
    Ok(at)
}

pub(super) async fn random(
    shared: &Shared,
    path: Result<StepPath, Halt>,
) -> Result<[u8; 16], Halt> {
    const WISH: &str = "random bytes";
    let (driver, path) = (&shared.driver, path?);
    let run = driver.run();
    let bytes = match notes(&run, &path, WISH)?.first() {
        Some(Note::Random(bytes)) => {
            shared.meet(&path);
            *bytes
        }
        Some(_) => return Err(differs(&run, path, WISH.to_owned())),
        None => {
            shared.caught_up(&path).await?;
            let bytes = driver.engine()?.random_bytes().map_err(Halt::Run)?;
            note(driver, &path, Note::Random(bytes)).await?;
            bytes
        }
    };
    shared.answered(&path).await;
    Ok(bytes)
}

/// The first length counts: a sleep that began ends when it would have, whatever the code says later.
pub(super) async fn sleep(
    shared: &Shared,
    path: Result<StepPath, Halt>,
    time: Duration,
) -> Result<(), Halt> {
    const WISH: &str = "a sleep";
    let (driver, path) = (&shared.driver, path?);
    let run = driver.run();
    let noted = notes(&run, &path, WISH)?;
    let until = match noted.first() {
        Some(Note::Sleep { until }) => *until,
        Some(_) => return Err(differs(&run, path, WISH.to_owned())),
        None => {
            shared.caught_up(&path).await?;
            let until = driver.runs.store.time.now().plus(time);
            note(driver, &path, Note::Sleep { until }).await?;
            until
        }
    };
    shared.meet(&path);
    if noted.last() != Some(&Note::Woke) {
        shared.caught_up(&path).await?;
        reach(driver, until).await;
        note(driver, &path, Note::Woke).await?;
    }
    shared.answered(&path).await;
    Ok(())
}

/// What came, or none where nothing came in time.
pub(super) async fn wait_for(
    shared: &Shared,
    path: Result<StepPath, Halt>,
    name: String,
    time: Option<Duration>,
) -> Result<Option<Value>, Halt> {
    let wish = match time {
        None => format!("a wait for the event {name:?}"),
        Some(_) => format!("a wait for the event {name:?} with a limit"),
    };
    let (driver, path) = (&shared.driver, path?);
    let run = driver.run();
    let noted = notes(&run, &path, &wish)?;
    let until = match (noted.first(), noted.get(1), time) {
        (None, _, _) => {
            shared.caught_up(&path).await?;
            // In one append: a wait with a limit is at no moment one without.
            let until = time.map(|time| driver.runs.store.time.now().plus(time));
            let limit = until.map(|until| Note::Sleep { until });
            let wait = Note::WaitFor { name: name.clone() };
            let wishes = [Some(wait), limit].into_iter().flatten();
            let wishes = wishes.map(|note| Command::Note {
                path: path.clone(),
                note,
            });
            driver.commit_all(wishes.collect()).await?;
            until
        }
        (Some(Note::WaitFor { name: other }), Some(Note::Sleep { until }), Some(_))
            if *other == name =>
        {
            Some(*until)
        }
        // It had a limit and has none now, or the other way round.
        (Some(_), Some(Note::Sleep { .. }), _) | (Some(_), _, Some(_)) => {
            return Err(differs(&run, path, wish));
        }
        (Some(Note::WaitFor { name: other }), _, None) if *other == name => None,
        (Some(_), _, None) => return Err(differs(&run, path, wish)),
    };
    shared.meet(&path);
    let mut changed = driver.live.watch();
    loop {
        let run = driver.run();
        match answer(&run, &path) {
            Answer::Came(data) => {
                shared.answered(&path).await;
                return Ok(Some(data));
            }
            Answer::Nothing => {
                shared.answered(&path).await;
                return Ok(None);
            }
            Answer::NotYet => shared.caught_up(&path).await?,
        }
        let (at, wanted) = (path.clone(), name.clone());
        let received = driver.commit(Command::Receive {
            path: at,
            name: wanted,
        });
        if received.await?.events != run.events {
            continue;
        }
        // What is answered holds a lock: it must not be kept.
        let moved = async {
            let moved = changed.wait_for(|now| now.events != run.events).await;
            moved.is_ok()
        };
        tokio::select! {
            moved = moved => {
                if !moved {
                    return Err(Halt::Stopping);
                }
            }
            () = reach_if(driver, until) => note(driver, &path, Note::Woke).await?,
        }
    }
}

/// How a wait ended.
enum Answer {
    /// It got this.
    Came(Value),
    /// Nothing came in time.
    Nothing,
    /// It has not ended.
    NotYet,
}

fn answer(run: &Run, path: &StepPath) -> Answer {
    match run.notes.get(path).and_then(|notes| notes.last()) {
        Some(Note::Received { name, index }) => {
            let index = usize::try_from(*index).unwrap_or(usize::MAX);
            let data = run.signals.get(name).and_then(|sent| sent.get(index));
            Answer::Came(data.map_or(Value::Null, |data| data.value()))
        }
        Some(Note::Woke) => Answer::Nothing,
        Some(Note::Now(_) | Note::Random(_) | Note::Sleep { .. } | Note::WaitFor { .. }) | None => {
            Answer::NotYet
        }
    }
}

async fn note(driver: &Driver, path: &StepPath, note: Note) -> Result<(), Halt> {
    let path = path.clone();
    driver.commit(Command::Note { path, note }).await?;
    Ok(())
}

async fn reach_if(driver: &Driver, until: Option<Timestamp>) {
    match until {
        Some(until) => reach(driver, until).await,
        None => std::future::pending().await,
    }
}

/// Waits until the engine's time is that late.
async fn reach(driver: &Driver, until: Timestamp) {
    let mut woken = driver.runs.woken();
    loop {
        let left = until.since(driver.runs.store.time.now());
        if left.is_zero() {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(left.min(SLEEP_MAX)) => {}
            // The clock was set.
            _ = woken.changed() => {}
        }
    }
}
