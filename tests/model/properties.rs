//! What must hold in every world, and what must be met in some.

use holdpoint_engine::action::{FailReason, Phase, Status};
use stateright::{Model, Property};

use crate::steps::{self, Bounds, Mistake, Step};
use crate::take;
use crate::wishes::{OWNER, request, submitted};
use crate::world::{Kind, World, Wrong};

/// Whatever has not ended by then does not end.
const END_OF_TIME: u8 = 40;

/// The model: how far is looked, and which mistake is in it, if any.
pub(crate) struct Small {
    pub(crate) bounds: Bounds,
    pub(crate) mistake: Option<Mistake>,
}

impl Model for Small {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let kinds = (0..8_u8).map(|bits| Kind {
            keeps_keys: bits & 1 != 0,
            can_be_asked: bits & 2 != 0,
            restages: bits & 4 != 0,
        });
        // What is staged again is the same for each target; nearer bounds look at one.
        let one = |kind: &Kind| !kind.restages || (kind.keeps_keys && kind.can_be_asked);
        kinds
            .filter(|kind| self.bounds.all_kinds || one(kind))
            .map(|kind| World::new(kind, submitted(kind)))
            .collect()
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        steps::all(world, self.bounds, self.mistake, steps);
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        take::take(world, step, self.mistake)
    }

    fn within_boundary(&self, world: &World) -> bool {
        world.now < END_OF_TIME
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::<Self>::always("it takes effect at most once", |_, world| {
                world.effects.len() <= 1
            }),
            Property::<Self>::always("what leaves has a durable commit record", |_, world| {
                world.sent == 0 || is_recorded(world, world.sent)
            }),
            Property::<Self>::always("a commit record is for one send", |_, world| {
                !world.wrong.contains(&Wrong::SentTwice)
            }),
            Property::<Self>::always(
                "what leaves was approved, for the state as read",
                |_, world| !world.wrong.contains(&Wrong::SentForAnotherState),
            ),
            Property::<Self>::always("the asking side has no vote", |_, world| {
                let approval = world.log.action.approval.iter();
                let mut votes = approval.flat_map(|approval| &approval.votes);
                votes.all(|cast| cast.voter.id != OWNER)
            }),
            Property::<Self>::always("no vote counts by an older page", |_, world| {
                !world.wrong.contains(&Wrong::CountedOldPage)
            }),
            Property::<Self>::always("no approval counts after the deadline", |_, world| {
                !world.wrong.contains(&Wrong::CountedLate)
            }),
            Property::<Self>::always("final is final", |_, world| {
                !world.wrong.contains(&Wrong::LeftItsEnd)
            }),
            Property::<Self>::always("what is decided can happen", |_, world| {
                !world.wrong.contains(&Wrong::Illegal)
            }),
            Property::<Self>::always("what was told is kept", |_, world| {
                world.told <= world.version
            }),
            Property::<Self>::always("a cancel stops what it says it stopped", |_, world| {
                world.status() != Status::Cancelled || !is_or_may_be(world)
            }),
            Property::<Self>::always("not done is said only of what is not", |_, world| {
                !says_not_done(world) || !is_or_may_be(world)
            }),
            Property::<Self>::always("done is said only of what is", |_, world| {
                world.status() != Status::Succeeded || !world.effects.is_empty()
            }),
            Property::<Self>::eventually("it ends, or a person's turn comes", |_, world| {
                world.is_at_an_end()
            }),
            Property::<Self>::sometimes("succeeded", |_, world| {
                world.status() == Status::Succeeded
            }),
            Property::<Self>::sometimes("failed", |_, world| world.status() == Status::Failed),
            Property::<Self>::sometimes("rejected", |_, world| world.status() == Status::Rejected),
            Property::<Self>::sometimes("expired", |_, world| world.status() == Status::Expired),
            Property::<Self>::sometimes("cancelled", |_, world| {
                world.status() == Status::Cancelled
            }),
            Property::<Self>::sometimes("replan required", |_, world| {
                world.status() == Status::ReplanRequired
            }),
            Property::<Self>::sometimes("a person's turn", |_, world| {
                world.status() == Status::Unknown && world.is_at_an_end()
            }),
            Property::<Self>::sometimes("staged again", |_, world| 1 < world.log.action.revision),
            Property::<Self>::sometimes("sent twice", |_, world| 1 < world.sent),
        ]
    }
}

/// Whether the log on the disk lets this attempt leave, with the bytes that the page showed.
fn is_recorded(world: &World, attempt: u32) -> bool {
    let mut attempts = world.log.action.attempts.iter();
    let shown = request().digest;
    attempts.any(|one| one.number == attempt && one.request_digest == shown)
}

fn is_or_may_be(world: &World) -> bool {
    !world.effects.is_empty() || world.may_still_happen()
}

/// Whether the action says, of itself, that nothing happened and nothing will by what was sent.
fn says_not_done(world: &World) -> bool {
    match &world.log.action.phase {
        // What a person settled, they took upon themselves.
        Phase::Executing
        | Phase::Unknown { .. }
        | Phase::Succeeded { .. }
        | Phase::Failed(FailReason::SettledAsNotDone { .. }) => false,
        _ => true,
    }
}
