//! Starting runs, each request once.

use std::sync::Arc;

use holdpoint_storage::Claim;
use serde_json::{Value, json};

use super::Engine;
use super::alone::{Asked, DamagedClaim, claim_key, claimed};
use crate::canon::{CanonicalJson, Digest};
use crate::identity::Principal;
use crate::limits::{RUNS_CARRIED_MAX, RUNS_PER_CALLER_MAX};
use crate::run::authority::{self, Authority};
use crate::run::{Flags, Inputs, NewOrigin, NewRun, Run, RunError, RunId, prepare};
use crate::skill::Skill;
use crate::time::Timestamp;
use crate::tool::EffectClass;

/// Somebody who starts a run by hand, and the key under which a repeat of the request is found.
pub(crate) struct ByHand<'a> {
    pub(crate) by: &'a Principal,
    pub(crate) asked: Option<&'a Asked>,
}

impl Engine {
    /// Starts a run: durable before this answers, and before its first step.
    ///
    /// Needs the role of requester, or a key with the scopes of what the flags let out: see [`Authority`].
    pub async fn start_run(&self, by: &Principal, new: NewRun) -> Result<Arc<Run>, RunError> {
        let (run, _) = self.start_run_once(by, new, None).await?;
        Ok(run)
    }

    /// The same, at most once for a key that the client chose, 1 to 255 printable ASCII characters. The
    /// same request under the same key is answered with the first run, and true; another one is refused.
    /// The keys are each principal's own, and apart from those of submissions. The values of secret inputs are not
    /// compared: not even a digest of them is stored.
    pub async fn start_run_once(
        &self,
        by: &Principal,
        new: NewRun,
        key: Option<&str>,
    ) -> Result<(Arc<Run>, bool), RunError> {
        self.may_start_now(by, new.flags)?;
        let asked = Asked::of("rk/runs/", by, key, fingerprint(&new));
        if let Some(asked) = &asked {
            let held = asked.held(self.log().as_ref());
            let held = held.map_err(|error| RunError::Unavailable(Box::new(error)))?;
            if let Some(holder) = held {
                return self.replay_run(by, &holder, asked.fingerprint);
            }
        }
        let id = RunId::new(self.now(), self.random_bytes()?);
        let claim = asked.as_ref().map(|asked| asked.claim(id.as_bytes()));
        match (self.begin_run((by, by), new, id, claim).await?, asked) {
            (Ok(run), _) => Ok((run, false)),
            // Somebody was first in the meantime.
            (Err(holder), Some(asked)) => self.replay_run(by, &holder, asked.fingerprint),
            (Err(_), None) => Err(RunError::Unavailable(Box::new(DamagedClaim))),
        }
    }

    /// The same for a schedule: at most once for each moment at which it is due, none where somebody
    /// wants a run now. The run that was started for that moment before is answered as it is.
    pub(crate) async fn start_run_at(
        &self,
        by: &Principal,
        by_hand: Option<ByHand<'_>>,
        new: NewRun,
        moment: Option<(String, Timestamp)>,
    ) -> Result<Arc<Run>, RunError> {
        self.may_start_now(by, new.flags)?;
        let id = RunId::new(self.now(), self.random_bytes()?);
        let (pressed, asked) = by_hand.map_or((by, None), |hand| (hand.by, hand.asked));
        let claim = match &moment {
            Some(moment) => Some(Claim {
                key: moment_key(moment),
                value: id.as_bytes().to_vec(),
            }),
            None => asked.map(|asked| asked.claim(id.as_bytes())),
        };
        match (self.begin_run((by, pressed), new, id, claim).await?, moment) {
            (Ok(run), _) => Ok(run),
            (Err(holder), Some(_)) => Ok(self.inner.runs.open(run_of(&holder)?)?.run()),
            (Err(_), None) => Err(RunError::KeyReused { first: None }),
        }
    }

    /// Fails where the principal may not start such a run, or nothing new is taken any more.
    fn may_start_now(&self, by: &Principal, flags: Flags) -> Result<(), RunError> {
        may_start(by, flags)?;
        let stopped = |error| RunError::Unavailable(Box::new(error));
        self.inner.store.stop.may_begin().map_err(stopped)
    }

    /// The run that was started for a moment of a schedule.
    pub(crate) fn run_begun_at(
        &self,
        moment: &(String, Timestamp),
    ) -> Result<Option<RunId>, RunError> {
        let held = self.log().claim(&moment_key(moment));
        let held = held.map_err(|error| RunError::Unavailable(Box::new(error)))?;
        held.map(|holder| run_of(&holder)).transpose()
    }

    /// Prepares a run on behalf of `by` that `pressed` starts, makes it durable and carries it on; answers
    /// what the holder of the claim left where that is held.
    async fn begin_run(
        &self,
        (by, pressed): (&Principal, &Principal),
        new: NewRun,
        id: RunId,
        claim: Option<Claim>,
    ) -> Result<Result<Arc<Run>, Vec<u8>>, RunError> {
        self.check_room_for_run(&by.id)?;
        let (start, secrets) = prepare(self, by, new)?;
        let runs = &self.inner.runs;
        let started = runs.start(id, pressed.instigator(), start, claim).await?;
        Ok(started.map(|live| {
            let run = live.run();
            live.given.add(&secrets);
            self.drive(live);
            run
        }))
    }

    /// Answers with the run that holds a key, or says that the key stands for something else.
    fn replay_run(
        &self,
        by: &Principal,
        holder: &[u8],
        fingerprint: Digest,
    ) -> Result<(Arc<Run>, bool), RunError> {
        let (digest, id) =
            claimed(holder).map_err(|error| RunError::Unavailable(Box::new(error)))?;
        let first = self.run(by, RunId::from_bytes(id));
        if digest != fingerprint {
            // The run is not named where it may not be seen any more.
            let first = first.ok().map(|run| run.id);
            return Err(RunError::KeyReused { first });
        }
        Ok((first?, true))
    }

    /// Fails where so many runs are carried on, or so many of this caller, that there is no room for
    /// another one (invariant I21).
    pub(super) fn check_room_for_run(&self, caller: &str) -> Result<(), RunError> {
        if RUNS_CARRIED_MAX <= self.inner.drivers.len() {
            return Err(RunError::Overloaded);
        }
        if RUNS_PER_CALLER_MAX <= self.inner.runs.shares.of(caller) {
            return Err(RunError::TooManyOwn);
        }
        Ok(())
    }
}

/// What stands for a moment at which a schedule is due.
fn moment_key((schedule, planned): &(String, Timestamp)) -> Vec<u8> {
    claim_key("sr/", schedule, &planned.0.to_string())
}

/// The run that holds such a claim.
fn run_of(holder: &[u8]) -> Result<RunId, RunError> {
    let id = holder.try_into().map(RunId::from_bytes);
    id.map_err(|_| RunError::Unavailable(Box::new(DamagedClaim)))
}

/// Over everything that is asked for, but for the values of secret inputs.
fn fingerprint(new: &NewRun) -> Digest {
    let all = json!({
        "what": what(&new.what), "flags": flags(new.flags), "unattended": new.unattended,
        "schedule": new.schedule, "continues": new.continues.map(|run| run.to_string()),
    });
    Digest::of(format!("run\n{}", CanonicalJson::of(&all)).as_bytes())
}

/// What a run is allowed, for a fingerprint.
pub(super) fn flags(flags: Flags) -> Value {
    let Flags {
        allow_writes,
        yes,
        stage,
    } = flags;
    json!([allow_writes, yes, stage])
}

/// What is to be carried out, for a fingerprint: without the values of secret inputs.
pub(super) fn what(origin: &NewOrigin) -> Value {
    match origin {
        NewOrigin::Skill {
            text,
            inputs,
            ignore_manifest,
        } => {
            // A file that cannot be read starts nothing.
            let skill = Skill::parse(text).ok();
            let is_secret = |name: &str| {
                let input = skill.as_ref().and_then(|skill| skill.inputs.get(name));
                input.is_some_and(|input| input.secret)
            };
            let of = |name: &String, value: &Value| {
                let value = if is_secret(name) {
                    Value::Null
                } else {
                    value.clone()
                };
                json!([name, value])
            };
            let inputs: Vec<Value> = match inputs {
                Inputs::Texts(texts) => texts
                    .iter()
                    .map(|(name, text)| of(name, &Value::from(text.as_str())))
                    .collect(),
                Inputs::Values(values) => {
                    values.iter().map(|(name, value)| of(name, value)).collect()
                }
            };
            json!({ "skill": text, "inputs": inputs, "ignore_manifest": ignore_manifest })
        }
        NewOrigin::Code {
            name,
            version,
            input,
        } => json!({ "workflow": name, "version": version, "input": input }),
    }
}

/// What a run is allowed is not more than whoever starts it is allowed.
pub(super) fn may_start(by: &Principal, flags: Flags) -> Result<(), RunError> {
    let asked = if flags.yes {
        EffectClass::Destructive
    } else if flags.allow_writes {
        EffectClass::IdempotentWrite
    } else {
        EffectClass::Read
    };
    match Authority::of(by).lacks(asked) {
        None => Ok(()),
        Some(class) => Err(RunError::Forbidden(format!(
            "this needs {}",
            authority::needs(class)
        ))),
    }
}
