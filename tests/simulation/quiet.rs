//! The end of a seed: the faults stop, and everything must come to its end (I25, I27, I6).

use std::time::Duration;

use crate::rebuild;
use crate::world::World;

/// How long it may take, once all faults have ended, until every action is final: longer than every
/// deadline, every quiet time and every backoff together.
const QUIET_MAX: Duration = Duration::from_hours(72);

impl World {
    /// The faults end; every action must become final within a bound, with an operator at hand.
    /// Answers whether it has come to an end; the process must be started again where not.
    pub(crate) async fn quiet(&self) -> bool {
        let world = self;
        world.weather.is_calm(true);
        let began = world.clock.true_ms();
        let bound = u64::try_from(QUIET_MAX.as_millis()).unwrap_or(u64::MAX);
        // What was asked for before is still taken on; its answers take minutes at most.
        tokio::time::sleep(Duration::from_mins(5)).await;
        loop {
            // A write that was on its way when the faults ended may have failed.
            if world.disk().has_stopped() {
                return false;
            }
            world.pull();
            let is_open = {
                let watch = world.watch();
                let actions = watch.models.values().any(|model| !model.is_final());
                actions || !watch.ears.behind().is_empty()
            };
            if !is_open || began + bound < world.clock.true_ms() {
                break;
            }
            if world.watch().switch.is_paused {
                world.resume().await;
            }
            world.mend_ears().await;
            world.settle().await;
            if world.has_work() {
                for _ in 0..4 {
                    world.work().await;
                }
            }
            tokio::time::sleep(Duration::from_mins(4)).await;
        }
        // Nothing is on its way any more.
        tokio::time::sleep(Duration::from_mins(5)).await;
        world.pull();
        world.conserve();
        if let Some(engine) = world.engine() {
            engine.shutdown(Duration::from_secs(5)).await;
        }
        if let Err(why) = rebuild::same(world).await {
            world.fail(why);
        }
        true
    }
}
