//! What follows from a step.

use std::sync::Arc;

use holdpoint_engine::action::{AttemptOutcome, Command, Event, Finding, decide};
use holdpoint_engine::canon::CanonicalJson;
use serde_json::json;

use crate::steps::{Mistake, Step};
use crate::wishes::{
    DEADLINE, LIFETIME, PATIENCE, VOTERS, moment, outcome, record, send, state_of, vote,
};
use crate::world::{Asked, Call, Draft, Permit, World, Wrong};

/// The world after a step; none where the step changes nothing.
pub(crate) fn take(before: &World, step: Step, mistake: Option<Mistake>) -> Option<World> {
    let mut world = before.clone();
    match step {
        Step::Tick => world.tick(),
        Step::Move => world.state = 1,
        Step::Send(true) => {
            let permit = world.permit.take()?;
            leave(&mut world, permit);
        }
        Step::Ask(saw) => {
            world.silences += u8::from(saw.is_none());
            world.asked = Some(Asked { at: world.now, saw });
        }
        Step::Write => {
            let draft = world.engine.take()?;
            append(&mut world, draft, mistake);
        }
        Step::Sync => {
            let draft = world.written.take()?;
            world.permit = draft.permit.or(world.permit);
            world.make_durable(draft);
            world.told = world.version;
        }
        Step::Arrive(place, accepts) => {
            let call = world.calls.remove(place);
            world.refusals += u8::from(!accepts);
            world.arrive(call, accepts);
        }
        Step::Double(place) => {
            let call = *world.calls.get(place)?;
            world.doubles += 1;
            world.calls.push(call);
        }
        Step::Crash(keeps_written) => world.crash(keeps_written),
        Step::Vote(_, _, revision) => {
            let command = of_people(&world, step, mistake)?;
            let is_old = revision != world.log.action.revision;
            let draft = decided(&mut world, command);
            let counts = |draft: &Draft| draft.events.iter().any(is_vote);
            world.note(Wrong::CountedOldPage, is_old && draft.iter().any(counts));
            if let Some(draft) = draft {
                append(&mut world, draft, mistake);
            }
        }
        Step::Cancel | Step::Settle => {
            let command = of_people(&world, step, mistake)?;
            let draft = decided(&mut world, command);
            if let Some(draft) = draft {
                append(&mut world, draft, mistake);
            }
        }
        Step::Expire
        | Step::Commit
        | Step::Resend
        | Step::Send(false)
        | Step::GiveUp
        | Step::Receive(_)
        | Step::Conclude => {
            let command = of_engine(&mut world, step, mistake)?;
            world.engine = decided(&mut world, command);
        }
    }
    (world != *before).then_some(world)
}

/// What a person wishes; none for other steps.
fn of_people(world: &World, step: Step, mistake: Option<Mistake>) -> Option<Command> {
    let at = world.at();
    match step {
        Step::Vote(who, way, revision) => {
            let is_blind = mistake == Some(Mistake::VotesByThePageOfNow);
            let now = world.log.action.revision;
            let page = if is_blind { now } else { revision };
            let place = usize::try_from(page).ok()?.checked_sub(1)?;
            let shown = *world.pages.get(place)?;
            Some(vote(world, VOTERS[who], way, page, shown))
        }
        Step::Cancel => Some(Command::Cancel {
            by: "key_checkout".to_owned(),
            reason: None,
            at,
        }),
        Step::Settle => Some(Command::Settle {
            by: "per_dora".to_owned(),
            happened: !world.effects.is_empty(),
            reason: "looked at the bank".to_owned(),
            at,
        }),
        _ => None,
    }
}

/// What the engine wishes; none for other steps.
fn of_engine(world: &mut World, step: Step, mistake: Option<Mistake>) -> Option<Command> {
    let at = world.at();
    let last = world.log.action.attempts.last();
    let attempt = last.map_or(0, |attempt| attempt.number);
    match step {
        Step::Expire => Some(Command::ReachDeadline { at }),
        Step::Commit | Step::Resend => {
            let is_read = mistake != Some(Mistake::SkipsReading);
            let approved = state_of(&world.log.action);
            let state = if is_read { world.state } else { approved };
            Some(send(world, state, step == Step::Resend))
        }
        Step::Send(_) => {
            world.permit = None;
            let message = "no connection".to_owned();
            let outcome = AttemptOutcome::NotDelivered { message };
            Some(record(world, attempt, outcome))
        }
        Step::GiveUp => {
            let again = mistake == Some(Mistake::SendsAgainOnTimeout) && world.waits;
            if again && !world.wrong.contains(&Wrong::SentTwice) {
                let permit = Permit {
                    attempt,
                    read: state_of(&world.log.action),
                    until: world.now + PATIENCE,
                    is_resend: true,
                };
                leave(world, permit);
            }
            let outcome = AttemptOutcome::Unknown {
                http_status: None,
                message: "no answer".to_owned(),
            };
            Some(record(world, attempt, outcome))
        }
        Step::Receive(place) => {
            let answer = *world.answers.get(place)?;
            Some(record(world, answer.attempt, outcome(answer.is_done)))
        }
        Step::Conclude => {
            let asked = world.asked.take()?;
            let by_arrival = mistake == Some(Mistake::DatesAnswersByTheirArrival);
            let evidence = CanonicalJson::of(&json!({}));
            let message = "no answer".to_owned();
            Some(Command::Check {
                attempt,
                finding: match asked.saw {
                    Some(true) => Finding::Happened { evidence },
                    Some(false) => Finding::NotFound { evidence },
                    None => Finding::Inconclusive { message },
                },
                asked_at: if by_arrival { at } else { moment(asked.at) },
                at,
            })
        }
        _ => None,
    }
}

fn is_vote(event: &Event) -> bool {
    matches!(event, Event::VoteRecorded { .. })
}

fn uses_an_approval(event: &Event) -> bool {
    let sends = matches!(
        event,
        Event::CommitRecorded { .. } | Event::ResendRecorded { .. }
    );
    sends || is_vote(event)
}

/// Asks the real core; none where nothing follows.
fn decided(world: &mut World, command: Command) -> Option<Draft> {
    let events = decide(Some(&world.log.action), command).ok()?;
    let is_late = moment(DEADLINE) <= world.at();
    let counts = events.iter().any(uses_an_approval);
    world.note(Wrong::CountedLate, is_late && counts);
    let next = world.log.after(&events);
    world.note(Wrong::Illegal, next.is_none());
    let next = next.filter(|next| *next != world.log)?;
    let is_sent = |event: &Event| uses_an_approval(event) && !is_vote(event);
    let attempt = next.action.attempts.last();
    let permit = attempt.map(|attempt| Permit {
        attempt: attempt.number,
        read: world.state,
        until: world.now + PATIENCE,
        is_resend: attempt.is_resend,
    });
    Some(Draft {
        base: world.version,
        permit: permit.filter(|_| events.iter().any(is_sent)),
        events: Arc::new(events),
        next,
    })
}

fn leave(world: &mut World, permit: Permit) {
    let approved = state_of(&world.log.action);
    world.note(Wrong::SentForAnotherState, permit.read != approved);
    world.note(Wrong::SentTwice, permit.attempt <= world.sent);
    world.sent = permit.attempt;
    world.waits = true;
    world.calls.push(Call {
        attempt: permit.attempt,
        until: permit.until + LIFETIME,
        is_resend: permit.is_resend,
    });
}

/// Compare and append: of two that decided on the same log one is turned away, and decides anew.
fn append(world: &mut World, mut draft: Draft, mistake: Option<Mistake>) {
    if draft.base != world.version {
        if mistake != Some(Mistake::WritesWithoutComparing) {
            return;
        }
        let Some(next) = world.log.after(&draft.events) else {
            world.note(Wrong::Illegal, true);
            return;
        };
        draft.next = next;
    }
    if mistake == Some(Mistake::SendsBeforeSync) {
        world.permit = draft.permit.or(world.permit);
    }
    if mistake == Some(Mistake::TellsBeforeSync) {
        world.told = world.version + 1;
    }
    world.written = Some(draft);
}
