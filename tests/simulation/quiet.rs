//! The end of a seed: the faults stop, and everything must come to its end (I25, I27, I6).

use std::time::Duration;

use holdpoint_engine::time::Clock as _;

use crate::model::Model;
use crate::rebuild;
use crate::world::World;

/// How long the machine may take, once all faults have ended, until nothing is left but what only a
/// person can end: longer than every deadline, every quiet time and every backoff of a call together.
const ALONE_MAX: Duration = Duration::from_hours(8);

/// How long it may take after that until everything is final.
const QUIET_MAX: Duration = Duration::from_hours(72);

/// What is to leave later than this was asked for while the clock was wrong.
const FAR: Duration = Duration::from_hours(1);

/// How soon people see what is unknown.
const SHOWN_WITHIN: Duration = Duration::from_mins(1);

/// Between two looks.
const LOOK: Duration = Duration::from_mins(4);

impl World {
    /// The faults end. The machine alone brings every action to its end, or to a person; then an
    /// operator ends the rest. Answers whether it has come to that; the process must be started again
    /// where not.
    pub(crate) async fn quiet(&self) -> bool {
        let world = self;
        world.weather.is_calm(true);
        // What was asked for before is still taken on; its answers take minutes at most.
        tokio::time::sleep(Duration::from_mins(5)).await;
        world.call_off_what_is_far_away().await;
        let ended_alone = world.wait_until(ALONE_MAX, World::is_left_to_people).await;
        if ended_alone.is_none() {
            return false;
        }
        world.must_have_moved();
        let bound = world.clock.true_ms() + millis(QUIET_MAX);
        while !world.is_over() && world.clock.true_ms() < bound {
            world.mend_ears().await;
            world.settle().await;
            if world.wait_until(LOOK, World::is_over).await.is_none() {
                return false;
            }
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

    /// Whoever chose a moment by a clock that was set years ahead calls the action off.
    async fn call_off_what_is_far_away(&self) {
        let Some((engine, by)) = self.administered() else {
            return;
        };
        let far = self.clock.now().plus_ms(millis(FAR)).0;
        self.pull();
        let found: Vec<String> = {
            let watch = self.watch();
            let all = watch.models.iter();
            let late = all.filter(|(_, model)| !model.is_final() && model.leaves_after(far));
            late.map(|(id, _)| format!("act_{id}")).collect()
        };
        for id in found {
            if let Ok(id) = id.parse() {
                let reason = Some("the clock was wrong".to_owned());
                drop(engine.cancel(&by, id, reason).await);
            }
        }
    }

    /// Waits until this holds, or for as long as that; none where the disk has stopped, as a write may
    /// do that was on its way when the faults ended. Workers go on, and nothing stays paused.
    async fn wait_until(&self, most: Duration, holds: fn(&World) -> bool) -> Option<()> {
        let until = self.clock.true_ms() + millis(most);
        loop {
            if self.disk().has_stopped() {
                return None;
            }
            self.pull();
            self.must_be_ready();
            self.must_show_doubts();
            if holds(self) || until <= self.clock.true_ms() {
                return Some(());
            }
            if self.watch().switch.is_paused {
                self.resume().await;
            }
            if self.has_work() {
                for _ in 0..4 {
                    self.work().await;
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Whether everything is final, and everybody was told.
    fn is_over(&self) -> bool {
        let watch = self.watch();
        watch.models.values().all(Model::is_final) && watch.ears.behind().is_empty()
    }

    /// Whether everything is final, or waits for a person who knows how it ended.
    fn is_left_to_people(&self) -> bool {
        let watch = self.watch();
        let mut models = watch.models.values();
        models.all(|model| model.is_final() || model.waits_for_a_person())
    }

    /// What is unknown is shown to people within a minute in which the process runs (I27).
    pub(crate) fn must_show_doubts(&self) {
        let Some((engine, by)) = self.administered() else {
            return;
        };
        let now = self.clock.true_ms();
        let old = match now.checked_sub(millis(SHOWN_WITHIN)) {
            Some(moment) if self.clock.process_began() < moment => {
                self.watch().doubts_before(moment)
            }
            _ => return,
        };
        if old.is_empty() {
            return;
        }
        // Where the log cannot be read, the page says so.
        let Ok(list) = engine.attention(&by) else {
            return;
        };
        let shown = |id: &String| {
            let mut shown = list.unknown.iter();
            shown.any(|one| one.view.action.id.to_string().ends_with(id.as_str()))
        };
        if let Some(id) = old.iter().find(|id| !shown(id)) {
            self.fail(format!(
                "I27: {id} has been unknown for a minute, and is not shown"
            ));
        }
    }

    /// Nothing that the machine could end waits for somebody who happens to look (I27).
    fn must_have_moved(&self) {
        let mut watch = self.watch();
        let stuck = watch
            .models
            .iter()
            .find(|(_, model)| !model.is_final() && !model.waits_for_a_person());
        let words = stuck.map(|(id, model)| {
            let hours = ALONE_MAX.as_secs() / 3600;
            format!(
                "I27: {id} ({}) is still {} after {hours} quiet hours, and no person is asked",
                model.tool, model.status
            )
        });
        if let Some(words) = words {
            watch.fail(words);
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
