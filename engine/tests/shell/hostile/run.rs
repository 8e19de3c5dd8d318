//! All rows at once on one engine, with a clock that moves only while nothing is under way.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::{Action, ActionId, AttemptResult, Phase, Status};
use holdpoint_engine::engine::{Options, Versioned};
use holdpoint_engine::limits::CHECK_WAIT_MS_MAX;
use holdpoint_storage::MemoryLog;
use serde_json::{Map, json};

use super::doubts::Doubter;
use super::house::House;
use super::manners::Seen;
use super::rows::{End, Row};
use super::score::Score;
use crate::world::{
    ManualClock, Scene, Shop, alice, auditor, open_with, operator, service, submission, taken,
};

/// The longest backoff of the tools: while calls are made nothing is due later than this.
const STRIDE: Duration = Duration::from_secs(5);

/// Strides in which every call is made: three attempts of 30 s, each with its quiet time.
const STRIDES: u32 = 60;

/// The longest wait between two looks at the source of truth.
const LONG_STRIDE: Duration = Duration::from_millis(CHECK_WAIT_MS_MAX);

/// Strides after which every doubt has had all its looks: twenty in vain after each of three attempts.
const LONG_STRIDES: u32 = 80;

/// Longer than any target waits before it does something.
const LATE: Duration = Duration::from_hours(1);

/// A run under way.
pub(super) struct Run {
    scene: Scene,
    house: House,
    rows: Vec<Row>,
    ids: Vec<ActionId>,
}

impl Run {
    /// Opens all doors and submits a call for each row; approves where that is needed.
    pub(super) async fn begin(rows: Vec<Row>) -> Self {
        let clock = ManualClock::new();
        let house = House::new(Arc::clone(&clock));
        let doubters = rows
            .iter()
            .map(|row| row.doubter.unwrap_or(Doubter::Honest));
        let desk = house.desk(doubters.collect()).await;
        let mut doors = HashMap::new();
        let mut tools = Map::new();
        for (number, row) in rows.iter().enumerate() {
            let door = *doors
                .entry(row.manner.name.clone())
                .or_insert_with(|| house.door(Arc::clone(&row.manner)));
            tools.insert(format!("row_{number}"), row.tool(number, door, desk));
        }
        let log: Arc<MemoryLog> = Arc::new(MemoryLog::new());
        let options = Options {
            calls_max: 256,
            ..Options::default()
        };
        let tools = json!({ "tools": tools });
        let engine = open_with(log.clone(), &tools, Some(Arc::clone(&clock)), options).await;
        let scene = Scene {
            shop: Shop::open().await,
            engine,
            log,
            clock: Some(clock),
        };
        let mut ids = Vec::new();
        for number in 0..rows.len() {
            let wish = submission(&format!("row_{number}"), json!({ "amount": 1 }));
            let view = taken(scene.engine.submit(&service(), wish).await);
            if view.action.status() == Status::Staged {
                scene.approve(&alice(), &view).await;
            }
            ids.push(view.action.id);
        }
        Self {
            scene,
            house,
            rows,
            ids,
        }
    }

    fn view(&self, id: ActionId) -> Versioned {
        self.scene.engine.get(&auditor(), id).expect("visible")
    }

    /// Waits until nothing is under way at this moment of the clock; keeps what is still open.
    async fn quiet(&self, open: &mut Vec<ActionId>) {
        for id in &*open {
            while self.is_busy(&self.view(*id).action) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
        open.retain(|id| self.view(*id).action.due_at().is_some());
    }

    fn is_busy(&self, action: &Action) -> bool {
        let now = self.scene.engine.now();
        action.phase == Phase::Executing || action.due_at().is_some_and(|due| due <= now)
    }

    /// Goes to the end; checks every row; answers with the score.
    pub(super) async fn end(self) -> Score {
        let mut open = self.ids.clone();
        self.quiet(&mut open).await;
        let firsts: Vec<Seen> = self
            .ids
            .iter()
            .map(|id| first(&self.view(*id).action))
            .collect();
        let mut misread = Vec::new();
        for (row, seen) in self.rows.iter().zip(&firsts) {
            let expected = row.manner.seen;
            let fits = match expected {
                Seen::DoneOrUnknown => matches!(seen, Seen::Done | Seen::Unknown),
                Seen::NotDeliveredOrUnknown => matches!(seen, Seen::NotDelivered | Seen::Unknown),
                Seen::Done | Seen::Refused | Seen::NotDelivered | Seen::Unknown => {
                    *seen == expected
                }
            };
            if !fits {
                misread.push(format!("{}: it was seen as {seen:?}", row.name()));
            }
        }
        assert!(misread.is_empty(), "{misread:#?}");
        let short = (0..STRIDES).map(|_| STRIDE);
        for stride in short.chain((0..LONG_STRIDES).map(|_| LONG_STRIDE)) {
            if open.is_empty() {
                break;
            }
            self.scene.pass(stride);
            self.quiet(&mut open).await;
        }
        assert!(open.is_empty(), "i27: {} actions are stuck", open.len());
        // Whatever was to take effect late has done so before a person looks.
        self.scene.pass(LATE);
        let mut score = Score {
            manners: self
                .rows
                .iter()
                .map(|row| &row.manner.name)
                .collect::<BTreeSet<_>>()
                .len(),
            rows: self.rows.len(),
            ..Score::default()
        };
        for ((row, id), seen) in self.rows.iter().zip(&self.ids).zip(firsts) {
            self.judge(row, *id, seen, &mut score).await;
        }
        self.conserve();
        score
    }

    async fn judge(&self, row: &Row, id: ActionId, seen: Seen, score: &mut Score) {
        let action = self.view(id).action;
        let key = action.proposal.idempotency_key.clone();
        let (effects, sends) = {
            let books = self.house.books();
            let of = |counts: &std::collections::BTreeMap<String, u32>| {
                counts.get(&key).copied().unwrap_or(0)
            };
            (of(&books.effects), of(&books.sends))
        };
        let name = row.name();
        let told = format!("{action:?}");
        assert!(!told.contains("canary"), "{name}: {told}");
        score.sent += sends;
        score.performed += effects;
        score.duplicates += effects.saturating_sub(row.effects_max());
        assert!(
            effects <= row.effects_max(),
            "i02: {name}: {effects} effects"
        );
        let status = action.status();
        score.wrong_done += usize::from(status == Status::Succeeded && effects == 0);
        score.wrong_not_done += usize::from(status == Status::Failed && 0 < effects);
        assert!(
            !row.is_found() || sends == 1,
            "i02: {name}: sent {sends} times"
        );
        let waits = (status, action.due_at()) == (Status::Unknown, None);
        match row.end(seen) {
            End::Machine(expected) => {
                let seen = &action.attempts;
                assert_eq!(status, expected, "{name}: {:?} {seen:?}", action.phase);
            }
            End::Person => {
                assert!(waits, "{name}: {:?}", action.phase);
                let most = row.sends_max();
                assert!(sends <= most, "i02: {name}: sent {sends} times in doubt");
            }
            End::NothingDone => {
                assert_eq!(effects, 0, "{name}");
                assert!(
                    waits || status == Status::Failed,
                    "{name}: {:?}",
                    action.phase
                );
            }
        }
        if waits {
            let reason = "it is in the books".to_owned();
            let engine = &self.scene.engine;
            let settled = engine.settle(&operator(), id, 0 < effects, reason).await;
            let settled = settled.expect("settled");
            assert!(settled.action.status().is_final(), "{name}");
            score.by_person += 1;
        } else {
            score.by_machine += usize::from(seen == Seen::Unknown);
        }
    }

    /// I25: the target's count of effects, by our keys, is our count of what was done.
    fn conserve(&self) {
        let done: BTreeSet<String> = self
            .ids
            .iter()
            .map(|id| self.view(*id).action)
            .filter(|action| action.status() == Status::Succeeded)
            .map(|action| action.proposal.idempotency_key)
            .collect();
        let effects: BTreeSet<String> = self.house.books().effects.keys().cloned().collect();
        assert_eq!(done, effects, "i25: what was done is what is told of");
    }
}

/// What was made of the first attempt, while the clock stood still.
fn first(action: &Action) -> Seen {
    match (
        action.status(),
        action
            .attempts
            .first()
            .and_then(|first| first.result.as_ref()),
    ) {
        (Status::Succeeded, _) => Seen::Done,
        (Status::Failed, _) => Seen::Refused,
        (Status::Unknown, _) => Seen::Unknown,
        (_, Some(AttemptResult::NotDone)) => Seen::NotDelivered,
        (status, result) => panic!("{status:?} after {result:?}"),
    }
}
