//! Where a fault can strike, and how.
//!
//! The boundaries that an engine is given (its log, its target, the requests it gets, the file of
//! its secret) pass through here. One [`Site`] is armed at a time; whoever comes to it stands still
//! until the test has done its worst and says how to go on. The product needs no hooks of its own.

use std::cell::Cell;
use std::future::pending;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// On whose behalf something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Submit,
    Show,
    Vote,
    Claim,
    Heartbeat,
    Report,
    /// The test looks at what there is; nothing strikes.
    Observer,
    /// Nobody asked: the scheduler.
    Engine,
}

tokio::task_local! {
    /// Who asks, and how often the view was read on their behalf.
    static ASKING: (Role, Cell<u8>);
}

/// Does something on behalf of somebody.
pub(crate) async fn on_behalf_of<F: Future>(role: Role, work: F) -> F::Output {
    ASKING.scope((role, Cell::new(0)), work).await
}

/// Looks at something without being noticed.
pub(crate) fn observing<T>(look: impl FnOnce() -> T) -> T {
    ASKING.sync_scope((Role::Observer, Cell::new(0)), look)
}

fn role() -> Role {
    ASKING.try_with(|(role, _)| *role).unwrap_or(Role::Engine)
}

/// How often the view was read on behalf of whoever asks, this time included.
fn load_number() -> u8 {
    let next = |(_, loads): &(Role, Cell<u8>)| {
        loads.set(loads.get().saturating_add(1));
        loads.get()
    };
    // The scheduler is one: its first look at the armed moment is the one.
    ASKING.try_with(next).unwrap_or(1)
}

/// A moment of an append, or of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Before,
    /// Handed to the device and not synced.
    Written,
    /// Durable, and nobody knows yet.
    Synced,
    Connect,
    FirstByte,
    LastByte,
    FirstAnswerByte,
    LastAnswerByte,
    /// The whole answer is there, and nobody has looked at it.
    Answered,
}

/// What is appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    Staged,
    Vote,
    Commit,
    /// How an attempt ended.
    Result,
    /// That the same call is to be sent again.
    Plan,
    /// The commit record of a call that is sent again.
    Resend,
    /// What the source of truth said.
    Evidence,
    /// The pause switch.
    Pause,
    Resume,
    /// A longer lease.
    Heartbeat,
}

impl Fact {
    fn of(kind: &str) -> Option<Self> {
        let name = match kind.split_once('.')? {
            ("action", name) => name,
            ("engine", "paused") => return Some(Self::Pause),
            ("engine", "resumed") => return Some(Self::Resume),
            _ => return None,
        };
        Some(match name {
            "staged" => Self::Staged,
            "vote_recorded" => Self::Vote,
            "commit_recorded" => Self::Commit,
            "attempt_succeeded" | "attempt_unknown" | "attempt_not_delivered" | "resend_failed" => {
                Self::Result
            }
            "resend_planned" => Self::Plan,
            "resend_recorded" => Self::Resend,
            "found_done" | "found_not_done" => Self::Evidence,
            "lease_extended" => Self::Heartbeat,
            _ => return None,
        })
    }
}

/// What is asked of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    State,
    Call,
    Check,
}

/// A place at which a fault can strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    /// A request is there and nobody has looked at it.
    Arrives(Role),
    /// Half of the body of a request is there.
    HalfBody(Role),
    /// All of the body is there, and its end is not.
    WholeBody(Role),
    /// The view of the action is read for the so-many-th time.
    Load(Role, u8),
    Append(Fact, Moment),
    Target(Ask, Role, Moment),
    /// The file of the secret is opened.
    Secret,
    /// The person has the page and reads.
    Reading,
    /// The outcome is unknown and quiet time has not come.
    Quiet,
    /// It is approved, and its moment has not come.
    Scheduled,
    /// It could be sent, and nothing is.
    Paused,
    /// The worker has it, and has not begun.
    Given,
    /// The worker did it, and nobody knows.
    Working,
}

impl Site {
    /// One of the three moments of an append, numbered from 0.
    pub(crate) fn append(fact: Fact, number: u8) -> Self {
        let moments = [Moment::Before, Moment::Written, Moment::Synced];
        Self::Append(fact, moments[usize::from(number)])
    }
}

/// How whoever stands at a site goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Go,
    /// What is done there fails, in its own way.
    Fail,
}

/// What is armed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Armed {
    pub(crate) site: Site,
    /// Whether what is written and not synced survives.
    pub(crate) keeps: bool,
    /// It strikes the so-many-th time that somebody comes there.
    pub(crate) time: u8,
}

#[derive(Default)]
struct State {
    armed: Option<Armed>,
    /// How often something struck, and how each of them was decided.
    struck: usize,
    verdicts: Vec<Verdict>,
    /// The number of the life that there is.
    life: u32,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    struck: Notify,
    decided: Notify,
    decided_for_threads: Condvar,
}

/// The hooks, as one life of the engine has them.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    shared: Arc<Shared>,
    life: u32,
}

impl Hooks {
    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// Arms a site, over all lives, until it strikes.
    pub(crate) fn arm(&self, armed: Option<Armed>) {
        self.state().armed = armed;
    }

    /// Waits until something has struck for the so-many-th time.
    pub(crate) async fn struck(&self, times: usize) {
        loop {
            let notified = self.shared.struck.notified();
            if times <= self.state().struck {
                return;
            }
            notified.await;
        }
    }

    /// Says how whoever stands at a site goes on.
    pub(crate) fn decide(&self, verdict: Verdict) {
        self.state().verdicts.push(verdict);
        self.wake();
    }

    /// Ends the life that there is: nobody of it ever goes on. Answers with the hooks of the next.
    pub(crate) fn kill(&self) -> Self {
        let life = {
            let mut state = self.state();
            state.life += 1;
            // Whoever stands somewhere stands there for ever.
            while state.verdicts.len() < state.struck {
                state.verdicts.push(Verdict::Fail);
            }
            state.life
        };
        self.wake();
        let shared = Arc::clone(&self.shared);
        Self { shared, life }
    }

    fn wake(&self) {
        self.shared.decided.notify_waiters();
        self.shared.decided_for_threads.notify_all();
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.state().life != self.life
    }

    /// Whether this append is to be kept although it is not synced: it is then applied before
    /// whoever makes it stands still.
    pub(crate) fn keeps(&self, site: Site) -> bool {
        let state = self.state();
        let armed = state.armed.filter(|_| state.life == self.life);
        armed.is_some_and(|armed| armed.site == site && armed.keeps && armed.time == 1)
    }

    /// The number of the strike, where it strikes here.
    fn strikes(&self, site: Site) -> Option<usize> {
        let number = {
            let mut state = self.state();
            if state.life != self.life {
                return None;
            }
            let armed = state.armed.as_mut().filter(|armed| armed.site == site)?;
            armed.time -= 1;
            if armed.time != 0 {
                return None;
            }
            state.armed = None;
            state.struck += 1;
            state.struck
        };
        self.shared.struck.notify_one();
        Some(number)
    }

    /// Comes to a site.
    pub(crate) async fn at(&self, site: Site) -> Verdict {
        let mut verdict = Verdict::Go;
        if let Some(number) = self.strikes(site) {
            loop {
                let notified = self.shared.decided.notified();
                let decided = self.state().verdicts.get(number - 1).copied();
                if let Some(decided) = decided {
                    verdict = decided;
                    break;
                }
                notified.await;
            }
        }
        if self.is_dead() {
            return pending().await;
        }
        verdict
    }

    /// Comes to a site of a call to the world.
    pub(crate) async fn at_target(&self, ask: Ask, moment: Moment) -> Verdict {
        self.at(Site::Target(ask, role(), moment)).await
    }

    /// A moment of the append of an event of this kind.
    pub(crate) fn site_of(kind: &str, moment: Moment) -> Option<Site> {
        Fact::of(kind).map(|fact| Site::Append(fact, moment))
    }

    /// Comes to the reading of a view, which is not asynchronous: the thread stands still.
    pub(crate) fn at_load(&self) -> Verdict {
        let role = role();
        if role == Role::Observer {
            return Verdict::Go;
        }
        let Some(number) = self.strikes(Site::Load(role, load_number())) else {
            return Verdict::Go;
        };
        // The other tasks of this thread go on elsewhere.
        tokio::task::block_in_place(|| {
            let mut state = self.state();
            loop {
                if let Some(verdict) = state.verdicts.get(number - 1) {
                    return *verdict;
                }
                let waited = self.shared.decided_for_threads.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            }
        })
    }
}
