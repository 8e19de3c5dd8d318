//! One cell of the matrix: a fault at a step, perhaps a second one in what follows, and the judgement.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use holdpoint_engine::action::{Action, Status};
use holdpoint_engine::limits::RESENDS_MAX;
use holdpoint_storage::verify::verify_chain;

use crate::hooks::{Armed, Verdict};
use crate::shop::Mood;
use crate::steps::{Death, Fault, Plot};
use crate::world::World;

/// Longer than a call may take, shorter than the time to decide.
const PAUSE: Duration = Duration::from_mins(10);

/// Longer than somebody takes who is on the way to a step.
const SOON: Duration = Duration::from_secs(10);

/// Longer than the time to decide.
const TOO_LONG: Duration = Duration::from_mins(61);

/// The submission is written and gone.
const SUBMISSION_LOST: Option<Death> = Some(Death {
    step: 5,
    keeps: false,
});

/// One case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) plot: Plot,
    pub(crate) step: u8,
    pub(crate) fault: Fault,
    pub(crate) mood: Mood,
    /// How the process dies once more, afterwards.
    pub(crate) second: Option<Death>,
}

impl Case {
    /// The case of a step: where only a doubt leads there, there is one.
    pub(crate) fn new(plot: Plot, step: u8, fault: Fault) -> Self {
        let mood = match plot {
            Plot::Called if 31 <= step => Mood::DoneThenFails,
            Plot::Kept => Mood::DoneThenFails,
            Plot::Called | Plot::Pulled => Mood::Kind,
        };
        Self {
            plot,
            step,
            fault,
            mood,
            second: None,
        }
    }

    fn words(self) -> String {
        let Self {
            plot, step, fault, ..
        } = self;
        let name = plot.name(step);
        format!("{fault:?} at step {step} ({name}), {self:?}")
    }

    /// Runs it and judges it; whether the second fault came to strike.
    pub(crate) async fn run(self) -> bool {
        let world = World::new(self.plot, self.mood).await;
        let first = self.plot.first(self.step, self.fault);
        world.hooks().arm(Some(first));
        let hooks = world.hooks();
        let mut life = tokio::spawn(Arc::clone(&world).live());
        tokio::select! {
            () = hooks.struck(1) => {}
            ended = &mut life => {
                // What is appended may be seen before whoever appends it comes to know.
                let strikes = tokio::time::timeout(SOON, hooks.struck(1)).await;
                assert!(strikes.is_ok(), "{}: it did not strike: {ended:?}", self.words());
                life = tokio::spawn(Arc::clone(&world).live());
            }
        }
        // Armed before anybody goes on.
        let second = self.second.map(|death| Armed {
            site: self.plot.site(death.step),
            keeps: death.keeps,
            time: 1,
        });
        world.hooks().arm(second);
        if self.fault.ends() {
            let changed = self.fault == Fault::Definition;
            world.changed.store(changed, Ordering::SeqCst);
            world.kill(life).await;
            life = tokio::spawn(Arc::clone(&world).live());
        } else {
            self.strike(&world).await;
        }
        let mut again = false;
        let ended = tokio::select! {
            ended = &mut life => ended,
            () = hooks.struck(2), if second.is_some() => {
                again = true;
                world.kill(life).await;
                tokio::spawn(Arc::clone(&world).live()).await
            }
        };
        match ended {
            Ok(action) => self.judge(&world, &action),
            Err(error) => panic!("{}: {error}", self.words()),
        }
        again
    }

    /// Lets a fault that the process survives do its worst, and goes on.
    async fn strike(&self, world: &Arc<World>) {
        let verdict = match self.fault {
            Fault::Error => Verdict::Fail,
            Fault::Pause => {
                world.pass(PAUSE);
                Verdict::Go
            }
            Fault::Expiry => {
                world.pass(TOO_LONG);
                Verdict::Go
            }
            Fault::Cancel => {
                let there = world.life().expect("a life");
                world.cancel(&there).await;
                Verdict::Go
            }
            Fault::Kill | Fault::PowerCut | Fault::Definition => {
                unreachable!("the process does not survive it")
            }
        };
        // Others may be faster than whoever stands here.
        tokio::task::yield_now().await;
        world.hooks().decide(verdict);
    }

    fn judge(self, world: &World, action: &Action) {
        let words = self.words();
        let effects: Vec<u32> = world.shop.books().effects.values().copied().collect();
        let status = action.status();
        assert!(
            effects.is_empty() || effects == [1],
            "i02: {words}: {effects:?}"
        );
        let done = status == Status::Succeeded;
        assert_eq!(
            done,
            effects == [1],
            "i25: {words}: {status:?}, {effects:?}"
        );
        let acks = *world.acks();
        assert_eq!(acks.staged, Some(action.id), "i05: {words}");
        let votes = action
            .approval
            .as_ref()
            .map_or(0, |approval| approval.votes.len());
        assert!(!acks.voted || votes == 1, "i05: {words}: {votes} votes");
        assert!(
            !acks.cancelled || status == Status::Cancelled,
            "i11: {words}: {status:?}"
        );
        let log = world.durable();
        verify_chain(log.as_ref(), 0, u64::MAX).unwrap_or_else(|error| panic!("{words}: {error}"));
        match self.plot {
            Plot::Called => {}
            Plot::Kept => {
                let sends = world.shop.books().calls;
                assert!(sends <= 1 + RESENDS_MAX, "i02: {words}: {sends} sends");
            }
            Plot::Pulled => world.judge_order(&words),
        }
        let expected = self.expected();
        assert!(
            expected.contains(&status),
            "{words}: {status:?}, not {expected:?}: {:?}",
            action.attempts
        );
    }

    /// How it may end. What depends on whether the effect was made is compared with the books.
    fn expected(self) -> &'static [Status] {
        let committed = self.plot.is_committed(self.step);
        let pulled = self.plot == Plot::Pulled;
        match self.fault {
            Fault::Cancel if !committed => &[Status::Cancelled],
            // What a second death took before it was durable is submitted anew, with a deadline of its own.
            Fault::Expiry
                if self.plot == Plot::Called && self.step < 5 && self.second == SUBMISSION_LOST =>
            {
                &[Status::Succeeded, Status::Expired]
            }
            Fault::Expiry if !committed => &[Status::Expired],
            // Committed, and it never left.
            Fault::Expiry
                if self.plot == Plot::Called
                    && (20..=23).contains(&self.step)
                    && self.second.is_none() =>
            {
                &[Status::Expired]
            }
            // It is not sent again any more: a person settles it.
            Fault::Expiry if self.plot == Plot::Kept => &[Status::Succeeded, Status::Failed],
            // What did not happen is not tried again without an approval.
            Fault::Expiry if pulled || self.second.is_some() || self.mood == Mood::FailsOnce => {
                &[Status::Succeeded, Status::Expired]
            }
            // What was not there yet is submitted to the new definition.
            Fault::Definition if !committed && (pulled || 5 < self.step) => {
                &[Status::ReplanRequired]
            }
            // The check of another definition is not asked: a person settles it.
            Fault::Definition if committed => &[Status::Succeeded, Status::Failed],
            Fault::Kill
            | Fault::Pause
            | Fault::PowerCut
            | Fault::Error
            | Fault::Cancel
            | Fault::Expiry
            | Fault::Definition => &[Status::Succeeded],
        }
    }
}
