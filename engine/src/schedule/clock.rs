//! Starts what is due.

use std::time::Duration;

use super::event::{Event, Planned, Schedule};
use super::shell::Turn;
use crate::engine::{ByHand, Engine, WeakEngine};
use crate::run::{Inputs, NewOrigin, NewRun, RunError, RunId};
use crate::scheduler::ENGINE;
use crate::time::Timestamp;

/// The wait after something due could not be started because the store did not take it.
const AGAIN_WAIT: Duration = Duration::from_secs(5);

/// The longest sleep at once: a wall clock that was set shows by then.
const SLEEP_MAX: Duration = Duration::from_mins(1);

/// Waits for what is due and starts it, until the engine stops. Sleeps in between.
pub(crate) async fn run(engine: WeakEngine) {
    let Some(strong) = engine.upgrade() else {
        return;
    };
    let schedules = strong.schedules_of().clone();
    let store = strong.work().store.clone();
    drop(strong);
    let mut changed = schedules.changed();
    loop {
        changed.mark_unchanged();
        let now = store.time.now();
        let mut wait = schedules.next_due().map(|due| due.since(now));
        if wait.is_some_and(|wait| wait.is_zero()) {
            let Some(engine) = engine.upgrade() else {
                return;
            };
            match fire_due(&engine, now).await {
                Ok(()) => continue,
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "what is due could not be started; it is tried again"
                    );
                    wait = Some(AGAIN_WAIT);
                }
            }
        }
        let due = async {
            match wait {
                Some(wait) => tokio::time::sleep(wait.min(SLEEP_MAX)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = store.stop.reached() => return,
            () = due => {}
            moved = changed.changed() => {
                if moved.is_err() {
                    return;
                }
            }
        }
    }
}

async fn fire_due(engine: &Engine, now: Timestamp) -> Result<(), RunError> {
    let schedules = engine.schedules_of();
    let turn = schedules.turn().await;
    for (schedule, planned) in schedules.due(now) {
        fire(engine, &turn, &schedule, planned, None).await?;
    }
    Ok(())
}

/// Starts a run of a schedule, because it is due or because somebody wants it, or records why none was
/// started. Answers the run.
pub(crate) async fn fire(
    engine: &Engine,
    turn: &Turn<'_>,
    schedule: &Schedule,
    planned: Timestamp,
    by_hand: Option<ByHand<'_>>,
) -> Result<Option<RunId>, RunError> {
    let schedules = engine.schedules_of();
    let (id, is_by_hand) = (schedule.id, by_hand.is_some());
    let actor = by_hand.as_ref().map_or(ENGINE, |hand| hand.by.id.as_str());
    let Some(by) = engine.identity().principal(&schedule.plan.caller.id) else {
        let reason = "the credential of whoever made it works no longer".to_owned();
        let event = Event::Paused { reason };
        schedules.commit(turn, id, actor, event).await?;
        return Ok(None);
    };
    // After a crash in between, the run that was begun for this moment is found again.
    let moment = (!is_by_hand).then(|| (id.to_string(), planned));
    let begun = match &moment {
        Some(moment) => engine.run_begun_at(moment)?,
        None => None,
    };
    let goes_on = if schedule.plan.overlap {
        None
    } else {
        engine
            .unfinished_of(id)?
            .filter(|other| Some(*other) != begun)
    };
    let started = if let Some(last) = goes_on {
        Err(RunError::Invalid(format!("the run {last} still goes on")))
    } else {
        let new = new_run(schedule);
        engine.start_run_at(&by, by_hand, new, moment).await
    };
    let event = match started {
        Ok(run) => Event::Fired {
            planned,
            run: run.id,
            by_hand: is_by_hand,
        },
        Err(error @ (RunError::NoRoom(_) | RunError::Unavailable(_))) => return Err(error),
        Err(error) if is_by_hand => return Err(error),
        Err(error) => Event::Skipped {
            planned,
            reason: error.to_string(),
        },
    };
    let started = match &event {
        Event::Fired { run, .. } => Some(*run),
        Event::Created { .. }
        | Event::Paused { .. }
        | Event::Resumed
        | Event::Deleted { .. }
        | Event::Skipped { .. } => None,
    };
    schedules.commit(turn, id, actor, event).await?;
    Ok(started)
}

fn new_run(schedule: &Schedule) -> NewRun {
    let what = match &schedule.plan.what {
        Planned::Skill {
            text,
            inputs,
            ignore_manifest,
        } => {
            let inputs = inputs.value();
            let inputs = inputs.as_object().into_iter().flatten();
            NewOrigin::Skill {
                text: text.clone(),
                inputs: Inputs::Values(
                    inputs
                        .map(|(name, value)| (name.clone(), value.clone()))
                        .collect(),
                ),
                ignore_manifest: *ignore_manifest,
            }
        }
        Planned::Code {
            name,
            version,
            input,
        } => NewOrigin::Code {
            name: name.clone(),
            version: *version,
            input: input.value(),
        },
    };
    NewRun {
        what,
        flags: schedule.plan.flags,
        unattended: true,
        schedule: Some(schedule.id.to_string()),
        continues: None,
    }
}
