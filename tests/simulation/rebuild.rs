//! Every state is a function of the log alone (I6): indexes built again have the same bytes.

use std::sync::Arc;

use holdpoint_engine::engine::{Engine, Options};
use holdpoint_storage::{Batch, Direction, Entries, EventLog, ScanRange};

use crate::bank::Line;
use crate::tools;
use crate::world::World;

/// The engine's indexes: views, what is open, and what it remembers of them.
const VIEWS: u8 = 1;
const OPEN: u8 = 2;
const META: u8 = 3;
const WORK: u8 = 10;
const REMIND: u8 = 60;

/// Throws the indexes away, starts an engine over the log, and compares. The process has shut down.
pub(crate) async fn same(world: &World) -> Result<(), String> {
    let disk = world.disk();
    let all = |log: &dyn EventLog| -> Result<Vec<Entries>, String> {
        let indexes = [VIEWS, OPEN, WORK, REMIND];
        indexes.iter().map(|index| read(log, *index)).collect()
    };
    let before = all(disk.durable())?;
    let copy = Arc::new(disk.durable().reopen());
    for index in [VIEWS, OPEN, META, WORK, REMIND] {
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
    let engine = Engine::open(log, tools::registry(false), options)
        .await
        .map_err(|error| format!("I6: the log alone does not start: {error}"))?;
    let after = all(copy.as_ref())?;
    drop(engine);
    if before == after {
        Ok(())
    } else {
        Err("I6: the indexes that the log alone gives are others".to_owned())
    }
}

fn read(log: &dyn EventLog, index: u8) -> Result<Entries, String> {
    log.scan(index, ScanRange::default(), usize::MAX, Direction::Forward)
        .map_err(|error| error.to_string())
}
