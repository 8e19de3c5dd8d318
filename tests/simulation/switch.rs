//! The pause switch: who uses it, and what must hold of it.
//!
//! Between a pause and the resumption that follows it, no commit record is in the log. Whoever was
//! told of a pause finds it there, a restart changes nothing about it, and no idempotent call leaves.

use holdpoint_engine::action::Event;
use holdpoint_engine::engine::Engine;
use holdpoint_engine::identity::Principal;
use holdpoint_engine::time::Clock as _;
use holdpoint_storage::{Batch, EventLog as _, NewRecord, StreamAppend, StreamId};

use crate::world::World;

/// The switch, as the log and those who use it know it.
#[derive(Clone, Default)]
pub(crate) struct Switch {
    /// What the last durable record of it says.
    pub(crate) is_paused: bool,
    /// How often somebody has begun to resume.
    resumptions: u64,
    /// How many of them are on their way.
    resuming: u32,
    /// Somebody was told that it is paused, when so many resumptions had begun.
    told: Option<u64>,
}

impl Switch {
    /// Reads a durable record of the switch.
    pub(crate) fn record(&mut self, kind: &str) -> Result<(), String> {
        let on = match kind {
            "engine.paused" => true,
            "engine.resumed" => false,
            other => return Err(format!("I6: {other} is no word about the pause switch")),
        };
        if self.is_paused == on {
            return Err(format!("I4: {kind} twice in a row"));
        }
        self.is_paused = on;
        Ok(())
    }

    /// A durable event of an action: nothing new leaves while it is paused.
    pub(crate) fn allows(&self, event: &Event) -> Result<(), String> {
        let leaves = matches!(
            event,
            Event::CommitRecorded { .. } | Event::ResendRecorded { .. }
        );
        if leaves && self.is_paused {
            return Err(format!("I1: {} while it is paused", event.kind()));
        }
        Ok(())
    }

    /// The process is gone, and whatever was on its way with it.
    pub(crate) fn bury(&mut self) {
        self.resuming = 0;
    }

    /// Which pause somebody was told of that nobody has begun to take back; none where there is none.
    pub(crate) fn told(&self) -> Option<u64> {
        self.told.filter(|told| *told == self.resumptions)
    }
}

/// An operator, as the engine knows them.
fn operator(world: &World, engine: &Engine) -> Option<Principal> {
    let name = *world.dice.pick(&["oscar", "olga"])?;
    let id = world.people().ids.get(name).cloned()?;
    engine.identity().principal(&id)
}

impl World {
    /// An operator pauses. Once that is answered it holds.
    pub(crate) async fn pause(&self) {
        let Some(engine) = self.engine() else {
            return;
        };
        let Some(by) = operator(self, &engine) else {
            return;
        };
        let begun = self.watch().switch.resumptions;
        let paused = engine.pause(&by, "something is wrong").await;
        self.note(format!("paused: {}", paused.is_ok()));
        if paused.is_err() {
            return;
        }
        self.pull();
        let mut watch = self.watch();
        if watch.switch.resumptions != begun || 0 < watch.switch.resuming {
            return;
        }
        if !watch.switch.is_paused {
            watch.fail("I5: somebody is told that it is paused, and it is not durable".to_owned());
        }
        watch.switch.told = Some(begun);
    }

    /// An operator resumes.
    pub(crate) async fn resume(&self) {
        let Some(engine) = self.engine() else {
            return;
        };
        let Some(by) = operator(self, &engine) else {
            return;
        };
        {
            let switch = &mut self.watch().switch;
            (switch.resumptions, switch.resuming) = (switch.resumptions + 1, switch.resuming + 1);
        }
        let resumed = engine.resume(&by, None).await;
        self.watch().switch.resuming -= 1;
        self.note(format!("resumed: {}", resumed.is_ok()));
    }

    /// Somebody else writes into the log that it is paused, and the engine cannot know.
    pub(crate) async fn forge_pause(&self) {
        let record = NewRecord {
            time_ms: self.clock.now().0,
            actor: "nobody".to_owned(),
            kind: "engine.paused".to_owned(),
            body: Vec::new(),
        };
        let append = StreamAppend {
            stream: StreamId::new("engine/pause").expect("a name"),
            expected: 0,
            records: vec![record],
        };
        let batch = Batch {
            streams: vec![append],
            ..Batch::default()
        };
        drop(self.disk().durable().append(batch).await);
    }

    /// Whether nothing leaves for certain, and did not since `before`, what [`Switch::told`] was
    /// then: fails where something left all the same.
    pub(crate) fn must_not_have_left(&self, before: Option<u64>, what: &str) {
        if before.is_some() && self.watch().switch.told() == before {
            self.fail(format!("I1: {what} is called while it is paused"));
        }
    }
}
