//! The ids of runs, the paths of their steps, and the ids of the actions that steps are.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use bincode::{Decode, Encode};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::action::{Action, ActionId};
use crate::limits::STEP_PATH_BYTES_MAX;
use crate::time::Timestamp;

/// How many tries of a step are looked through for the one that an action was made for.
const TRIES_MAX: u32 = 1000;

/// A UUIDv7, written `run_` and 32 lowercase hexadecimal digits. Sorts by the time of the start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct RunId([u8; 16]);

impl RunId {
    /// The id of a run started at `at`, from 10 random bytes (RFC 9562, section 5.7).
    pub fn new(at: Timestamp, random: [u8; 10]) -> Self {
        // The layout is that of an action's id.
        Self(*ActionId::new(at, random).as_bytes())
    }

    /// The id of the run that goes on from another one since `at`; it sorts after that one.
    pub(super) fn following(run: Self, at: Timestamp) -> Self {
        let digest = Sha256::new()
            .chain_update(b"holdpoint continues\n")
            .chain_update(run.0);
        Self::new(at.max(time_of(&run.0).plus_ms(1)), ten_of(digest))
    }

    /// The 16 bytes; their order is the order of ids.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The id with these 16 bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 32 digits.
    pub(super) fn hex(self) -> String {
        Uuid::from_bytes(self.0).simple().to_string()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run_{}", self.hex())
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What stands for the random bytes in an id that is the same after every crash.
pub(crate) fn ten_of(digest: Sha256) -> [u8; 10] {
    let mut ten = [0; 10];
    ten.copy_from_slice(&digest.finalize()[..10]);
    ten
}

/// The text is not the id of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a run is written run_ followed by 32 lowercase hexadecimal digits")]
pub struct RunIdFormatError;

impl FromStr for RunId {
    type Err = RunIdFormatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = text.strip_prefix("run_").ok_or(RunIdFormatError)?;
        // The same digits as those of an action's id.
        let id: ActionId = format!("act_{hex}").parse().map_err(|_| RunIdFormatError)?;
        Ok(Self(*id.as_bytes()))
    }
}

/// The time that an id was made of.
fn time_of(id: &[u8; 16]) -> Timestamp {
    let mut millis = [0; 8];
    millis[2..].copy_from_slice(&id[..6]);
    Timestamp(i64::from_be_bytes(millis))
}

/// Where a step stands in its run: `3` for the third step of a skill file; in code the number of the
/// call, after the names of the branches around it: `refund/2`.
///
/// Cheap to clone: whenever a run changes, what stood in it stands in the next state too.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct StepPath(Arc<str>);

/// The text is not the path of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a path has 1 to {STEP_PATH_BYTES_MAX} letters, digits, dots, underscores and dashes, with slashes between its parts"
)]
pub struct StepPathError;

impl StepPath {
    /// The path written so.
    pub fn new(text: impl Into<String>) -> Result<Self, StepPathError> {
        let text = text.into();
        let is_part = |part: &str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        if STEP_PATH_BYTES_MAX < text.len() || !text.split('/').all(is_part) {
            return Err(StepPathError);
        }
        Ok(Self(text.into()))
    }

    /// The path of a step of a skill file.
    pub fn number(number: u32) -> Self {
        Self(number.to_string().into())
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StepPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for StepPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One try of one step: what an action is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTry {
    /// The run.
    pub run: RunId,
    /// The step.
    pub path: StepPath,
    /// Which try, from 1: a run that is resumed tries again what failed.
    pub number: u32,
}

impl StepTry {
    /// The id of its action, where it began at `at`. The same for ever, so that after a crash the
    /// action that was submitted is found, and nobody submits another.
    pub fn action_id(&self, at: Timestamp) -> ActionId {
        let mut digest = Sha256::new();
        digest.update(b"holdpoint step\n");
        digest.update(self.run.as_bytes());
        digest.update(self.number.to_be_bytes());
        digest.update(self.path.as_str());
        ActionId::new(at, ten_of(digest))
    }

    /// Whether this is the try that an action was made for: of the labels of an action anybody could
    /// say that they name a run, of its id nobody can.
    pub fn made(&self, action: ActionId) -> bool {
        self.action_id(time_of(action.as_bytes())) == action
    }

    /// The step that an action was made for, where that is true of what its labels say.
    pub(crate) fn of_action(action: &Action) -> Option<Self> {
        let labels = &action.proposal.labels;
        let run: RunId = labels.get("run")?.parse().ok()?;
        let path = StepPath::new(labels.get("step")?.as_str()).ok()?;
        let mut tries = (1..=TRIES_MAX).map(|number| Self {
            run,
            path: path.clone(),
            number,
        });
        tries.find(|attempt| attempt.made(action.id))
    }

    /// The idempotency key of its call, where the tool makes none from the arguments.
    pub fn key(&self) -> String {
        match self.number {
            1 => format!("{}:{}", self.run, self.path),
            number => format!("{}:{}:{number}", self.run, self.path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(path: &str, number: u32) -> StepTry {
        StepTry {
            run: RunId::new(Timestamp(1_700_000_000_000), [7; 10]),
            path: StepPath::new(path).expect("a path"),
            number,
        }
    }

    #[test]
    fn the_action_of_a_step_is_the_same_for_ever_and_no_other_step_has_it() {
        let at = Timestamp(1_700_000_000_123);
        let id = attempt("2", 1).action_id(at);
        assert_eq!(id, attempt("2", 1).action_id(at));
        assert!(attempt("2", 1).made(id));
        for other in [attempt("2", 2), attempt("21", 1), attempt("2/1", 1)] {
            assert!(!other.made(id), "{other:?}");
            assert_ne!(other.key(), attempt("2", 1).key());
        }
        assert!(!attempt("2", 1).made(ActionId::new(at, [3; 10])));
    }

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let id = RunId::new(Timestamp(5), [9; 10]);
        assert_eq!(id.to_string().parse(), Ok(id));
        for wrong in ["", "run_", "act_00000000000070008000000000000000", "run_0x"] {
            assert_eq!(wrong.parse::<RunId>(), Err(RunIdFormatError), "{wrong}");
        }
    }

    #[test]
    fn runs_that_go_on_from_each_other_sort_in_that_order() {
        let at = Timestamp(1_700_000_000_000);
        let mut last = RunId::new(at, [255; 10]);
        for _ in 0..20 {
            let next = RunId::following(last, at);
            assert!(last < next);
            last = next;
        }
    }

    #[test]
    fn a_path_is_made_of_plain_words() {
        for good in ["1", "refund/2", "a.b-c_d/1/x"] {
            assert!(StepPath::new(good).is_ok(), "{good}");
        }
        for wrong in ["", "/", "a//b", "a b", "../x/", "ä"] {
            assert!(StepPath::new(wrong).is_err(), "{wrong}");
        }
    }
}
