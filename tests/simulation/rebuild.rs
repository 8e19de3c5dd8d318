//! Every state is a function of the log alone (I6): indexes built again have the same bytes, and who
//! there is, what endpoints there are and whether it is paused are the same.

use std::sync::Arc;

use holdpoint_engine::engine::{Engine, Options};
use holdpoint_engine::identity::{Key, Person};
use holdpoint_engine::webhook::{Endpoint, Place};
use holdpoint_storage::{Batch, Direction, Entries, EventLog, ScanRange};

use crate::bank::Line;
use crate::tools;
use crate::world::World;

/// The indexes that are made from the log: views, what is open, what workers may pull and have, who is
/// to be reminded; which people, keys and endpoints there are.
const MADE: [u8; 8] = [1, 2, 10, 11, 60, 20, 21, 40];

/// What is remembered of them, and how far endpoints are, which the log tells only now and then.
const BESIDE: [u8; 3] = [3, 27, 41];

/// What an engine knows besides.
#[derive(PartialEq)]
struct Known {
    people: Vec<Person>,
    keys: Vec<Key>,
    endpoints: Vec<Endpoint>,
    is_paused: bool,
}

impl Known {
    fn of(engine: &Engine, world: &World) -> Self {
        let identity = engine.identity();
        let root = world.people().ids.get("root").cloned();
        let by = root.and_then(|id| identity.principal(&id));
        let mut known = Self {
            people: identity.people(),
            keys: identity.keys(),
            endpoints: by.map_or_else(Vec::new, |by| engine.webhooks(&by)),
            is_paused: engine.is_paused(),
        };
        for key in &mut known.keys {
            key.last_used_at = None;
        }
        for endpoint in &mut known.endpoints {
            endpoint.place = Place::default();
            endpoint.silent = None;
        }
        known
    }
}

/// Throws the indexes away, starts an engine over the log, and compares. The process has shut down.
pub(crate) async fn same(world: &World) -> Result<(), String> {
    let disk = world.disk();
    let before = made(disk.durable())?;
    let known = world.engine().map(|engine| Known::of(&engine, world));
    let copy = Arc::new(disk.durable().reopen());
    for index in MADE.into_iter().chain(BESIDE) {
        let deletes = read(copy.as_ref(), index)?
            .into_iter()
            .map(|(key, _)| (index, key));
        let batch = Batch {
            deletes: deletes.collect(),
            ..Batch::default()
        };
        copy.append(batch)
            .await
            .map_err(|error| error.to_string())?;
    }
    let options = Options {
        clock: Arc::clone(&world.clock) as Arc<_>,
        target: Some(Arc::new(Line(Arc::clone(&world.bank)))),
        ..Options::default()
    };
    let log: Arc<dyn EventLog> = copy.clone();
    let engine = Engine::open(log, tools::registry(0), options)
        .await
        .map_err(|error| format!("I6: the log alone does not start: {error}"))?;
    let after = made(copy.as_ref())?;
    if before != after {
        return Err("I6: the indexes that the log alone gives are others".to_owned());
    }
    if known.is_some_and(|known| known != Known::of(&engine, world)) {
        return Err(
            "I6: the people, endpoints or pause that the log alone gives are others".to_owned(),
        );
    }
    Ok(())
}

fn made(log: &dyn EventLog) -> Result<Vec<Entries>, String> {
    MADE.iter().map(|index| read(log, *index)).collect()
}

fn read(log: &dyn EventLog, index: u8) -> Result<Entries, String> {
    log.scan(index, ScanRange::default(), usize::MAX, Direction::Forward)
        .map_err(|error| error.to_string())
}
