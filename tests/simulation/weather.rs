//! Which faults a seed has, and how strong each is. A tenth of all seeds have none.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::dice::Dice;

macro_rules! faults {
    ($($name:ident, $text:literal, $most:literal;)+) => {
        /// What can go wrong. The letters are those of the list of faults that every plan draws from.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Fault { $($name,)+ }

        impl Fault {
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)+];

            /// What it is, in words.
            pub(crate) fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// How often it strikes at most, of a thousand chances.
            fn most(self) -> u64 {
                match self { $(Self::$name => $most,)+ }
            }
        }
    };
}

faults! {
    Crash, "P1 the process dies between two steps", 60;
    CrashInRecovery, "P2 the process dies while it recovers", 300;
    WriteLost, "D1 power cut: an unsynced group is lost", 500;
    WriteKept, "D1 power cut: an unsynced group is kept", 500;
    WriteTorn, "D1 power cut: of an unsynced group the first part is kept", 500;
    WriteFails, "D2 a write fails", 12;
    AnswerOfWriteLost, "D2 a write succeeds and says that it failed", 12;
    ReadFails, "D2 a read fails", 4;
    DiskFull, "D3 the disk is full for a while", 12;
    FullAtStart, "D3 the disk is full when a process starts", 150;
    DiskSlow, "D5 a sync takes seconds", 60;
    ClockForward, "C1 the clock is set forward", 20;
    ClockBack, "C1 the clock is set back", 20;
    ClockForwardWhileDown, "C1 the clock is set forward while no process runs", 200;
    ClockBackWhileDown, "C1 the clock is set back while no process runs", 200;
    ConnectRefused, "N1 no connection", 150;
    RequestLost, "N1 the request is lost", 150;
    RequestLate, "N1 the request arrives late", 150;
    RequestTwice, "N1 the request arrives twice", 150;
    DoneAnswerLost, "N2 done, the answer lost", 150;
    DoneServerError, "N2 done, answered with an error", 150;
    DoneCut, "N2 done, the answer cut off", 100;
    DoneGarbage, "N2 done, answered with garbage", 100;
    DoneRedirect, "N2 done, answered with a redirect", 60;
    DoneSilent, "N3 done, never answered", 100;
    NotDoneServerError, "N2 not done, answered with an error", 100;
    CertainNo, "the target refuses", 100;
    StateDown, "N4 the state cannot be read", 200;
    SourceDown, "N4 the source of truth is down", 300;
    SourceOut, "N4 the source of truth is away for hours", 60;
    SourceLags, "N4 the source of truth lags", 600;
    WorkerPauses, "P3 a worker goes on when its lease is over", 0;
    WorkerDies, "P3 a worker is gone for good", 150;
    ClaimAgain, "R1 the same claim again, under its key", 800;
    HangsUp, "R1 a worker hangs up while it claims", 250;
    SecretRotated, "K2 a secret is rotated", 60;
    SecretRotatedWhileDown, "K2 a secret is rotated while no process runs", 300;
    SecretMissing, "K2 a secret cannot be read", 100;
    SecretRepeated, "a target repeats our secret", 600;
    Repeat, "R1 the same request again", 400;
    DoubleClick, "R1 two clicks at once", 400;
    StaleTab, "R1 an old tab is used", 600;
    AnswerOfOursLost, "R1 our answer does not arrive", 200;
    OtherArguments, "V6 the same key with other arguments", 200;
    ToolsChange, "K1 the tools file is another one after a start", 300;
    Pause, "an operator pauses", 40;
    HookDown, "N1 an endpoint cannot be reached", 200;
    HookLost, "N1 a message is lost", 150;
    HookAnswerLost, "N2 a message is taken, the answer lost", 150;
    HookError, "N2 a message is refused, or answered with a redirect", 150;
    HookBusy, "N2 an endpoint has too much to do", 100;
    HookSilent, "N3 a message is taken, never answered", 100;
    HookLate, "N3 a message is taken, answered late", 200;
    HookGone, "N2 an endpoint is gone", 30;
    HookStopped, "K1 an endpoint is disabled by people", 500;
    HookMoved, "K1 an endpoint is enabled at another place", 900;
    RolesChange, "K1 roles are changed", 30;
    PersonLeaves, "K1 an approver leaves, or comes back", 30;
    KeyRevoked, "W3 a key is revoked", 20;
    StateMoves, "K3 the state moves behind our back", 80;
    Copied, "K4 the log is copied", 60;
    Restored, "K4 the copy takes the place of the log", 80;
    Unconfirmed, "K4 a copy is started before it is confirmed", 0;
    Doubled, "K4 what was sent after the copy was made is sent again", 0;
}

/// The weather of one seed.
pub(crate) struct Weather {
    rates: Vec<u64>,
    fired: Vec<AtomicU64>,
    calm: AtomicBool,
}

impl Weather {
    /// Draws which faults there are.
    pub(crate) fn drawn(dice: &Dice) -> Self {
        let none = dice.in_thousand(100);
        let rate = |fault: &Fault| {
            let is_on = dice.in_thousand(550) && !none;
            let rate = dice.between(1, fault.most().max(1)).min(fault.most());
            if is_on { rate } else { 0 }
        };
        Self {
            rates: Fault::ALL.iter().map(rate).collect(),
            fired: Fault::ALL.iter().map(|_| AtomicU64::new(0)).collect(),
            calm: AtomicBool::new(true),
        }
    }

    /// Whether the fault strikes at this chance; counted where it does.
    pub(crate) fn strikes(&self, fault: Fault, dice: &Dice) -> bool {
        let rate = self.rates[fault as usize];
        let strikes = dice.in_thousand(rate) && !self.calm.load(Ordering::Relaxed);
        if strikes {
            self.fired[fault as usize].fetch_add(1, Ordering::Relaxed);
        }
        strikes
    }

    /// Counts a fault that nobody drew.
    pub(crate) fn count(&self, fault: Fault) {
        self.fired[fault as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How often a fault has struck so far.
    pub(crate) fn struck(&self, fault: Fault) -> u64 {
        self.fired[fault as usize].load(Ordering::Relaxed)
    }

    /// The faults begin, or stop. Nothing strikes before.
    pub(crate) fn is_calm(&self, calm: bool) {
        self.calm.store(calm, Ordering::Relaxed);
    }

    /// Whether the faults have begun and not stopped.
    pub(crate) fn rages(&self) -> bool {
        !self.calm.load(Ordering::Relaxed)
    }

    /// How often each fault has struck, in the order of [`Fault::ALL`].
    pub(crate) fn fired(&self) -> Vec<u64> {
        let count = |fired: &AtomicU64| fired.load(Ordering::Relaxed);
        self.fired.iter().map(count).collect()
    }
}
