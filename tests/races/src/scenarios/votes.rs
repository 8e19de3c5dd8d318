//! Everybody decides about one action at once (invariants I4, I11), on the real core and log.

use std::sync::Arc;

use holdpoint_engine::action::{Action, Command, Event, Refusal, Status, decide, evolve};
use shuttle::thread;

use crate::batch::{Batch, StreamAppend};
use crate::given::{Case, DEADLINE, approve, at, commit, id, reject};
use crate::log::{AppendError, Disk, Log};
use crate::record::{NewRecord, StreamId, Version};
use crate::store::waiters::Waiters;

struct House {
    log: Log,
    waiters: Waiters,
}

fn stream() -> StreamId {
    StreamId::new("a").expect("a name")
}

impl House {
    fn load(&self) -> (Action, Version, Vec<Event>) {
        let (mut action, mut events) = (None, Vec::new());
        for record in self.log.stream(&stream()) {
            let config = bincode::config::standard();
            let (event, _) = bincode::decode_from_slice(&record.body, config).expect("an event");
            action = Some(evolve(action, id(), &event).expect("the log is legal"));
            events.push(event);
        }
        let version = events.len() as Version;
        (action.expect("it is staged"), version, events)
    }

    fn append(&self, expected: Version, events: &[Event]) -> Result<(), AppendError> {
        let record = |event: &Event| NewRecord {
            time_ms: 1,
            actor: "a".into(),
            kind: event.kind().into(),
            body: bincode::encode_to_vec(event, bincode::config::standard()).expect("stored"),
        };
        let append = StreamAppend {
            stream: stream(),
            expected,
            records: events.iter().map(record).collect(),
        };
        let batch = Batch {
            streams: vec![append],
            ..Batch::default()
        };
        self.log.append(batch)?;
        self.waiters.wake(id(), expected + events.len() as Version);
        Ok(())
    }

    /// As `Store::act` does: load, decide, append on the version that was loaded.
    fn act(&self, wish: &Command) -> Result<Vec<Event>, Refusal> {
        loop {
            let (action, version, _) = self.load();
            let events = decide(Some(&action), wish.clone())?;
            if events.is_empty() {
                return Ok(events);
            }
            match self.append(version, &events) {
                Ok(()) => return Ok(events),
                Err(AppendError::VersionConflict { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Waits until it was decided, then does what is left to do.
    fn execute(&self) {
        let mut waiter = self.waiters.register(id());
        while self.load().0.status() == Status::Staged {
            shuttle::future::block_on(waiter.changed());
        }
        drop(self.act(&commit(at(3))));
    }
}

fn is_outcome(event: &Event) -> bool {
    [
        "action.approved",
        "action.rejected",
        "action.expired",
        "action.cancelled",
    ]
    .contains(&event.kind())
}

fn check(house: &House) {
    let (action, _, events) = house.load();
    let outcomes: Vec<_> = events.iter().filter(|event| is_outcome(event)).collect();
    let kinds: Vec<_> = events.iter().map(Event::kind).collect();
    let is_approved = outcomes[0].kind() == "action.approved";
    // After an approval a cancel or the deadline may still come, before the commit record only.
    assert!(
        outcomes.len() == 1 || (is_approved && outcomes.len() == 2),
        "{kinds:?}"
    );
    let commits = kinds
        .iter()
        .filter(|kind| **kind == "action.commit_recorded")
        .count();
    assert!(
        commits <= usize::from(is_approved && outcomes.len() == 1),
        "{kinds:?}"
    );
    assert_eq!(
        commits == 1,
        action.status() == Status::Executing,
        "{kinds:?}"
    );
}

/// One approves, one rejects, the requester cancels, the deadline passes, the engine commits.
pub fn votes() -> impl Fn() + Send + Sync + 'static {
    let disk = Disk::new();
    move || {
        let house = Arc::new(House {
            log: Log::open(&disk, 1000),
            waiters: Waiters::default(),
        });
        house.append(0, &Case::staged().events).expect("staged");
        let cancel = Command::Cancel {
            by: "key_checkout".to_owned(),
            reason: None,
            at: at(1),
        };
        let wishes = [
            approve("ana", at(1)),
            reject("ben", at(1)),
            cancel,
            Command::ReachDeadline { at: DEADLINE },
        ];
        let mut threads = Vec::new();
        for wish in wishes {
            let house = Arc::clone(&house);
            threads.push(thread::spawn(move || {
                let taken = house.act(&wish).is_ok_and(|events| !events.is_empty());
                // The same again is answered as before, and changes nothing.
                let again = house.act(&wish).is_ok_and(|events| !events.is_empty());
                assert!(!(taken && again), "{wish:?} counted twice");
            }));
        }
        let engine = Arc::clone(&house);
        threads.push(thread::spawn(move || engine.execute()));
        for thread in threads {
            thread.join().expect("no panic");
        }
        check(&house);
        Arc::into_inner(house).expect("all have ended").log.close();
    }
}
