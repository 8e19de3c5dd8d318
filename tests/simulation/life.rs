//! One seed, from the first start to the last check.
//!
//! Each process lives in a runtime of its own, on one thread, with time that stands while anybody
//! has something to do. To kill it is to drop the runtime: whatever it was doing stays where it was
//! waiting.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::canon::Digest;
use holdpoint_engine::time::Clock as _;
use holdpoint_storage::EventLog as _;
use holdpoint_storage::verify::verify_chain;
use tokio::runtime::{Builder, Runtime};

use crate::actors::Deed;
use crate::dice::Dice;
use crate::tools::VERSIONS;
use crate::weather::Fault;
use crate::world::{Broken, World};

/// How many things happen in a seed, where `SIM_STEPS` does not say it.
const STEPS: u64 = 45;

/// How many in a long one, and how many seeds there are for each of these.
const LONG_STEPS: u64 = 450;
const LONG_ONE_IN: u64 = 100;

/// How often in a row the process may die while it starts.
const STARTS_MAX: u64 = 4;

/// What became of a seed.
pub(crate) struct Lived {
    pub(crate) wrong: Option<String>,
    pub(crate) trace: Vec<String>,
    /// Over everything that happened, and the log.
    pub(crate) digest: Digest,
    pub(crate) steps: u64,
    pub(crate) simulated_ms: u64,
    pub(crate) fired: Vec<u64>,
    pub(crate) transitions: Vec<(String, String, String)>,
    pub(crate) actions: u64,
    pub(crate) starts: u64,
    pub(crate) messages: u64,
}

impl Lived {
    /// Of a seed that did not come to its end.
    pub(crate) fn nothing() -> Self {
        Self {
            wrong: None,
            trace: Vec::new(),
            digest: Digest::of(&[]),
            steps: 0,
            simulated_ms: 0,
            fired: Vec::new(),
            transitions: Vec::new(),
            actions: 0,
            starts: 0,
            messages: 0,
        }
    }
}

/// Why a process ended.
enum End {
    Crash,
    /// Somebody puts an older copy in the place of the log.
    Restore,
    Restart,
    Done,
}

struct Life {
    world: Arc<World>,
    steps: u64,
    steps_max: u64,
    starts: u64,
    /// Which tools file the process has.
    tools: usize,
}

/// Lives through one seed.
pub(crate) fn live(seed: u64, broken: Broken) -> Lived {
    let mut life = Life {
        world: World::new(seed, broken),
        steps: 0,
        steps_max: steps_of(seed),
        starts: 0,
        tools: 0,
    };
    while life.process() {}
    life.finish()
}

fn steps_of(seed: u64) -> u64 {
    let told = std::env::var("SIM_STEPS").ok();
    let told = told.and_then(|steps| steps.parse().ok());
    told.unwrap_or(if seed % LONG_ONE_IN == LONG_ONE_IN / 2 {
        LONG_STEPS
    } else {
        STEPS
    })
}

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime")
}

/// By how much somebody sets a clock, in milliseconds: seconds to years.
fn step_of(dice: &Dice) -> i64 {
    let hour = 3_600_000;
    let scales = [5_000, 60_000, hour, 24 * hour, 3_650 * 24 * hour];
    let most = *dice.pick(&scales).unwrap_or(&hour);
    i64::try_from(dice.between(1, most)).unwrap_or(1)
}

impl Life {
    /// One process, from its start to its end. Answers whether there is another one.
    fn process(&mut self) -> bool {
        let world = Arc::clone(&self.world);
        let runtime = runtime();
        let end = runtime.block_on(async {
            world.clock.begin();
            let end = self.run().await;
            let down = world.dice.between(0, 20_000);
            world.clock.end(down);
            if world.strikes(Fault::ClockForwardWhileDown) {
                world.clock.step(step_of(&world.dice));
            }
            if world.strikes(Fault::SecretRotatedWhileDown) {
                world.safe.rotate();
            }
            if world.strikes(Fault::ClockBackWhileDown) {
                world.clock.step(-step_of(&world.dice));
            }
            end
        });
        world.forget_process();
        drop(runtime);
        world.bury();
        if let End::Restore = end {
            world.restore();
        }
        let is_wrong = world.watch().wrong.is_some();
        match end {
            End::Crash | End::Restore | End::Restart => !is_wrong,
            End::Done => false,
        }
    }

    async fn run(&mut self) -> End {
        let world = Arc::clone(&self.world);
        self.starts += 1;
        world.pull();
        if world.strikes(Fault::ToolsChange) {
            self.tools = world.dice.place(VERSIONS);
        }
        let (now, is_copy) = (world.clock.now().0, world.copies.is_unconfirmed());
        world.watch().begin(self.starts, now, self.tools);
        world.watch().restored.begin(is_copy);
        world.note(format!("start {}", self.starts));
        world.must_not_start(self.tools).await;
        if world.watch().wrong.is_some() {
            return End::Done;
        }
        if 1 < self.starts && world.strikes(Fault::FullAtStart) {
            world.disk().fill(world.dice.between(1, 60_000));
        }
        let unread = world.weather.struck(Fault::ReadFails);
        match self.start().await {
            None => {
                world.note("died while starting".to_owned());
                return End::Crash;
            }
            Some(Err(why)) => {
                // A disk that fails stops the start, and a confirmation needs room; the next one tries again.
                world.note(format!("could not start: {why}"));
                let could_read = world.weather.struck(Fault::ReadFails) == unread;
                let had_room = !is_copy || !world.disk().was_full();
                if !world.disk().has_stopped() && could_read && had_room {
                    world.fail(format!("I23: a start is refused: {why}"));
                }
                return End::Restart;
            }
            Some(Ok(())) if is_copy => world.must_be_confirmed(),
            Some(Ok(())) => {}
        }
        if self.starts == 1 {
            if let Err(why) = self.settle_in().await {
                world.fail(format!("nobody can move in: {why}"));
                return End::Done;
            }
            if world.broken == Broken::Switch {
                world.forge_pause().await;
            }
            world.weather.is_calm(false);
        }
        while self.steps < self.steps_max {
            self.steps += 1;
            if let Some(end) = self.step().await {
                return end;
            }
        }
        if self.world.quiet().await {
            End::Done
        } else {
            End::Restart
        }
    }

    /// Starts; none where the process dies in the middle of it.
    async fn start(&mut self) -> Option<Result<(), String>> {
        let world = Arc::clone(&self.world);
        let confirms = world.copies.is_unconfirmed();
        let mut starting = pin!(world.start(self.tools, confirms));
        let dies = self.starts > 1
            && !self.starts.is_multiple_of(STARTS_MAX + 1)
            && world.strikes(Fault::CrashInRecovery);
        let mut polls = if dies {
            world.dice.between(1, 8)
        } else {
            u64::MAX
        };
        std::future::poll_fn(|cx| {
            polls -= 1;
            match starting.as_mut().poll(cx) {
                std::task::Poll::Ready(started) => std::task::Poll::Ready(Some(started)),
                std::task::Poll::Pending if polls == 0 => std::task::Poll::Ready(None),
                std::task::Poll::Pending => std::task::Poll::Pending,
            }
        })
        .await
    }

    async fn settle_in(&self) -> Result<(), String> {
        let engine = self.world.engine().ok_or("there is no engine")?;
        let mut people = std::mem::take(&mut *self.world.people());
        let settled = people.settle_in(&engine).await;
        *self.world.people() = people;
        settled?;
        for number in 0..self.world.ears {
            self.world.wish(&engine, number).await?;
        }
        Ok(())
    }

    /// One thing happens, and a while passes.
    async fn step(&mut self) -> Option<End> {
        let world = &self.world;
        let dice = &world.dice;
        if world.disk().has_stopped() {
            world.note("the operator starts it again".to_owned());
            return Some(End::Restart);
        }
        let deed = Deed::drawn(world);
        world.note(format!("step {} {deed:?}", self.steps));
        tokio::spawn(deed.run(Arc::clone(world)));
        if world.strikes(Fault::StateMoves) {
            let by = i64::try_from(dice.between(1, 200)).unwrap_or(1);
            world.bank.moves(&format!("o{}", dice.below(4)), by);
        }
        if world.strikes(Fault::SecretRotated) {
            world.safe.rotate();
        }
        self.set_clock();
        world.back_up().await;
        if world.is_put_back() {
            return Some(End::Restore);
        }
        if world.strikes(Fault::Crash) {
            // Mostly while something is being written or sent, sometimes later.
            if dice.in_thousand(250) {
                self.wait().await;
            }
            tokio::time::sleep(Duration::from_micros(dice.below(12_000))).await;
            for _ in 0..dice.below(60) {
                tokio::task::yield_now().await;
            }
            world.note("crash".to_owned());
            return Some(End::Crash);
        }
        if dice.in_thousand(8) {
            world.note("shutdown".to_owned());
            if let Some(engine) = world.engine() {
                engine.shutdown(Duration::from_secs(5)).await;
            }
            return Some(End::Restart);
        }
        self.wait().await;
        world.pull();
        world.must_be_ready();
        world.must_show_doubts();
        world.watch().wrong.is_some().then_some(End::Done)
    }

    fn set_clock(&self) {
        let world = &self.world;
        if world.strikes(Fault::ClockForward) {
            world.clock.step(step_of(&world.dice));
            // Somebody votes and a worker goes on at that very moment, before any timer can know.
            tokio::spawn(Deed::Approve.run(Arc::clone(world)));
            tokio::spawn(Deed::Work.run(Arc::clone(world)));
        }
        if world.strikes(Fault::ClockBack) {
            world.clock.step(-step_of(&world.dice));
        }
    }

    /// Lets time pass: mostly moments, sometimes minutes, seldom hours.
    async fn wait(&self) {
        let dice = &self.world.dice;
        let millis = match dice.below(100) {
            0..25 => 0,
            25..60 => dice.between(1, 20),
            60..80 => dice.between(20, 2_000),
            80..93 => dice.between(2_000, 30_000),
            93..99 => dice.between(30_000, 600_000),
            _ => dice.between(600_000, 5_400_000),
        };
        if millis > 0 {
            tokio::time::sleep(Duration::from_millis(millis)).await;
        } else {
            tokio::task::yield_now().await;
        }
    }

    fn finish(self) -> Lived {
        let world = &self.world;
        let disk = world.disk();
        let end = disk
            .durable()
            .stats()
            .map_or(0, |stats| stats.last_position);
        let verified = verify_chain(disk.durable(), 0, end);
        let hash = match verified {
            Ok(verified) => verified.last_hash.to_string(),
            Err(error) => {
                world.fail(format!("I7: {error}"));
                String::new()
            }
        };
        let mut watch = std::mem::take(&mut *world.watch());
        let all = watch.trace.join("\n") + &hash;
        Lived {
            wrong: watch.wrong.take(),
            digest: Digest::of(all.as_bytes()),
            trace: watch.trace,
            steps: self.steps,
            simulated_ms: world.clock.true_ms(),
            fired: world.weather.fired(),
            transitions: watch.transitions.into_iter().collect(),
            actions: watch.models.len() as u64,
            starts: self.starts,
            messages: watch.ears.messages,
        }
    }
}
