//! One attempt, as the oracle sees it: sent once, held by one worker, ended once.

use holdpoint_engine::action::Event;
use holdpoint_engine::canon::Digest;

/// Fails with words where something does not hold.
macro_rules! must {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(format!($($words)+));
        }
    };
}
pub(crate) use must;

/// How an attempt ended, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    NotDone,
    Unknown,
}

/// One attempt.
#[derive(Clone, Default)]
pub(crate) struct Attempt {
    pub(crate) end: Option<End>,
    /// The lease of a worker: its epoch and its end.
    lease: Option<(u64, i64)>,
    /// The key under which a worker asked for it, as the log names it.
    pub(crate) asked: Option<Digest>,
    /// The version of the secret that it is to be sent with.
    pub(crate) secret: Option<String>,
    /// How often a request of it reached the network, or a worker was told to carry it out.
    sent: u32,
}

/// An attempt leaves: once, and no other than one that is durable (I1, I2, I12).
pub(super) fn send(attempts: &mut [Attempt], number: usize) -> Result<(), String> {
    let place = number.checked_sub(1);
    let Some(attempt) = place.and_then(|place| attempts.get_mut(place)) else {
        return Err(format!(
            "I1: attempt {number} is sent without a commit record"
        ));
    };
    attempt.sent += 1;
    must!(
        attempt.sent == 1,
        "I2: attempt {number} is sent {} times",
        attempt.sent
    );
    Ok(())
}

impl Attempt {
    /// Whether a worker has it at this moment, as far as the log says.
    pub(crate) fn is_held(&self, at: i64) -> bool {
        self.end.is_none() && self.lease.is_some_and(|(_, until)| at < until)
    }

    /// The epoch of its lease.
    pub(crate) fn epoch(&self) -> Option<u64> {
        self.lease.map(|(epoch, _)| epoch)
    }

    /// Whether it has left, or was given to a worker.
    pub(crate) fn is_sent(&self) -> bool {
        0 < self.sent
    }
}

/// The lease is that of a claim under a key, and of no other one.
pub(super) fn ask(attempts: &mut [Attempt], number: u32, key: Digest) -> Result<(), String> {
    let count = attempts.len();
    let last = attempts.last_mut().filter(|_| number as usize == count);
    let Some(last) = last.filter(|last| last.lease.is_some() && last.asked.is_none()) else {
        return Err(format!(
            "I12: a key for the lease of attempt {number} of {count}"
        ));
    };
    last.asked = Some(key);
    Ok(())
}

/// One worker for each attempt, and only while its lease lives (I12).
pub(super) fn lease(attempts: &mut [Attempt], event: &Event) -> Result<(), String> {
    let epochs = attempts.iter().filter_map(|attempt| Some(attempt.lease?.0));
    let newest = epochs.max().unwrap_or(0);
    let count = attempts.len();
    let Some(last) = attempts.last_mut() else {
        return Err("I12: a lease of nothing".to_owned());
    };
    let ends = last.lease.map_or(0, |(_, until)| until);
    let (number, epoch, at) = match event {
        Event::LeaseGranted {
            attempt,
            epoch,
            until,
            at,
            ..
        } => {
            let is_new = newest < *epoch && last.lease.is_none();
            must!(is_new, "I12: epoch {epoch} after {newest}");
            last.lease = Some((*epoch, until.0));
            (attempt, epoch, at)
        }
        Event::LeaseExtended {
            attempt,
            epoch,
            until,
            at,
        } => {
            must!(at.0 < ends, "I12: a lease that was over goes on");
            last.lease = Some((newest, until.0));
            (attempt, epoch, at)
        }
        Event::WorkReported {
            attempt, epoch, at, ..
        } => (attempt, epoch, at),
        other => return Err(format!("{} is no word of a worker", other.kind())),
    };
    let (current, until) = last.lease.unwrap_or_default();
    must!(
        *number as usize == count,
        "I12: a word about attempt {number} of {count}"
    );
    must!(
        *epoch == current,
        "I12: a word of epoch {epoch}, the lease has {current}"
    );
    must!(at.0 < until, "I12: a word after the end of the lease");
    Ok(())
}
